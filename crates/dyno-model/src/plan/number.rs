//! The numbers by which experiments and trials are known.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of an experiment within its run, counted from zero in the suite's order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ExperimentId(pub u32);

/// One trial: the experiment and the number of the trial within it, both from zero.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct TrialId {
    /// The experiment it replicates.
    pub experiment: ExperimentId,
    /// Its number within the experiment.
    pub number: u32,
}

impl fmt::Display for TrialId {
    /// `e0012-t003`: also the stem of the trial's file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{:04}-t{:03}", self.experiment.0, self.number)
    }
}
