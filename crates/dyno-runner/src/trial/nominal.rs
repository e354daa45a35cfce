//! How long the measured part of a trial takes if all goes well.

use dyno_model::plan::Extent;
use dyno_model::probe::Probe;
use dyno_model::{Experiment, Workload};
use std::time::Duration;

/// How long the step from start to done takes if all goes well; a flood of so many messages has no
/// such time and must fit into the deadline.
pub(super) fn nominal(experiment: &Experiment) -> Duration {
    let of = |extent| match (extent, experiment.workload) {
        (Extent::Duration(d), _) => Duration::from(d),
        (Extent::Messages(n), Workload::Stream { rate, .. }) => {
            Duration::from_secs_f64(n as f64 * rate.period_ns() / 1e9)
        }
        (Extent::Messages(n), Workload::Burst { messages, period }) => {
            Duration::from(period).mul_f64(n as f64 / f64::from(messages.max(1)))
        }
        // The initiator itself stops at the deadline.
        (Extent::Messages(_), Workload::PingPong { .. } | Workload::Call { .. }) => {
            Duration::from(experiment.deadline)
        }
        (
            Extent::Messages(n),
            Workload::Probe {
                probe: Probe::Timer { period, .. },
                ..
            },
        ) => Duration::from(period).mul_f64(n as f64),
        (
            Extent::Messages(_),
            Workload::Flood
            | Workload::FirstMessage { .. }
            | Workload::Idle
            | Workload::Probe { .. },
        ) => Duration::ZERO,
    };
    let longest = experiment.settle.map_or(Duration::ZERO, Duration::from);
    of(experiment.warmup).max(longest) + of(experiment.window)
}
