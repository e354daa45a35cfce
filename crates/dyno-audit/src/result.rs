//! The output of a tool as results: each data set with the figures that are stated of it, as far as they bear. It stays what it is,
//! one execution by another tool: no figure gets an interval, and what the output does not say is said to be so.

use crate::context::{Context, printed, size_of};
use crate::interval::{Interval, short, with_unit};
use crate::statement::{
    Dimension, Figure, Layout, Method, Of, Quantity, Samples, Statements, Statistic,
};

/// One data set of an output: a benchmark, a job, a stream, and one quantity of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult<'a> {
    /// As the tool names it.
    pub name: &'a str,
    /// What it measures.
    pub quantity: Quantity,
    /// What its figures are in.
    pub dimension: Dimension,
    /// What else tells it from others, such as a direction.
    pub conditions: Vec<(&'a str, &'a str)>,
    /// How it was measured, as far as the output or the tool's way says.
    pub method: Method,
    /// Bytes of a message, where they are said.
    pub payload_bytes: Option<f64>,
    /// Of how many values, where it is said.
    pub n: Option<u64>,
    /// What these values are.
    pub of: Of,
    /// The figures, in the order of the output; then what its raw values give.
    pub figures: Vec<Stated>,
}

/// One figure of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated {
    /// What it is of its values.
    pub statistic: Statistic,
    /// As printed, with its unit.
    pub text: String,
    /// In the base unit of its dimension.
    pub value: f64,
    /// What its digits leave open. This is no interval of a measurement.
    pub digits: (f64, f64),
    /// Its name in the audit; `None` where Dyno made it of the raw values that the tool prints.
    pub id: Option<String>,
}

/// The columns of a table of results.
pub const RESULT_COLUMNS: [&str; 12] = [
    "result", "quantity", "said", "of", "min", "mean", "p50", "p90", "p99", "p99.9", "max",
    "beside",
];

/// The statistics among them.
const STATISTICS: [Statistic; 7] = [
    Statistic::Min,
    Statistic::Mean,
    Statistic::Percentile(50.0),
    Statistic::Percentile(90.0),
    Statistic::Percentile(99.0),
    Statistic::Percentile(99.9),
    Statistic::Max,
];

/// Longer texts are values that a tool stores rather than prints.
const PRINTED: usize = 12;

impl Statements {
    /// The results of the output of a tool.
    pub fn results(&self) -> Vec<ToolResult<'_>> {
        let context = Context::new(self);
        let sets = context.whole.iter();
        sets.map(|set| {
            let first = set.figures.first();
            let dimension = match first {
                Some(figure) => figure.printed.unit.dimension,
                None => dimension(set.quantity),
            };
            let mut figures: Vec<Stated> = set.figures.iter().map(|f| stated(f)).collect();
            if let [raw] = set.samples.as_slice() {
                let known: Vec<Statistic> = figures.iter().map(|f| f.statistic).collect();
                figures.extend(of_raw(raw, dimension, &known));
            }
            let raw = set.samples.first();
            let method = first.map(|f| &f.method).or(raw.map(|r| &r.method));
            let values = raw.map(|r| r.values.len() as u64 + r.left_out);
            let each = |r: &&Samples| r.each.iter().any(|each| *each > 1);
            ToolResult {
                name: set.data,
                quantity: set.quantity,
                dimension,
                conditions: set
                    .conditions
                    .iter()
                    .filter(|(key, _)| *key != "benchmark")
                    .map(|(key, value)| (key.as_str(), value.as_str()))
                    .collect(),
                method: method.cloned().unwrap_or_default(),
                payload_bytes: method
                    .and_then(|m| m.payload_bytes)
                    .or_else(|| size_of(set.conditions)),
                n: set.n().or(values),
                of: match (first, raw) {
                    (_, Some(raw)) if each(raw) => Of::Means,
                    (Some(f), _) => f.of,
                    (None, Some(_)) => Of::Samples,
                    (None, None) => Of::Unknown,
                },
                figures,
            }
        })
        .collect()
    }

    /// The results as a table for the page.
    pub(crate) fn layout(&self) -> Layout {
        let results = self.results();
        Layout {
            id: "results".to_owned(),
            place: self.tool().unwrap_or_default().to_owned(),
            header: RESULT_COLUMNS.map(str::to_owned).into(),
            rows: results.iter().map(|r| r.cells().collect()).collect(),
        }
    }

    /// The tool that measured all of it, where it says so.
    pub fn tool(&self) -> Option<&str> {
        self.figures.iter().find_map(|f| f.method.tool.as_deref())
    }
}

/// What raw values of this quantity are in.
fn dimension(quantity: Quantity) -> Dimension {
    match quantity {
        Quantity::Latency | Quantity::Time | Quantity::CpuTime => Dimension::Time,
        Quantity::Rate => Dimension::Rate,
        Quantity::Bandwidth => Dimension::Bandwidth,
        Quantity::Size | Quantity::Memory => Dimension::Size,
        _ => Dimension::One,
    }
}

fn stated(figure: &Figure) -> Stated {
    let unit = &figure.printed.unit;
    let value = figure.printed.value * unit.factor;
    let open = Interval::plain(figure);
    let text = match figure.printed.text.len() > PRINTED {
        true if unit.text == "%" => percent(figure.printed.value),
        true => with_unit(value, unit.dimension),
        false => printed(figure),
    };
    Stated {
        statistic: figure.statistic,
        text,
        value,
        digits: (open.lo, open.hi),
        id: Some(figure.id.clone()),
    }
}

/// With two decimals, or as many as a small share needs.
fn percent(value: f64) -> String {
    match value.abs() < 0.1 {
        true => format!("{} %", short(value)),
        false => format!("{} %", short((100.0 * value).round() / 100.0)),
    }
}

/// What raw values give that the tool does not state itself: nothing where some of them are not kept.
fn of_raw(raw: &Samples, dimension: Dimension, known: &[Statistic]) -> Vec<Stated> {
    let mut sorted = raw.values.clone();
    sorted.sort_by(f64::total_cmp);
    let (Some(min), Some(max), 0) = (sorted.first(), sorted.last(), raw.left_out) else {
        return Vec::new();
    };
    let n = sorted.len();
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    let all = [
        (Statistic::Min, *min),
        (Statistic::Mean, mean),
        (Statistic::Percentile(50.0), median),
        (Statistic::Max, *max),
    ];
    let new = all.into_iter().filter(|(s, _)| !known.contains(s));
    new.map(|(statistic, value)| Stated {
        statistic,
        text: with_unit(value, dimension),
        value,
        digits: (value - raw.step, value + raw.step),
        id: None,
    })
    .collect()
}

impl ToolResult<'_> {
    /// Its name with what else tells it from others.
    pub fn label(&self) -> String {
        let more = self
            .conditions
            .iter()
            .map(|(key, value)| format!("{key} {value}"));
        std::iter::once(self.name.to_owned())
            .chain(more)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The figure of this statistic.
    pub fn figure(&self, statistic: Statistic) -> Option<&Stated> {
        self.figures.iter().find(|f| f.statistic == statistic)
    }

    /// Each factor with what is said of it, in the order of tables.
    pub fn factors(&self) -> [(&'static str, Option<String>); 10] {
        let m = &self.method;
        // A rate, a size or a count of the same run is of no way.
        let of_way = match self.quantity {
            Quantity::Cycles | Quantity::Instructions | Quantity::Other => true,
            _ => self.dimension == Dimension::Time,
        };
        let trip = m.trip.filter(|_| of_way);
        let is_rate = matches!(self.quantity, Quantity::Rate | Quantity::Bandwidth);
        let clock = m.time.filter(|_| is_rate);
        let payload = self
            .payload_bytes
            .map(|bytes| with_unit(bytes, Dimension::Size));
        let count = |n: Option<u64>| n.map(|n| n.to_string());
        let offered = m.sender_rate.map(|r| with_unit(r, Dimension::Rate));
        [
            ("loop", m.load.map(|w| w.as_str().to_owned())),
            ("trip", trip.map(|w| w.as_str().to_owned())),
            ("payload", payload),
            ("wait", m.wait.map(|w| w.as_str().to_owned())),
            ("access", m.access.map(|w| w.as_str().to_owned())),
            ("senders", count(m.senders)),
            ("receivers", count(m.receivers)),
            ("clients", count(m.clients)),
            ("offered", offered),
            ("clock", clock.map(|w| w.as_str().to_owned())),
        ]
    }

    /// What is said of the factors, in the order of tables; with its factor where that cannot be seen by it.
    pub fn said(&self) -> Vec<String> {
        let said = |(factor, said): (&str, Option<String>)| {
            let said = said?;
            Some(match factor {
                "senders" | "receivers" | "clients" | "offered" => format!("{factor} {said}"),
                "clock" => format!("{said} clock"),
                _ => said,
            })
        };
        self.factors().into_iter().filter_map(said).collect()
    }

    /// The cells of its row in a table of [`RESULT_COLUMNS`], each with the names of its figures. A dash is not said.
    pub fn cells(&self) -> impl Iterator<Item = (String, Vec<String>)> {
        let texts = [
            self.label(),
            self.quantity.as_str().to_owned(),
            self.said().join(", "),
            self.values(),
        ];
        let id = |f: &&Stated| f.id.clone();
        let statistics = STATISTICS.map(|statistic| {
            let figure = self.figure(statistic);
            let text = figure.map_or_else(|| "–".to_owned(), Stated::marked);
            (text, figure.iter().filter_map(id).collect())
        });
        let shown = |f: &Stated| {
            let first = || self.figure(f.statistic);
            STATISTICS.contains(&f.statistic) && first().is_some_and(|first| std::ptr::eq(first, f))
        };
        let others: Vec<&Stated> = self.figures.iter().filter(|f| !shown(f)).collect();
        let beside = others
            .iter()
            .map(|f| format!("{} {}", f.part(self.name), f.marked()));
        let beside = beside.collect::<Vec<_>>().join(", ");
        let ids = others.iter().filter_map(id).collect();
        let texts = texts.map(|text| (text, Vec::new()));
        texts.into_iter().chain(statistics).chain([(beside, ids)])
    }

    /// How many values, and what they are.
    pub fn values(&self) -> String {
        let what = match self.of {
            Of::Means => " means",
            Of::Samples | Of::Unknown => "",
        };
        self.n
            .map_or_else(|| "–".to_owned(), |n| format!("{n}{what}"))
    }
}

impl Stated {
    /// What it is called within the result of that name.
    pub fn part(&self, result: &str) -> String {
        let id = self.id.as_deref();
        let part = id.and_then(|id| id.strip_prefix(result)?.strip_prefix('/'));
        part.map_or_else(|| self.statistic.to_string(), str::to_owned)
    }

    /// As tables show it: what Dyno made of raw values has a mark.
    pub fn marked(&self) -> String {
        match self.id {
            Some(_) => self.text.clone(),
            None => format!("{}*", self.text),
        }
    }
}
