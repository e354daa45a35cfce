//! Which trials count, and why the others do not.

use crate::summary::{FailedAs, FailureGroup, OfPlan, TrialCounts};
use dyno_model::cause::{Cause, FailureCause};
use dyno_model::record::{Outcome, Run};
use dyno_model::{Experiment, ExperimentId, TrialRecord};

/// So many different causes are kept of one experiment and kind: no run of Dyno has more, and a run may be anybody's.
pub(crate) const KEPT: usize = 100;

/// Trials that failed, by what happened; those that failed in more than [`KEPT`] ways make up the last group.
#[derive(Default)]
pub(crate) struct Failures(pub(crate) Vec<FailureGroup>);

impl Failures {
    pub(crate) fn add(
        &mut self,
        kind: FailedAs,
        step: &str,
        cause: &Cause<FailureCause>,
        stderr: &[String],
    ) {
        let same = |g: &&mut FailureGroup| g.kind == kind && g.step == step && g.cause == *cause;
        if let Some(group) = self.0.iter_mut().find(same) {
            group.count += 1;
        } else if let Some(rest) = self.0.get_mut(KEPT) {
            rest.count += 1;
            rest.cause = Cause::More(rest.count);
        } else {
            let is_rest = self.0.len() == KEPT;
            self.0.push(FailureGroup {
                kind,
                step: step.to_owned(),
                cause: if is_rest {
                    Cause::More(1)
                } else {
                    cause.clone()
                },
                stderr: stderr[stderr.len().saturating_sub(KEPT)..].to_vec(),
                count: 1,
            });
        }
    }
}

pub(crate) fn failures(run: &Run, id: ExperimentId) -> Failures {
    let mut failures = Failures::default();
    for trial in run.trials_of(id) {
        if let Outcome::Failed {
            kind,
            step,
            cause,
            stderr,
        } = &trial.outcome
        {
            failures.add(FailedAs::Trial(*kind), step, cause, stderr);
        }
    }
    failures
}

/// The completed trials of an experiment that count, in order of their number: those that the host
/// did not disturb, or all of them where it disturbed every one. All statistics use only these trials.
pub fn counted_trials(run: &Run, id: ExperimentId) -> Vec<&TrialRecord> {
    let mut completed: Vec<_> = run.trials_of(id).filter(|t| is_completed(t)).collect();
    completed.sort_by_key(|t| t.id.number);
    if completed.iter().any(|t| t.disturbed.is_empty()) {
        completed.retain(|t| t.disturbed.is_empty());
    }
    completed
}

/// Whether a receiver of a trial never got a newer message after its faults.
pub fn is_deaf(trial: &TrialRecord) -> bool {
    trial.outages.iter().any(|o| o.recovery.is_none())
}

pub(crate) fn is_completed(trial: &TrialRecord) -> bool {
    matches!(trial.outcome, Outcome::Completed)
}

/// `counted`: those that count and could be read.
pub(crate) fn trial_counts(
    run: &Run,
    experiment: &Experiment,
    counted: &[&TrialRecord],
    failures: &Failures,
    disturbed: &[&TrialRecord],
) -> TrialCounts {
    let all_count = counted_trials(run, experiment.id)
        .iter()
        .all(|t| !t.disturbed.is_empty());
    // Where all count, one that cannot be read is a failure and no more.
    let mut marked: Vec<&TrialRecord> = disturbed.to_vec();
    if all_count {
        marked.retain(|t| counted.iter().any(|c| c.id == t.id));
    }
    let disturbed = marked.len() as u64;
    let left_out = if all_count { 0 } else { disturbed };
    let planned = match run.manifest.plan.search {
        // A search asks for no trial before it needs it.
        Some(_) => run.trials_of(experiment.id).count() as u64,
        None => u64::from(experiment.trials),
    };
    // A repeat is there because another trial was disturbed.
    let of_plan = |t: &&&TrialRecord| u64::from(t.id.number) < planned;
    let marked_of_plan = marked.iter().filter(of_plan).count() as u64;
    let counted_of_plan = counted.iter().filter(of_plan).count() as u64;
    TrialCounts {
        planned,
        of_plan: OfPlan {
            completed: counted_of_plan + if all_count { 0 } else { marked_of_plan },
            disturbed: marked_of_plan,
        },
        completed: counted.len() as u64 + left_out,
        failed: failures.0.iter().map(|f| f.count).sum(),
        disturbed,
        counted: counted.len() as u64,
    }
}
