//! When the messages of a sender are due.

use crate::job::Job;
use dyno_measure::Schedule;
use dyno_model::{Nanos, Workload};

/// The due times of this participant's messages, where `start` is the common start; `None` where the stack or the other
/// side sets the pace.
pub(super) fn schedule(job: &Job, start: Nanos) -> Option<Schedule> {
    // Each sender has gaps of its own, the same in every repetition of the trial.
    let index = u64::from(job.participant.index);
    let seed = job.assignment.seed.wrapping_add(index);
    match job.experiment().workload {
        Workload::Stream { rate, arrivals } => {
            let Some(flow) = &job.experiment().flow else {
                return Some(Schedule::stream(rate, arrivals, start, seed));
            };
            let (number, count) = alike(job);
            let first = flow.phase.of(number, count, rate.period_ns());
            let start = start.saturating_add(first);
            // Another stream of random numbers than that of the gaps.
            Some(Schedule::stream(rate, arrivals, start, seed).with_jitter(flow.jitter, !seed))
        }
        Workload::Burst { messages, period } => Some(Schedule::burst(messages, period, start)),
        Workload::Flood
        | Workload::PingPong { .. }
        | Workload::Call { .. }
        | Workload::FirstMessage { .. }
        | Workload::Probe { .. } => None,
    }
}

/// Which of the flows that are alike the participant is part of, from 0, and how many there are.
fn alike(job: &Job) -> (u16, u16) {
    let own = &job.participant;
    let flows = job.assignment.graph.flows();
    let first = flows.iter().position(|flow| *flow == own.flow);
    let first = first.and_then(|first| u16::try_from(first).ok());
    let number = own.exchange.saturating_sub(first.unwrap_or(own.exchange));
    (number, job.experiment().topology.copies)
}
