//! The way through a chain in the JSON interface.

use super::figures::DaemonJson;
use crate::number::exported;
use crate::summary::{AddedSummary, ChainSummary, GatewaySummary, LegSummary, PartSummary};
use dyno_model::chain::Stage;
use dyno_stats::Mean;
use serde::Serialize;

/// A mean over trials with its interval.
#[derive(Serialize)]
struct MeanJson {
    value: f64,
    lo: Option<f64>,
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

#[derive(Serialize)]
pub(super) struct ChainJson<'a> {
    messages: u64,
    least_ns: Option<i64>,
    residual_ns: Option<u64>,
    parts: Vec<PartJson<'a>>,
    programs: &'a [String],
    legs: Vec<LegJson<'a>>,
    gateways: Vec<GatewayJson>,
    processes: Vec<DaemonJson<'a>>,
    added: Option<AddedJson>,
}

impl<'a> From<&'a ChainSummary> for ChainJson<'a> {
    fn from(c: &'a ChainSummary) -> ChainJson<'a> {
        ChainJson {
            messages: c.messages,
            least_ns: c.least_ns,
            residual_ns: c.residual_ns,
            parts: c.parts.iter().map(Into::into).collect(),
            programs: &c.programs,
            legs: c.legs.iter().map(Into::into).collect(),
            gateways: c.gateways.iter().map(Into::into).collect(),
            processes: c.processes.iter().map(Into::into).collect(),
            added: c.added.as_ref().map(Into::into),
        }
    }
}

#[derive(Serialize)]
struct PartJson<'a> {
    #[serde(flatten)]
    stage: Stage,
    stack: Option<&'a str>,
    back: bool,
    mean_ns: MeanJson,
    p50_ns: MeanJson,
    p90_ns: Option<MeanJson>,
    p99_ns: Option<MeanJson>,
    share: f64,
    at_median_ns: f64,
    in_tail_ns: Option<f64>,
}

impl<'a> From<&'a PartSummary> for PartJson<'a> {
    fn from(p: &'a PartSummary) -> PartJson<'a> {
        PartJson {
            stage: p.stage,
            stack: p.stack.as_deref(),
            back: p.back,
            mean_ns: (&p.mean).into(),
            p50_ns: (&p.p50).into(),
            p90_ns: p.p90.as_ref().map(Into::into),
            p99_ns: p.p99.as_ref().map(Into::into),
            share: exported(p.share),
            at_median_ns: exported(p.at_median),
            in_tail_ns: p.in_tail.map(exported),
        }
    }
}

#[derive(Serialize)]
struct LegJson<'a> {
    number: u16,
    stack: &'a str,
    back: bool,
    sent: u64,
    arrived: u64,
    lost: u64,
}

impl<'a> From<&'a LegSummary> for LegJson<'a> {
    fn from(leg: &'a LegSummary) -> LegJson<'a> {
        LegJson {
            number: leg.number,
            stack: &leg.stack,
            back: leg.back,
            sent: leg.sent,
            arrived: leg.arrived,
            lost: leg.lost(),
        }
    }
}

#[derive(Serialize)]
struct GatewayJson {
    number: u16,
    back: bool,
    taken: u64,
    sent: u64,
    refused: u64,
    dropped: u64,
    copied: u64,
    lent: bool,
}

impl From<&GatewaySummary> for GatewayJson {
    fn from(g: &GatewaySummary) -> GatewayJson {
        GatewayJson {
            number: g.number,
            back: g.back,
            taken: g.counts.taken,
            sent: g.counts.sent,
            refused: g.counts.refused,
            dropped: g.counts.dropped,
            copied: g.counts.copied,
            lent: g.counts.lent,
        }
    }
}

#[derive(Serialize)]
struct AddedJson {
    metric: &'static str,
    trials: usize,
    p50_ns: MeanJson,
    mean_ns: MeanJson,
}

impl From<&AddedSummary> for AddedJson {
    fn from(a: &AddedSummary) -> AddedJson {
        AddedJson {
            metric: a.metric.as_str(),
            trials: a.p50.n,
            p50_ns: (&a.p50).into(),
            mean_ns: (&a.mean).into(),
        }
    }
}
