//! What many elements hold: an estimate, a spread over trials, the cost of a process.

use crate::number::{exported, latency_ns};
use crate::summary::{DaemonCost, Spread};
use dyno_stats::{Estimate, Latency};
use serde::Serialize;

/// `null` stands for infinity; `infinite` says so of the value itself.
#[derive(Serialize)]
pub(super) struct EstimateJson {
    value: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
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

/// Over the counted trials.
#[derive(Serialize)]
pub(super) struct SpreadJson {
    median: f64,
    min: f64,
    max: f64,
}

impl From<Spread> for SpreadJson {
    fn from(s: Spread) -> SpreadJson {
        SpreadJson {
            median: exported(s.median),
            min: exported(s.min),
            max: exported(s.max),
        }
    }
}

/// The part of one process.
#[derive(Serialize)]
pub(super) struct DaemonJson<'a> {
    name: &'a str,
    cpu_ns: SpreadJson,
    cpu_share: Option<SpreadJson>,
    cpu_ns_per_message: Option<SpreadJson>,
    switches: SpreadJson,
    pss_bytes: SpreadJson,
    peak_rss_bytes: SpreadJson,
}

impl<'a> From<&'a DaemonCost> for DaemonJson<'a> {
    fn from(d: &'a DaemonCost) -> Self {
        DaemonJson {
            name: d.label.strip_prefix("daemon ").unwrap_or(&d.label),
            cpu_ns: d.cpu_ns.into(),
            cpu_share: d.cpu_share.map(Into::into),
            cpu_ns_per_message: d.cpu_ns_per_message.map(Into::into),
            switches: d.switches.into(),
            pss_bytes: d.pss_bytes.into(),
            peak_rss_bytes: d.peak_rss_bytes.into(),
        }
    }
}
