//! The clocks of other hosts, as far as a trial knew them.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// How well the clock of a host is known in one trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostClock {
    /// The host's name in the testbed.
    pub host: String,
    /// How much faster its counter runs than its nominal rate says, against the run's clock, in parts
    /// per million.
    pub drift_ppm: f64,
    /// Its offset as it was estimated anew after the window, on the run's clock as it was given
    /// before it, in nanoseconds: what the translation was wrong by, within `bound`.
    pub residual_ns: i64,
    /// A stamp of this host, on the run's clock, is wrong by at most this, however the delay is split
    /// between the two directions.
    pub bound: Nanos,
    /// Timestamped exchanges that this rests on.
    pub exchanges: u32,
    /// The shortest round trip among them.
    pub shortest: Nanos,
    /// What linuxptp says of the host's clock, where it runs there: port state, offset from the
    /// master, path delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptp: Option<String>,
}
