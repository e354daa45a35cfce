//! What bears on whether figures hold, in the JSON interface.

use super::figures::SpreadJson;
use crate::evidence::{
    CovariateSummary, HostSummary, HostTail, ModeGroup, ModesSummary, PrecisionSummary,
};
use crate::number::exported;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct ModesJson<'a> {
    low_ns: f64,
    /// `null`: infinite.
    high_ns: Option<f64>,
    high_share: f64,
    cause: Option<&'static str>,
    covariates: Vec<CovariateJson<'a>>,
}

#[derive(Serialize)]
struct CovariateJson<'a> {
    covariate: &'static str,
    strength: f64,
    p: f64,
    groups: Vec<GroupJson<'a>>,
}

#[derive(Serialize)]
struct GroupJson<'a> {
    label: &'a str,
    low: u64,
    high: u64,
}

impl<'a> From<&'a ModesSummary> for ModesJson<'a> {
    fn from(m: &'a ModesSummary) -> Self {
        ModesJson {
            low_ns: exported(m.low_ns),
            high_ns: finite(m.high_ns),
            high_share: exported(m.high_share),
            cause: m.cause().map(|c| c.covariate.as_str()),
            covariates: m.covariates.iter().map(Into::into).collect(),
        }
    }
}

impl<'a> From<&'a CovariateSummary> for CovariateJson<'a> {
    fn from(c: &'a CovariateSummary) -> Self {
        let group = |g: &'a ModeGroup| GroupJson {
            label: &g.label,
            low: g.low,
            high: g.high,
        };
        CovariateJson {
            covariate: c.covariate.as_str(),
            strength: exported(c.strength),
            p: exported(c.p),
            groups: c.groups.iter().map(group).collect(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct HostJson {
    foreign_share: Option<SpreadJson>,
    kernel_share: Option<SpreadJson>,
    stolen_share: Option<SpreadJson>,
    gap_share: Option<SpreadJson>,
    tail: TailsJson,
}

/// In the order of [`crate::QUANTILES`], without p50.
#[derive(Serialize)]
struct TailsJson {
    p90: Option<TailJson>,
    p99: Option<TailJson>,
    p999: Option<TailJson>,
}

#[derive(Serialize)]
struct TailJson {
    own_ns: f64,
    explained: Option<f64>,
}

impl From<&HostTail> for TailJson {
    fn from(t: &HostTail) -> TailJson {
        TailJson {
            own_ns: exported(t.own_ns),
            explained: t.explained.map(exported),
        }
    }
}

impl From<&HostSummary> for HostJson {
    fn from(h: &HostSummary) -> HostJson {
        let [_, p90, p99, p999] = &h.tail;
        let tail = |t: &Option<HostTail>| t.as_ref().map(Into::into);
        HostJson {
            foreign_share: h.foreign_share.map(Into::into),
            kernel_share: h.kernel_share.map(Into::into),
            stolen_share: h.stolen_share.map(Into::into),
            gap_share: h.gap_share.map(Into::into),
            tail: TailsJson {
                p90: tail(p90),
                p99: tail(p99),
                p999: tail(p999),
            },
        }
    }
}

#[derive(Serialize)]
pub(super) struct PrecisionJson {
    metric: &'static str,
    quantile: f64,
    of: &'static str,
    asked: f64,
    /// `null`: no interval, or one without a bound.
    got: Option<f64>,
    reached: bool,
}

impl From<&PrecisionSummary> for PrecisionJson {
    fn from(p: &PrecisionSummary) -> PrecisionJson {
        PrecisionJson {
            metric: p.metric.as_str(),
            quantile: p.quantile,
            of: match p.of_ratio {
                true => "ratio-to-base",
                false => "quantile",
            },
            asked: p.asked,
            got: p.got.and_then(finite),
            reached: p.reached(),
        }
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(exported(value)).filter(|v| v.is_finite())
}
