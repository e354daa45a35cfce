//! One of several copies of a probe or an exchange.

use super::spread::Spread;
use crate::number::nine;
use serde::{Serialize, Serializer};

/// One copy of a probe or an exchange over the counted trials. Times are in nanoseconds, infinite where messages were
/// lost.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "copy"))]
pub struct CopySummary {
    /// The CPUs that it was on.
    pub cpus: Vec<u32>,
    /// Its median in each trial.
    pub p50_ns: Spread,
    /// Its 99 % quantile in each trial.
    pub p99_ns: Spread,
    /// Dyno's own cost, which is taken out of each sample, in each trial.
    pub own_ns: Spread,
    /// Bytes per second; absent where no bytes are moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<Spread>,
    /// The share of a CPU that a spinning thread had, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Spread>,
    /// The thread's part of what all spinning threads of its trial did, 0 to 1: fairness, by no clock.
    #[serde(skip)]
    pub work: Option<Spread>,
    /// Core cycles and instructions of one piece on all sides together: medians over the trials, where every trial
    /// could read them.
    #[serde(flatten, serialize_with = "core")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Core>"))]
    pub core: Option<[f64; 2]>,
}

/// What the processor counted.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Core {
    /// Core cycles of one piece on all sides together; absent where the machine does not let them be read.
    #[serde(serialize_with = "nine")]
    core_cycles: f64,
    /// Instructions of the same.
    #[serde(serialize_with = "nine")]
    instructions: f64,
}

fn core<S: Serializer>(core: &Option<[f64; 2]>, out: S) -> Result<S::Ok, S::Error> {
    let named = |[core_cycles, instructions]: [f64; 2]| Core {
        core_cycles,
        instructions,
    };
    core.map(named).serialize(out)
}
