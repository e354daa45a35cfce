//! Which published figures stand beside which experiment: those of the same load, placement, topology and
//! wait, of the middleware that the stack stands for. One place decides it for every table and plot.

use super::iceperf::{Iceperf, MechanismRow, Printed};
use super::l4re::L4re;
use super::rwth::{Beside, Place, Study};
use super::source::{Flaw, Source};
use crate::summary::ExperimentSummary;
use dyno_model::{Arrivals, Experiment, Metric, Nanos, Placement, Topology, Workload};

/// Nanoseconds of a millisecond and of a microsecond.
const MS: f64 = 1e6;
const US: f64 = 1e3;

/// What all published studies have, whatever the shape of their tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct About {
    /// Short and unique, as the name of its file: `rwth-2025`.
    pub key: &'static str,
    /// Who measured what, and on what.
    pub source: &'static Source,
    /// What to know before comparing with its figures.
    pub flaws: &'static [Flaw],
}

/// What a published figure is of its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statistic {
    /// The middle one.
    Median,
    /// The average.
    Mean,
    /// The largest one.
    Max,
}

impl Statistic {
    /// The name of the same figure in Dyno's JSON: `p50`, `mean`, `max`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Statistic::Median => "p50",
            Statistic::Mean => "mean",
            Statistic::Max => "max",
        }
    }
}

/// A figure of others that stands beside an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedFigure {
    /// Its place in [`studies`].
    pub study: usize,
    /// The metric that it is of.
    pub metric: Metric,
    /// What it is of its samples.
    pub statistic: Statistic,
    /// Its value as that metric, in nanoseconds.
    pub value_ns: f64,
    /// As it was printed, with its unit.
    pub text: String,
    /// What it was measured of, in the study's words.
    pub label: String,
}

/// Places in [`studies`].
const RWTH: usize = 0;
const ICEPERF: usize = 1;

/// All studies whose figures are built in.
pub fn studies() -> [About; 3] {
    let rwth = Study::rwth();
    let iceperf = Iceperf::published();
    let l4re = L4re::published();
    [
        About {
            key: "rwth-2025",
            source: &rwth.source,
            flaws: &rwth.flaws,
        },
        About {
            key: "iceperf-2020",
            source: &iceperf.source,
            flaws: &iceperf.flaws,
        },
        About {
            key: "l4re-2025",
            source: &l4re.source,
            flaws: &l4re.flaws,
        },
    ]
}

/// The times that were published for what an experiment of the run measures; most have none. L4Re's page has ticks of counters
/// whose rates it does not say, and none of them is a time.
pub fn beside(e: &ExperimentSummary) -> Vec<PublishedFigure> {
    let e = &e.experiment;
    let mut figures = of_rwth(e);
    figures.extend(of_iceperf(e));
    figures
}

/// Medians and largest values of streams and of first messages.
fn of_rwth(e: &Experiment) -> Vec<PublishedFigure> {
    let study = Study::rwth();
    let at = Place {
        placement: e.placement,
        topology: e.topology,
    };
    // Of sizes and rates the study's message types have each pair once.
    let message = study.messages.iter().find(|m| {
        let same_size = m.size_kb * 1_000 == e.payload.bytes() as u64;
        same_size
            && match e.workload {
                Workload::Stream { rate, arrivals } => {
                    rate.hz() == m.rate_hz && arrivals == Arrivals::Fixed
                }
                Workload::FirstMessage { .. } => {
                    study.first_message.message.as_ref() == Some(&m.name)
                }
                _ => false,
            }
    });
    let Some(message) = message else {
        return Vec::new();
    };
    let (table, metric) = match e.workload {
        Workload::FirstMessage { .. } => (&study.first_message, Metric::FirstMessage),
        _ => (&study.communication, Metric::Service),
    };
    let is_it = |b: &&Beside| b.stack(e.placement) == Some(e.stack.as_str());
    let mut figures = Vec::new();
    for b in study.beside.iter().filter(is_it) {
        let (median, max) = table.figures(b.reliability, &b.middleware, &message.name, at);
        let not = match &b.variant {
            Some(variant) => format!(", not {variant}"),
            None => String::new(),
        };
        let label = format!(
            "{} {}{not}, {} in {at}",
            b.middleware,
            b.reliability.as_str(),
            message.name
        );
        for (statistic, ms) in [(Statistic::Median, median), (Statistic::Max, max)] {
            figures.extend(ms.map(|ms| PublishedFigure {
                study: RWTH,
                metric,
                statistic,
                value_ns: (ms * MS).round(),
                text: format!("{ms:.3} ms"),
                label: label.clone(),
            }));
        }
    }
    figures
}

/// The row and the figure of iceperf's page that an experiment repeats: one-to-one round trips between
/// processes, back to back.
pub(crate) fn in_iceperf(e: &Experiment) -> Option<(&'static MechanismRow, &'static Printed)> {
    let is_its = matches!(e.workload, Workload::PingPong { gap, .. } if gap == Nanos(0))
        && e.placement == Placement::Process
        && e.topology == Topology::ONE_TO_ONE;
    if !is_its {
        return None;
    }
    Iceperf::published().figure(&e.stack, e.wait, e.payload.bytes() as u64)
}

/// Averages of round trips back to back. The page prints half of one; its double is the same quantity
/// as a round trip, so that is the value, and the text says so.
fn of_iceperf(e: &Experiment) -> Option<PublishedFigure> {
    let (row, figure) = in_iceperf(e)?;
    Some(PublishedFigure {
        study: ICEPERF,
        metric: Metric::Rtt,
        statistic: Statistic::Mean,
        value_ns: (2.0 * US * figure.value).round(),
        text: format!("2 × {} µs", figure.text),
        label: format!(
            "{}, {} kB, printed as half a round trip",
            row.mechanism,
            e.payload.bytes() / 1024
        ),
    })
}
