//! `dyno list`

use crate::agents::agent_command;
use crate::cli::{ListArgs, ListWhat};
use crate::exit::{Code, Failure, Result};
use crate::files;
use crate::host::host_facts;
use crate::terminal;
use dyno_model::Stack;
use dyno_model::adapter::{AdapterDescription, OptionKind, OptionSpec};
use dyno_plan::Listing;
use serde_json::{Value, json};

/// Prints what there is to choose from.
pub(crate) fn list(args: &ListArgs) -> Result {
    let catalog = files::catalog(&args.files)?;
    let rows = match args.what {
        ListWhat::Suites => listings(&catalog.suites()),
        ListWhat::Testbeds => testbeds(&catalog),
        ListWhat::Stacks => stacks(&catalog)?,
        ListWhat::Adapters => adapters()?.iter().map(adapter_row).collect(),
    };
    let mut text = String::new();
    if args.json {
        let all: Vec<Value> = rows.into_iter().map(|r| r.json).collect();
        text = dyno_report::json_text(&all);
    } else {
        let widest = rows
            .iter()
            .map(|r| r.name.chars().count())
            .max()
            .unwrap_or(0);
        for row in rows {
            text.push_str(&format!("{:<widest$}  {}\n", row.name, row.text));
            for line in row.details {
                text.push_str(&format!("{:<widest$}  {line}\n", ""));
            }
        }
    }
    terminal::print(&text)?;
    Ok(Code::Success.into())
}

struct Row {
    name: String,
    text: String,
    details: Vec<String>,
    json: Value,
}

fn adapters() -> Result<Vec<AdapterDescription>> {
    dyno_runner::describe_adapters(&agent_command()?).map_err(Failure::with(Code::Error))
}

fn listings(all: &[Listing]) -> Vec<Row> {
    all.iter()
        .map(|l| Row {
            name: l.name.clone(),
            text: l.title.clone(),
            details: (!l.description.is_empty())
                .then(|| l.description.clone())
                .into_iter()
                .chain(
                    l.presets.iter().map(|(group, names)| {
                        format!("presets: --set {group}={}", names.join("|"))
                    }),
                )
                .chain(l.broken.iter().map(|b| format!("cannot be used: {b}")))
                .collect(),
            json: json!({
                "name": l.name, "title": l.title, "description": l.description,
                "path": l.path, "presets": l.presets, "broken": l.broken,
            }),
        })
        .collect()
}

/// With the reason where one cannot be used here.
fn testbeds(catalog: &dyno_plan::Catalog) -> Vec<Row> {
    let all = catalog.testbeds();
    let mut rows = listings(&all);
    for (row, listing) in rows.iter_mut().zip(&all) {
        let problem = match catalog.read_testbed(&listing.name) {
            Ok(testbed) => dyno_runner::check_hosts(&testbed)
                .err()
                .map(|e| e.to_string()),
            Err(_) if listing.broken.is_some() => None,
            Err(e) => Some(e.to_string()),
        };
        row.details
            .extend(problem.as_ref().map(|p| format!("cannot be used: {p}")));
        if let Value::Object(fields) = &mut row.json {
            fields.insert("unavailable".to_owned(), json!(problem));
        }
    }
    rows
}

/// The adapters of a stack, by leg.
fn of_legs<'a>(stack: &Stack, adapters: &'a [AdapterDescription]) -> Vec<&'a AdapterDescription> {
    let names = stack.adapters().into_iter();
    let of = names.filter_map(|name| adapters.iter().find(|a| a.name == name));
    of.collect()
}

fn stacks(catalog: &dyno_plan::Catalog) -> Result<Vec<Row>> {
    let adapters = adapters()?;
    let facts = host_facts(catalog);
    let rows = catalog
        .stacks()
        .into_iter()
        .map(|l| {
            let stack = catalog.read_stack(&l.name, &adapters);
            let (of, waits, problem) = match &stack {
                Ok(s) => (
                    of_legs(s, &adapters),
                    s.waits
                        .iter()
                        .map(ToString::to_string)
                        .collect::<Vec<_>>()
                        .join(", "),
                    None,
                ),
                Err(e) => (Vec::new(), String::new(), Some(e.to_string())),
            };
            let joined = |part: fn(&AdapterDescription) -> String| {
                let parts: Vec<String> = of.iter().map(|a| part(a)).collect();
                (!parts.is_empty()).then(|| parts.join(" > "))
            };
            let version = joined(|a| format!("{} {}", a.name, a.version)).unwrap_or_default();
            let missing = |s| dyno_plan::missing_daemon(s, &facts);
            let problem = problem
                .or_else(|| of.iter().find_map(|a| a.unavailable.clone()))
                .or_else(|| Some(stack.as_ref().ok().and_then(missing)?.to_string()));
            let mut details = vec![l.title.clone()];
            details.extend(problem.as_ref().map(|p| format!("cannot be used: {p}")));
            Row {
                text: format!("{version}; {waits}"),
                details,
                json: json!({
                    "name": l.name, "description": l.title, "path": l.path,
                    "adapter": joined(|a| a.name.clone()), "version": joined(|a| a.version.clone()),
                    "waits": waits, "unavailable": problem,
                }),
                name: l.name,
            }
        })
        .collect();
    Ok(rows)
}

fn adapter_row(a: &AdapterDescription) -> Row {
    let c = &a.capabilities;
    let waits = c
        .waits
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let placements = c
        .placements
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let mut can = vec![
        format!("waits: {waits}"),
        format!("placements: {placements}"),
    ];
    for (has, text) in [
        (c.loan, "loaned memory"),
        (c.reliable, "reliable"),
        (c.best_effort, "best effort"),
        (c.request_response, "request-response"),
        (c.sends_later, "sends later (`send` only fills a queue)"),
        (c.asks, "readers that spin ask for the current value"),
        (c.loopback, "a node receives its own messages"),
    ] {
        can.extend(has.then(|| text.to_owned()));
    }
    can.extend(c.max_message.map(|n| format!("messages up to {n} B")));
    can.extend(
        c.fragments_above
            .map(|n| format!("messages above {n} B are cut into fragments")),
    );
    let mut details = vec![a.summary.clone(), can.join("; ")];
    details.extend(a.options.iter().map(option_line));
    details.extend(a.unavailable.iter().map(|u| format!("cannot be used: {u}")));
    Row {
        name: a.name.clone(),
        text: a.version.clone(),
        details,
        json: serde_json::to_value(a).unwrap_or(Value::Null),
    }
}

fn option_line(o: &OptionSpec) -> String {
    let kind = match &o.kind {
        OptionKind::Bool => "true|false".to_owned(),
        OptionKind::Int => match (o.least, o.most) {
            (Some(least), Some(most)) => format!("integer from {least} to {most}"),
            (Some(least), None) => format!("integer from {least}"),
            (None, Some(most)) => format!("integer up to {most}"),
            (None, None) => "integer".to_owned(),
        },
        OptionKind::Float => "number".to_owned(),
        OptionKind::Text => "text".to_owned(),
        OptionKind::OneOf(values) => values.join("|"),
    };
    let default = o
        .default
        .as_ref()
        .map(|d| format!(" [{d}]"))
        .unwrap_or_default();
    format!("option {} = {kind}{default}: {}", o.name, o.doc)
}
