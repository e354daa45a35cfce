//! A latency metric in the JSON interface.

use crate::estimates::EstimateJson;
use crate::number::{exported, nine_if_known};
use crate::summary::{MetricSummary, QUANTILES};
use dyno_stats::{Bootstrap, Latency, Quantile, needed};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// One latency metric over all trials that count.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "metric"))]
pub(super) struct MetricJson<'a> {
    /// Finite samples.
    n: u64,
    /// Messages that never arrived: infinitely late, in every quantile.
    infinite: u64,
    /// Samples recorded as the histogram's upper bound.
    saturated: u64,
    /// Smallest finite sample.
    min: Option<u64>,
    /// Mean of the finite samples.
    #[serde(serialize_with = "nine_if_known")]
    mean: Option<f64>,
    /// Largest finite sample.
    max: Option<u64>,
    #[serde(flatten)]
    quantiles: Quantiles<'a>,
}

impl<'a> From<&'a MetricSummary> for MetricJson<'a> {
    fn from(m: &'a MetricSummary) -> MetricJson<'a> {
        MetricJson {
            n: m.n,
            infinite: m.infinite,
            saturated: m.saturated,
            min: m.min,
            mean: m.mean,
            max: m.max,
            quantiles: Quantiles(m),
        }
    }
}

/// Each quantile with its interval, or `null` and beside it why.
pub(super) struct Quantiles<'a>(&'a MetricSummary);

impl Serialize for Quantiles<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        for (i, (name, _, _)) in QUANTILES.iter().enumerate() {
            let estimate = self.0.quantiles[i].estimate().map(EstimateJson::from);
            map.serialize_entry(name, &estimate)?;
            if let Some(refused) = refused(i, self.0) {
                map.serialize_entry(&format!("{name}_refused"), &refused)?;
            }
        }
        map.end()
    }
}

/// Too few samples for a 95 % interval, or an interval too wide for a figure.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "refusal"))]
pub(super) struct RefusedQuantile {
    /// Samples there are.
    have: u64,
    /// Samples that the quantile takes.
    need: u64,
    /// There where the samples suffice and the 95 % interval is wider than a factor of ten.
    #[serde(skip_serializing_if = "Option::is_none")]
    wide: Option<WideJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WideJson {
    /// The lower end of the interval.
    lo: Option<f64>,
    /// The upper end of the interval; null where it has none.
    hi: Option<f64>,
    /// Trials there are.
    trials: u64,
    /// Trials that it would take if further ones scatter alike; null where that cannot be told.
    need_trials: Option<u64>,
}

/// `i` is the quantile's place in [`QUANTILES`].
fn refused(i: usize, of: &MetricSummary) -> Option<RefusedQuantile> {
    let finite = |l: Latency| l.finite().map(exported);
    match of.quantiles[i] {
        Quantile::Estimated(_) => None,
        Quantile::Refused { have, need } => Some(RefusedQuantile {
            have,
            need,
            wide: None,
        }),
        Quantile::Wide {
            interval,
            trials,
            need,
        } => Some(RefusedQuantile {
            have: of.n + of.infinite,
            need: needed(QUANTILES[i].2, &Bootstrap::default()),
            wide: Some(WideJson {
                lo: finite(interval.lo),
                hi: finite(interval.hi),
                trials,
                need_trials: need,
            }),
        }),
    }
}
