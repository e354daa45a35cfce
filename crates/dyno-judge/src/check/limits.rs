//! Limits files: requirements as data. `docs/reference/limits-files.md` describes the form.

use super::source::{LimitsError, Node, Problem, Source, Table, Value, nearest};
use crate::figure::{rank, short};
use crate::number::Unit;
use crate::standing::Line;
use dyno_model::unit::UnitError;
use dyno_model::{Metric, Nanos, PayloadSize, RateHz, Wait, WorkloadKind};
use std::ops::Range;
use std::str::FromStr;

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

/// Where the line is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// At most this much, in the measure's unit (nanoseconds, bytes, a ratio, a share of one).
    AtMost(f64),
    /// At least this much, in messages per second.
    AtLeast(f64),
    /// At most so many messages, all counted trials together.
    AtMostCount(u64),
}

impl Bound {
    pub(crate) fn line(self) -> Line {
        match self {
            Bound::AtMost(most) => Line::AtMost(most),
            Bound::AtLeast(least) => Line::AtLeast(least),
            Bound::AtMostCount(n) => Line::AtMost(n as f64),
        }
    }
}

/// One word or quantity of a selector, with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen<T> {
    pub(crate) value: T,
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

/// Which experiments a limit is put on; an empty list is no restriction.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Selector {
    pub(crate) suite: Vec<Chosen<String>>,
    pub(crate) experiment: Vec<Chosen<String>>,
    pub(crate) stack: Vec<Chosen<String>>,
    pub(crate) workload: Vec<Chosen<WorkloadKind>>,
    pub(crate) payload: Vec<Chosen<PayloadSize>>,
    pub(crate) wait: Vec<Chosen<Wait>>,
}

/// One requirement.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub(crate) name: String,
    pub(crate) measure: Measure,
    pub(crate) bound: Bound,
    pub(crate) selector: Selector,
    /// Where its name stands.
    pub(crate) span: Range<usize>,
}

impl Limit {
    /// Its name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// What it asks for: `p99 response ≤ 2.00 ms`.
    pub fn required(&self) -> String {
        let unit = self.measure.unit();
        let bound = match self.bound {
            Bound::AtMostCount(n) => return format!("{} ≤ {n}", self.measure.text()),
            Bound::AtMost(v) => format!("≤ {}", unit.text(v)),
            Bound::AtLeast(v) => format!("≥ {}", unit.text(v)),
        };
        format!("{} {bound}", self.measure.text())
    }
}

/// The requirements of one file.
#[derive(Debug, Clone)]
pub struct Limits {
    pub(crate) source: Source,
    pub(crate) limits: Vec<Limit>,
}

const KEYS: [&str; 11] = [
    "name",
    "suite",
    "experiment",
    "stack",
    "workload",
    "payload",
    "wait",
    "metric",
    "quantile",
    "at_most",
    "at_least",
];

/// How a bound is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Time,
    Number,
    Loss,
    Bytes,
    Rate,
}

/// The words of `metric`: how the quantile and the bound are written.
const METRICS: [(&str, Quantile, Written); 13] = [
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
enum Quantile {
    Needed,
    /// p50 where it is left out.
    Median,
    /// Another measure where it is left out.
    Optional,
    None,
}

impl Limits {
    /// Reads the text of a limits file; `name` stands in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, with its place: syntax, unknown keys, wrong units, missing
    /// parts, names that occur twice.
    pub fn parse(name: &str, text: &str) -> Result<Limits, LimitsError> {
        let source = Source::new(name, text);
        let table = source.parse()?;
        let mut reader = Reader {
            source: &source,
            problems: table.unknown(&source, "a limits file", &["limit"]),
        };
        let limits = reader.limits(&table);
        LimitsError::unless_empty(reader.problems)?;
        Ok(Limits { source, limits })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// The requirements, in the order of the file; at least one.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }
}

struct Reader<'a> {
    source: &'a Source,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, span: &Range<usize>, message: String, label: &str, help: &str) {
        let mut problem = self.source.problem(span, message).label(label);
        if !help.is_empty() {
            problem = problem.help(help);
        }
        self.problems.push(problem);
    }

    fn limits(&mut self, table: &Table) -> Vec<Limit> {
        const EXAMPLE: &str = "[[limit]]\nname = \"in time\"\nmetric = \"response\"\nquantile = \"p99\"\nat_most = \"2 ms\"";
        let Some(node) = table.get("limit") else {
            if self.problems.is_empty() {
                self.wrong(
                    &(0..0),
                    "there is no limit in this file".into(),
                    "add one",
                    EXAMPLE,
                );
            }
            return Vec::new();
        };
        let Value::List(items) = &node.value else {
            let message = format!(
                "`limit` must be a list of tables, found {}",
                node.value.kind()
            );
            self.wrong(&node.span, message, "write [[limit]]", EXAMPLE);
            return Vec::new();
        };
        let mut limits: Vec<Limit> = Vec::new();
        for item in items {
            let Value::Table(table) = &item.value else {
                let message = format!("a limit must be a table, found {}", item.value.kind());
                self.wrong(&item.span, message, "write [[limit]]", EXAMPLE);
                continue;
            };
            let Some(limit) = self.limit(table, &item.span) else {
                continue;
            };
            if limits.iter().any(|l| l.name == limit.name) {
                let message = format!("there are two limits called `{}`", limit.name);
                self.wrong(
                    &limit.span,
                    message,
                    "the second one",
                    "give each its own name",
                );
            }
            limits.push(limit);
        }
        if items.is_empty() {
            self.wrong(
                &node.span,
                "there is no limit in this file".into(),
                "add one",
                EXAMPLE,
            );
        }
        limits
    }

    /// `None` where a problem was noted.
    fn limit(&mut self, table: &Table, span: &Range<usize>) -> Option<Limit> {
        let strangers = table.unknown(self.source, "a limit", &KEYS);
        self.problems.extend(strangers);
        let before = self.problems.len();
        // The head of the table: its whole span would underline everything.
        let head = span.start..(span.start + "[[limit]]".len()).min(span.end.max(span.start));
        let name = self.name(table, &head);
        let selector = Selector {
            suite: self.words(table, "suite"),
            experiment: self.words(table, "experiment"),
            stack: self.words(table, "stack"),
            workload: self.quantities(table, "workload"),
            payload: self.quantities(table, "payload"),
            wait: self.quantities(table, "wait"),
        };
        let measured = self.measure(table, &head);
        let (name, span) = name?;
        let (measure, bound) = measured?;
        (self.problems.len() == before).then_some(Limit {
            name,
            measure,
            bound,
            selector,
            span,
        })
    }

    fn name(&mut self, table: &Table, head: &Range<usize>) -> Option<(String, Range<usize>)> {
        let Some(node) = table.get("name") else {
            self.wrong(
                head,
                "a limit needs a `name`".into(),
                "this one",
                "it stands in results, such as name = \"camera in time\"",
            );
            return None;
        };
        let text = self.text("name", node)?;
        if text.trim().is_empty() {
            self.wrong(&node.span, "`name` is empty".into(), "write a name", "");
            return None;
        }
        Some((text, node.span.clone()))
    }

    fn text(&mut self, key: &str, node: &Node) -> Option<String> {
        if let Value::Text(text) = &node.value {
            return Some(text.clone());
        }
        let message = format!(
            "`{key}` must be text in quotes, found {}",
            node.value.kind()
        );
        self.wrong(&node.span, message, "write it in quotes", "");
        None
    }

    /// A selector: one text or a list of texts.
    fn words(&mut self, table: &Table, key: &str) -> Vec<Chosen<String>> {
        self.chosen(table, key, |text| Ok(text.to_owned()))
    }

    fn quantities<T: FromStr<Err = UnitError>>(
        &mut self,
        table: &Table,
        key: &str,
    ) -> Vec<Chosen<T>> {
        self.chosen(table, key, str::parse)
    }

    fn chosen<T>(
        &mut self,
        table: &Table,
        key: &str,
        parse: impl Fn(&str) -> Result<T, UnitError>,
    ) -> Vec<Chosen<T>> {
        let Some(node) = table.get(key) else {
            return Vec::new();
        };
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        if items.is_empty() {
            self.wrong(
                &node.span,
                format!("`{key}` selects nothing"),
                "an empty list",
                &format!("leave `{key}` out to select all"),
            );
        }
        let mut chosen = Vec::new();
        for item in items {
            let Some(text) = self.text(key, item) else {
                continue;
            };
            match parse(&text) {
                Ok(value) => chosen.push(Chosen {
                    value,
                    text,
                    span: item.span.clone(),
                }),
                Err(e) => self.unit(key, &item.span, &e),
            }
        }
        chosen
    }

    fn unit(&mut self, key: &str, span: &Range<usize>, e: &UnitError) {
        let message = format!("`{key}`: {:?} is not a {}", e.found, e.what);
        self.wrong(
            span,
            message,
            &e.reason,
            &format!("write for example {}", e.example),
        );
    }

    fn measure(&mut self, table: &Table, head: &Range<usize>) -> Option<(Measure, Bound)> {
        let words = METRICS.map(|m| m.0);
        let all = format!("metrics: {}", words.join(", "));
        let Some(node) = table.get("metric") else {
            self.wrong(head, "a limit needs a `metric`".into(), "this one", &all);
            return None;
        };
        let word = self.text("metric", node)?;
        let Some((word, quantile, written)) = METRICS.iter().find(|m| m.0 == word) else {
            let label = match nearest(&word, &words) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "no such metric".into(),
            };
            self.wrong(
                &node.span,
                format!("there is no metric `{word}`"),
                &label,
                &all,
            );
            return None;
        };
        let q = self.quantile(table, head, word, *quantile);
        let bound = self.bound(table, head, word, *written);
        let q = q?;
        let given = table.get("quantile").is_some().then_some(q);
        let measure = Measure::of_word(word, given)?;
        Some((measure, bound?))
    }

    /// The quantile; 0.5 for metrics that have none.
    fn quantile(
        &mut self,
        table: &Table,
        head: &Range<usize>,
        word: &str,
        how: Quantile,
    ) -> Option<f64> {
        match (table.get("quantile"), how) {
            (None, Quantile::None | Quantile::Median | Quantile::Optional) => Some(0.5),
            (None, Quantile::Needed) => {
                let message = format!("a limit on `{word}` needs a `quantile`");
                self.wrong(
                    head,
                    message,
                    "this one",
                    "write for example quantile = \"p99\"",
                );
                None
            }
            (Some(node), Quantile::None) => {
                let message = format!("`{word}` has no quantile");
                self.wrong(&node.span, message, "leave it out", "");
                None
            }
            (Some(node), _) => {
                let text = self.text("quantile", node)?;
                match parse_quantile(&text) {
                    Ok(q) => Some(q),
                    Err(e) => {
                        self.unit("quantile", &node.span, &e);
                        None
                    }
                }
            }
        }
    }

    fn bound(
        &mut self,
        table: &Table,
        head: &Range<usize>,
        word: &str,
        written: Written,
    ) -> Option<Bound> {
        let (key, other) = match written {
            Written::Rate => ("at_least", "at_most"),
            _ => ("at_most", "at_least"),
        };
        if let Some(node) = table.get(other) {
            let message = format!("a limit on `{word}` says `{key}`, not `{other}`");
            self.wrong(&node.span, message, &format!("write {key}"), "");
            return None;
        }
        let example = match written {
            Written::Time => "at_most = \"2 ms\"",
            Written::Number => "at_most = 3",
            Written::Loss => "at_most = 0 (messages) or at_most = \"0.1 %\"",
            Written::Bytes => "at_most = \"64 MiB\"",
            Written::Rate => "at_least = \"10000 /s\"",
        };
        let Some(node) = table.get(key) else {
            let message = format!("a limit on `{word}` needs `{key}`");
            self.wrong(
                head,
                message,
                "this one",
                &format!("write for example {example}"),
            );
            return None;
        };
        let bound = match (&node.value, written) {
            (Value::Int(n), Written::Number) if *n > 0 => Ok(Bound::AtMost(*n as f64)),
            (Value::Float(v), Written::Number) if v.is_finite() && *v > 0.0 => {
                Ok(Bound::AtMost(*v))
            }
            (Value::Int(n), Written::Loss) if *n >= 0 => Ok(Bound::AtMostCount(n.unsigned_abs())),
            (Value::Text(t), Written::Loss) => parse_loss(t),
            (Value::Text(t), Written::Time) => parse_time(t),
            (Value::Text(t), Written::Bytes) => parse_bytes(t).map(Bound::AtMost),
            (Value::Text(t), Written::Rate) => parse_rate(t).map(Bound::AtLeast),
            (Value::Int(_) | Value::Float(_), Written::Number | Written::Loss) => {
                let message = format!("`{key}` of `{word}` is out of range");
                self.wrong(
                    &node.span,
                    message,
                    "no such limit",
                    &format!("write for example {example}"),
                );
                return None;
            }
            (value, _) => {
                let message = format!("`{key}` of `{word}` cannot be {}", value.kind());
                let help = format!("write for example {example}");
                self.wrong(&node.span, message, "another form is needed", &help);
                return None;
            }
        };
        match bound {
            Ok(bound) => Some(bound),
            Err(e) => {
                self.unit(key, &node.span, &e);
                None
            }
        }
    }
}

/// Reads `p50`, `p99.9`: above 0 and below 100 %.
///
/// # Errors
/// What else it must look like.
pub fn parse_quantile(text: &str) -> Result<f64, UnitError> {
    let number = text
        .trim()
        .strip_prefix('p')
        .and_then(|t| t.parse::<f64>().ok());
    match number {
        // Divided, so that p99.9 is the same number as 0.999.
        Some(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err(UnitError {
            what: "quantile",
            found: text.to_owned(),
            reason: "it must be from above p0 to below p100".into(),
            example: "\"p50\", \"p99\" or \"p99.9\"",
        }),
    }
}

/// Reads a share such as `5%`, `5 %` or `0.05`, up to but not including the whole.
///
/// # Errors
/// What else it must look like.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let trimmed = text.trim();
    let share = match trimmed.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
        None => trimmed.parse::<f64>(),
    };
    match share {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err(UnitError {
            what: "share",
            found: text.to_owned(),
            reason: "it must be from 0 % to below 100 %".into(),
            example: "\"5%\" or \"0.05\"",
        }),
    }
}

fn parse_time(text: &str) -> Result<Bound, UnitError> {
    let time: Nanos = text.parse()?;
    Ok(Bound::AtMost(time.0 as f64))
}

fn parse_loss(text: &str) -> Result<Bound, UnitError> {
    if let Ok(count) = text.trim().parse::<u64>() {
        return Ok(Bound::AtMostCount(count));
    }
    match text.trim().ends_with('%').then(|| parse_share(text)) {
        Some(Ok(share)) => Ok(match share {
            0.0 => Bound::AtMostCount(0),
            share => Bound::AtMost(share),
        }),
        _ => Err(UnitError {
            what: "limit on losses",
            found: text.to_owned(),
            reason: "it must be a whole number of messages, or a share in percent".into(),
            example: "0, \"12\" or \"0.1 %\"",
        }),
    }
}

fn parse_bytes(text: &str) -> Result<f64, UnitError> {
    const UNITS: [(&str, f64); 7] = [
        ("KiB", 1_024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("B", 1.0),
    ];
    quantity(text, &UNITS).ok_or_else(|| UnitError {
        what: "size",
        found: text.to_owned(),
        reason: "it must be a positive number with a unit of bytes".into(),
        example: "\"64 MiB\" or \"500 kB\"",
    })
}

/// Messages per second: `10000 /s`, `10 k/s`, or as a rate.
fn parse_rate(text: &str) -> Result<f64, UnitError> {
    const UNITS: [(&str, f64); 3] = [("k/s", 1e3), ("M/s", 1e6), ("/s", 1.0)];
    if let Some(rate) = quantity(text, &UNITS) {
        return Ok(rate);
    }
    text.parse::<RateHz>()
        .map(RateHz::hz)
        .map_err(|e| UnitError {
            example: "\"10000 /s\" or \"10 kHz\"",
            ..e
        })
}

fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let (number, scale) = units.iter().find_map(|(unit, scale)| {
        let number = text.strip_suffix(unit)?.trim();
        Some((number.replace('_', "").parse::<f64>().ok()?, *scale))
    })?;
    let value = number * scale;
    (value.is_finite() && value > 0.0).then_some(value)
}
