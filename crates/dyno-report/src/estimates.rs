//! Fields that many elements share: an estimate, and a mean.

use crate::number::{exported, latency_ns};
use dyno_stats::{Estimate, Latency, Mean};
use serde::{Serialize, Serializer};

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
pub(crate) struct EstimateJson {
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
pub(crate) struct MeanJson {
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

/// Writes a mean with its interval.
pub(crate) fn mean<S: Serializer>(mean: &Mean, out: S) -> Result<S::Ok, S::Error> {
    MeanJson::from(mean).serialize(out)
}

/// Writes a mean that may be unknown.
pub(crate) fn mean_if_known<S: Serializer>(mean: &Option<Mean>, out: S) -> Result<S::Ok, S::Error> {
    mean.as_ref().map(MeanJson::from).serialize(out)
}

/// The schema of a stage of a chain.
#[cfg(feature = "schema")]
pub(crate) struct Place;

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Place {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "place".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "required": ["stage"],
            "properties": {
                "stage": {"description": "Where the message is.", "enum": ["leg", "gateway", "echo"]},
                "number": {"description": "From 1; absent at the echo.", "type": "integer", "minimum": 0},
            },
        })
    }
}
