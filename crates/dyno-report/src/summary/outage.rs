//! Results of the faults of an experiment, over its counted trials.

use super::spread::Spread;
use dyno_model::fault::DetectedBy;
use dyno_model::plan::Timeout;
use dyno_model::{Fault, Nanos};
use serde::Serialize;

/// Results of the faults of an experiment. Its times are [metrics](super::ExperimentSummary::metrics).
#[derive(Debug, Clone, PartialEq)]
pub struct OutageSummary {
    /// The faults, in order of time.
    pub faults: Vec<Fault>,
    /// The times after which the stack takes a peer for gone or tries again, as its file states them.
    pub timeouts: Vec<Timeout>,
    /// Counted trials with a result of the faults at one receiver or more.
    pub trials: u64,
    /// Counted trials that tell nothing of it: no receiver was left, or nothing was recorded.
    pub untold: u64,
    /// Counted trials in which the end of a fault was not reached.
    pub unended: u64,
    /// Trials in which every receiver got a newer message.
    pub recovered: u64,
    /// Trials of these in which every message came once and in time to every receiver.
    pub undisturbed: u64,
    /// Receivers that never got a newer message, trial by trial.
    pub deaf_ends: Vec<DeafEnd>,
    /// Trials in which some receivers never got a newer message and others did.
    pub half_deaf: u64,
    /// Of each trial in which a receiver recovered and was not steady soon after that: the worst of its receivers.
    pub relapses: Vec<Relapse>,
    /// Trials by how the library first told of the fault, in the order of [`TOLD_BY`]; the last ones were never told.
    pub told: [u64; TOLD_BY.len()],
    /// Messages of a trial, all receivers together, that were due from the start of the fault on and never arrived.
    pub lost: Option<Spread>,
    /// Further copies of messages of a trial, all receivers together.
    pub repeated: Option<Spread>,
    /// Arrivals of a trial behind a later message, all receivers together.
    pub reordered: Option<Spread>,
    /// Messages that arrived within 10 ms of the first one after the silence: of a trial the receiver with the most.
    pub burst: Option<Spread>,
    /// The largest age among them in a trial, in nanoseconds.
    pub oldest_ns: Option<Spread>,
}

/// A receiver recovered, and no steady state began within one [proof](dyno_model::Outage::proof) of that. The worst is last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relapse {
    /// Nor is it known whether one would have: the window ended within two proofs of the recovery.
    Unknown,
    /// It began so long after the fault's end.
    Until(Nanos),
    /// None began in the rest of the window.
    ToTheEnd,
}

/// Every way in which a library tells of a fault, with its word in tables and exports; `None`: it does not tell.
pub const TOLD_BY: [(Option<DetectedBy>, &str); 5] = [
    (Some(DetectedBy::Peers), "peers"),
    (Some(DetectedBy::Send), "send"),
    (Some(DetectedBy::Take), "take"),
    (Some(DetectedBy::Call), "call"),
    (None, "never"),
];

/// A receiver that never got a newer message after the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "deaf_end"))]
pub struct DeafEnd {
    /// The number of the trial.
    pub trial: u32,
    /// The number of the participant.
    pub receiver: u16,
    /// The channel.
    pub channel: u16,
}

impl OutageSummary {
    /// Trials in which a receiver never got a newer message.
    pub const fn deaf(&self) -> u64 {
        self.trials - self.recovered
    }
}
