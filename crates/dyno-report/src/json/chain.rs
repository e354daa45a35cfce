//! The way through a chain in the JSON interface.

use super::figures::MeanJson;
use crate::number::exported;
use crate::summary::{
    AddedSummary, ChainSummary, DaemonCost, GatewaySummary, LegSummary, PartSummary,
};
use dyno_model::chain::Stage;
use serde::Serialize;

/// The way through a chain.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "chain"))]
pub(super) struct ChainJson<'a> {
    /// Messages of all trials whose whole way is known.
    messages: u64,
    /// The smallest part of any of them: below zero by more than the bounds of the clocks only where notes of different
    /// messages were put together. Null where there is none.
    least_ns: Option<i64>,
    /// The most by which the parts of any of them miss its whole time. Null where it is not known, as of an older Dyno's runs.
    residual_ns: Option<u64>,
    /// In the order of the way, there and back. They add up to the whole of each message.
    parts: Vec<PartJson<'a>>,
    /// Programs of others that bridge legs in the place of a gateway, in the order of the way. Such a chain has no parts: what
    /// a program takes is `added`, the chain less its legs alone.
    programs: &'a [String],
    /// What went over each leg, in the order of the way.
    legs: &'a [LegSummary],
    /// What the gateways did with messages of the window.
    gateways: Vec<GatewayJson>,
    /// What each process of Dyno's cost, gateways apart. They are a part of `cost`.
    processes: &'a [DaemonCost],
    /// The chain less the sum of its legs alone, paired by trial. Null without `dyno run --legs`, and where fewer than two
    /// trials of each are undisturbed, a p50 is infinite, or the load makes a queue of its own.
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
            legs: &c.legs,
            gateways: c.gateways.iter().map(Into::into).collect(),
            processes: &c.processes,
            added: c.added.as_ref().map(Into::into),
        }
    }
}

/// One part.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "part"))]
struct PartJson<'a> {
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::Place"))]
    stage: Stage,
    /// The stack of a leg.
    stack: Option<&'a str>,
    /// On the way back.
    back: bool,
    mean_ns: MeanJson,
    p50_ns: MeanJson,
    /// Null where a trial has too few messages.
    p90_ns: Option<MeanJson>,
    /// Null where a trial has too few messages.
    p99_ns: Option<MeanJson>,
    /// Its share in the mean of the whole, 0 to 1.
    share: f64,
    /// Its mean over the tenth of the messages whose whole time is nearest to the median.
    at_median_ns: f64,
    /// Its mean over the hundredth of the messages that took longest; null where a trial has fewer than a hundred.
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

/// One gateway in one direction.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "gateway"))]
struct GatewayJson {
    /// From 1.
    number: u16,
    /// On the way back.
    back: bool,
    /// Messages that it took.
    taken: u64,
    /// Messages that the next leg accepted.
    sent: u64,
    /// Messages that the next leg refused.
    refused: u64,
    /// Messages that the gateway's own queue lost.
    dropped: u64,
    /// Copies of a payload into memory of the gateway's own.
    copied: u64,
    /// The next leg lends the memory that is written; where not, its library or the kernel copies once more.
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

/// The difference.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "added"))]
struct AddedJson {
    /// The metric that it is of.
    metric: &'static str,
    /// Trials that the chain and all its legs have.
    trials: usize,
    /// Of the medians, which do not add up exactly.
    p50_ns: MeanJson,
    /// Of the means.
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
