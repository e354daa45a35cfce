//! When the messages of a sender are due.

use crate::job::Job;
use dyno_measure::Schedule;
use dyno_model::{Nanos, Workload};

/// The due times of this participant's messages, where `start` is the common start; `None` where the stack or the other
/// side sets the pace.
pub(super) fn schedule(job: &Job, start: Nanos) -> Option<Schedule> {
    let (seed, index) = (job.assignment.seed, job.participant.index);
    let workload = job.experiment().workload;
    let (Workload::Stream { rate, .. }, Some(flow)) = (workload, &job.experiment().flow) else {
        return Schedule::of(workload, start, seed, index);
    };
    let (number, count) = alike(job);
    let start = start.saturating_add(flow.phase.of(number, count, rate.period_ns()));
    let schedule = Schedule::of(workload, start, seed, index)?;
    // Another stream of random numbers than that of the gaps.
    Some(schedule.with_jitter(flow.jitter, !seed.wrapping_add(u64::from(index))))
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
