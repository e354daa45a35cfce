//! One participant's thread, from its pinning to the end of its role.

use crate::event::{Event, Failure, Played};
use crate::job::Job;
use crate::roles::{self, Kit};
use crate::shared::{Shared, ThreadState};
use dyno_measure::host;
use dyno_model::cause::{NotGranted, Warning};
use dyno_model::plan::Scheduling;
use dyno_model::{Nanos, WorkloadKind};
use std::sync::mpsc;

/// Plays the participant to its end and reports to the control thread. `go` gives the instant of go, and is closed
/// without one when the trial ends before.
pub(crate) fn play(job: &Job, go: &mpsc::Receiver<Nanos>) {
    let participant = &job.participant;
    let thread = job
        .shared
        .register(participant.index, participant.role.as_str());
    let event = match steps(job, &thread, go) {
        Ok(played) => Event::Played(participant.exchange, Box::new(played)),
        Err(failure) => Event::Failed(failure),
    };
    thread.ended();
    job.tell(event);
}

fn steps(job: &Job, thread: &ThreadState, go: &mpsc::Receiver<Nanos>) -> Result<Played, Failure> {
    let warnings = prepare(job)?;
    let kit = Kit::new(job)?;
    job.tell(Event::Prepared(warnings));
    let Ok(at) = go.recv() else {
        return Ok(Played::default());
    };
    if job.experiment().workload.kind().is_start() {
        // The start is what is measured, and so is its cost.
        job.shared.begin_metering(Nanos(u64::MAX));
    }
    sleep_until(&job.shared, at);
    roles::play(job, thread, kit)
}

/// Pins, schedules, sets the timer slack and locks; what the machine does not grant becomes a warning, but for CPUs that were listed.
fn prepare(job: &Job) -> Result<Vec<Warning>, Failure> {
    let experiment = job.experiment();
    let mut warnings = Vec::new();
    // The library's threads come from this one, and where they may run is settled by then.
    let confined = match (job.participant.cpu, job.participant.library_cpus.as_slice()) {
        (Some(cpu), []) => host::pin(cpu),
        (_, []) => Ok(()),
        (_, set) => host::confine(set),
    };
    warnings.extend(job.confined(confined)?);
    let mut note = |result: Result<(), NotGranted>| {
        if let Err(refused) = result {
            warnings.push(Warning::NotGranted {
                who: job.name(),
                refused,
            });
        }
    };
    // A probe of timers sets its own, or has the kernel's.
    if experiment.workload.kind() != WorkloadKind::Probe {
        note(host::set_timer_slack());
    }
    if experiment.mlock {
        note(host::lock_memory());
    }
    if let Scheduling::Fifo(priority) = experiment.scheduling {
        note(host::set_fifo(priority));
    }
    Ok(warnings)
}

/// Sleeps until the run's clock passes `at`.
fn sleep_until(shared: &Shared, at: Nanos) {
    loop {
        match at.saturating_sub(shared.clock.now()) {
            Nanos::ZERO => return,
            left => std::thread::sleep(left.into()),
        }
    }
}
