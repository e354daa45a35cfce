//! Fields that many elements share: an estimate, and a mean.

use crate::number::{exported, latency_ns};
use dyno_stats::{Estimate, Latency, Mean};
use serde::Serialize;

/// A value with its 95 % interval.
#[derive(Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(
        rename = "estimate",
        extend(
            "if" = {"properties": {"infinite": {"const": true}}},
            "then" = {"properties": {"value": {"type": "null"}, "hi": {"type": "null"}}},
            "else" = {"properties": {"value": {"type": "number"}, "lo": {"type": "number"}}}
        )
    )
)]
pub(super) struct EstimateJson {
    /// Null: infinite.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    value: Option<f64>,
    /// Lower end of the 95 % interval; null: infinite.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    lo: Option<f64>,
    /// Upper end of the 95 % interval; null: infinite.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    hi: Option<f64>,
    /// The value is infinite.
    infinite: bool,
}

impl From<&Estimate> for EstimateJson {
    fn from(e: &Estimate) -> EstimateJson {
        let finite = |l: &Latency| Some(exported(latency_ns(l))).filter(|v| v.is_finite());
        EstimateJson {
            value: finite(&e.value),
            lo: finite(&e.lo),
            hi: finite(&e.hi),
            infinite: finite(&e.value).is_none(),
        }
    }
}

/// The mean of the trials' own figures, which may be below zero.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "mean"))]
pub(super) struct MeanJson {
    /// The mean.
    value: f64,
    /// The lower end of Student's 95 % interval over trials; null of a single trial.
    lo: Option<f64>,
    /// The upper end; null of a single trial.
    hi: Option<f64>,
}

impl From<&Mean> for MeanJson {
    fn from(m: &Mean) -> MeanJson {
        MeanJson {
            value: exported(m.value),
            lo: m.interval.map(|(lo, _)| exported(lo)),
            hi: m.interval.map(|(_, hi)| exported(hi)),
        }
    }
}
