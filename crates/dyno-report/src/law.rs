//! The one law of every verdict (ADR 34): what failed, was lost, was left out or cannot be known can only make a verdict
//! worse, or leave it undecided.
//!
//! Whoever judges the trials of a run keeps it with the two types of this file:
//!
//! - [`Shortfall`]: trials that failed or are missing. Their results are unknown, so nothing is passed, called
//!   better or called the same beside them.
//! - [`Basis`]: the ways in which the trials that there are can be taken. A good verdict must hold in each of them: with the
//!   trials that the host disturbed as well as without them, and without the lost messages as well as with them infinitely
//!   late. The figure that is shown is that of [`Basis::COUNTED`].
//!
//! Verdicts have one order, from the best to the worst: pass, undecided, fail.

use crate::counted::{counted_trials, is_completed};
use dyno_model::record::{Outcome, Run};
use dyno_model::{ExperimentId, TrialRecord};

/// Trials of an experiment that show nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    failed: usize,
    missing: usize,
    of: usize,
}

impl Shortfall {
    /// Of an experiment; `None` where every trial is there and completed. Of a search, and of an experiment that another part
    /// of the plan has, no trial is missing. A trial that only a precision asked for, after the plan's own, is not missed.
    pub fn of(run: &Run, id: ExperimentId) -> Option<Shortfall> {
        let plan = &run.manifest.plan;
        let is_failed = |t: &&TrialRecord| matches!(t.outcome, Outcome::Failed { .. });
        let (stored, failed) = (
            run.trials_of(id).count(),
            run.trials_of(id).filter(is_failed).count(),
        );
        let due = match plan.experiment(id) {
            Some(e) if plan.search.is_none() && plan.is_here(id) => {
                let last = run.trials_of(id).map(|t| t.id.number as usize + 1).max();
                last.unwrap_or(0).max(e.trials as usize)
            }
            _ => stored,
        };
        let missing = due.saturating_sub(stored);
        (failed + missing > 0).then_some(Shortfall {
            failed,
            missing,
            of: stored + missing,
        })
    }

    /// Trials that failed or are missing, and all that there should be.
    pub const fn counts(&self) -> (usize, usize) {
        (self.failed + self.missing, self.of)
    }

    /// Trials that failed.
    pub const fn failed(&self) -> usize {
        self.failed
    }

    /// Trials that should be there and are not.
    pub const fn missing(&self) -> usize {
        self.missing
    }

    /// `5 of 8 trials failed`, `2 of 5 trials are missing`.
    pub fn text(&self) -> String {
        self.text_of("")
    }

    /// The same of trials of a side, such as ` of the base`.
    pub fn text_of(&self, side: &str) -> String {
        let Shortfall {
            failed,
            missing,
            of,
        } = *self;
        let is = if missing == 1 { "is" } else { "are" };
        match (failed, missing) {
            (_, 0) => format!("{failed} of {of} trials{side} failed"),
            (0, _) => format!("{missing} of {of} trials{side} {is} missing"),
            _ => format!("{failed} of {of} trials{side} failed and {missing} {is} missing"),
        }
    }
}

/// Whether anything of a trial never arrived.
pub(crate) fn loses(t: &TrialRecord) -> bool {
    t.counts.lost > 0 || t.distributions.values().any(|d| d.infinite > 0)
}

/// One way to take the trials of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Basis {
    /// The trials that the host disturbed count as well.
    pub with_disturbed: bool,
    /// Lost messages are left out, instead of counting as infinitely late.
    pub without_lost: bool,
}

impl Basis {
    /// The one that figures are shown of: by [`counted_trials`], with lost messages as infinitely late.
    pub const COUNTED: Basis = Basis {
        with_disturbed: false,
        without_lost: false,
    };

    /// [`Basis::COUNTED`], and those that say something else of an experiment.
    pub fn all(run: &Run, id: ExperimentId) -> Vec<Basis> {
        let all = |with_disturbed| {
            Basis {
                with_disturbed,
                ..Basis::COUNTED
            }
            .trials(run, id)
        };
        let is_left_out = all(true).len() > all(false).len();
        let has_lost = all(true).into_iter().any(loses);
        let mut bases = Vec::new();
        for (with_disturbed, without_lost) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            if (is_left_out || !with_disturbed) && (has_lost || !without_lost) {
                bases.push(Basis {
                    with_disturbed,
                    without_lost,
                });
            }
        }
        bases
    }

    /// Every pair of a basis of one side and one of the other, without that on which figures are shown.
    pub fn others(one: &[Basis], other: &[Basis]) -> Vec<(Basis, Basis)> {
        let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b)));
        pairs
            .filter(|pair| *pair != (Basis::COUNTED, Basis::COUNTED))
            .collect()
    }

    /// The completed trials that it takes, in order of their number.
    pub fn trials(self, run: &Run, id: ExperimentId) -> Vec<&TrialRecord> {
        if !self.with_disturbed {
            return counted_trials(run, id);
        }
        let mut completed: Vec<_> = run.trials_of(id).filter(|t| is_completed(t)).collect();
        completed.sort_by_key(|t| t.id.number);
        completed
    }

    /// In words that follow "not": `with the trials that the host disturbed`.
    pub const fn phrase(self) -> &'static str {
        match (self.with_disturbed, self.without_lost) {
            (true, false) => "with the trials that the host disturbed",
            (false, true) => "without the lost messages",
            (true, true) => "with the trials that the host disturbed and without the lost messages",
            (false, false) => "by the trials that count",
        }
    }
}
