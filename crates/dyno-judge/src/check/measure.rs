//! What can be required: the measures, and the words of limits files for them.

use crate::figure::rank;
use crate::number::Unit;
use dyno_model::{Better, Experiment, Metric, WorkloadKind};

/// What a limit is put on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// A quantile over all trials of a latency metric; 1 is the largest sample of all.
    Latency(Metric, f64),
    /// The quantile of the headline metric over that of the floor.
    XFloor(f64),
    /// Messages that never arrived intact.
    Loss,
    /// Processor time of all processes of the stack per message that arrived.
    CpuPerMessage,
    /// That time of a round trip over the mean round trip of the same trial: 1 is one CPU kept busy.
    CpuShare,
    /// What the p99 of the headline metric is above its p50, of each trial by itself.
    Tail,
    /// Messages per second that arrived, all receivers together.
    Throughput,
    /// A metric of which a trial has one sample, such as the time to the first message or the recovery: a quantile over all
    /// trials, or, without one, the mean trial together with the slowest.
    Start(Metric, Option<f64>),
    /// Trials in which a receiver never got a newer message after the faults.
    Deaf,
    /// Proportional set size of all processes of the stack at the end of the window.
    Memory,
    /// The same per participant, where nobody sends.
    IdlePss,
}

impl Measure {
    pub(crate) fn unit(self) -> Unit {
        match self {
            Measure::Latency(..) | Measure::CpuPerMessage | Measure::Tail | Measure::Start(..) => {
                Unit::Time
            }
            Measure::XFloor(_) => Unit::Times,
            Measure::Loss | Measure::CpuShare | Measure::Deaf => Unit::Share,
            Measure::Throughput => Unit::Rate,
            Measure::Memory | Measure::IdlePss => Unit::Bytes,
        }
    }

    /// `p99 response`, `loss`.
    pub(crate) fn text(self) -> String {
        match self {
            Measure::Latency(metric, q) | Measure::Start(metric, Some(q)) => {
                format!("{} {}", rank(q), metric.info().short)
            }
            Measure::Start(metric, None) => metric.info().short.into(),
            Measure::XFloor(q) => format!("{} × floor", rank(q)),
            Measure::Loss => "loss".into(),
            Measure::Deaf => "deaf trials".into(),
            Measure::CpuPerMessage => "CPU per message".into(),
            Measure::CpuShare => "CPU over the round trip".into(),
            Measure::Tail => "p99 less p50".into(),
            Measure::Throughput => "throughput".into(),
            Measure::Memory => "memory".into(),
            Measure::IdlePss => "memory of each participant".into(),
        }
    }

    /// The word of `metric` in a limits file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Measure::Latency(metric, _) | Measure::Start(metric, _) => metric.word(),
            Measure::XFloor(_) => "x_floor",
            Measure::Loss => "loss",
            Measure::Deaf => "deaf",
            Measure::CpuPerMessage => "cpu_per_message",
            Measure::CpuShare => "cpu_share",
            Measure::Tail => "tail",
            Measure::Throughput => "throughput",
            Measure::Memory => "memory",
            Measure::IdlePss => "idle_pss",
        }
    }

    /// Whether no delay of the host makes a limit on it easier to meet. A delay makes a backlog, which is carried with fewer
    /// wake-ups, so that costs and service times may fall; times from when a message was due, losses and rates do not improve.
    pub(crate) fn is_never_better_by_delay(self) -> bool {
        match self {
            Measure::Latency(metric, _) => matches!(metric, Metric::Rtt | Metric::Response),
            Measure::Loss | Measure::Throughput => true,
            _ => false,
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
        words().map(|w| w.word)
    }

    /// The measure of a word of [`Measure::words`]; `q` is its quantile, p50 where it needs one and none is
    /// given. `None` for another word.
    pub fn of_word(word: &str, q: Option<f64>) -> Option<Measure> {
        let at = q.unwrap_or(0.5);
        if let Some(metric) = Metric::of_word(word) {
            return Some(match metric.is_one_per_trial() {
                true => Measure::Start(metric, q),
                false => Measure::Latency(metric, at),
            });
        }
        Some(match word {
            "x_floor" => Measure::XFloor(at),
            "loss" => Measure::Loss,
            "deaf" => Measure::Deaf,
            "cpu_per_message" => Measure::CpuPerMessage,
            "cpu_share" => Measure::CpuShare,
            "tail" => Measure::Tail,
            "throughput" => Measure::Throughput,
            "memory" => Measure::Memory,
            "idle_pss" => Measure::IdlePss,
            _ => return None,
        })
    }

    /// Whether more of it is better.
    pub fn is_better_higher(self) -> bool {
        match self {
            Measure::Latency(metric, _) | Measure::Start(metric, _) => {
                metric.info().better == Better::Higher
            }
            Measure::Throughput => true,
            Measure::XFloor(_)
            | Measure::Loss
            | Measure::Deaf
            | Measure::CpuPerMessage
            | Measure::CpuShare
            | Measure::Tail
            | Measure::Memory
            | Measure::IdlePss => false,
        }
    }

    /// Whether it is made of CPU time, which kernels count in two ways.
    pub(crate) fn is_cpu_time(self) -> bool {
        let is_idle_cpu = matches!(self, Measure::Start(metric, _) if metric.info().of_idle);
        is_idle_cpu || matches!(self, Measure::CpuPerMessage | Measure::CpuShare)
    }

    /// Whether each trial has one value of it.
    pub(crate) fn is_of_each_trial(self) -> bool {
        !matches!(self, Measure::Start(_, Some(_)))
    }

    /// Whether most trials have nothing of it, so that those that have some are counted.
    pub(crate) fn is_seldom(self) -> bool {
        matches!(self, Measure::Loss | Measure::Deaf)
    }

    /// Whether only experiments with faults have it.
    pub(crate) fn is_of_faults(self) -> bool {
        match self {
            Measure::Latency(metric, _) | Measure::Start(metric, _) => metric.info().of_faults,
            Measure::Deaf => true,
            _ => false,
        }
    }

    /// Whether an experiment has it.
    pub(crate) fn applies_to(self, e: &Experiment) -> bool {
        let has_faults = !e.faults.is_empty();
        let of_headline = matches!(self, Measure::Tail | Measure::XFloor(_));
        self.applies_to_kind(e.workload.kind())
            && (has_faults || !self.is_of_faults())
            && !(has_faults && of_headline)
    }

    /// Whether workloads of that kind have it.
    pub(crate) fn applies_to_kind(self, kind: WorkloadKind) -> bool {
        match self {
            Measure::Latency(metric, _) | Measure::Start(metric, _) => kind.has(metric),
            // A start has no rate, and probes and silence have no messages.
            Measure::Throughput => !kind.is_start() && kind.has_messages(),
            Measure::CpuShare => kind.has(Metric::Rtt),
            Measure::Tail => !kind.is_start() && kind.has_messages(),
            Measure::XFloor(_) | Measure::Loss | Measure::CpuPerMessage | Measure::Deaf => {
                kind.has_messages()
            }
            Measure::Memory => true,
            Measure::IdlePss => kind.is_idle(),
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
    Share,
    Count,
}

/// A word of `metric`: how the quantile and the bound are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    pub(super) word: &'static str,
    pub(super) quantile: Quantile,
    pub(super) written: Written,
}

const fn word(word: &'static str, quantile: Quantile, written: Written) -> Word {
    Word {
        word,
        quantile,
        written,
    }
}

/// What can be required beside the metrics.
const OTHERS: [Word; 9] = [
    word("x_floor", Quantile::Median, Written::Number),
    word("loss", Quantile::None, Written::Loss),
    word("deaf", Quantile::None, Written::Count),
    word("cpu_per_message", Quantile::None, Written::Time),
    word("cpu_share", Quantile::None, Written::Share),
    word("tail", Quantile::None, Written::Time),
    word("throughput", Quantile::None, Written::Rate),
    word("memory", Quantile::None, Written::Bytes),
    word("idle_pss", Quantile::None, Written::Bytes),
];

/// Every word of `metric`.
pub(super) fn words() -> impl Iterator<Item = Word> {
    let metrics = Metric::ALL.iter().map(|m| {
        let quantile = match m.is_one_per_trial() {
            true => Quantile::Optional,
            false => Quantile::Needed,
        };
        word(m.word(), quantile, Written::Time)
    });
    metrics.chain(OTHERS)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantile {
    Needed,
    /// p50 where it is left out.
    Median,
    /// Another measure where it is left out.
    Optional,
    None,
}
