//! A check for programs: JSON and CSV. `docs/reference/judge-json.md` describes both.

use super::report::{CheckReport, Checked, Status};
use crate::export::{CELL, Cell, Head, Required, csv_cell, csv_table, json_text};
use crate::number::{csv_number, exported};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    limits: &'a str,
    confidence: f64,
    passed: usize,
    failed: usize,
    undecided: usize,
    results: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    limit: &'a str,
    status: &'static str,
    standing: &'static str,
    #[serde(flatten)]
    cell: Cell<'a>,
    #[serde(flatten)]
    required: Required,
    #[serde(flatten)]
    found: Option<Interval>,
    reason: &'a str,
    remarks: &'a [String],
}

/// `null` is infinite.
#[derive(Serialize)]
struct Interval {
    value: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
}

impl CheckReport {
    pub(crate) fn json(&self) -> String {
        json_text(&Document {
            head: Head::new("check", &self.run, &self.suite, self.started_unix_ms),
            limits: &self.limits,
            confidence: self.confidence,
            passed: self.count(Status::Pass),
            failed: self.count(Status::Fail),
            undecided: self.count(Status::Undecided),
            results: self.results.iter().map(row).collect(),
        })
    }

    pub(crate) fn csv(&self) -> String {
        let rows = self.results.iter().map(|r| {
            let lead = vec![
                self.run.clone(),
                r.limit.name.clone(),
                r.status.as_str().to_owned(),
            ];
            let figures = r.found.map_or_else(
                || vec![String::new(); 3],
                |f| [f.value, f.lo, f.hi].map(csv_number).into(),
            );
            let required = vec![
                r.limit.required(),
                r.limit.measure.unit().as_str().to_owned(),
            ];
            let cell = csv_cell(&r.experiment);
            [lead, cell, required, figures, vec![r.reason.clone()]].concat()
        });
        csv_table(
            &format!("run,limit,status,{CELL},required,unit,value,lo,hi,reason"),
            rows,
        )
    }
}

fn row(r: &Checked) -> Row<'_> {
    Row {
        limit: &r.limit.name,
        status: r.status.as_str(),
        standing: r.standing.as_str(),
        cell: Cell::of(&r.experiment),
        required: Required::of(&r.limit),
        found: r.found.map(|f| Interval {
            value: exported(f.value),
            lo: exported(f.lo),
            hi: exported(f.hi),
        }),
        reason: &r.reason,
        remarks: &r.remarks,
    }
}
