//! What a source claims: figures as printed, each with its place, and how they hang together.

pub use dyno_report::published::Source;
pub use dyno_report::published::cell::{Bound, Dimension, Unit};
pub use dyno_report::published::statement::{Access, Clock, Loop, Of, Quantity, Trip, Wait};
use std::collections::BTreeMap;

/// The condition of figures whose job failed, with how.
pub(crate) const FAILED: &str = "failed";

/// The condition of a set that is of one second of the set without it.
pub(crate) const SECOND: &str = "second";

/// The condition of a set whose size is that of one of its messages.
pub(crate) const SIZES: &str = "size of";

/// The condition of a set whose percentiles are of a part of its values.
pub(crate) const SOME: &str = "percentiles of";

/// Everything that one source claims, from a statement file or from the output of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statements {
    /// Where it comes from.
    pub source: Source,
    /// The figures in the order of the source.
    pub figures: Vec<Figure>,
    /// How figures hang together.
    pub relations: Vec<Relation>,
    /// Limits that the source puts on its figures.
    pub requirements: Vec<Requirement>,
    /// Experiments of Dyno that come nearest to figures.
    pub nearest: Vec<Nearest>,
    /// Raw values, of tools that print them.
    pub samples: Vec<Samples>,
    /// What the output of a tool says of the build, the machine and the time.
    pub banners: Vec<Banner>,
    /// How the source's tables look, for the page.
    pub layouts: Vec<Layout>,
    /// Names of the raw outputs that the source prints beside its own figures; the names of their figures begin so.
    pub logs: Vec<String>,
    /// What a reader should know of how the output of a tool was read, or what the tool says of a failure.
    pub notes: Vec<String>,
}

/// One number of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Unique within the source: `TABLE/ROW/COLUMN`, or `TEXT/FIGURE`.
    pub id: String,
    /// Where it stands.
    pub place: Place,
    /// The number as printed, its granularity known from it.
    pub printed: Printed,
    /// What it measures.
    pub quantity: Quantity,
    /// What it is of its values.
    pub statistic: Statistic,
    /// Of how many values.
    pub n: Option<u64>,
    /// What these values are.
    pub of: Of,
    /// How many samples are in one of them, where they are means.
    pub each: Option<u64>,
    /// Figures of one quantity with the same `data` and the same conditions are statistics of the same values.
    pub data: String,
    /// Under which conditions: stack, payload, machine, …
    pub conditions: BTreeMap<String, String>,
    /// How it was measured.
    pub method: Method,
}

/// Where a figure stands in its source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Section or table, in the source's words; of the output of a tool, its line number.
    pub section: String,
    /// Label of the row; empty in a sentence.
    pub row: String,
    /// Title of the column; empty in a sentence.
    pub column: String,
    /// The cell or sentence as printed.
    pub text: String,
}

/// A number as printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// The digits as they stand there, without the unit: `12,050`, `49.400`, `1e+02`.
    pub text: String,
    /// Its value in `unit`.
    pub value: f64,
    /// Half of the last printed digit's step in `unit`: 0.005 of `50.29`. Zero where it is exact.
    pub half_step: f64,
    /// Whether it stands for a bound.
    pub bound: Bound,
    /// Its unit.
    pub unit: Unit,
}

/// What a figure is of its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// A single value, or one of which the source does not say what it is.
    Value,
    /// Arithmetic mean.
    Mean,
    /// A quantile in percent: 50 is the median.
    Percentile(f64),
    /// Standard deviation.
    Sd,
    /// Smallest value.
    Min,
    /// Largest value.
    Max,
    /// Largest less smallest.
    Spread,
    /// Standard deviation by mean.
    Cv,
    /// How many.
    Count,
    /// Per second.
    Rate,
    /// Of all values.
    Sum,
    /// A part of a whole.
    Share,
    /// Share of the values within one standard deviation of the mean.
    WithinOneSd,
}

impl Statistic {
    /// From the word of a file: `mean`, `median`, `p99.9`, …
    pub fn from_word(word: &str) -> Option<Statistic> {
        if let Some(percent) = word.strip_prefix('p').and_then(|p| p.parse::<f64>().ok()) {
            return (0.0..=100.0)
                .contains(&percent)
                .then_some(Statistic::Percentile(percent));
        }
        WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, statistic)| *statistic)
    }
}

const WORDS: &[(&str, Statistic)] = &[
    ("value", Statistic::Value),
    ("mean", Statistic::Mean),
    ("median", Statistic::Percentile(50.0)),
    ("sd", Statistic::Sd),
    ("min", Statistic::Min),
    ("max", Statistic::Max),
    ("spread", Statistic::Spread),
    ("cv", Statistic::Cv),
    ("count", Statistic::Count),
    ("rate", Statistic::Rate),
    ("sum", Statistic::Sum),
    ("share", Statistic::Share),
    ("within-1sd", Statistic::WithinOneSd),
];

impl std::fmt::Display for Statistic {
    /// As files write it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match WORDS.iter().find(|(_, statistic)| statistic == self) {
            Some((word, _)) => f.write_str(word),
            None => match self {
                Statistic::Percentile(p) => write!(f, "p{p}"),
                _ => f.write_str("value"),
            },
        }
    }
}

/// How a figure was measured, as far as the source says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Method {
    /// How load is offered.
    pub load: Option<Loop>,
    /// How many clients wait at the same time.
    pub clients: Option<u64>,
    /// What way is timed.
    pub trip: Option<Trip>,
    /// 1 where one clock stamps both ends, else 2.
    pub clocks: Option<u8>,
    /// How far two clocks may be apart, in seconds.
    pub clock_bound: Option<f64>,
    /// How the receiver waits.
    pub wait: Option<Wait>,
    /// What happens to the payload.
    pub access: Option<Access>,
    /// What a rate is counted by.
    pub time: Option<Clock>,
    /// What measured it.
    pub tool: Option<String>,
    /// Messages per second that each sender offers.
    pub sender_rate: Option<f64>,
    /// Senders.
    pub senders: Option<u64>,
    /// Receivers.
    pub receivers: Option<u64>,
    /// Bytes of a message.
    pub payload_bytes: Option<f64>,
    /// Capacity of the link in bytes per second.
    pub link: Option<f64>,
    /// Whether the source says how many messages were lost.
    pub loss_stated: Option<bool>,
    /// Whether there was a warm-up.
    pub warm_up: Option<bool>,
}

/// How figures hang together.
#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    /// Where the source says or implies it.
    pub place: String,
    /// What it is.
    pub kind: RelationKind,
}

/// What a relation is.
#[derive(Debug, Clone, PartialEq)]
pub enum RelationKind {
    /// An equation over names of figures, or with `<=` a bound.
    Formula(String),
    /// Figures that the source sets beside each other as alike.
    Comparison(Vec<String>),
    /// A series over growing sizes.
    BySize(Vec<String>),
    /// A rate and a latency of one client.
    OneClient(Vec<String>),
    /// What the source gives as one data set.
    OneDataSet(Vec<String>),
}

/// A limit that the source puts on its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Its name.
    pub id: String,
    /// Where it stands.
    pub place: String,
    /// As printed.
    pub text: String,
    /// The figures that it limits.
    pub on: Vec<String>,
    /// Where the source takes it from; `None` where it does not say.
    pub source: Option<String>,
}

/// The experiment of Dyno that comes nearest to some figures, one for each payload that they have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The figures, with `*`.
    pub of: Vec<String>,
    /// The stack by name.
    pub stack: String,
    /// Keys of a suite's experiment, in TOML, without name, stack and, unless `has_payload`, payload.
    pub experiment: String,
    /// Whether it says its payload itself.
    pub has_payload: bool,
    /// The metric that the figures are of; that of the experiment's headline where `None`.
    pub metric: Option<dyno_model::Metric>,
    /// What differs beside what the figures and the experiment themselves say.
    pub differs: Vec<String>,
}

/// Raw values in the order in which they were measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// Unique within the source.
    pub id: String,
    /// The [`Figure::data`] that they are the values of.
    pub data: String,
    /// The [`Figure::conditions`] of these.
    pub conditions: BTreeMap<String, String>,
    /// What they measure; latency where `None`.
    pub quantity: Option<Quantity>,
    /// How they were measured, as far as the source says.
    pub method: Method,
    /// Line of the first value, from 1.
    pub line: u64,
    /// In base units: seconds, bytes, …
    pub values: Vec<f64>,
    /// Step of the last printed digit in base units.
    pub step: f64,
    /// Samples in each value, where they are means; 1 for single measurements.
    pub each: Vec<u64>,
    /// When each was sent, in seconds from any zero; empty where it is not known.
    pub sent: Vec<f64>,
    /// Values beyond those that are kept, so that memory stays bounded.
    pub left_out: u64,
}

/// A line that says something about the build, the machine or the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Banner {
    /// Where it stands.
    pub place: String,
    /// From 1.
    pub line: u64,
    /// As printed.
    pub text: String,
}

/// How a table of the source looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// The table's name.
    pub id: String,
    /// Where it stands.
    pub place: String,
    /// Titles of the columns.
    pub header: Vec<String>,
    /// The cells as printed, each with the names of its figures.
    pub rows: Vec<Vec<(String, Vec<String>)>>,
}
