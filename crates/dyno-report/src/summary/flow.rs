//! The effect of the other flows of a trial on one flow.

use dyno_model::ExperimentId;
use dyno_stats::Estimate;

/// The quantiles of a flow beside the others over those by itself, with their names.
pub const AGAINST_ALONE: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];

/// The effect of the other flows on a flow: its headline metric beside them over that by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct AloneRatio {
    /// The experiment that measured it by itself.
    pub id: ExperimentId,
    /// In the order of [`AGAINST_ALONE`]; paired by trial. `None` where trials have too few messages for the quantile, there
    /// are fewer than two pairs, the host disturbed all trials, or the interval is wider than a factor of ten.
    pub ratios: [Option<Estimate>; AGAINST_ALONE.len()],
}

impl AloneRatio {
    /// Of trials that the host disturbed.
    pub(crate) const fn unknown(id: ExperimentId) -> AloneRatio {
        let ratios = [None; AGAINST_ALONE.len()];
        AloneRatio { id, ratios }
    }
}
