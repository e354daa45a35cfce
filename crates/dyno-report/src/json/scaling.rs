//! One element of `scaling` in the JSON interface.

use crate::number::{exported, latency_ns};
use crate::summary::ScalingSummary;
use dyno_stats::Latency;
use serde::Serialize;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "scaling"))]
pub(super) struct Scaling<'a> {
    experiment: &'a str,
    stack: &'a str,
    wait: &'static str,
    placement: &'static str,
    topology: String,
    /// The experiments, one for each size.
    ids: Vec<u32>,
    /// Different sizes.
    sizes: u64,
    /// Messages offered, all sizes together.
    offered: u64,
    /// Messages that arrived intact.
    received: u64,
    /// The scaling factor S, the slope of a line through the median service times of all trials, in milliseconds per MB (10^6
    /// bytes), with its 95 % interval. Null: there is no line, and `reason` says why.
    s_ms_per_mb: Option<Slope>,
    /// Service time of a message without payload, as the line has it.
    intercept_ns: Option<f64>,
    /// Why there is no line.
    reason: Option<&'a str>,
}

/// An end may be negative where the points say little, and is null where it is infinite.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Slope {
    value: f64,
    lo: Option<f64>,
    hi: Option<f64>,
}

pub(super) fn scaling(s: &ScalingSummary) -> Scaling<'_> {
    let end = |l: &Latency| Some(exported(latency_ns(l))).filter(|v| v.is_finite());
    let e = &s.first;
    Scaling {
        experiment: &e.name,
        stack: &e.stack,
        wait: e.wait.as_str(),
        placement: e.placement.as_str(),
        topology: e.topology.to_string(),
        ids: s.experiments.iter().map(|id| id.0).collect(),
        sizes: s.sizes,
        offered: s.offered,
        received: s.received,
        s_ms_per_mb: s.fit.as_ref().and_then(|fit| {
            Some(Slope {
                value: end(&fit.slope.value)?,
                lo: end(&fit.slope.lo),
                hi: end(&fit.slope.hi),
            })
        }),
        intercept_ns: s.fit.as_ref().map(|fit| exported(fit.intercept)),
        reason: s.reason.as_deref(),
    }
}
