//! What may befall the trials of a run, for tests of the law of verdicts (ADR 34).

use dyno_model::cause::Cause;
use dyno_model::record::{FailureKind, Outcome, Run};
use dyno_model::{ExperimentId, TrialRecord};

/// What befalls a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Damage {
    /// It stays as it is.
    Nothing,
    /// It crashed in its window.
    Failed,
    /// It was not run.
    Missing,
    /// Strangers disturbed it.
    Disturbed,
    /// So many more messages for each hundred that arrived were sent and are lost.
    Lossy(u64),
}

/// Lets the damages, in turns, befall the trials of the experiments that `of` names.
pub fn befall(run: &mut Run, of: impl Fn(ExperimentId) -> bool, damages: &[Damage]) {
    let mut turn = damages.iter().copied().cycle();
    run.trials.retain_mut(|t| {
        if !of(t.id.experiment) {
            return true;
        }
        match turn.next().unwrap_or(Damage::Nothing) {
            Damage::Nothing => {}
            Damage::Missing => return false,
            Damage::Disturbed => t.disturbed.push(Cause::Told("foreign load".into())),
            Damage::Failed => fail(t),
            Damage::Lossy(percent) => lose(t, percent),
        }
        true
    });
}

/// Makes a trial one that crashed in its window.
pub fn fail(t: &mut TrialRecord) {
    let outcome = Outcome::Failed {
        kind: FailureKind::Crash,
        step: "window".into(),
        cause: Cause::Told("ended by signal 11".into()),
        stderr: Vec::new(),
    };
    *t = TrialRecord::blank(t.id, 0, outcome);
}

/// Adds so many lost messages for each hundred that arrived in a completed trial, one at least.
pub fn lose(t: &mut TrialRecord, percent: u64) {
    if t.outcome != Outcome::Completed {
        return;
    }
    let more = (t.counts.received * percent / 100).max(1);
    t.counts.offered += more;
    t.counts.sent += more;
    t.counts.lost += more;
    let all = t.distributions.values_mut();
    all.for_each(|d| d.infinite += more);
}
