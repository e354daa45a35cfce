//! Where an output comes from, and what it says of its results.

use dyno_audit::{Statements, ToolResult};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Why nothing of it has an interval.
pub(super) const NO_TRIALS: &str = "imported: the output of a tool without its trials, so no figure has an interval and Dyno gives no verdict";

/// `a.json (google-benchmark, 2026-11-22)`: the file, the tool and the date that it names.
pub(super) fn origin(statements: &Statements) -> String {
    let source = &statements.source;
    let about = [statements.tool(), source.tested.as_deref()];
    let about: Vec<&str> = about.into_iter().flatten().collect();
    match about.is_empty() {
        true => source.title.clone(),
        false => format!("{} ({})", source.title, about.join(", ")),
    }
}

/// Each result by its label and what is said of it, once.
pub(super) fn labels(results: &[ToolResult<'_>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for result in results {
        let said = result.said();
        let label = match said.is_empty() {
            true => format!("{} ({})", result.label(), result.quantity.as_str()),
            false => format!(
                "{} ({}, {})",
                result.label(),
                result.quantity.as_str(),
                said.join(", ")
            ),
        };
        if seen.insert(label.clone()) {
            all.push(label);
        }
    }
    all
}

/// The factors that no result of an output says; the placement is never said.
pub(super) fn unsaid(results: &[ToolResult<'_>]) -> Vec<&'static str> {
    let mut said: BTreeMap<&'static str, bool> = BTreeMap::new();
    let mut order: Vec<&'static str> = Vec::new();
    for (factor, value) in results.iter().flat_map(ToolResult::factors) {
        let known = said.entry(factor).or_insert_with(|| {
            order.push(factor);
            false
        });
        *known |= value.is_some();
    }
    order.retain(|factor| !said[factor]);
    order.push("placement");
    order
}

/// Where an output comes from, in JSON.
#[derive(Serialize)]
pub(super) struct Origin<'a> {
    file: &'a str,
    tool: Option<&'a str>,
    tested: Option<&'a str>,
}

impl<'a> Origin<'a> {
    pub(super) fn of(statements: &'a Statements) -> Origin<'a> {
        Origin {
            file: &statements.source.title,
            tool: statements.tool(),
            tested: statements.source.tested.as_deref(),
        }
    }
}

/// The result that a row is of, in JSON; a factor that is not said is `null`.
#[derive(Serialize)]
pub(super) struct Named<'a> {
    name: &'a str,
    quantity: &'static str,
    conditions: BTreeMap<&'a str, &'a str>,
    factors: BTreeMap<&'static str, Option<String>>,
}

impl<'a> Named<'a> {
    pub(super) fn of(result: &ToolResult<'a>) -> Named<'a> {
        Named {
            name: result.name,
            quantity: result.quantity.as_str(),
            conditions: result.conditions.iter().copied().collect(),
            factors: result.factors().into_iter().collect(),
        }
    }
}
