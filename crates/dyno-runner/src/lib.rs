//! Drives trials: starts agents, leads them through the steps of a trial, holds every deadline,
//! puts their results together and removes what a trial leaves behind.
//!
//! The runner links no adapter and prints nothing: it emits [`RunEvent`]s and hands each finished
//! [`TrialRecord`] to the caller to be stored before the next trial starts.

#![warn(clippy::too_many_lines)]

mod agent;
mod aggregate;
mod binaries;
mod child;
mod clocks;
mod conformance;
mod container;
mod daemon;
mod error;
mod follow;
mod guide;
mod hosts;
mod keeper;
mod leavings;
mod machine;
mod meeting;
mod meters;
mod network;
mod noise;
mod order;
mod outage;
mod own;
mod pair;
mod parts;
mod payload;
mod prepare;
mod programs;
mod schedule;
mod session;
mod startup;
mod trial;
mod wiring;

pub use agent::{AgentCommand, DescribeError, check_protocol, describe_adapters};
pub use binaries::binaries;
pub use conformance::{CaseError, Conformance};
pub use dyno_own::Why;
pub use error::{HostsError, MachineError, SshError};
pub use follow::Follow;
pub use guide::Guide;
pub use hosts::{check_hosts, kernel_of, settle_hosts};
pub use keeper::keep;
pub use machine::{INIT, init, relay, vsock_back_end};
pub use order::order;
pub use own::Left;
pub use programs::is_installed;
pub use session::{SessionError, Swept, sweep};

use dyno_measure::Clock;
use dyno_model::cause::{Cause, Warning};
use dyno_model::event::RunEvent;
use dyno_model::protocol::ClockSpec;
use dyno_model::record::{FailureKind, Outcome};
use dyno_model::{BareMachine, Plan, TrialId, TrialRecord};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a run needs besides its plan.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How to start an agent.
    pub agent: AgentCommand,
    /// The clock of the run; all participants convert their readings with it.
    pub clock: ClockSpec,
    /// Set by the caller's signal handler: the current trial is ended and the run stops.
    pub interrupt: Arc<AtomicBool>,
    /// Trials that are stored already and are not run again.
    pub stored: Vec<TrialRecord>,
    /// What the machine does on its own; trials are held against it.
    pub bare: BareMachine,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The place for the trials' scratch directories cannot be used.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A host of the testbed cannot be used.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// A trial could not be stored.
    #[error(transparent)]
    Store(E),
}

/// Whether a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All trials were run.
    Complete,
    /// It was interrupted; the trials until then are stored.
    Interrupted,
}

/// Runs every trial that the plan needs and that is not stored yet, in rounds of seeded random
/// order: those that it names, one more for each that the host disturbed (at most [`Plan::repeats`]
/// of each experiment), and as many as [`Plan::precision`] takes.
///
/// `store` must have written the trial durably when it returns. A failed trial does not end the
/// run; it is stored as failed. A trial cut short by the interrupt is not stored: it will be run
/// again when the run is resumed.
///
/// # Errors
///
/// When the scratch place or a host of the testbed cannot be used, or when `store` fails.
pub fn run<E>(
    plan: &Plan,
    options: &RunOptions,
    store: &mut dyn FnMut(&TrialRecord) -> Result<(), E>,
    on_event: &mut dyn FnMut(&RunEvent),
) -> Result<Ending, RunError<E>> {
    let mut schedule = schedule::Schedule::new(plan);
    run_guided(plan, &mut schedule, options, store, on_event)
}

/// As [`run`], but `schedule` says which trials the run needs, one after the other.
///
/// # Errors
///
/// As [`run`].
#[expect(
    clippy::too_many_lines,
    reason = "the life of a run in one piece: what is made before the first trial is dropped after the last"
)]
pub fn run_guided<E>(
    plan: &Plan,
    schedule: &mut dyn Guide,
    options: &RunOptions,
    store: &mut dyn FnMut(&TrialRecord) -> Result<(), E>,
    on_event: &mut dyn FnMut(&RunEvent),
) -> Result<Ending, RunError<E>> {
    let whole = pair::whole(plan, &options.stored);
    let stored: HashSet<TrialId> = whole.iter().map(|t| t.id).collect();
    whole.iter().for_each(|record| schedule.note(record));
    // What was measured in slices together with another trial, until its turn to be stored comes.
    let mut measured: HashMap<TrialId, Vec<TrialRecord>> = HashMap::new();
    let mut known = schedule.known();
    on_event(&RunEvent::Started {
        trials: known,
        stored: stored.len(),
    });
    let base_agent = AgentCommand::of_base(plan, &options.agent);
    let began = Instant::now();
    let mut position = 0u32;
    let place = session::Place::create()?;
    let runner = place.path().to_owned();
    let agents = vec![&options.agent, &base_agent];
    let mut supplies = hosts::Supplies::new(plan, agents, &runner, &options.interrupt);
    let mut tell = |remark: String| on_event(&RunEvent::Warning(remark));
    let mut hosts = match hosts::Hosts::open(&plan.testbed, &mut supplies, &mut tell) {
        Err(e) if e.is_interrupt() => return Ok(Ending::Interrupted),
        opened => opened?,
    };
    let leavings = leavings::Leavings::new();
    let clock = Clock::new(options.clock);
    let mut clocks = clocks::HostClocks::new(options.clock, &plan.testbed);
    let mut ending = Ending::Complete;
    while let Some(id) = schedule.next(began.elapsed()) {
        if stored.contains(&id) {
            position += 1;
            continue;
        }
        if schedule.known() != known {
            known = schedule.known();
            on_event(&RunEvent::More { trials: known });
        }
        // The order names experiments of this very plan.
        let Some(experiment) = plan.experiment(id.experiment) else {
            continue;
        };
        if options.interrupt.load(Ordering::Relaxed) {
            ending = Ending::Interrupted;
            break;
        }
        let flows = plan.together(experiment);
        let label = format!("{} on {}", experiment.name, experiment.stack);
        on_event(&RunEvent::TrialStarted { id, label });
        let mut tell = |remark: String| on_event(&RunEvent::Warning(remark));
        match hosts.renew(&plan.testbed, experiment.reboot, &mut supplies, &mut tell) {
            Err(e) if e.is_interrupt() => {
                ending = Ending::Interrupted;
                break;
            }
            renewed => renewed?,
        }
        let left = leavings.warning();
        let mut session = place.session(position as usize)?;
        let agent = match plan.is_base(experiment.id) {
            true => &base_agent,
            false => &options.agent,
        };
        let context = trial::Context {
            plan,
            experiment,
            flows: &flows,
            id,
            position,
            seed: order::trial_seed(plan.seed, id),
            clock,
            options,
            agent,
            hosts: &hosts,
            session: &mut session,
            clocks: &mut clocks,
            meeting: None,
        };
        let mut records = match (measured.remove(&id), pair::partner(plan, id)) {
            (Some(records), _) => records,
            (None, None) => trial::run(context),
            (None, Some(other)) => {
                let mut beside = place.session(position as usize + 1)?;
                let (own, others) = pair::run(context, other, &base_agent, &mut beside);
                measured.insert(other, others);
                own
            }
        };
        if let (true, Some(stages)) = (experiment.reboot, hosts.boot()) {
            let completed = records
                .iter_mut()
                .filter(|r| r.outcome == Outcome::Completed);
            for record in completed {
                if let Err(e) = startup::add_boot(stages, &mut record.distributions) {
                    let error = e.to_string();
                    record
                        .warnings
                        .push(Warning::BootNotRecorded { error }.into());
                }
            }
        }
        hosts.clear_session(&session.name);
        drop(session);
        hosts.release();
        let interrupted = |record: &TrialRecord| {
            let kind = match &record.outcome {
                Outcome::Failed { kind, .. } => Some(*kind),
                Outcome::Completed => None,
            };
            kind == Some(FailureKind::Interrupted)
        };
        if records.iter().any(interrupted) {
            ending = Ending::Interrupted;
            break;
        }
        for record in &mut records {
            record.warnings.extend(left.clone().map(Cause::Known));
        }
        // The first flow's last: where it is stored, so is all of the trial.
        for record in records.iter().rev() {
            store(record).map_err(RunError::Store)?;
            schedule.note(record);
        }
        schedule.news().iter().for_each(&mut *on_event);
        position += 1;
        for record in records {
            on_event(&RunEvent::TrialFinished(Box::new(record)));
        }
    }
    on_event(&RunEvent::Finished {
        interrupted: ending == Ending::Interrupted,
    });
    Ok(ending)
}
