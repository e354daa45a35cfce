//! One metric of an experiment, over its counted trials.

use super::spread::Spread;
use dyno_stats::{LogBins, Quantile};

/// The quantiles of every metric: their names in JSON and CSV, in tables, and their ranks.
pub const QUANTILES: [(&str, &str, f64); 4] = [
    ("p50", "p50", 0.5),
    ("p90", "p90", 0.9),
    ("p99", "p99", 0.99),
    ("p999", "p99.9", 0.999),
];

/// One latency metric over all counted trials of an experiment, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSummary {
    /// Finite samples.
    pub n: u64,
    /// Messages that never arrived: infinitely late, in every quantile.
    pub infinite: u64,
    /// Samples above the histogram's upper bound, recorded as that bound.
    pub saturated: u64,
    /// The smallest finite sample.
    pub min: Option<u64>,
    /// The mean of the finite samples: that of the trials' own means, so that each trial weighs the same.
    pub mean: Option<f64>,
    /// The largest finite sample.
    pub max: Option<u64>,
    /// The trials' own means; `None` where no trial has a finite sample.
    pub means: Option<Spread>,
    /// In the order of [`QUANTILES`].
    pub quantiles: [Quantile; 4],
    /// Its finite samples over a logarithmic scale; `None` where there is none.
    pub shape: Option<LogBins>,
}
