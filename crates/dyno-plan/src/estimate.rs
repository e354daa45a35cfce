//! How long a trial takes if nothing goes wrong: from the plan alone, so that everybody who reads a
//! plan comes to the same. Good enough to share work out and to say how much is left; no measurement.

use dyno_model::plan::Extent;
use dyno_model::probe::Probe;
use dyno_model::{Experiment, Nanos, Plan, Workload};

/// What every trial takes beside warm-up and window: starting agents, watching the CPUs, matching,
/// collecting.
const FIXED: Nanos = Nanos::from_millis(300);
/// What each participant adds to that.
const PER_PARTICIPANT: Nanos = Nanos::from_millis(20);
/// What starting and ending each daemon adds.
const PER_DAEMON: Nanos = Nanos::from_millis(500);
/// A message of which the plan does not say how long it takes: a round trip or a send.
const PER_MESSAGE_NS: f64 = 20_000.0;
/// What each of its bytes adds.
const PER_BYTE_NS: f64 = 0.5;

/// About how long one trial of this experiment of a plan takes.
pub fn nominal_trial(plan: &Plan, experiment: &Experiment) -> Nanos {
    let stack = plan.stacks.get(&experiment.stack);
    let daemons = stack.map_or(0, |s| s.daemons.len() as u64);
    let participants = plan.graph(experiment).participants.len() as u64;
    let time = [
        Nanos(PER_PARTICIPANT.0 * participants),
        Nanos(PER_DAEMON.0 * daemons),
        extent(experiment, experiment.warmup),
        extent(experiment, experiment.window),
        Nanos(plan.longest_phase(experiment).0 / 2),
    ]
    .into_iter()
    .fold(FIXED, Nanos::saturating_add);
    match experiment.slices {
        // The two that take turns run at the same time.
        Some(_) => Nanos(time.0 / 2),
        None => time,
    }
}

/// About how long all planned trials of this experiment of a plan take.
pub fn nominal_time(plan: &Plan, experiment: &Experiment) -> Nanos {
    let one = nominal_trial(plan, experiment).0;
    Nanos(one.saturating_mul(u64::from(experiment.trials)))
}

fn extent(experiment: &Experiment, extent: Extent) -> Nanos {
    let messages = match extent {
        Extent::Duration(time) => return time,
        Extent::Messages(n) => n as f64,
    };
    let own = PER_MESSAGE_NS + PER_BYTE_NS * experiment.payload.bytes() as f64;
    let each = match experiment.workload {
        Workload::PingPong { gap, .. } | Workload::Call { gap, .. } => own.max(gap.0 as f64),
        Workload::Stream { rate, .. } => rate.period_ns(),
        Workload::Flood | Workload::Idle => own,
        Workload::Burst { messages, period } => period.0 as f64 / f64::from(messages.max(1)),
        Workload::FirstMessage { period }
        | Workload::Probe {
            probe: Probe::Timer { period, .. },
            ..
        } => period.0 as f64,
        Workload::Probe { .. } => own,
    };
    // Beyond the largest number it is the largest number.
    Nanos((messages * each) as u64)
}
