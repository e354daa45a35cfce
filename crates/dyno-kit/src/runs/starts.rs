//! Runs of fresh starts.

use super::builder::Builder;
use dyno_model::record::{FailureKind, Run};
use dyno_model::{Experiment, Extent, Metric, Nanos, Workload};

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
pub fn add_starts(b: &mut Builder, stack: &str, number: u32, match_ms: f64) {
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

/// Two stacks with forty starts, one with ten, and one that never starts.
pub fn starts() -> Run {
    let mut b = Builder::new("first-message", "fresh starts", "stacks");
    add_starts(&mut b, "vsomeip", 40, 120.0);
    add_starts(&mut b, "tcp", 40, 0.3);
    add_starts(&mut b, "zenoh-tcp", 10, 8.0);
    let broken = b.experiment("udp", start);
    let message = "step `link` did not end within 5.0 s for agent (sink 1) with adapter udp";
    b.failed(broken, FailureKind::Hang, "link", message, &[]);
    b.build()
}
