//! A statement file as it is written: docs/reference/statements.md describes its keys. `published/` has such files, whose figures stand
//! in tables of studies and are held to arithmetic by `dyno audit`. Unknown keys are refused.

#![allow(
    missing_docs,
    reason = "docs/reference/statements.md describes the keys"
)]

use super::cell::{self, Number};
use super::source::{Flaw, Source};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// What is wrong with a statement file: the line, the mistake, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}: {message}")]
pub struct StatementError {
    /// The file.
    pub name: String,
    /// From 1.
    pub line: usize,
    /// The mistake, and the text to write instead.
    pub message: String,
}

/// A text whose places can be named.
pub struct Text<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl Text<'_> {
    /// An error at a place in bytes, and that many lines below it.
    pub fn error(
        &self,
        at: Range<usize>,
        below: usize,
        message: impl Into<String>,
    ) -> StatementError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        StatementError {
            name: self.name.to_owned(),
            line: before.matches('\n').count() + 1 + below,
            message: message.into(),
        }
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$of])* $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            /// As files write it.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            /// From the word of a file.
            pub fn from_word(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|x| x.as_str() == word)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = String::deserialize(deserializer)?;
                $name::from_word(&word).ok_or_else(|| {
                    let known: Vec<&str> = $name::ALL.iter().map(|x| x.as_str()).collect();
                    serde::de::Error::custom(format!("{word:?} is none of {}", known.join(", ")))
                })
            }
        }
    };
}

words! {
    /// What a figure measures.
    Quantity {
        /// From a message's start to its arrival or its answer's.
        Latency = "latency",
        /// Of an operation, on the wall clock.
        Time = "time",
        /// Processor time.
        CpuTime = "cpu-time",
        /// Events per second.
        Rate = "rate",
        /// Bytes per second.
        Bandwidth = "bandwidth",
        /// A part of a whole.
        Share = "share",
        /// A part of the processors' time.
        CpuShare = "cpu-share",
        /// Size of a message.
        Size = "size",
        /// Memory in use.
        Memory = "memory",
        /// How many.
        Count = "count",
        /// Processor cycles.
        Cycles = "cycles",
        /// Instructions.
        Instructions = "instructions",
        /// Messages that did not arrive.
        Loss = "loss",
        /// Messages that were sent.
        Sent = "sent",
        /// Messages that arrived.
        Received = "received",
        /// Answers and operations that failed.
        Errors = "errors",
        /// How long a test took.
        Duration = "duration",
        /// Mean of the differences between transit times that follow each other.
        Jitter = "jitter",
        /// How many times as much.
        Factor = "factor",
        /// How much more, as a part of what was before.
        Growth = "growth",
        /// Of a clock or a timer.
        Frequency = "frequency",
        /// None of these.
        Other = "other",
    }
}

words! {
    /// What the values of a statistic are.
    Of {
        /// Single measurements.
        Samples = "samples",
        /// Means of several measurements.
        Means = "means",
        /// Not said.
        Unknown = "unknown",
    }
}

words! {
    /// How load is offered.
    Loop {
        /// A client waits for each answer.
        Closed = "closed",
        /// Messages are sent by the clock.
        Open = "open",
    }
}

words! {
    /// What way is timed.
    Trip {
        /// There and back.
        Round = "round",
        /// There and back, divided by two.
        Half = "half",
        /// One way.
        OneWay = "one-way",
    }
}

words! {
    /// How a receiver waits.
    Wait {
        /// It asks without pause.
        Poll = "poll",
        /// It sleeps until it is woken.
        Block = "block",
        /// A thread of the library calls it.
        Callback = "callback",
        /// It sleeps for a time and then asks.
        Sleep = "sleep",
    }
}

words! {
    /// What happens to the payload.
    Access {
        /// It is written and read.
        Touched = "touched",
        /// It is copied by the system, neither written nor read by the benchmark.
        Copied = "copied",
        /// Nobody touches it.
        Untouched = "untouched",
    }
}

words! {
    /// What a rate is counted by.
    Clock {
        /// Real time.
        Wall = "wall",
        /// Processor time.
        Cpu = "cpu",
    }
}

/// Makes tables whose keys are their own and those of a figure.
macro_rules! with_keys {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $type:ty,)* })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$of])* pub $field: $type,)*
            #[serde(default)] quantity: Option<Quantity>,
            #[serde(default)] unit: Option<String>,
            #[serde(default)] statistic: Option<String>,
            #[serde(default)] n: Option<u64>,
            #[serde(default)] of: Option<Of>,
            #[serde(default)] each: Option<u64>,
            #[serde(default)] data: Option<String>,
            #[serde(default)] conditions: BTreeMap<String, String>,
            #[serde(default)] method: MethodFile,
            #[serde(default)] bound: Option<String>,
        }

        impl $name {
            /// What it says of its figures.
            pub fn keys(&self) -> Keys {
                Keys {
                    quantity: self.quantity,
                    unit: self.unit.clone(),
                    statistic: self.statistic.clone(),
                    n: self.n,
                    of: self.of,
                    each: self.each,
                    data: self.data.clone(),
                    conditions: self.conditions.clone(),
                    method: self.method.clone(),
                    bound: self.bound.clone(),
                }
            }
        }
    )+};
}

with_keys! {
    /// A table of the source.
    TableFile {
        id: Spanned<String>,
        #[serde(default)]
        place: String,
        #[serde(default)]
        columns: Vec<ColumnFile>,
        rows: Spanned<String>,
        #[serde(default, rename = "row")]
        particular: Vec<RowFile>,
    }
    /// A column of a table.
    ColumnFile {
        id: Option<String>,
        title: Option<String>,
        label: Option<String>,
        #[serde(default)]
        skip: bool,
        #[serde(default)]
        first: bool,
        #[serde(default)]
        parts: Vec<PartFile>,
    }
    /// One number of a cell or a sentence.
    PartFile {
        id: String,
        #[serde(default)]
        skip: bool,
    }
    /// What is particular to a row.
    RowFile {
        label: Spanned<String>,
        id: Option<String>,
    }
    /// A sentence of the source.
    TextFile {
        id: Spanned<String>,
        #[serde(default)]
        place: String,
        says: Spanned<String>,
        #[serde(default)]
        figures: Vec<PartFile>,
    }
    /// Raw output of a tool.
    LogFile {
        id: Spanned<String>,
        #[serde(default)]
        place: String,
        tool: Spanned<String>,
        text: Spanned<String>,
        #[serde(default, rename = "match")]
        matches: Vec<MatchFile>,
    }
    /// Which data a name of the output is.
    MatchFile {
        name: String,
    }
}

/// A row of a table.
pub struct Line {
    /// How many lines it stands below the first.
    pub below: usize,
    /// As written.
    pub cells: Vec<String>,
    /// Those of its cells that are labels, without marks; an empty one repeats that of the row above.
    pub labels: Vec<String>,
    /// The place in [`TableFile::particular`] of what is particular to it.
    pub particular: Option<usize>,
}

impl TableFile {
    /// Its rows, without lines that are blank or only drawn.
    pub fn lines(&self) -> Vec<Line> {
        let mut all: Vec<Line> = Vec::new();
        for (below, line) in self.rows.get_ref().lines().enumerate() {
            let cells = cells(line);
            if cells.is_empty() {
                continue;
            }
            let above = all.last().map(|line| line.labels.as_slice());
            let labelled = cells.iter().zip(&self.columns);
            let labelled = labelled.filter(|(_, column)| column.label.is_some());
            let label = |(i, (text, _)): (usize, (&String, &ColumnFile))| {
                let own = Some(cell::label(text)).filter(|label| !label.is_empty());
                let repeated = || above.and_then(|labels| labels.get(i)).cloned();
                own.or_else(repeated).unwrap_or_default()
            };
            let labels: Vec<String> = labelled.enumerate().map(label).collect();
            let whole = labels.join(" ");
            let particular = self.particular.iter().position(|row| {
                let wanted = row.label.get_ref();
                *wanted == whole || labels.contains(wanted)
            });
            all.push(Line {
                below,
                cells,
                labels,
                particular,
            });
        }
        all
    }
}

/// The cells of a row with bars around or between them; none of a line that is blank or only drawn.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let is_drawn = |c: char| matches!(c, '|' | '-' | ':' | '+' | '=' | ' ');
    if line.chars().all(is_drawn) {
        return Vec::new();
    }
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    inner.split('|').map(|c| c.trim().to_owned()).collect()
}

impl ColumnFile {
    /// Its title, label or name, the first that it has.
    pub fn heading(&self) -> String {
        let words = [&self.title, &self.label, &self.id];
        words
            .into_iter()
            .flatten()
            .next()
            .cloned()
            .unwrap_or_default()
    }
}

/// Numbers, each with the part that describes it.
pub type Described<'a> = Vec<(&'a PartFile, Number)>;

/// The numbers of a text, each with the part that describes it, and how many numbers are left over.
///
/// # Errors
/// In one sentence: a number that cannot be read, or fewer numbers than parts.
pub fn described<'a>(text: &str, parts: &'a [PartFile]) -> Result<(Described<'a>, usize), String> {
    let numbers = cell::numbers(text).map_err(|e| e.to_string())?;
    let left = numbers.len().checked_sub(parts.len()).ok_or_else(|| {
        format!(
            "{text:?} has {} numbers where {} are described; write `-` or `skip = true` where there is no figure",
            numbers.len(),
            parts.len()
        )
    })?;
    Ok((parts.iter().zip(numbers).collect(), left))
}

impl TextFile {
    /// The numbers of the sentence, each with the figure that it is.
    ///
    /// # Errors
    /// A number that cannot be read, and more or fewer numbers than `figures`.
    pub fn numbers(&self, at: &Text<'_>) -> Result<Described<'_>, StatementError> {
        let wrong = |message: String| at.error(self.says.span(), 0, message);
        let (numbers, left) = described(self.says.get_ref(), &self.figures).map_err(wrong)?;
        if left > 0 {
            return Err(wrong(format!(
                "the sentence has {left} more numbers than `figures`; list all numbers in their order, \
                 with `skip = true` for those that are no figures"
            )));
        }
        Ok(numbers)
    }
}

impl PartFile {
    /// One that says nothing but its name.
    pub fn named(id: String) -> PartFile {
        PartFile {
            id,
            skip: false,
            quantity: None,
            unit: None,
            statistic: None,
            n: None,
            of: None,
            each: None,
            data: None,
            conditions: BTreeMap::new(),
            method: MethodFile::default(),
            bound: None,
        }
    }
}

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementFile {
    pub source: Source,
    /// What is known to be wrong or left open.
    #[serde(default, rename = "flaw")]
    pub flaws: Vec<Flaw>,
    #[serde(default, rename = "table")]
    pub tables: Vec<TableFile>,
    #[serde(default, rename = "text")]
    pub texts: Vec<TextFile>,
    #[serde(default, rename = "relation")]
    pub relations: Vec<RelationFile>,
    #[serde(default, rename = "requirement")]
    pub requirements: Vec<RequirementFile>,
    #[serde(default)]
    pub nearest: Vec<NearestFile>,
    #[serde(default, rename = "log")]
    pub logs: Vec<LogFile>,
}

/// An equation, or a kind of relation with its figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelationFile {
    #[serde(default)]
    pub place: String,
    pub formula: Option<OneOrMore>,
    pub kind: Option<Spanned<String>>,
    #[serde(default)]
    pub of: Vec<Spanned<String>>,
}

impl StatementFile {
    /// From the text of a file; `name` stands in errors.
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn read(text: &str, name: &str) -> Result<StatementFile, StatementError> {
        let at = Text { name, text };
        toml::from_str(text)
            .map_err(|e| at.error(e.span().unwrap_or(0..0), 0, e.message().replace('\n', "; ")))
    }
}

/// One text, or a list of texts.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "write a text or a list of texts")]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Any number.
    More(Vec<String>),
}

impl OneOrMore {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            OneOrMore::One(one) => std::slice::from_ref(one),
            OneOrMore::More(all) => all,
        }
    }
}

/// A limit.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequirementFile {
    pub id: String,
    #[serde(default)]
    pub place: String,
    pub text: String,
    #[serde(default)]
    pub on: Vec<Spanned<String>>,
    pub source: Option<String>,
}

/// What comes nearest to some figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearestFile {
    pub of: Vec<Spanned<String>>,
    pub stack: Spanned<String>,
    pub experiment: Spanned<toml::Table>,
    pub metric: Option<Spanned<String>>,
    #[serde(default)]
    pub differs: Vec<String>,
}

/// What a table, column, part or row says of its figures.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    pub quantity: Option<Quantity>,
    pub unit: Option<String>,
    pub statistic: Option<String>,
    pub n: Option<u64>,
    pub of: Option<Of>,
    pub each: Option<u64>,
    pub data: Option<String>,
    pub conditions: BTreeMap<String, String>,
    pub method: MethodFile,
    pub bound: Option<String>,
}

impl Keys {
    /// These, and where they say nothing what `wider` says.
    pub fn within(mut self, wider: &Keys) -> Keys {
        let mut conditions = wider.conditions.clone();
        conditions.extend(self.conditions);
        self.conditions = conditions;
        self.method = self.method.within(&wider.method);
        Keys {
            quantity: self.quantity.or(wider.quantity),
            unit: self.unit.or_else(|| wider.unit.clone()),
            statistic: self.statistic.or_else(|| wider.statistic.clone()),
            n: self.n.or(wider.n),
            of: self.of.or(wider.of),
            each: self.each.or(wider.each),
            data: self.data.or_else(|| wider.data.clone()),
            bound: self.bound.or_else(|| wider.bound.clone()),
            conditions: self.conditions,
            method: self.method,
        }
    }
}

macro_rules! method_file {
    ($($(#[$of:meta])* $field:ident: $type:ty,)+) => {
        /// `method` as it is written.
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct MethodFile {
            $($(#[$of])* #[serde(default)] pub $field: Option<$type>,)+
        }

        impl MethodFile {
            fn within(self, wider: &MethodFile) -> MethodFile {
                MethodFile { $($field: self.$field.or_else(|| wider.$field.clone()),)+ }
            }
        }
    };
}

method_file! {
    #[serde(rename = "loop")]
    load: Loop,
    clients: u64,
    trip: Trip,
    clocks: Clocks,
    clock_bound: String,
    wait: Wait,
    access: Access,
    time: Clock,
    tool: String,
    sender_rate: f64,
    senders: u64,
    receivers: u64,
    payload_bytes: f64,
    link: String,
    loss_stated: bool,
    warm_up: bool,
}

/// How many clocks stamp.
#[derive(Debug, Clone, Copy)]
pub struct Clocks(pub u8);

impl<'de> Deserialize<'de> for Clocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "one" => Ok(Clocks(1)),
            "two" => Ok(Clocks(2)),
            other => Err(serde::de::Error::custom(format!(
                "{other:?} is neither \"one\" nor \"two\""
            ))),
        }
    }
}
