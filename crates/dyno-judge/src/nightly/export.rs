//! A nightly gate for programs: JSON, CSV and JUnit XML. `docs/reference/judge-json.md` describes them.

use super::{Night, Nightly, OtherRuns};
use crate::book::HistoryRun;
use crate::cell;
use crate::check::{Status, junit_case, junit_suite};
use crate::export::{CELL, Cell, Head, csv_cell, csv_table, json_text};
use crate::figure::rank;
use crate::number::{csv_number, exported};
use serde::Serialize;
use std::io;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    host: &'a str,
    cpu_model: &'a str,
    level: f64,
    level_each: Option<f64>,
    margin: f64,
    least_runs: usize,
    history: &'a [HistoryRun],
    left_out: &'a [OtherRuns],
    passed: usize,
    failed: usize,
    undecided: usize,
    results: Vec<Row<'a>>,
    notes: &'a [String],
}

/// `null` is infinite, a field that is not there unknown.
#[derive(Serialize)]
struct Row<'a> {
    status: &'static str,
    standing: &'static str,
    #[serde(flatten)]
    cell: Cell<'a>,
    metric: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantile: Option<String>,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usual: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<Option<f64>>,
    runs: usize,
    reason: &'a str,
}

impl Nightly {
    pub(crate) fn json(&self) -> String {
        json_text(&Document {
            head: Head::new(
                "nightly",
                &self.run.id,
                &self.suite,
                self.run.started_unix_ms,
            ),
            host: &self.machine.host,
            cpu_model: &self.machine.cpu_model,
            level: self.options.level,
            level_each: exported(self.level_each),
            margin: self.options.margin,
            least_runs: self.options.least_runs,
            history: &self.history,
            left_out: &self.left_out,
            passed: self.count(Status::Pass),
            failed: self.count(Status::Fail),
            undecided: self.count(Status::Undecided),
            results: self.results.iter().map(row).collect(),
            notes: &self.notes,
        })
    }

    pub(crate) fn csv(&self) -> String {
        let number = |v: Option<f64>| v.map_or_else(String::new, csv_number);
        let rows = self.results.iter().map(|r| {
            let lead = vec![self.run.id.clone(), r.status.as_str().to_owned()];
            let rest = vec![
                r.measure.word().to_owned(),
                r.measure.quantile().map_or_else(String::new, rank),
                r.measure.unit().as_str().to_owned(),
                number(r.found),
                number(r.usual),
                number(r.line),
                r.runs.to_string(),
                r.reason.clone(),
            ];
            [lead, csv_cell(&r.experiment), rest].concat()
        });
        let heads = format!("run,status,{CELL},metric,quantile,unit,value,usual,line,runs,reason");
        csv_table(&heads, rows)
    }

    /// The result as a JUnit XML document, ended by a newline: one test case for each figure, whose class is
    /// the measure.
    ///
    /// # Errors
    /// None in practice: it is written into memory; what the XML writer reports is passed on.
    pub fn junit(&self) -> io::Result<String> {
        let cases = self.results.iter().map(|r| {
            let message = format!("{}: {}", r.measure.text(), r.reason);
            let lines = [
                format!("usual: {}", r.usual_text()),
                format!("found: {}", r.found_text()),
                r.reason.clone(),
            ];
            junit_case(
                r.measure.text(),
                cell::label(&r.experiment),
                r.status,
                message,
                &lines,
            )
        });
        let (name, run) = (format!("history of {}", self.suite), &self.run);
        let started = Some(run.started_unix_ms);
        junit_suite(name, &run.id, &self.suite, started, cases.collect()).xml()
    }
}

fn row(r: &Night) -> Row<'_> {
    Row {
        status: r.status.as_str(),
        standing: r.standing.as_str(),
        cell: Cell::of(&r.experiment),
        metric: r.measure.word(),
        quantile: r.measure.quantile().map(rank),
        unit: r.measure.unit().as_str(),
        value: r.found.map(exported),
        usual: r.usual.map(exported),
        line: r.line.map(exported),
        runs: r.runs,
        reason: &r.reason,
    }
}
