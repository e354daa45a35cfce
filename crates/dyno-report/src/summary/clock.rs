//! How well the clock of a host is known.

use super::spread::Spread;
use serde::Serialize;

/// What is known of one host's clock, over the counted trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "host_clock"))]
pub struct HostClockSummary {
    /// The host's name in the testbed.
    pub host: String,
    /// The most by which a stamp of it is wrong, in nanoseconds.
    pub bound_ns: Spread,
    /// What it was wrong by after the window, as estimated then, in nanoseconds.
    pub residual_ns: Spread,
    /// How much faster its counter runs than its nominal rate, in parts per million.
    pub drift_ppm: Spread,
    /// The shortest exchange, in nanoseconds.
    pub shortest_ns: Spread,
    /// Exchanges of all trials together.
    pub exchanges: u64,
    /// What linuxptp said of it in the last trial, where it runs there.
    pub ptp: Option<String>,
}
