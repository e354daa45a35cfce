//! Which published figures are shown beside which experiment: those of the same load, placement, topology and
//! wait, of the middleware that the stack stands for. One place decides it for every table and plot.

use super::printed::PrintedTables;
use super::source::{Flaw, Source};
use dyno_model::Metric;
use serde::Deserialize;

/// What all published studies have, whatever the shape of their tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct About {
    /// Short and unique, as the name of its file: `rwth-2025`.
    pub key: &'static str,
    /// The authors, the object and the machine of the measurement.
    pub source: &'static Source,
    /// Remarks for readers who compare with its figures.
    pub flaws: &'static [Flaw],
}

/// The statistic of a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum Statistic {
    /// The middle one.
    #[serde(rename = "p50")]
    Median,
    /// The average.
    #[serde(rename = "mean")]
    Mean,
    /// The largest one.
    #[serde(rename = "max")]
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

/// All publications whose figures are built in.
pub fn studies() -> Vec<About> {
    let about = |(key, printed): (&&'static str, &'static PrintedTables)| About {
        key,
        source: &printed.source,
        flaws: &printed.flaws,
    };
    PrintedTables::built_in().iter().map(about).collect()
}
