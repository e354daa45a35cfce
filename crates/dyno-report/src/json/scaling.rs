//! One element of `scaling` in the JSON interface.

use crate::number::{exported, latency_ns};
use crate::summary::ScalingSummary;
use dyno_stats::Latency;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Scaling<'a> {
    experiment: &'a str,
    stack: &'a str,
    wait: &'static str,
    placement: &'static str,
    topology: String,
    ids: Vec<u32>,
    sizes: u64,
    offered: u64,
    received: u64,
    s_ms_per_mb: Option<Slope>,
    intercept_ns: Option<f64>,
    reason: Option<&'a str>,
}

/// An end may be negative where the points say little, and is null where it is infinite.
#[derive(Serialize)]
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
