//! Facts about the reliability of figures, in the JSON interface.

use crate::number::{nine, nine_if_known};
use crate::summary::{Covariate, CovariateSummary, ModesSummary, PrecisionSummary};
use serde::Serialize;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "modes"))]
pub(super) struct ModesJson<'a> {
    /// p50 of the fast mode.
    #[serde(serialize_with = "nine")]
    low_ns: f64,
    /// p50 of the slow mode; null: infinite.
    #[serde(serialize_with = "nine")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    high_ns: f64,
    /// Share of the blocks in the slow mode.
    #[serde(serialize_with = "nine")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    high_share: f64,
    /// The covariate that tells the modes apart: the strongest of those with strength of at least 0.5 and p below 0.05. Null:
    /// nothing that was recorded does.
    cause: Option<Covariate>,
    /// What was recorded and differs between blocks or trials, the strongest first.
    covariates: &'a [CovariateSummary],
}

impl<'a> From<&'a ModesSummary> for ModesJson<'a> {
    fn from(m: &'a ModesSummary) -> Self {
        ModesJson {
            low_ns: m.low_ns,
            high_ns: m.high_ns,
            high_share: m.high_share,
            cause: m.cause().map(|c| c.covariate),
            covariates: &m.covariates,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "precision"))]
pub(super) struct PrecisionJson {
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::MetricName"))]
    metric: &'static str,
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    quantile: f64,
    /// Whose interval it is: `quantile` or `ratio-to-base`.
    of: &'static str,
    /// Share of the value within which both ends of the interval were to be.
    asked: f64,
    /// Share within which they are; null where there is no interval, or one without a bound.
    #[serde(serialize_with = "nine_if_known")]
    got: Option<f64>,
    reached: bool,
}

impl From<&PrecisionSummary> for PrecisionJson {
    fn from(p: &PrecisionSummary) -> PrecisionJson {
        PrecisionJson {
            metric: p.metric.as_str(),
            quantile: p.quantile,
            of: if p.of_ratio {
                "ratio-to-base"
            } else {
                "quantile"
            },
            asked: p.asked,
            got: p.got,
            reached: p.reached(),
        }
    }
}
