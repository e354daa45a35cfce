//! Stack files: a named configuration of an adapter, checked against what the adapter declares.

use crate::catalog::Catalog;
use crate::quantity::{DESCRIBE, PlainWait};
use dyno_model::adapter::{AdapterDescription, OptionKind, OptionSpec, OptionValue, Options};
use dyno_model::plan::{Timeout, TimeoutBy};
use dyno_model::probe::GROUND;
use dyno_model::unit::Nanos;
use dyno_model::{Placement, Stack, Wait};
use dyno_toml::{Entry, Node, Place, Problem, Problems, Source, Table, Value, suggest};

const KEYS: &[&str] = &[
    "description",
    "adapter",
    "waits",
    "floor",
    "sends_later",
    "asks",
    "channels",
    "placements",
    "options",
    "timeouts",
    "install",
    "daemon",
];

/// Keys that every stack has, with what to write where one is missing.
const REQUIRED: [(&str, &str); 3] = [
    ("description", DESCRIBE),
    (
        "adapter",
        "write `adapter = \"…\"`; see `dyno list adapters`",
    ),
    (
        "waits",
        "write for example `waits = [\"block\"]`: the meaning of wait = \"natural\"",
    ),
];

/// What a stack is read from.
pub(crate) struct Reader<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) adapters: &'a [AdapterDescription],
    /// The stack that is read, after those that it is a leg of.
    pub(crate) within: &'a [&'a str],
}

/// Reads a stack without legs from its `table`, with the options `set` in the place of its own; mistakes go to `problems`.
pub(crate) fn read(
    reader: &Reader<'_>,
    source: &Source,
    table: &Table,
    set: &[Entry],
    problems: &mut Problems,
) -> Option<Stack> {
    let name = *reader.within.last()?;
    table.refuse_unknown("a stack", KEYS, problems);
    table.refuse_missing("the stack", &Place::top(source), &REQUIRED, problems);
    let description = table.text("description", problems);
    let floor = table.flag("floor", problems).unwrap_or(false);
    let sends_later = table.flag("sends_later", problems).unwrap_or(false);
    let channels = table
        .get("channels")
        .and_then(|n| n.whole("`channels`", 1, u64::from(u16::MAX), problems))
        .and_then(|most| u16::try_from(most).ok());
    let adapter = adapter(table.get("adapter")?, reader, problems)?;
    let asks = table
        .get("asks")
        .is_some_and(|n| asks(n, adapter, problems));
    let waits = table
        .get("waits")
        .and_then(|n| waits(n, adapter, asks, problems));
    let placements = table
        .get("placements")
        .and_then(|n| crate::quantity::several::<Placement>("placements", n, problems))
        .map(|list| list.into_iter().map(|p| p.value).collect())
        .unwrap_or_default();
    let mut options = Options::new();
    let own = table.table("options", problems);
    for entry in own.map_or(&[][..], |t| &t.0).iter().chain(set) {
        if let Some(value) = option(entry, adapter, problems) {
            options.insert(entry.key.clone(), value);
        }
    }
    let timeouts = table
        .get("timeouts")
        .map(|n| timeouts(n, problems))
        .unwrap_or_default();
    let install = table.text("install", problems);
    let daemons = table
        .get("daemon")
        .map(|n| crate::daemon::read(n, &[(&options, adapter)], problems))
        .unwrap_or_default();
    Some(Stack {
        name: name.to_owned(),
        adapter: adapter.name.clone(),
        description: description?.to_owned(),
        waits: waits?,
        options,
        floor,
        asks,
        sends_later: sends_later || adapter.capabilities.sends_later,
        loopback: adapter.capabilities.loopback && name != GROUND,
        channels,
        placements,
        daemons,
        timeouts,
        install: install.map(str::to_owned),
        chain: None,
    })
}

/// The adapter that the file names.
fn adapter<'a>(
    n: &Node,
    reader: &Reader<'a>,
    problems: &mut Problems,
) -> Option<&'a AdapterDescription> {
    let text = n.text("`adapter`", problems)?;
    let found = reader.adapters.iter().find(|a| a.name == text);
    if found.is_none() {
        let names = reader.adapters.iter().map(|a| a.name.as_str());
        let near = suggest::instead(text, "adapters", names);
        let help = match reader.catalog.adapter_places {
            Some(places) => format!("{near}\n{}", places(text)),
            None => near,
        };
        Problem::at(&n.at, format!("there is no adapter `{text}`"))
            .label("neither built into this dyno nor found as a library")
            .help(help)
            .note(problems);
    }
    found
}

/// Whether its readers ask for what is kept.
fn asks(n: &Node, adapter: &AdapterDescription, problems: &mut Problems) -> bool {
    let asks = n.bool("`asks`", problems).unwrap_or(false);
    if asks && adapter.is_known() && !adapter.capabilities.asks {
        Problem::at(
            &n.at,
            format!(
                "readers of the adapter `{}` cannot poll for the current value",
                adapter.name
            ),
        )
        .label("the library delivers messages to them")
        .help("leave `asks` out")
        .note(problems);
    }
    asks
}

/// Times after which the stack takes a peer for gone or tries again, by who set them.
fn timeouts(node: &Node, problems: &mut Problems) -> Vec<Timeout> {
    let Some(table) = node.table("`timeouts`", problems) else {
        return Vec::new();
    };
    let names: Vec<&str> = TimeoutBy::ALL.iter().map(|by| by.as_str()).collect();
    table.refuse_unknown("`timeouts`", &names, problems);
    let mut all = Vec::new();
    for &by in TimeoutBy::ALL {
        let subject = format!("`timeouts.{}`", by.as_str());
        let of = table.get(by.as_str());
        let of = of.and_then(|n| n.table(&subject, problems));
        let entries = of.map_or(&[][..], |t| t.0.as_slice()).iter();
        all.extend(entries.filter_map(|entry| timeout(entry, by, problems)));
    }
    all
}

fn timeout(entry: &Entry, by: TimeoutBy, problems: &mut Problems) -> Option<Timeout> {
    let subject = format!("`{}`", entry.key);
    let table = entry.node.table(&subject, problems)?;
    table.refuse_unknown(&subject, &["time", "text"], problems);
    let (Some(time), Some(text)) = (table.get("time"), table.get("text")) else {
        return Problem::at(
            &entry.node.at,
            format!("{subject} needs a `time` and a `text`"),
        )
        .label("a timeout of a stack")
        .help("write for example `lease = { time = \"10 s\", text = \"a silent peer is gone\" }`")
        .refuse(problems);
    };
    Some(Timeout {
        name: entry.key.clone(),
        time: crate::settings::time(Nanos(1))("time", time, problems)?.value,
        by,
        text: text.text("`text`", problems)?.to_owned(),
    })
}

/// The waits that are natural to it.
fn waits(
    n: &Node,
    adapter: &AdapterDescription,
    asks: bool,
    problems: &mut Problems,
) -> Option<Vec<Wait>> {
    let can = adapter.capabilities.of_stack(asks);
    let waits = crate::quantity::several::<PlainWait>("waits", n, problems)?;
    for w in &waits {
        if adapter.is_known() && !can.waits.contains(&w.value.0) {
            let can: Vec<&str> = can.waits.iter().map(|w| w.as_str()).collect();
            Problem::at(
                &w.at,
                format!(
                    "the adapter `{}` cannot wait by {}",
                    adapter.name, w.value.0
                ),
            )
            .label("not among its capabilities")
            .help(format!("it can wait by {}", can.join(", ")))
            .note(problems);
        }
    }
    Some(waits.into_iter().map(|w| w.value.0).collect())
}

fn option(
    entry: &Entry,
    adapter: &AdapterDescription,
    problems: &mut Problems,
) -> Option<OptionValue> {
    if !adapter.is_known() {
        // Nothing of it can be run, and nobody knows its options: what stands there is taken as it is.
        return match &entry.node.value {
            Value::Bool(v) => Some(OptionValue::Bool(*v)),
            Value::Int(v) => Some(OptionValue::Int(*v)),
            Value::Float(v) => Some(OptionValue::Float(*v)),
            Value::Text(v) => Some(OptionValue::Text(v.clone())),
            _ => None,
        };
    }
    let Some(spec) = adapter.options.iter().find(|o| o.name == entry.key) else {
        let names = adapter.options.iter().map(|o| o.name.as_str());
        return Problem::at(
            &entry.key_at,
            format!(
                "the adapter `{}` has no option `{}`",
                adapter.name, entry.key
            ),
        )
        .label("no such option")
        .help(suggest::instead(&entry.key, "options", names))
        .refuse(problems);
    };
    let value = match (&spec.kind, &entry.node.value) {
        (OptionKind::Bool, Value::Bool(v)) => OptionValue::Bool(*v),
        (OptionKind::Int, Value::Int(v)) if spec.most.is_some_and(|most| *v > most) => {
            return too_much(entry, spec, *v).refuse(problems);
        }
        (OptionKind::Int, Value::Int(v)) if *v >= spec.least.unwrap_or(0) => OptionValue::Int(*v),
        (OptionKind::Float, Value::Float(v)) if v.is_finite() => OptionValue::Float(*v),
        // Every whole number that a person writes here is exact as a float.
        (OptionKind::Float, Value::Int(v)) => OptionValue::Float(*v as f64),
        (OptionKind::Text, Value::Text(v)) => OptionValue::Text(v.clone()),
        (OptionKind::OneOf(values), Value::Text(v)) if values.contains(v) => {
            OptionValue::Text(v.clone())
        }
        _ => {
            return wrong_option(entry, spec).refuse(problems);
        }
    };
    Some(value)
}

fn too_much(entry: &Entry, spec: &OptionSpec, found: i64) -> Problem {
    let most = spec.most.unwrap_or(i64::MAX);
    let text = format!(
        "the option `{}` can be at most {most} here, not {found}",
        spec.name
    );
    Problem::at(&entry.node.at, text)
        .label(format!("write {most} or less"))
        .help(format!("`{}`: {}", spec.name, spec.doc))
}

fn wrong_option(entry: &Entry, spec: &OptionSpec) -> Problem {
    let node = &entry.node;
    let subject = format!("the option `{}`", spec.name);
    let number = match spec.least {
        None => "a whole number, zero or more".to_owned(),
        Some(least) => format!("a whole number, {least} or more"),
    };
    let wanted = match &spec.kind {
        OptionKind::Bool => "true or false",
        OptionKind::Int => number.as_str(),
        OptionKind::Float => "a number",
        OptionKind::Text => "text in quotes",
        OptionKind::OneOf(values) => {
            let words = values.iter().map(String::as_str);
            return match &node.value {
                Value::Text(found) => {
                    Problem::at(&node.at, format!("{subject} cannot be {found:?}"))
                        .label("not one of its values")
                        .help(suggest::instead(found, "values", words))
                }
                _ => node
                    .wrong_kind(&subject, "text in quotes")
                    .help(suggest::instead("", "values", words)),
            };
        }
    };
    let problem = match node.value {
        Value::Int(v) => Problem::at(&node.at, format!("{subject} must be {wanted}, found {v}"))
            .label(format!("write {wanted}")),
        _ => node.wrong_kind(&subject, wanted),
    };
    problem.help(format!("`{}`: {}", spec.name, spec.doc))
}
