//! Stack files: a named configuration of an adapter, checked against what the adapter declares.

use crate::catalog::Catalog;
use crate::chain::{self, Reader};
use crate::quantity::PlainWait;
use dyno_model::adapter::{AdapterDescription, OptionKind, OptionSpec, OptionValue, Options};
use dyno_model::probe::GROUND;
use dyno_model::{Placement, Stack};
use dyno_toml::{Entry, Place, Problem, Problems, Source, Value, parse, suggest};

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
    "install",
    "daemon",
];

/// Reads the stack `name`, with the options `set` in the place of its own; mistakes go to `problems`.
pub(crate) fn read(
    catalog: &Catalog,
    name: &str,
    source: &Source,
    adapters: &[AdapterDescription],
    set: &[Entry],
    problems: &mut Problems,
) -> Option<Stack> {
    let reader = Reader {
        catalog,
        adapters,
        within: &[name],
    };
    read_within(&reader, source, set, problems)
}

/// The same for a stack that may be a leg of others.
pub(crate) fn read_within(
    reader: &Reader<'_>,
    source: &Source,
    set: &[Entry],
    problems: &mut Problems,
) -> Option<Stack> {
    let (adapters, places) = (reader.adapters, reader.catalog.adapter_places);
    let name = *reader.within.last()?;
    let table = parse(source, problems)?;
    if table.get("leg").is_some() {
        for entry in set {
            problems.push(
                Problem::at(&entry.key_at, format!("the chain {name:?} has no options"))
                    .label("an option of one of its legs")
                    .help("set it in the stack file of the leg, or name the leg's stack alone"),
            );
        }
        return chain::read(reader, source, &table, problems);
    }
    table.refuse_unknown("a stack", KEYS, problems);
    let mut missing = |key: &str, advice: &str| {
        problems.push(
            Problem::at(&Place::top(source), format!("the stack has no `{key}`"))
                .label(format!("`{key}` is missing"))
                .help(advice),
        );
    };
    if table.get("description").is_none() {
        missing(
            "description",
            "write `description = \"…\"`: one line on what it is",
        );
    }
    if table.get("adapter").is_none() {
        missing(
            "adapter",
            "write `adapter = \"…\"`; see `dyno list adapters`",
        );
    }
    if table.get("waits").is_none() {
        missing(
            "waits",
            "write for example `waits = [\"block\"]`: what wait = \"natural\" stands for",
        );
    }
    let description = table
        .get("description")
        .and_then(|n| n.text("`description`", problems));
    let floor = table
        .get("floor")
        .and_then(|n| n.bool("`floor`", problems))
        .unwrap_or(false);
    let sends_later = table
        .get("sends_later")
        .and_then(|n| n.bool("`sends_later`", problems))
        .unwrap_or(false);
    let channels = table
        .get("channels")
        .and_then(|n| n.whole("`channels`", 1, u64::from(u16::MAX), problems))
        .and_then(|most| u16::try_from(most).ok());
    let adapter = table.get("adapter").and_then(|n| {
        let text = n.text("`adapter`", problems)?;
        let found = adapters.iter().find(|a| a.name == text);
        if found.is_none() {
            let names = adapters.iter().map(|a| a.name.as_str());
            let near = suggest::instead(text, "adapters", names);
            let help = match places {
                Some(places) => format!("{near}\n{}", places(text)),
                None => near,
            };
            problems.push(
                Problem::at(&n.at, format!("there is no adapter `{text}`"))
                    .label("neither built into this dyno nor found as a library")
                    .help(help),
            );
        }
        found
    })?;
    let asks = table
        .get("asks")
        .and_then(|n| {
            let asks = n.bool("`asks`", problems)?;
            if asks && adapter.is_known() && !adapter.capabilities.asks {
                problems.push(
                    Problem::at(
                        &n.at,
                        format!("readers of the adapter `{}` do not ask", adapter.name),
                    )
                    .label("messages are brought to them")
                    .help("leave `asks` out"),
                );
            }
            Some(asks)
        })
        .unwrap_or(false);
    let can = adapter.capabilities.of_stack(asks);
    let waits = table.get("waits").and_then(|n| {
        let waits = crate::quantity::several::<PlainWait>("waits", n, problems)?;
        for w in &waits {
            if adapter.is_known() && !can.waits.contains(&w.value.0) {
                let can: Vec<&str> = can.waits.iter().map(|w| w.as_str()).collect();
                problems.push(
                    Problem::at(
                        &w.at,
                        format!(
                            "the adapter `{}` cannot wait by {}",
                            adapter.name, w.value.0
                        ),
                    )
                    .label("not among its capabilities")
                    .help(format!("it can wait by {}", can.join(", "))),
                );
            }
        }
        Some(waits.into_iter().map(|w| w.value.0).collect())
    });
    let placements = table
        .get("placements")
        .and_then(|n| crate::quantity::several::<Placement>("placements", n, problems))
        .map(|list| list.into_iter().map(|p| p.value).collect())
        .unwrap_or_default();
    let mut options = Options::new();
    let own = table
        .get("options")
        .and_then(|n| n.table("`options`", problems));
    for entry in own.map_or(&[][..], |t| &t.0).iter().chain(set) {
        if let Some(value) = option(entry, adapter, problems) {
            options.insert(entry.key.clone(), value);
        }
    }
    let install = table
        .get("install")
        .and_then(|n| n.text("`install`", problems));
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
        install: install.map(str::to_owned),
        chain: None,
    })
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
        problems.push(
            Problem::at(
                &entry.key_at,
                format!(
                    "the adapter `{}` has no option `{}`",
                    adapter.name, entry.key
                ),
            )
            .label("no such option")
            .help(suggest::instead(&entry.key, "options", names)),
        );
        return None;
    };
    let value = match (&spec.kind, &entry.node.value) {
        (OptionKind::Bool, Value::Bool(v)) => OptionValue::Bool(*v),
        (OptionKind::Int, Value::Int(v)) if spec.most.is_some_and(|most| *v > most) => {
            problems.push(too_much(entry, spec, *v));
            return None;
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
            problems.push(wrong_option(entry, spec));
            return None;
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
