//! What a participant of a trial with faults has: the log that it notes into, and how it opens, matches and closes.

use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::roles::tally::expected_messages;
use crate::shared::{Call, Phase, ThreadState};
use dyno_measure::FaultLog;
use dyno_model::cause::{AgentTrouble, Warning};
use dyno_model::plan::Extent;
use dyno_model::{Experiment, Nanos, Role};
use std::sync::Arc;
use std::time::Duration;

/// The pause after a call that failed, before it is tried again.
pub(super) const RETRY: Duration = Duration::from_millis(1);

/// Opening again takes more: processes and daemons that come back need the CPU as well.
const REOPEN: Duration = Duration::from_millis(10);

/// What a participant notes into, made before go.
pub(crate) struct Kit {
    pub(super) log: Arc<FaultLog>,
    /// How long the window is.
    pub(super) window: Nanos,
}

impl Kit {
    pub(crate) fn new(job: &Job) -> Result<Self, Failure> {
        let window = window(job).map_err(|what| job.misassigned(what))?;
        let index = job.participant.index;
        let path = job.assignment.fault_log(index);
        let room = room(job, window);
        let log = FaultLog::create(&path, index, job.assignment.generation, room);
        let log = log.map_err(|e| {
            let error = e.to_string();
            job.failure("prepare", AgentTrouble::Record { error })
        })?;
        Ok(Kit {
            log: Arc::new(log),
            window,
        })
    }
}

/// The length of the window, where the experiment is one that can have faults.
fn window(job: &Job) -> Result<Nanos, &'static str> {
    let experiment: &Experiment = job.experiment();
    let is_alone = experiment.flow.is_none();
    let is_plain = experiment.sink_pause.is_none() && experiment.sink_cycle.is_none();
    let is_timed = matches!(experiment.warmup, Extent::Duration(_)) && experiment.settle.is_none();
    let is_due = experiment.workload.due_period().is_some();
    match (experiment.window, job.participant.role) {
        (Extent::Duration(window), Role::Source | Role::Sink | Role::Initiator | Role::Echo)
            if is_due =>
        {
            match is_alone && is_plain && is_timed {
                true => Ok(window),
                false => Err(
                    "a trial with faults has one flow, a warm-up of known length, and sinks that take at once",
                ),
            }
        }
        _ => Err("faults need a stream, or calls with a gap, and a window of known length"),
    }
}

/// For how many events there is room: each message twice, for copies, and for what can be noted once in each millisecond.
fn room(job: &Job, window: Nanos) -> usize {
    let ends = job.incoming().count() + job.outgoing().count();
    let messages = expected_messages(job.experiment());
    let lasts = window.saturating_add(job.experiment().drain);
    let of_end = messages
        .saturating_mul(2)
        .saturating_add(2 * lasts.0 / 1_000_000 + 1_024);
    usize::try_from(of_end)
        .unwrap_or(usize::MAX)
        .saturating_mul(ends)
}

/// Whether the process takes the place of another, whose traces may be in its way: it tries again what fails. A
/// newcomer fails as the first processes do.
fn replaces(job: &Job) -> bool {
    let graph = &job.assignment.graph;
    job.assignment.generation > 0 && !graph.is_newcomer(job.experiment(), job.participant.index)
}

/// Opens the libraries and what `make` makes of them, and goes on with these. A process that takes the place of another tries
/// again as long as the window lasts; then it has played nothing, and says why.
pub(super) fn open<T>(
    job: &Job,
    thread: &ThreadState,
    make: impl Fn(&mut Nodes) -> Result<T, Failure>,
    go_on: impl FnOnce(Nodes, T) -> Result<Played, Failure>,
) -> Result<Played, Failure> {
    loop {
        let opened = job.open(thread).and_then(|mut nodes| {
            let made = make(&mut nodes)?;
            Ok((nodes, made))
        });
        let failure = match opened {
            Ok((nodes, made)) => return go_on(nodes, made),
            Err(failure) if !replaces(job) => return Err(failure),
            Err(failure) => failure,
        };
        if job.shared.phase() >= Phase::Drain {
            job.shared.wait_for(Phase::Stop);
            return Ok(Played {
                warnings: vec![tolerated(failure)],
                ..Played::default()
            });
        }
        std::thread::sleep(REOPEN);
    }
}

/// Waits until `matched`, and tells so. A process that takes the place of another does not fail meanwhile. False: the window is
/// over, and so is the trial when this returns.
pub(super) fn await_matched(
    job: &Job,
    thread: &ThreadState,
    mut matched: impl FnMut() -> dyno_adapter::Result<bool>,
) -> Result<bool, Failure> {
    let opened = job.shared.clock.now();
    let goes_on = replaces(job);
    let is_matched = job.await_matched(thread, opened, &mut || match matched() {
        Err(e) if !goes_on => Err(e),
        answer => Ok(answer.unwrap_or(false)),
    })?;
    if !is_matched {
        job.shared.wait_for(Phase::Stop);
    }
    Ok(is_matched)
}

/// What happened to a participant that goes on, or has ended, without its trial failing.
pub(super) fn tolerated(failure: Failure) -> Warning {
    Warning::Tolerated {
        who: failure.who,
        trouble: failure.trouble,
        step: failure.step.to_owned(),
    }
}

/// Ends the libraries, as [`Call::Drop`].
pub(super) fn close<T>(thread: &ThreadState, nodes: Nodes, ends: T) {
    thread.inside(Call::Drop, || {
        drop(ends);
        drop(nodes);
    });
}
