//! The parts of a round trip, with their costs.

use crate::number::nine;
use dyno_model::ExperimentId;
use serde::Serialize;

/// The parts of an experiment's round trip, at the cost of a probe's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "made_of"))]
pub struct MadeOf {
    /// Wake-ups of one round trip, also of threads beside the message's way: counted with tracepoints, or, without
    /// `further`, voluntary context switches of all its processes, the median over the trials.
    #[serde(serialize_with = "nine")]
    pub wake_ups: f64,
    /// What one costs here, in nanoseconds: the p50 of a probe. The call that wakes and the one that slept are in it.
    #[serde(serialize_with = "nine")]
    pub wake_up_ns: f64,
    /// The experiment of that probe.
    #[cfg_attr(feature = "schema", schemars(with = "u32"))]
    pub probe: ExperimentId,
    /// System calls and copies; absent where they were not counted, or the run has no probes for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub further: Option<Further>,
    /// The sum in nanoseconds: each number times its cost.
    #[serde(serialize_with = "nine")]
    pub ns: f64,
    /// The sum over the p50 of the round trip; above 1 where not everything stands in the message's way, or the probe's
    /// wake-ups took longer.
    #[serde(serialize_with = "nine")]
    pub share: f64,
}

/// System calls and copies of one round trip.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "further"))]
pub struct Further {
    /// System calls beside the two of each wake-up.
    #[serde(serialize_with = "nine")]
    pub calls: f64,
    /// What the cheapest costs here, in nanoseconds: the least that one does.
    #[serde(serialize_with = "nine")]
    pub call_ns: f64,
    /// Calls that carry bytes, each taken for a copy of the payload.
    #[serde(serialize_with = "nine")]
    pub copies: f64,
    /// What a copy of the payload costs here, in nanoseconds.
    #[serde(serialize_with = "nine")]
    pub copy_ns: f64,
}

impl Further {
    /// All of it in nanoseconds.
    pub(crate) fn ns(&self) -> f64 {
        self.calls * self.call_ns + self.copies * self.copy_ns
    }
}
