//! The JSON form, `json_schema_version` 1 and before; numbers have all their digits.

use super::rows::{Counter, Groups, Row};
use crate::Statements;
use crate::import::error::Imported;
use crate::import::json::{self, Node};
use crate::import::lines::Lines;
use crate::import::number::Number;
use crate::import::out::{Out, time, unit};
use crate::statement::Dimension;

/// Numbers of an entry that are no counters.
const OWN: &[&str] = &[
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
    "cpu_coefficient",
    "real_coefficient",
    "rms",
];

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let documents = json::documents(input)?;
    let mut groups = Groups::new(Out::new(input.tool()));
    for root in Node::roots(&documents) {
        document(&mut groups, &root)?;
        groups.finish()?;
    }
    groups.done()
}

fn document(groups: &mut Groups, root: &Node<'_>) -> Imported<()> {
    let mut medians = false;
    if let Some(context) = root.find("context") {
        medians = context_of(&context, groups)?;
    }
    for entry in root.get("benchmarks")?.items()? {
        if ["error_occurred", "skipped"].iter().any(|k| {
            entry
                .find(k)
                .is_some_and(|v| v.value.as_bool() != Some(false))
        }) {
            let message = ["error_message", "skip_message"]
                .iter()
                .find_map(|k| entry.find(k));
            let message = message
                .map(|m| m.text())
                .transpose()?
                .unwrap_or("no message");
            let name = entry.get("name")?.text()?;
            groups
                .out
                .note(format!("{name} failed or was skipped: {message}"));
            continue;
        }
        let name = entry.get("name")?.text()?;
        let aggregate = entry.find("aggregate_name").map(|a| a.text()).transpose()?;
        if matches!(aggregate, Some("BigO" | "RMS")) {
            continue;
        }
        if let Some(aggregate) = aggregate {
            let base = match entry.find("run_name") {
                Some(base) => base.text()?,
                None => name
                    .strip_suffix(aggregate)
                    .map_or(name, |n| n.trim_end_matches('_')),
            };
            let told = (base.to_owned(), aggregate.to_owned());
            groups.told.insert(name.to_owned(), told);
        }
        let percentage = entry
            .find("aggregate_unit")
            .is_some_and(|u| u.value.as_str() == Some("percentage"));
        let word = entry.get("time_unit")?;
        let unit = match percentage {
            true => unit("", Dimension::One, 1.0),
            false => time(word.text()?).ok_or_else(|| word.error("is not a unit of time"))?,
        };
        let Some(real) = entry.measured(&mut groups.out, "real_time")? else {
            *groups.left_out.entry(name.to_owned()).or_default() += 1;
            continue;
        };
        let row = Row {
            name: name.to_owned(),
            real: number(&real, medians)?,
            cpu: entry
                .find("cpu_time")
                .map(|c| number(&c, medians))
                .transpose()?,
            unit,
            iterations: entry.get("iterations")?.count()?,
            counters: counters(&entry, medians)?,
            medians,
        };
        groups.add(row, entry.spot())?;
    }
    Ok(())
}

/// Takes what is said of build and machine; returns whether times are medians: Dyno's exports have the p50 of each trial there.
fn context_of(context: &Node<'_>, groups: &mut Groups) -> Imported<bool> {
    for key in ["date", "host_name", "executable", "library_version"] {
        if let Some(node) = context.find(key) {
            groups
                .out
                .banner_value(&node.path, &format!("{key}: {}", node.text()?));
        }
    }
    if let Some(date) = context.find("date") {
        groups.out.tested(date.text()?);
    }
    // In the words of the console, by which checks know them.
    if context
        .find("library_build_type")
        .is_some_and(|t| t.value.as_str() == Some("debug"))
    {
        groups.out.banner_value(
            "context.library_build_type",
            "***WARNING*** Library was built as DEBUG. Timings may be affected.",
        );
    }
    if context
        .find("cpu_scaling_enabled")
        .is_some_and(|t| t.value.as_bool() == Some(true))
    {
        groups.out.banner_value("context.cpu_scaling_enabled", "***WARNING*** CPU scaling is enabled, the benchmark real time measurements may be noisy and will incur extra overhead.");
    }
    let version = context
        .find("library_version")
        .map(|v| v.text())
        .transpose()?;
    Ok(version.is_some_and(|v| v.starts_with("dyno ")))
}

/// Digits of Dyno's exports (`dyno_report::exported`); the library writes all.
const DIGITS: i32 = 9;

fn number(node: &Node<'_>, of_dyno: bool) -> Imported<Number> {
    let exact = node.exact()?;
    Ok(match of_dyno {
        true => exact.significant(DIGITS),
        false => exact,
    })
}

fn counters(entry: &Node<'_>, of_dyno: bool) -> Imported<Vec<Counter>> {
    let mut found = Vec::new();
    for (key, node) in entry.members()? {
        if node.value.is_number() && !OWN.contains(&key) {
            found.push(Counter {
                name: key.to_owned(),
                number: number(&node, of_dyno)?,
                prefix: String::new(),
                factor: 1.0,
                per_second: false,
                percent: false,
            });
        }
    }
    Ok(found)
}
