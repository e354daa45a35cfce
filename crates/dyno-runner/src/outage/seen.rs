//! What the figures of a trial with faults are worked out of.

use dyno_model::fault::{FaultEvent, FaultMade};
use dyno_model::{Experiment, Graph, Nanos};

/// What was seen of a trial with faults. All instants are on the run's clock.
pub(crate) struct Seen<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) graph: &'a Graph,
    /// The seed of the trial, as in its assignments.
    pub(crate) seed: u64,
    /// When the warm-up began: `at` of [`Command::Start`](dyno_model::protocol::Command::Start).
    pub(crate) start: Nanos,
    /// When the window began and ended.
    pub(crate) window: [Nanos; 2],
    /// The faults as they were made, in order of time.
    pub(crate) made: &'a [FaultMade],
    /// Participants whose own process was struck.
    pub(crate) struck: &'a [u16],
    /// Of all logs, in any order.
    pub(crate) events: Vec<FaultEvent>,
}
