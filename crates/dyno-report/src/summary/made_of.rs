//! What a round trip is made of, at the cost of its parts.

use dyno_model::ExperimentId;

/// The parts of an experiment's round trip, at the cost of a probe's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MadeOf {
    /// Wake-ups of one round trip.
    pub wake_ups: f64,
    /// What one costs here, in nanoseconds: the p50 of a probe. The call that wakes and the one that slept are in it.
    pub wake_up_ns: f64,
    /// The experiment of that probe.
    pub probe: ExperimentId,
    /// System calls and copies, where they were counted and the run has probes for them.
    pub further: Option<Further>,
    /// All of it over the p50 of the round trip.
    pub share: f64,
}

/// System calls and copies of one round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Further {
    /// System calls beside the two of each wake-up.
    pub calls: f64,
    /// What the cheapest costs here, in nanoseconds: the least that one does.
    pub call_ns: f64,
    /// Calls that carry bytes, each taken for a copy of the payload.
    pub copies: f64,
    /// What a copy of the payload costs here, in nanoseconds.
    pub copy_ns: f64,
}

impl MadeOf {
    /// All of it in nanoseconds.
    pub fn ns(&self) -> f64 {
        let further = self.further;
        let further = further.map_or(0.0, |f| f.calls * f.call_ns + f.copies * f.copy_ns);
        self.wake_ups * self.wake_up_ns + further
    }
}
