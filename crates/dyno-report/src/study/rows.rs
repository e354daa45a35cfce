//! Lists of an experiment that have a row for each element: named functions that any study may use.

use super::names::{Bound, Value};
use super::ranking::ranking;
use super::scope::Scope;
use crate::chains;
use crate::published::{PrintedRow, PrintedTables};
use crate::summary::{ExperimentSummary, HeldRequirement, Requirement, Spread, Summary};

/// A named function that finds rows.
#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) name: &'static str,
    /// The names that it binds.
    pub(crate) gives: &'static [&'static str],
    pub(crate) find: fn(&Find<'_, '_>) -> Vec<Bound>,
}

/// Where it looks.
pub(crate) struct Find<'s, 'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) printed: &'a PrintedTables,
    pub(crate) e: Option<&'a ExperimentSummary>,
    /// The published table that is named behind it.
    pub(crate) table: &'s str,
    /// The group.
    pub(crate) scope: &'s Scope<'a>,
}

/// All of them.
pub(crate) const GENERATORS: &[Generator] = &[
    Generator {
        name: "printed",
        gives: &["label", "c1", "c2", "c3", "c4", "id"],
        find: printed,
    },
    Generator {
        name: "part",
        gives: &["part", "mean", "p50", "p99", "share", "in_tail"],
        find: parts,
    },
    Generator {
        name: "copy",
        gives: &[
            "cpus",
            "work",
            "work_min",
            "work_max",
            "share",
            "share_min",
            "share_max",
            "p99",
        ],
        find: copies,
    },
    Generator {
        name: "component",
        gives: &["component", "at_rest", "in_use", "peak"],
        find: components,
    },
    Generator {
        name: "reason",
        gives: &["number", "reason", "cells"],
        find: reasons,
    },
    Generator {
        name: "ranking",
        gives: &["order", "published", "later", "verdict"],
        find: |find| ranking(find.scope),
    },
    Generator {
        name: "requirement",
        gives: &[
            "name", "required", "source", "of", "stack", "found", "verdict", "reason",
        ],
        find: requirements,
    },
];

/// The reasons that cells refer to, in the order of their numbers.
fn reasons(find: &Find<'_, '_>) -> Vec<Bound> {
    let reasons = find.scope.reasons.borrow();
    let row = |(at, (reason, cells)): (usize, &(String, u64))| {
        Row::default()
            .number("number", Some((at + 1) as f64))
            .text("reason", reason)
            .number("cells", Some(*cells as f64))
            .0
    };
    reasons.iter().enumerate().map(row).collect()
}

/// Collects what is known.
#[derive(Default)]
struct Row(Bound);

impl Row {
    fn text(mut self, name: &str, text: impl Into<String>) -> Row {
        self.0.push((name.to_owned(), Value::Text(text.into())));
        self
    }

    fn number(mut self, name: &str, value: Option<f64>) -> Row {
        let value = value.map(|v| (name.to_owned(), Value::Number(v)));
        self.0.extend(value);
        self
    }

    fn spread(self, [median, min, max]: [&str; 3], s: Option<Spread>) -> Row {
        self.number(median, s.map(|s| s.median))
            .number(min, s.map(|s| s.min))
            .number(max, s.map(|s| s.max))
    }
}

/// The rows of a published table.
fn printed(find: &Find<'_, '_>) -> Vec<Bound> {
    let row = |printed: &PrintedRow| {
        let cells = ["label", "c1", "c2", "c3", "c4"]
            .into_iter()
            .zip(&printed.cells);
        let row = cells.fold(Row::default(), |row, (name, cell)| row.text(name, cell));
        match printed.names.last() {
            Some(id) => row.text("id", id).0,
            None => row.0,
        }
    };
    find.printed.rows(find.table).iter().map(row).collect()
}

/// The parts of the way through a chain, in nanoseconds.
fn parts(find: &Find<'_, '_>) -> Vec<Bound> {
    let chain = find.e.and_then(|e| e.chain.as_ref());
    let all = chain.into_iter().flat_map(|chain| &chain.parts);
    let row = |p: &crate::summary::PartSummary| {
        let row = Row::default()
            .text("part", chains::name(p.stage, p.stack.as_deref(), p.back))
            .text("mean", chains::time(&p.mean))
            .text("p50", chains::time(&p.p50))
            .number("share", Some(p.share))
            .number("in_tail", p.in_tail);
        match &p.p99 {
            Some(p99) => row.text("p99", chains::time(p99)).0,
            None => row.0,
        }
    };
    all.map(row).collect()
}

/// The copies of a probe or an exchange: shares of one, and the median p99 in nanoseconds.
fn copies(find: &Find<'_, '_>) -> Vec<Bound> {
    let all = find.e.into_iter().flat_map(|e| &e.copies);
    let row = |copy: &crate::summary::CopySummary| {
        let cpus: Vec<String> = copy.cpus.iter().map(u32::to_string).collect();
        Row::default()
            .text("cpus", cpus.join(", "))
            .spread(["work", "work_min", "work_max"], copy.work)
            .spread(["share", "share_min", "share_max"], copy.share)
            .number("p99", Some(copy.p99_ns.median))
            .0
    };
    all.map(row).collect()
}

/// Processes, and the memory of machines, in bytes.
fn components(find: &Find<'_, '_>) -> Vec<Bound> {
    let Some(e) = find.e else {
        return Vec::new();
    };
    let around = |label: &str| e.memory.iter().find(|m| m.label == label);
    let processes = e.machines.iter().chain(&e.agents).map(|d| {
        Row::default()
            .text("component", &d.label)
            .number("at_rest", around(&d.label).map(|m| m.at_rest_bytes.median))
            .number("in_use", Some(d.pss_bytes.median))
            .number("peak", Some(d.peak_rss_bytes.median))
            .0
    });
    let is_process = |label: &str| e.machines.iter().any(|d| d.label == label);
    let others = e.memory.iter().filter(|m| !is_process(&m.label)).map(|m| {
        Row::default()
            .text("component", &m.label)
            .number("at_rest", Some(m.at_rest_bytes.median))
            .number("in_use", Some(m.in_use_bytes.median))
            .0
    });
    processes.chain(others).collect()
}

/// The requirements of the study's limits, each with what it came to for each experiment.
fn requirements(find: &Find<'_, '_>) -> Vec<Bound> {
    let mut rows = Vec::new();
    for r in &find.summary.requirements {
        let named = || {
            let row = Row::default()
                .text("name", &r.name)
                .text("required", &r.required);
            match &r.source {
                Some(source) => row.text("source", source),
                None => row,
            }
        };
        if r.held.is_empty() {
            rows.push(named().0);
        }
        for held in &r.held {
            let row = named()
                .text("found", &held.found)
                .text("verdict", held.verdict)
                .text("reason", &held.reason);
            rows.push(match experiment(find.summary, held) {
                Some(e) => {
                    row.text("stack", &e.experiment.stack)
                        .text("of", put_on(find.summary, r, e))
                        .0
                }
                None => row.0,
            });
        }
    }
    rows
}

fn experiment<'a>(summary: &'a Summary, held: &HeldRequirement) -> Option<&'a ExperimentSummary> {
    let mut all = summary.experiments.iter();
    all.find(|e| e.experiment.id == held.experiment)
}

/// The stack, or the host of a probe; with the experiment where the requirement is put on several.
fn put_on(summary: &Summary, r: &Requirement, e: &ExperimentSummary) -> String {
    let x = &e.experiment;
    let of = if x.workload.kind().is_probe() {
        let host = summary.run.hosts.get(x.on_host);
        host.map_or("–", String::as_str)
    } else {
        x.stack.as_str()
    };
    let others = r.held.iter().filter_map(|held| experiment(summary, held));
    if others.into_iter().any(|o| o.experiment.name != x.name) {
        format!("{of}, {}", x.name)
    } else {
        of.to_owned()
    }
}
