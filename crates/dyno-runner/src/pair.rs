//! Two trials that are one: both sides of a comparison are open at the same time and take turns within one window.
//!
//! Each side is a trial of its own, with agents, daemons, scratch directory and record of its own, which a thread
//! leads. They meet once, when all ends of both are linked, and agree on the start; the schedule of slices follows from it.

use crate::agent::AgentCommand;
use crate::clocks::HostClocks;
use crate::meeting::Meeting;
use crate::order;
use crate::session::Session;
use crate::trial::{self, Context};
use dyno_model::cause::FailureCause;
use dyno_model::record::{FailureKind, Outcome};
use dyno_model::{ExperimentId, Plan, TrialId, TrialRecord};
use std::collections::HashSet;

/// The trial that takes turns with this one.
pub(crate) fn partner(plan: &Plan, id: TrialId) -> Option<TrialId> {
    let own = plan.experiment(id.experiment)?;
    own.slices?;
    let is_base = |e: &&dyno_model::Experiment| e.base == Some(own.id);
    let experiment: Option<ExperimentId> = own
        .base
        .or_else(|| plan.experiments.iter().find(is_base).map(|e| e.id));
    Some(TrialId {
        experiment: experiment?,
        ..id
    })
}

/// The stored trials that need not be run again: of two that took turns both are stored, or neither counts.
pub(crate) fn whole<'a>(plan: &Plan, stored: &'a [TrialRecord]) -> Vec<&'a TrialRecord> {
    let ids: HashSet<TrialId> = stored.iter().map(|t| t.id).collect();
    let is_whole = |t: &&TrialRecord| partner(plan, t.id).is_none_or(|other| ids.contains(&other));
    stored.iter().filter(is_whole).collect()
}

/// Runs a trial and, at the same time, the `other` one on a thread of its own, each to its end. `base_agent` plays the
/// roles of bases, and `session` is of the other one. Where one fails the other has failed as well.
pub(crate) fn run<'a, 'p>(
    own: Context<'a, 'p>,
    other: TrialId,
    base_agent: &'a AgentCommand,
    session: &mut Session<'p>,
) -> (Vec<TrialRecord>, Vec<TrialRecord>) {
    let (plan, options) = (own.plan, own.options);
    let Some(experiment) = plan.experiment(other.experiment) else {
        return (trial::run(own), Vec::new());
    };
    let meeting = Meeting::default();
    // Both have the seed of one, so that their schedules are one.
    let seed = match own.id.experiment < other.experiment {
        true => own.seed,
        false => order::trial_seed(plan.seed, other),
    };
    let agent = |id| match plan.is_base(id) {
        true => base_agent,
        false => &options.agent,
    };
    let other = Context {
        plan,
        experiment,
        flows: &[experiment],
        id: other,
        position: own.position + 1,
        seed,
        clock: own.clock,
        options,
        agent: agent(experiment.id),
        hosts: own.hosts,
        session,
        // Of hosts whose clocks are the run's there is nothing to remember.
        clocks: &mut HostClocks::new(options.clock, &plan.testbed),
        meeting: Some(&meeting),
    };
    let own = Context {
        seed,
        meeting: Some(&meeting),
        ..own
    };
    let (mut own, mut other) = std::thread::scope(|scope| {
        let side = scope.spawn(|| trial::run(other));
        let own = trial::run(own);
        match side.join() {
            Ok(other) => (own, other),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let (of_own, of_other) = (failure(&own), failure(&other));
    fail(&mut own, of_other);
    fail(&mut other, of_own);
    (own, other)
}

/// Why one of these failed, in words, and whether it was the user who ended it.
fn failure(records: &[TrialRecord]) -> Option<(FailureKind, String)> {
    records.iter().find_map(|record| match &record.outcome {
        Outcome::Failed { kind, cause, .. } => Some((*kind, cause.to_string())),
        Outcome::Completed => None,
    })
}

fn fail(records: &mut [TrialRecord], other: Option<(FailureKind, String)>) {
    let Some((kind, error)) = other else { return };
    for record in records {
        // What the user ended is measured again, on both sides.
        if record.outcome == Outcome::Completed || kind == FailureKind::Interrupted {
            record.outcome = Outcome::Failed {
                kind,
                step: "collect".into(),
                cause: FailureCause::OtherSide {
                    error: error.clone(),
                }
                .into(),
                stderr: Vec::new(),
            };
        }
    }
}
