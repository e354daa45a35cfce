//! What can be required: the measures, and the words of limits files for them.

use crate::figure::{rank, short};
use crate::number::Unit;
use dyno_model::{Metric, WorkloadKind};

/// What a limit is put on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// A quantile over all trials of a latency metric.
    Latency(Metric, f64),
    /// The quantile of the headline metric over that of the floor.
    XFloor(f64),
    /// Messages that never arrived intact.
    Loss,
    /// Processor time of all processes of the stack per message that arrived.
    CpuPerMessage,
    /// Messages per second that arrived, all receivers together.
    Throughput,
    /// The time to the first message, or a part of it: a quantile over all starts, or, without one,
    /// the mean start together with the slowest.
    Start(Metric, Option<f64>),
    /// Proportional set size of all processes of the stack at the end of the window.
    Memory,
}

impl Measure {
    pub(crate) fn unit(self) -> Unit {
        match self {
            Measure::Latency(..) | Measure::CpuPerMessage | Measure::Start(..) => Unit::Time,
            Measure::XFloor(_) => Unit::Times,
            Measure::Loss => Unit::Share,
            Measure::Throughput => Unit::Rate,
            Measure::Memory => Unit::Bytes,
        }
    }

    /// `p99 response`, `loss`.
    pub(crate) fn text(self) -> String {
        match self {
            Measure::Latency(metric, q) | Measure::Start(metric, Some(q)) => {
                format!("{} {}", rank(q), short(metric))
            }
            Measure::Start(metric, None) => short(metric).into(),
            Measure::XFloor(q) => format!("{} × floor", rank(q)),
            Measure::Loss => "loss".into(),
            Measure::CpuPerMessage => "CPU per message".into(),
            Measure::Throughput => "throughput".into(),
            Measure::Memory => "memory".into(),
        }
    }

    /// The word of `metric` in a limits file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Measure::Latency(metric, _) | Measure::Start(metric, _) => match metric {
                Metric::Rtt => "rtt",
                Metric::Response => "response",
                Metric::Service => "service",
                Metric::Lateness => "lateness",
                Metric::FirstMessage => "first_message",
                Metric::Open => "open",
                Metric::Match => "match",
                Metric::FirstDelivery => "first_delivery",
            },
            Measure::XFloor(_) => "x_floor",
            Measure::Loss => "loss",
            Measure::CpuPerMessage => "cpu_per_message",
            Measure::Throughput => "throughput",
            Measure::Memory => "memory",
        }
    }

    /// The quantile, where it has one.
    pub(crate) fn quantile(self) -> Option<f64> {
        match self {
            Measure::Latency(_, q) | Measure::XFloor(q) => Some(q),
            Measure::Start(_, q) => q,
            _ => None,
        }
    }

    /// The words of `metric` in a limits file.
    pub fn words() -> impl Iterator<Item = &'static str> {
        METRICS.iter().map(|m| m.0)
    }

    /// The measure of a word of [`Measure::words`]; `q` is its quantile, p50 where it needs one and none is
    /// given. `None` for another word.
    pub fn of_word(word: &str, q: Option<f64>) -> Option<Measure> {
        let at = q.unwrap_or(0.5);
        Some(match word {
            "response" => Measure::Latency(Metric::Response, at),
            "rtt" => Measure::Latency(Metric::Rtt, at),
            "service" => Measure::Latency(Metric::Service, at),
            "lateness" => Measure::Latency(Metric::Lateness, at),
            "x_floor" => Measure::XFloor(at),
            "loss" => Measure::Loss,
            "cpu_per_message" => Measure::CpuPerMessage,
            "throughput" => Measure::Throughput,
            "first_message" => Measure::Start(Metric::FirstMessage, q),
            "open" => Measure::Start(Metric::Open, q),
            "match" => Measure::Start(Metric::Match, q),
            "first_delivery" => Measure::Start(Metric::FirstDelivery, q),
            "memory" => Measure::Memory,
            _ => return None,
        })
    }

    /// Whether more of it is better.
    pub fn is_better_higher(self) -> bool {
        matches!(self, Measure::Throughput)
    }

    /// Whether workloads of that kind have it.
    pub(crate) fn applies_to(self, kind: WorkloadKind) -> bool {
        use WorkloadKind::{Burst, Flood, Stream};
        match self {
            Measure::Latency(Metric::Rtt, _) => kind.is_closed_loop(),
            Measure::Latency(Metric::Response | Metric::Lateness, _) => {
                matches!(kind, Stream | Burst)
            }
            Measure::Latency(Metric::Service, _) => matches!(kind, Stream | Burst | Flood),
            // It has no rate.
            Measure::Throughput => kind != WorkloadKind::FirstMessage,
            _ => true,
        }
    }
}

/// How a bound is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Time,
    Number,
    Loss,
    Bytes,
    Rate,
}

/// The words of `metric`: how the quantile and the bound are written.
pub(super) const METRICS: [(&str, Quantile, Written); 13] = [
    ("response", Quantile::Needed, Written::Time),
    ("rtt", Quantile::Needed, Written::Time),
    ("service", Quantile::Needed, Written::Time),
    ("lateness", Quantile::Needed, Written::Time),
    ("x_floor", Quantile::Median, Written::Number),
    ("loss", Quantile::None, Written::Loss),
    ("cpu_per_message", Quantile::None, Written::Time),
    ("throughput", Quantile::None, Written::Rate),
    ("first_message", Quantile::Optional, Written::Time),
    ("open", Quantile::Optional, Written::Time),
    ("match", Quantile::Optional, Written::Time),
    ("first_delivery", Quantile::Optional, Written::Time),
    ("memory", Quantile::None, Written::Bytes),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantile {
    Needed,
    /// p50 where it is left out.
    Median,
    /// Another measure where it is left out.
    Optional,
    None,
}
