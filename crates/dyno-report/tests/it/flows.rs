//! What is said of flows at once.

use crate::carry_over::flows;
use crate::common::summary;
use dyno_model::record::Run;
use dyno_report::{Format, RenderOptions, render};

#[test]
fn what_flows_lost_together_is_told_from_what_was_under_way() {
    let mut run = flows(|_, _| 1.0);
    let text = |run: &Run| render(&summary(run), Format::Table, &RenderOptions::default());
    let offered: u64 = 12 * 2 * 200;
    let none = format!("delivered, none lost of {offered}");
    assert_eq!(text(&run).matches(&none).count(), 3, "{}", text(&run));
    // Both flows of the first stack's first trial.
    for t in run.trials.iter_mut().take(2) {
        t.counts.received -= 5;
        t.counts.lost = 5;
        t.counts.under_way = 2;
    }
    let some = format!("delivered, 6 lost, 4 under way of {offered}");
    assert_eq!(text(&run).matches(&some).count(), 1, "{}", text(&run));
    assert_eq!(text(&run).matches(&none).count(), 2);
}
