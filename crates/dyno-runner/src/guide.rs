//! Who says which trials a run needs, one after the other: the plan's own schedule, or a search.

use dyno_model::event::RunEvent;
use dyno_model::{TrialId, TrialRecord};
use std::time::Duration;

/// Walks through a run's trials. What it says next depends on the trials that it has noted.
pub trait Guide {
    /// The next trial; nothing when no more is needed. `elapsed` is how long the run has taken.
    fn next(&mut self, elapsed: Duration) -> Option<TrialId>;

    /// Takes note of a trial that is done: the one that was due, or one that was stored before the run.
    fn note(&mut self, record: &TrialRecord);

    /// Trials of the run as far as it is known: those done and those that follow for certain.
    fn known(&self) -> usize;

    /// What should be told since the last call.
    fn news(&mut self) -> Vec<RunEvent>;
}
