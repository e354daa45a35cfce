//! Limits held against an output. It is undecided whether one is kept: the report says what the digits say.

use super::origin::{NO_TRIALS, Named, Origin, labels, origin};
use crate::check::{
    Bound, Limit, Limits, LimitsError, Measure, Status, junit_case, junit_suite,
    nothing_was_checked,
};
use crate::export::{FORMAT, csv_table, json_text};
use crate::figure::LARGEST;
use crate::number::{Unit, csv_number, exported};
use crate::page::{Page, Tone, rendered};
use crate::standing::{Found, Standing};
use dyno_audit::statement::{Clock, Quantity, Statistic, Trip, Wait};
use dyno_audit::{Stated, Statements, ToolResult};
use dyno_model::Metric;
use dyno_toml::{Problem, Problems};
use serde::Serialize;
use std::io;

/// One limit held against one figure.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldImport<'a> {
    /// The limit.
    pub limit: Limit,
    /// The result that it is put on.
    pub result: ToolResult<'a>,
    /// The figure, in base units.
    pub figure: Stated,
    /// It with what its digits leave open, in the unit of the limit.
    pub found: Found,
    /// Where all that the digits leave open stands to the limit.
    pub standing: Standing,
    /// What that says, in plain words.
    pub reason: String,
}

impl HeldImport<'_> {
    /// A figure of one execution decides nothing.
    pub fn status(&self) -> Status {
        Status::Undecided
    }
}

/// Limits held against an output.
#[derive(Debug, Clone)]
pub struct ImportCheck<'a> {
    statements: &'a Statements,
    limits: String,
    /// Limit by limit, figure by figure; at least one of each limit.
    pub results: Vec<HeldImport<'a>>,
}

/// Holds `limits` against the output of a tool.
///
/// # Errors
/// A limit that no figure answers to: of what the output does not say nothing can be required.
pub fn check_imported<'a>(
    statements: &'a Statements,
    limits: &Limits,
) -> Result<ImportCheck<'a>, LimitsError> {
    let all = statements.results();
    let mut problems = Problems::default();
    let mut results = Vec::new();
    for limit in &limits.limits {
        let before = results.len();
        for result in all.iter().filter(|r| selects(limit, r)) {
            if let Some(figure) = figure(limit, result) {
                results.push(held(
                    limit,
                    result,
                    &without_errors(limit, figure, &all, result),
                ));
            }
        }
        if results.len() == before {
            let message = format!(
                "no figure of this output matches the limit `{}`",
                limit.name
            );
            problems.push(
                Problem::at(&limit.at, message)
                    .label("this limit")
                    .help(format!(
                        "it has {}. A matching figure must state `{}`; an output has no suites, \
                         stacks and workloads, and a payload or a wait only if it states one",
                        labels(&all).join("; "),
                        limit.measure.text()
                    )),
            );
        }
    }
    problems.check(nothing_was_checked)?;
    Ok(ImportCheck {
        statements,
        limits: limits.name().to_owned(),
        results,
    })
}

/// Whether the output says everything that the limit selects by. `experiment` is the result's name.
fn selects(limit: &Limit, result: &ToolResult<'_>) -> bool {
    let s = &limit.selector;
    let wait = result.method.wait.and_then(|wait| match wait {
        Wait::Poll => Some(dyno_model::Wait::Spin),
        Wait::Block => Some(dyno_model::Wait::Block),
        Wait::Callback => Some(dyno_model::Wait::Callback),
        Wait::Sleep => None,
    });
    let has_name = |name: &str| name == result.name;
    let has_size = |bytes: usize| result.payload_bytes == Some(bytes as f64);
    s.suite.is_empty()
        && s.stack.is_empty()
        && s.workload.is_empty()
        && (s.experiment.is_empty() || s.experiment.iter().any(|c| has_name(&c.value)))
        && (s.payload.is_empty() || s.payload.iter().any(|c| has_size(c.value.bytes())))
        && (s.wait.is_empty() || s.wait.iter().any(|c| Some(c.value) == wait))
}

/// The figure that a measure asks for, where the output surely has it.
fn figure<'r>(limit: &Limit, result: &'r ToolResult<'_>) -> Option<&'r Stated> {
    match limit.measure {
        // A limit in messages is on a count, one in percent on a share; an output may print one of them alone.
        Measure::Loss if result.quantity == Quantity::Loss => match limit.bound {
            Bound::AtMostCount(_) => result.figure(Statistic::Count),
            _ => result.figure(Statistic::Share),
        },
        Measure::Latency(metric, q) if is_of(metric, result) => {
            let percent = |f: &&Stated| match f.statistic {
                Statistic::Percentile(p) => (p - 100.0 * q).abs() < 1e-9,
                Statistic::Max => q >= LARGEST,
                _ => false,
            };
            result.figures.iter().find(percent)
        }
        // Of the whole run: neither a mean over the threads nor a counter of a user, whose name alone ends in `/s`.
        Measure::Throughput if result.quantity == Quantity::Rate => {
            let by_wall = result.method.time != Some(Clock::Cpu);
            result.figure(Statistic::Rate).filter(|_| by_wall)
        }
        _ => None,
    }
}

/// A rate counts answers that are errors too, where the output says how many there were; the rate of the others is what a limit is on.
fn without_errors(
    limit: &Limit,
    figure: &Stated,
    all: &[ToolResult<'_>],
    result: &ToolResult<'_>,
) -> Stated {
    let count = |quantity| {
        let mut beside = all
            .iter()
            .filter(|r| r.name == result.name && r.quantity == quantity);
        Some(beside.find_map(|r| r.figure(Statistic::Count))?.value)
    };
    let mut figure = figure.clone();
    if let (Measure::Throughput, Some(errors), Some(answers)) = (
        limit.measure,
        count(Quantity::Errors),
        count(Quantity::Count),
    ) && errors > 0.0
        && answers > 0.0
    {
        let good = (1.0 - errors / answers).max(0.0);
        figure.text = format!(
            "{}, of which {errors} of {answers} answers are errors",
            figure.text
        );
        figure.value *= good;
        figure.digits = (figure.digits.0 * good, figure.digits.1 * good);
    }
    figure
}

/// Exports of Dyno name their metric. Of others a round trip is one, halved or not, and one way without a due time is a service time.
fn is_of(metric: Metric, result: &ToolResult<'_>) -> bool {
    let named = |m: &&Metric| {
        let rest = result.name.strip_prefix(m.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    if let Some(own) = Metric::ALL.iter().find(named) {
        return *own == metric;
    }
    let timed = match result.method.trip {
        Some(Trip::Round | Trip::Half) => Metric::Rtt,
        Some(Trip::OneWay) => Metric::Service,
        None => return false,
    };
    result.quantity == Quantity::Latency && timed == metric
}

fn held<'a>(limit: &Limit, result: &ToolResult<'a>, figure: &Stated) -> HeldImport<'a> {
    // A quantile of halves is half of the quantile.
    let (halves, of_half) = match (limit.measure, result.method.trip) {
        (Measure::Latency(Metric::Rtt, _), Some(Trip::Half)) => {
            (2.0, ", doubled because it is half of a round trip,")
        }
        _ => (1.0, ""),
    };
    // Times are in seconds here and in nanoseconds there.
    let scale = match limit.measure.unit() {
        Unit::Time => 1e9 * halves,
        _ => 1.0,
    };
    let found = Found {
        value: figure.value * scale,
        lo: figure.digits.0 * scale,
        hi: figure.digits.1 * scale,
    };
    let standing = limit.bound.line().standing(Some(&found));
    let says = match standing {
        Standing::Keeps => "keeps the limit",
        Standing::Breaks => "breaks the limit",
        Standing::Between => "has too few digits to show whether it is within the limit",
        Standing::Refused => "contradicts itself",
    };
    HeldImport {
        limit: limit.clone(),
        result: result.clone(),
        figure: figure.clone(),
        found,
        standing,
        reason: format!("as printed{of_half} it {says}; the difference to a repeat is unknown"),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    kind: &'static str,
    #[serde(flatten)]
    origin: Origin<'a>,
    limits: &'a str,
    undecided: usize,
    results: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    limit: &'a str,
    status: &'static str,
    as_printed: &'static str,
    #[serde(flatten)]
    result: Named<'a>,
    statistic: String,
    required: String,
    unit: &'static str,
    bound_value: Option<f64>,
    value: Option<f64>,
    reason: &'a str,
}

rendered!(ImportCheck<'_>);

impl<'a> ImportCheck<'a> {
    pub(crate) fn page(&self) -> Page {
        let rows = self.results.iter().map(|r| {
            let cells = vec![
                "UNDECIDED".to_owned(),
                r.limit.name.clone(),
                r.result.label(),
                r.limit.required(),
                r.figure.marked(),
                r.reason.clone(),
            ];
            (Tone::Unsure, cells)
        });
        Page {
            title: format!("check: {} undecided", self.results.len()),
            lead: vec![
                format!("{}, against {}", origin(self.statements), self.limits),
                format!("{NO_TRIALS}."),
            ],
            heads: vec![
                ("", false),
                ("limit", false),
                ("result", false),
                ("required", false),
                ("printed", true),
                ("why", false),
            ],
            rows: rows.collect(),
            ..Page::default()
        }
    }

    pub(crate) fn json(&self) -> String {
        let rows = self.results.iter().map(|r| Row {
            limit: r.limit.name(),
            status: r.status().as_str(),
            as_printed: r.standing.as_str(),
            result: Named::of(&r.result),
            statistic: r.figure.statistic.to_string(),
            required: r.limit.required(),
            unit: r.limit.measure.unit().as_str(),
            bound_value: exported(r.limit.bound.line().bound()),
            value: exported(r.found.value),
            reason: &r.reason,
        });
        json_text(&Document {
            format: FORMAT,
            kind: "imported-check",
            origin: Origin::of(self.statements),
            limits: &self.limits,
            undecided: self.results.len(),
            results: rows.collect(),
        })
    }

    pub(crate) fn csv(&self) -> String {
        let rows = self.results.iter().map(|r| {
            vec![
                r.limit.name.clone(),
                r.status().as_str().to_owned(),
                r.standing.as_str().to_owned(),
                r.result.label(),
                r.limit.required(),
                r.figure.text.clone(),
                csv_number(r.found.value),
                r.reason.clone(),
            ]
        });
        csv_table(
            "limit,status,as_printed,result,required,text,value,reason",
            rows,
        )
    }

    /// The check as a JUnit XML document, ended by a newline: an undecided limit is an `error`.
    ///
    /// # Errors
    /// None in practice: it is written into memory; what the XML writer reports is passed on.
    pub fn junit(&self) -> io::Result<String> {
        let cases = self.results.iter().map(|r| {
            let message = format!("{}: {}", r.limit.required(), r.reason);
            let lines = [
                format!("required: {}", r.limit.required()),
                format!("printed: {}", r.figure.text),
                r.reason.clone(),
            ];
            junit_case(
                r.limit.name.clone(),
                r.result.label(),
                r.status(),
                message,
                &lines,
            )
        });
        let tool = self.statements.tool().unwrap_or("imported");
        let source = &self.statements.source.title;
        // When it was measured is known as a text at best.
        junit_suite(self.limits.clone(), source, tool, None, cases.collect()).xml()
    }
}
