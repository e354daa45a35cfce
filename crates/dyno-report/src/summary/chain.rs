//! The way through a chain: its parts, legs, gateways and processes, and what it adds to its legs. The JSON interface has it as it
//! is here.

use super::daemon::DaemonCost;
#[cfg(feature = "schema")]
use crate::estimates::{MeanJson, Place};
use crate::estimates::{mean, mean_if_known};
use crate::number::{nine, nine_if_known};
use dyno_model::Metric;
use dyno_model::chain::Stage;
use dyno_stats::Mean;
use serde::Serialize;

/// The way through a chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "chain"))]
pub struct ChainSummary {
    /// Messages of all trials whose whole way is known.
    pub messages: u64,
    /// The smallest part of any of them: below zero by more than the bounds of the clocks only where notes of different
    /// messages were put together. Null where there is none.
    pub least_ns: Option<i64>,
    /// The most by which the parts of any of them miss its whole time. Null where it is not known, as of an older Dyno's runs.
    pub residual_ns: Option<u64>,
    /// In the order of the way, there and back. They add up to the whole of each message.
    pub parts: Vec<PartSummary>,
    /// Programs of others that bridge legs in the place of a gateway, in the order of the way. Such a chain has no parts: what
    /// a program takes is `added`, the chain less its legs alone.
    pub programs: Vec<String>,
    /// What went over each leg, in the order of the way.
    pub legs: Vec<LegSummary>,
    /// What the gateways did with messages of the window.
    pub gateways: Vec<GatewaySummary>,
    /// What each process of Dyno's cost, gateways apart. They are a part of `cost`.
    pub processes: Vec<DaemonCost>,
    /// The chain less the sum of its legs alone, paired by trial. Null without `dyno run --legs`, and where fewer than two
    /// trials of each are undisturbed, a p50 is infinite, or the load makes a queue of its own.
    pub added: Option<AddedSummary>,
}

/// One part.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "part"))]
pub struct PartSummary {
    #[allow(missing_docs, reason = "its schema stands in this one's")]
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "Place"))]
    pub stage: Stage,
    /// The stack of a leg.
    pub stack: Option<String>,
    /// On the way back.
    pub back: bool,
    #[allow(missing_docs, reason = "the name says it")]
    #[serde(rename = "mean_ns", serialize_with = "mean")]
    #[cfg_attr(feature = "schema", schemars(with = "MeanJson"))]
    pub mean: Mean,
    #[allow(missing_docs, reason = "the name says it")]
    #[serde(rename = "p50_ns", serialize_with = "mean")]
    #[cfg_attr(feature = "schema", schemars(with = "MeanJson"))]
    pub p50: Mean,
    /// Null where a trial has too few messages.
    #[serde(rename = "p90_ns", serialize_with = "mean_if_known")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<MeanJson>"))]
    pub p90: Option<Mean>,
    /// Null where a trial has too few messages.
    #[serde(rename = "p99_ns", serialize_with = "mean_if_known")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<MeanJson>"))]
    pub p99: Option<Mean>,
    /// Its share in the mean of the whole, 0 to 1.
    #[serde(serialize_with = "nine")]
    pub share: f64,
    /// Its mean over the tenth of the messages whose whole time is nearest to the median.
    #[serde(rename = "at_median_ns", serialize_with = "nine")]
    pub at_median: f64,
    /// Its mean over the hundredth of the messages that took longest; null where a trial has fewer than a hundred.
    #[serde(rename = "in_tail_ns", serialize_with = "nine_if_known")]
    pub in_tail: Option<f64>,
}

/// The messages of one leg, all trials together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "leg"))]
pub struct LegSummary {
    /// From 1.
    pub number: u16,
    /// Its stack.
    pub stack: String,
    /// On the way back.
    pub back: bool,
    /// Messages that it accepted, one for each receiver.
    pub sent: u64,
    /// Those that came to its other end; a duplicate counts as well.
    pub arrived: u64,
    /// The difference, 0 where more arrived than were sent.
    pub lost: u64,
}

/// The messages of one direction in a gateway, all trials together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "gateway"))]
pub struct GatewaySummary {
    /// From 1.
    pub number: u16,
    /// On the way back.
    pub back: bool,
    /// Messages that it took.
    pub taken: u64,
    /// Messages that the next leg accepted.
    pub sent: u64,
    /// Messages that the next leg refused.
    pub refused: u64,
    /// Messages that the gateway's own queue lost.
    pub dropped: u64,
    /// Copies of a payload into memory of the gateway's own.
    pub copied: u64,
    /// The next leg lends the memory that is written; where not, its library or the kernel copies once more.
    pub lent: bool,
}

/// The difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "added"))]
pub struct AddedSummary {
    /// The metric that it is of.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub metric: Metric,
    /// Trials that the chain and all its legs have.
    pub trials: usize,
    /// Of the medians, which do not add up exactly.
    #[serde(rename = "p50_ns", serialize_with = "mean")]
    #[cfg_attr(feature = "schema", schemars(with = "MeanJson"))]
    pub p50: Mean,
    /// Of the means.
    #[serde(rename = "mean_ns", serialize_with = "mean")]
    #[cfg_attr(feature = "schema", schemars(with = "MeanJson"))]
    pub mean: Mean,
}
