//! The way through a chain: its parts, legs, gateways and processes, and what it adds to its legs.

use super::daemon::DaemonCost;
use dyno_model::Metric;
use dyno_model::chain::{Forwarded, Stage};
use dyno_stats::Mean;
use serde::Serialize;

/// A chain's way over the counted trials. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainSummary {
    /// Messages whose whole way is known.
    pub messages: u64,
    /// The smallest part of any of them; `None` where there is none.
    pub least_ns: Option<i64>,
    /// The most by which the parts of any of them miss its whole time; `None` where that is not known.
    pub residual_ns: Option<u64>,
    /// In the order of the way, there and back; none where a program bridges legs.
    pub parts: Vec<PartSummary>,
    /// The programs of others that bridge legs, in the order of the way.
    pub programs: Vec<String>,
    /// In the same order.
    pub legs: Vec<LegSummary>,
    /// What gateways did, by their number; there, then back.
    pub gateways: Vec<GatewaySummary>,
    /// What each process of Dyno's cost, gateways by their number. They are a part of the experiment's cost.
    pub processes: Vec<DaemonCost>,
    /// What the chain adds to its legs; `None` where these were not measured alone.
    pub added: Option<AddedSummary>,
}

/// One part of the way. Each figure is the mean of the trials' own.
#[derive(Debug, Clone, PartialEq)]
pub struct PartSummary {
    /// Where.
    pub stage: Stage,
    /// The stack of a leg.
    pub stack: Option<String>,
    /// On the way back.
    pub back: bool,
    /// Of all messages.
    pub mean: Mean,
    /// Half of the messages take no longer.
    pub p50: Mean,
    /// Nine of ten; `None` where a trial has too few messages for it.
    pub p90: Option<Mean>,
    /// 99 of 100; likewise.
    pub p99: Option<Mean>,
    /// Its share in the mean of the whole, 0 to 1.
    pub share: f64,
    /// Of the tenth of the messages whose whole time is nearest to the median.
    pub at_median: f64,
    /// Of the hundredth that took longest; `None` where a trial has fewer than a hundred messages.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewaySummary {
    /// From 1.
    pub number: u16,
    /// On the way back.
    pub back: bool,
    /// What it counted; `gateway`, `from` and `onto` are of the first of its channels.
    pub counts: Forwarded,
}

/// The chain less the sum of its legs alone, paired by trial, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedSummary {
    /// The metric that it is of.
    pub metric: Metric,
    /// The difference of the medians. Medians do not add up exactly; means do.
    pub p50: Mean,
    /// The difference of the means.
    pub mean: Mean,
}
