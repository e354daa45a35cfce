//! What starts look like: one time to the first message for each trial.

use crate::common::starts::{add_starts, starts};
use crate::common::{Builder, summary};
use dyno_model::Metric;
use dyno_model::record::Run;
use dyno_report::{Format, RenderOptions, render};
use dyno_stats::Quantile;

fn show(run: &Run, format: Format, width: Option<usize>) -> String {
    let options = RenderOptions {
        width,
        color: false,
        ..RenderOptions::default()
    };
    render(&summary(run), format, &options)
}

#[test]
fn starts_have_a_table_of_their_own_with_the_parts() {
    insta::assert_snapshot!(show(&starts(), Format::Table, None));
}

#[test]
fn starts_in_eighty_columns() {
    insta::assert_snapshot!(show(&starts(), Format::Table, Some(80)));
}

#[test]
fn starts_beside_other_workloads_come_after_them() {
    let mut b = Builder::new("both", "round trips and starts", "stacks");
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &[(Metric::Rtt, 12_000.0, 2_000, 0)]);
    add_starts(&mut b, "tcp", 6, 0.3);
    let text = show(&b.build(), Format::Markdown, None);
    let (round_trips, first) = (text.find("delivered/offered"), text.find("| open"));
    assert!(round_trips.unwrap() < first.unwrap(), "{text}");
}

#[test]
fn forty_starts_have_a_p90_and_ten_do_not() {
    let summary = summary(&starts());
    let p90 = |i: usize| summary.experiments[i].metrics[&Metric::FirstMessage].quantiles[1];
    let Quantile::Estimated(e) = p90(0) else {
        panic!("refused");
    };
    // The interval of a p90 does not reach down to the median.
    let p50 = summary.experiments[0].metrics[&Metric::FirstMessage].quantiles[0];
    let p50 = p50.estimate().unwrap().value.finite().unwrap();
    assert!(e.lo.finite().unwrap() > p50, "{e:?} {p50}");
    let refused = Quantile::Refused { have: 10, need: 36 };
    assert_eq!(p90(2), refused);
}

#[test]
fn nothing_is_said_of_a_window_that_there_was_not() {
    for e in &summary(&starts()).experiments {
        assert!(e.modes.is_none() && e.drift.is_none() && e.warmup.is_none());
    }
}
