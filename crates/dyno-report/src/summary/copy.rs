//! One of several copies of a probe or an exchange.

use super::spread::Spread;

/// One copy of a probe or an exchange over the counted trials. Times are in nanoseconds, infinite where messages were
/// lost.
#[derive(Debug, Clone, PartialEq)]
pub struct CopySummary {
    /// The CPUs that it was on.
    pub cpus: Vec<u32>,
    /// Its median in each trial.
    pub p50_ns: Spread,
    /// Its 99 % quantile in each trial.
    pub p99_ns: Spread,
    /// Dyno's own cost, which is taken out of each sample, in each trial.
    pub own_ns: Spread,
    /// Bytes per second, where bytes are moved.
    pub bytes_per_s: Option<Spread>,
    /// The share of a CPU that a spinning thread had, 0 to 1.
    pub share: Option<Spread>,
    /// The thread's part of what all spinning threads of its trial did, 0 to 1: fairness, by no clock.
    pub work: Option<Spread>,
    /// Core cycles and instructions of one piece on all sides together: medians over the trials, where every trial
    /// could read them.
    pub core: Option<[f64; 2]>,
}
