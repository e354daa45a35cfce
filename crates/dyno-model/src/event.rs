//! What the runner tells while it runs. Progress displays and reports are functions of these.

use crate::plan::TrialId;
use crate::record::TrialRecord;

/// One step of a run.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// A remark that the user should read.
    Warning(String),
    /// A result of a search, as text for people.
    Found(String),
    /// Trials are about to start.
    Started {
        /// Number of trials in this run, including those already stored.
        trials: usize,
        /// Those already stored (after `--resume`).
        stored: usize,
    },
    /// More trials follow than was known: for the precision asked for, or instead of disturbed ones.
    More {
        /// Number of trials in this run as known now.
        trials: usize,
    },
    /// A trial begins.
    TrialStarted {
        /// Which one.
        id: TrialId,
        /// `experiment on stack`, for people.
        label: String,
    },
    /// A trial has ended and is stored.
    TrialFinished(Box<TrialRecord>),
    /// No more trials follow.
    Finished {
        /// The user interrupted the run.
        interrupted: bool,
    },
}
