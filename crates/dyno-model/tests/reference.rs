//! The reference of workloads, metrics and figures is written from their tables, and so are the tables that tests of
//! the page use. `INSTA_UPDATE=always` writes both anew, as it does snapshots.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_model::factors::{self, Of};
use dyno_model::tables::Tables;
use dyno_model::workload::{Key, KeyDefault};
use dyno_model::{Better, Metric, WorkloadKind};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Holds the file against the text, or writes it.
#[track_caller]
fn holds(path: &str, text: &str) {
    if std::env::var("INSTA_UPDATE").is_ok_and(|v| v == "always") {
        std::fs::write(root().join(path), text).unwrap();
    }
    assert!(
        read(path) == text,
        "{path} differs from the tables: run INSTA_UPDATE=always cargo test -p dyno-model"
    );
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let titles: Vec<String> = head.iter().map(|t| (*t).to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    let rows: String = rows.map(|cells| line(&cells)).collect();
    format!("{}{rule}{rows}", line(&titles))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn better(better: Better) -> String {
    match better {
        Better::Lower => "lower".into(),
        Better::Higher => "higher".into(),
        Better::Neither => String::new(),
    }
}

fn yes(is: bool, word: &str) -> String {
    if is { word.to_owned() } else { String::new() }
}

fn listed<T: ToString>(all: &[T]) -> String {
    let codes: Vec<String> = all.iter().map(|x| code(&x.to_string())).collect();
    codes.join(", ")
}

fn reference() -> String {
    let tables = Tables::all();
    let workloads = table(
        &[
            "workload",
            "what",
            "plays",
            "headline",
            "its own metrics",
            "topologies",
        ],
        tables.workloads.iter().map(|w| {
            vec![
                code(w.name),
                w.meaning.to_owned(),
                w.roles.map(|r| r.as_str()).join(", "),
                code(w.headline[0].as_str()),
                listed(w.metrics),
                match w.one_receiver {
                    Some(why) => format!("one receiver: {why}"),
                    None => "all".to_owned(),
                },
            ]
        }),
    );
    let mut shared: Vec<(&Key, Vec<&str>)> = Vec::new();
    for (workload, key) in tables
        .workloads
        .iter()
        .flat_map(|w| w.keys.iter().map(move |k| (w.name, k)))
    {
        match shared.iter_mut().find(|(known, _)| *known == key) {
            Some((_, workloads)) => workloads.push(workload),
            None => shared.push((key, vec![workload])),
        }
    }
    let keys = table(
        &["key", "what", "of", "default", "workloads"],
        shared.iter().map(|(k, workloads)| {
            let default = match k.default {
                KeyDefault::Value(value) => code(value),
                KeyDefault::Required => "required".into(),
                KeyDefault::InPlaceOf(other) => format!("in place of `{other}`"),
            };
            let (meaning, unit) = (k.meaning.to_owned(), k.unit.to_owned());
            vec![code(k.name), meaning, unit, default, listed(workloads)]
        }),
    );
    let metrics = table(
        &["metric", "called", "what", "better", "clocks", "samples"],
        tables.metrics.iter().map(|m| {
            vec![
                code(m.name),
                m.title.to_owned(),
                m.meaning.to_owned(),
                better(m.better),
                yes(m.between_hosts, "of two hosts"),
                match (m.of_faults, m.one_per_trial) {
                    (true, _) => "one per trial with faults".to_owned(),
                    (false, true) => "one per trial".to_owned(),
                    (false, false) => "many".to_owned(),
                },
            ]
        }),
    );
    let counts = table(
        &["count", "what", "better"],
        tables
            .counts
            .iter()
            .map(|c| vec![code(c.name), c.meaning.to_owned(), better(c.better)]),
    );
    let figures = table(
        &["figure", "called", "what", "unit", "better"],
        tables.figures.iter().map(|f| {
            let unit = f.unit.to_owned();
            vec![
                code(f.name),
                f.title.to_owned(),
                f.meaning.to_owned(),
                unit,
                better(f.better),
            ]
        }),
    );
    format!(
        "# Workloads, metrics and figures\n\n\
         Written from the tables that Dyno itself reads. What the workloads do is said in the [methodology](../methodology.md), \
         how their keys are written in [suite files](suite-files.md).\n\n\
         ## Workloads\n\n{workloads}\n\
         The metrics of the start are of all workloads.\n\n\
         ### Keys that not all workloads have\n\n{keys}\n\
         ## Metrics\n\nAll are times in nanoseconds. *Of two hosts*: it ends on another host than it began on, where the two sides \
         are on different hosts, and is then known as well as their clocks are.\n\n{metrics}\n\
         ## Counts of a trial\n\nA message counts once for each receiver that should get it; a round trip counts once.\n\n{counts}\n\
         ## Rates and costs of a trial\n\nCosts are those of all processes of the stack, daemons included. \
         Those from `participants` on are of the workload `idle` alone.\n\n{figures}"
    )
}

#[test]
fn the_reference_is_that_of_the_tables() {
    holds("docs/reference/tables.md", &reference());
}

#[test]
fn tests_of_the_page_use_these_tables() {
    let json = serde_json::to_string_pretty(&Tables::all()).unwrap();
    holds(
        "crates/dyno-page/web/tests/tables.json",
        &format!("{json}\n"),
    );
}

#[test]
fn suite_files_describe_every_workload_and_its_keys() {
    let text = read("docs/reference/suite-files.md");
    for kind in WorkloadKind::ALL {
        assert!(text.contains(kind.as_str()), "{kind}");
        for key in kind.info().keys {
            assert!(
                text.contains(&format!("| `{}` |", key.name)),
                "{}",
                key.name
            );
        }
    }
}

#[test]
fn the_schema_names_every_metric_and_no_other() {
    let schema: serde_json::Value =
        serde_json::from_str(&read("docs/reference/show.schema.json")).unwrap();
    let named = schema["$defs"]["metric_name"]["enum"].as_array().unwrap();
    let names: Vec<&str> = Metric::ALL.iter().map(|m| m.as_str()).collect();
    assert_eq!(*named, names);
}

#[test]
fn every_column_of_a_factor_is_in_the_reference() {
    let described = [
        ("docs/reference/show-json.md", false),
        ("docs/reference/exports.md", true),
    ];
    for (path, is_typed) in described {
        let text = read(path);
        for (key, of) in factors::in_files().flat_map(|f| f.columns) {
            let is_shown = is_typed || !matches!(of, Of::Detail(_));
            assert!(!is_shown || text.contains(&code(key)), "{path}: {key}");
        }
    }
}
