//! Values of suite files: from a node to a quantity, or a problem that says what to write.

use dyno_model::chain::{Full, Threads};
use dyno_model::fault::{self, FaultKind};
use dyno_model::plan::Scheduling;
use dyno_model::probe::{ProbeKind, Rest, Sides};
use dyno_model::unit::{Nanos, PayloadSize, RateHz, UnitError};
use dyno_model::{
    Access, Arrivals, Pacing, Placement, Processes, Start, Topology, Wait, WorkloadKind,
};
use dyno_toml::{Node, Place, Problem, Problems, Table, Value, suggest};

/// A value and the place that it came from.
#[derive(Debug, Clone)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) at: Place,
}

impl<T> At<T> {
    pub(crate) fn new(value: T, at: &Place) -> Self {
        let at = at.clone();
        At { value, at }
    }
}

/// What to write where a file does not say what it is.
pub(crate) const DESCRIBE: &str = "write `description = \"…\"`: a description in one line";

/// The size of the tag in each message; no payload is smaller. See the agents' message layout.
pub(crate) const TAG_BYTES: usize = 8;
/// Tag, stamps and check word; one-way messages need all of it.
pub(crate) const HEADER_BYTES: usize = 32;
/// The most values that one range may stand for.
const MOST_IN_RANGE: usize = 10_000;

/// Something that is written as a short text.
pub(crate) trait Quantity: Sized + PartialEq + Clone {
    fn read(text: &str) -> Result<Self, UnitError>;
    /// The words that it can be, where it is one of a few.
    fn words() -> Vec<&'static str> {
        Vec::new()
    }
    /// The values of a table such as `{ from = …, to = …, factor = … }`, where that means something.
    fn range(key: &str, node: &Node, _table: &Table, problems: &mut Problems) -> Vec<At<Self>> {
        problems.push(node.wrong_kind(&format!("`{key}`"), "text, or a list of texts"));
        Vec::new()
    }
}

macro_rules! words {
    ($($ty:ty),+) => {$(
        impl Quantity for $ty {
            fn read(text: &str) -> Result<Self, UnitError> {
                text.parse()
            }
            fn words() -> Vec<&'static str> {
                Self::ALL.iter().map(|v| v.as_str()).collect()
            }
        }
    )+};
}
words!(
    Access,
    Arrivals,
    FaultKind,
    Full,
    Placement,
    ProbeKind,
    Processes,
    Rest,
    Sides,
    Start,
    Pacing,
    Threads,
    fault::Way,
    WorkloadKind
);

impl Quantity for Nanos {
    fn read(text: &str) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl Quantity for Topology {
    fn read(text: &str) -> Result<Self, UnitError> {
        match text.parse::<Topology>()? {
            one if one == one.alone() => Ok(one),
            several => Err(UnitError {
                what: "topology",
                found: text.to_owned(),
                reason: format!("write `parallel = {}` for so many at once", several.copies),
                example: "\"1-1\", \"3-1\" or \"2-2\" (senders-receivers)",
            }),
        }
    }
}

impl Quantity for PayloadSize {
    fn read(text: &str) -> Result<Self, UnitError> {
        if text.trim() == "0" {
            return PayloadSize::new(0);
        }
        let size: PayloadSize = text.parse()?;
        if size.bytes() < TAG_BYTES {
            return Err(UnitError {
                what: "payload size",
                found: text.to_owned(),
                reason: format!("every message carries a tag of {TAG_BYTES} B"),
                example: "\"8 B\" or more",
            });
        }
        Ok(size)
    }
    fn range(key: &str, node: &Node, table: &Table, problems: &mut Problems) -> Vec<At<Self>> {
        range(
            key,
            node,
            table,
            problems,
            |size: PayloadSize| size.bytes() as f64,
            |v| Self::read(&format!("{} B", v.round())),
        )
    }
}

impl Quantity for RateHz {
    fn read(text: &str) -> Result<Self, UnitError> {
        text.parse()
    }
    fn range(key: &str, node: &Node, table: &Table, problems: &mut Problems) -> Vec<At<Self>> {
        range(key, node, table, problems, RateHz::hz, RateHz::new)
    }
}

/// A wait strategy by its own name; stacks do not say "natural".
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlainWait(pub(crate) Wait);

impl Quantity for PlainWait {
    fn read(text: &str) -> Result<Self, UnitError> {
        text.parse().map(PlainWait)
    }
    fn words() -> Vec<&'static str> {
        Wait::ALL.iter().map(|w| w.as_str()).collect()
    }
}

/// How receivers wait, or that the stack decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitChoice {
    /// Each of the stack's own `waits`.
    Natural,
    Exactly(Wait),
}

impl Quantity for WaitChoice {
    fn read(text: &str) -> Result<Self, UnitError> {
        if text == "natural" {
            return Ok(WaitChoice::Natural);
        }
        text.parse().map(WaitChoice::Exactly)
    }
    fn words() -> Vec<&'static str> {
        let mut words = vec!["natural"];
        words.extend(Wait::ALL.iter().map(|w| w.as_str()));
        words
    }
}

/// [`Scheduling`], which the model keeps without a text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchedulingClass(pub(crate) Scheduling);

impl Quantity for SchedulingClass {
    fn read(text: &str) -> Result<Self, UnitError> {
        let err = |reason: &str| UnitError {
            what: "scheduling class",
            found: text.to_owned(),
            reason: reason.into(),
            example: "\"other\", \"fifo:50\" (priority 1 to 99) or \"deadline\"",
        };
        if text == "other" {
            return Ok(SchedulingClass(Scheduling::Other));
        }
        if text == "deadline" {
            return Ok(SchedulingClass(Scheduling::Deadline));
        }
        let priority = text
            .strip_prefix("fifo:")
            .ok_or_else(|| err("there is no such value"))?;
        match priority.trim().parse() {
            Ok(p @ 1..=99) => Ok(SchedulingClass(Scheduling::Fifo(p))),
            _ => Err(err("the priority of fifo is a whole number from 1 to 99")),
        }
    }
}

/// Messages in one group of a `burst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupSize(pub(crate) u32);

impl Quantity for GroupSize {
    fn read(text: &str) -> Result<Self, UnitError> {
        match text.parse() {
            Ok(n @ 1..=1_000_000) => Ok(GroupSize(n)),
            _ => Err(UnitError {
                what: "group size",
                found: text.to_owned(),
                reason: "a group has 1 to 1000000 messages".into(),
                example: "16",
            }),
        }
    }
}

/// Reads one value of `key`.
pub(crate) fn one<T: Quantity>(key: &str, node: &Node, problems: &mut Problems) -> Option<At<T>> {
    let text = match &node.value {
        Value::Text(t) => t.clone(),
        // Read as text, a bare number fails with what is wrong: its unit is missing.
        Value::Int(n) => n.to_string(),
        Value::Float(n) => n.to_string(),
        Value::List(_) => {
            return node
                .wrong_kind(&format!("`{key}`"), "a single value here")
                .help("write lists of values in [experiment.matrix]")
                .refuse(problems);
        }
        Value::Table(_) => {
            return node
                .wrong_kind(&format!("`{key}`"), "a single value here")
                .help("write ranges of values in [experiment.matrix]")
                .refuse(problems);
        }
        _ => {
            return node
                .wrong_kind(&format!("`{key}`"), "text in quotes")
                .refuse(problems);
        }
    };
    match T::read(&text) {
        Ok(value) => Some(At::new(value, &node.at)),
        Err(error) => not_a_quantity::<T>(key, &text, node, &error).refuse(problems),
    }
}

fn not_a_quantity<T: Quantity>(key: &str, text: &str, node: &Node, error: &UnitError) -> Problem {
    let words = T::words();
    let problem = Problem::at(
        &node.at,
        format!("`{key}`: {text:?} is not a {}", error.what),
    )
    .label(error.reason.clone());
    if words.is_empty() {
        problem.help(format!("write for example {}", error.example))
    } else {
        problem.help(suggest::instead(text, "values", words))
    }
}

/// Reads the values of a factor: a single one, a list, or a range.
pub(crate) fn several<T: Quantity>(
    key: &str,
    node: &Node,
    problems: &mut Problems,
) -> Option<Vec<At<T>>> {
    let values = match &node.value {
        Value::List(items) if items.is_empty() => {
            return Problem::at(&node.at, format!("`{key}` has no values"))
                .label("an empty list leaves no experiment")
                .help(format!("write at least one value, or leave `{key}` out"))
                .refuse(problems);
        }
        Value::List(items) => items
            .iter()
            .filter_map(|item| one::<T>(key, item, problems))
            .collect(),
        Value::Table(table) => T::range(key, node, table, problems),
        _ => one::<T>(key, node, problems).into_iter().collect(),
    };
    for (i, v) in values.iter().enumerate() {
        if values[..i].iter().any(|earlier| earlier.value == v.value) {
            Problem::at(&v.at, format!("`{key}` has the same value twice"))
                .label("is already in the list")
                .help("remove one of the two; more trials come from `trials`")
                .note(problems);
        }
    }
    (!values.is_empty()).then_some(values)
}

/// `{ from, to, factor }`: from, from × factor, from × factor², … up to and including `to`.
fn range<T: Quantity>(
    key: &str,
    node: &Node,
    table: &Table,
    problems: &mut Problems,
    number: impl Fn(T) -> f64,
    quantity: impl Fn(f64) -> Result<T, UnitError>,
) -> Vec<At<T>> {
    let owner = format!("the range of `{key}`");
    table.refuse_unknown(&owner, &["from", "to", "factor"], problems);
    let advice = "write for example { from = …, to = …, factor = 2 }";
    let mut field = |name: &str| table.required(name, &owner, &node.at, advice, problems);
    let (from, to, factor) = (field("from"), field("to"), field("factor"));
    let from = from.and_then(|n| one::<T>("from", n, problems));
    let to = to.and_then(|n| one::<T>("to", n, problems));
    let factor = factor.and_then(|n| {
        let value = match n.value {
            Value::Int(v) => v as f64,
            Value::Float(v) => v,
            _ => f64::NAN,
        };
        if value > 1.0 && value.is_finite() {
            return Some(value);
        }
        Problem::at(&n.at, format!("the factor of {owner} must be above 1"))
            .label("write for example 2")
            .refuse(problems)
    });
    let (Some(from), Some(to), Some(factor)) = (from, to, factor) else {
        return Vec::new();
    };
    let (first, last) = (number(from.value), number(to.value));
    if last < first {
        Problem::at(&to.at, format!("{owner} ends below its start"))
            .label("smaller than `from`")
            .help("exchange `from` and `to`")
            .note(problems);
        return Vec::new();
    }
    let mut values: Vec<At<T>> = Vec::new();
    let mut at = first;
    // The tolerance keeps `to` in the range where repeated multiplication rounds.
    while at <= last * (1.0 + 1e-9) {
        match quantity(at) {
            Ok(value) if values.last().is_none_or(|v| v.value != value) => {
                values.push(At::new(value, &node.at))
            }
            Ok(_) => {}
            Err(error) => {
                problems.push(not_a_quantity::<T>(key, &error.found, node, &error));
                break;
            }
        }
        if values.len() > MOST_IN_RANGE {
            Problem::at(
                &node.at,
                format!("{owner} has more than {MOST_IN_RANGE} values"),
            )
            .label("too many")
            .help("write a larger factor")
            .note(problems);
            return Vec::new();
        }
        at *= factor;
    }
    values
}

/// A way to do what a probe measures; which there are depends on its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way(pub(crate) String);

impl Quantity for Way {
    fn read(text: &str) -> Result<Self, UnitError> {
        Ok(Way(text.to_owned()))
    }
}

/// The CPUs of a switch's sides together, 1 or 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) u32);

impl Quantity for Span {
    fn read(text: &str) -> Result<Self, UnitError> {
        match text {
            "one" => Ok(Span(1)),
            "two" => Ok(Span(2)),
            _ => Err(UnitError {
                what: "number of CPUs",
                found: text.to_owned(),
                reason: "a switch is on one or on two".into(),
                example: "\"one\" or \"two\"",
            }),
        }
    }
    fn words() -> Vec<&'static str> {
        vec!["one", "two"]
    }
}

/// The name of an experiment or a flow.
pub(crate) fn name(node: &Node, problems: &mut Problems) -> Option<String> {
    let help = "write for example \"rtt-small\"; the title may hold any text";
    plain_name(node, "a name", help, problems)
}

/// Whether this may be a name in a file of the user's.
pub(crate) fn is_plain_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=40).contains(&text.len()) && text.chars().all(plain)
}

/// A name that can be part of a file's; `whose` says whose it is.
pub(crate) fn plain_name(
    node: &Node,
    whose: &str,
    help: &str,
    problems: &mut Problems,
) -> Option<String> {
    let text = node.text("`name`", problems)?;
    if !is_plain_name(text) {
        let message = format!("{whose} has 1 to 40 letters, digits, '-', '_' or '.'");
        let problem = Problem::at(&node.at, message).label("not such a name");
        return problem.help(help).refuse(problems);
    }
    Some(text.to_owned())
}
