//! What starts look like: one time to the first message for each trial.

mod common;

use common::{Builder, summary};
use dyno_model::plan::TableKind;
use dyno_model::record::{FailureKind, Run};
use dyno_model::{Experiment, Extent, Metric, Nanos, Workload};
use dyno_report::{Format, RenderOptions, render};
use dyno_stats::Quantile;

fn start(e: &mut Experiment) {
    e.name = "start".into();
    e.workload = Workload::FirstMessage {
        period: Nanos::from_millis(1),
    };
    e.warmup = Extent::Duration(Nanos::ZERO);
    e.window = Extent::Messages(1);
}

/// Starts of which the `i`-th opens for 2 ms, matches for `match_ms` and delivers for 0.5 ms, each
/// longer by `i` percent.
fn starts(b: &mut Builder, stack: &str, number: u32, match_ms: f64) {
    let id = b.experiment(stack, |e| {
        start(e);
        e.trials = number;
    });
    for i in 0..number {
        let longer = 1.0 + f64::from(i) / 100.0;
        let [open, matching, delivery] = [2.0, match_ms, 0.5].map(|ms| ms * 1e6 * longer);
        b.trial(
            id,
            &[
                (Metric::FirstMessage, open + matching + delivery, 1, 0),
                (Metric::Open, open, 1, 0),
                (Metric::Match, matching, 1, 0),
                (Metric::FirstDelivery, delivery, 1, 0),
            ],
        );
    }
}

fn run() -> Run {
    let mut b = Builder::new("first-message", "fresh starts", TableKind::Stacks);
    starts(&mut b, "vsomeip", 40, 120.0);
    starts(&mut b, "tcp", 40, 0.3);
    starts(&mut b, "zenoh-tcp", 10, 8.0);
    let broken = b.experiment("udp", start);
    let message = "step `link` did not end within 5.0 s for agent (sink 1) with adapter udp";
    b.failed(broken, FailureKind::Hang, "link", message, &[]);
    b.build()
}

fn show(run: &Run, format: Format, width: Option<usize>) -> String {
    let options = RenderOptions {
        width,
        color: false,
    };
    render(&summary(run), format, &options)
}

#[test]
fn starts_have_a_table_of_their_own_with_the_parts() {
    insta::assert_snapshot!(show(&run(), Format::Table, None));
}

#[test]
fn starts_in_eighty_columns() {
    insta::assert_snapshot!(show(&run(), Format::Table, Some(80)));
}

#[test]
fn starts_beside_other_workloads_come_after_them() {
    let mut b = Builder::new("both", "round trips and starts", TableKind::Stacks);
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &[(Metric::Rtt, 12_000.0, 2_000, 0)]);
    starts(&mut b, "tcp", 6, 0.3);
    let text = show(&b.build(), Format::Markdown, None);
    let (round_trips, first) = (text.find("delivered/offered"), text.find("| open"));
    assert!(round_trips.unwrap() < first.unwrap(), "{text}");
}

#[test]
fn forty_starts_have_a_p90_and_ten_do_not() {
    let summary = summary(&run());
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
    for e in &summary(&run()).experiments {
        assert!(e.modes.is_none() && e.drift.is_none() && e.warmup.is_none());
    }
}
