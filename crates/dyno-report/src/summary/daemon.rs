//! What one process, or all of one label, has of an experiment's cost.

use super::spread::Spread;
use serde::{Serialize, Serializer};

/// Memory before the agents of a trial and with them, each a spread over the counted trials that know it.
#[derive(Debug, Clone, PartialEq)]
pub struct MemorySummary {
    /// What has it, such as `monitor of guest` or `within guest`.
    pub label: String,
    /// Before the trial's agents were started, in bytes.
    pub at_rest_bytes: Spread,
    /// After the last arrival, with the agents still there, in bytes.
    pub in_use_bytes: Spread,
}

/// Cost of one daemon in one trial's window, each a spread over the counted trials that have it. It
/// is a part of the experiment's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "process"))]
pub struct DaemonCost {
    /// Its label, such as `daemon RouDi`; in JSON its name, as the stack file has it.
    #[serde(rename = "name", serialize_with = "name")]
    pub label: String,
    /// User and system time without Dyno's own pacing, in nanoseconds.
    pub cpu_ns: Spread,
    /// `cpu_ns` over the time that it was taken over, which is the window and the drain after it: 1 is one CPU kept busy.
    /// Where several processes have the label, over the longest of theirs. `None` where no trial knows that time.
    pub cpu_share: Option<Spread>,
    /// `cpu_ns` per message that arrived meanwhile; `None` where none arrived.
    pub cpu_ns_per_message: Option<Spread>,
    /// Context switches, of its own will and forced on it.
    pub switches: Spread,
    /// Proportional set size at the end of the window, in bytes.
    pub pss_bytes: Spread,
    /// Peak resident set size, in bytes.
    pub peak_rss_bytes: Spread,
}

fn name<S: Serializer>(label: &str, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(label.strip_prefix("daemon ").unwrap_or(label))
}
