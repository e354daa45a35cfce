//! Capacities for programs: JSON and CSV. `docs/reference/judge-json.md` describes both.

use super::{Capacities, Capacity, Tested};
use crate::check::{Checked, Limit};
use crate::export::{CELL, Cell, Head, Required, csv_cell, csv_table, json_text};
use crate::number::{csv_number, exported};
use dyno_model::ExperimentId;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    limits: &'a str,
    required: &'a [String],
    confidence: f64,
    raised: &'static str,
    capacities: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    cell: Cell<'a>,
    end: &'static str,
    kept: Option<f64>,
    confirmed: bool,
    broken: Option<f64>,
    broken_confirmed: bool,
    broke_first: Vec<String>,
    undecided: Vec<f64>,
    refused_above: Option<&'a str>,
    limits: Vec<Put<'a>>,
    curve: Vec<Point<'a>>,
}

/// A limit that is put on the cell.
#[derive(Serialize)]
struct Put<'a> {
    limit: &'a str,
    measure: String,
    #[serde(flatten)]
    required: Required,
}

#[derive(Serialize)]
struct Point<'a> {
    id: ExperimentId,
    value: f64,
    rung: &'static str,
    confirms: bool,
    trials: usize,
    failed: usize,
    lossless: usize,
    lossy_below: f64,
    confidence: f64,
    delivered_hz: Option<f64>,
    sent_share: Option<f64>,
    limits: Vec<Held<'a>>,
}

/// `null` is infinite, or not known.
#[derive(Serialize)]
struct Held<'a> {
    limit: &'a str,
    status: &'static str,
    value: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    reason: &'a str,
}

impl Capacities {
    pub(super) fn json(&self) -> String {
        json_text(&self.head_and_rows())
    }

    /// The document of `dyno check RUN --format json`, for whoever shows it beside the run.
    pub fn document(&self) -> serde_json::Value {
        serde_json::to_value(self.head_and_rows())
            .expect("all map keys are strings and no field's Serialize fails")
    }

    fn head_and_rows(&self) -> Document<'_> {
        Document {
            head: Head::new("capacity", &self.run, &self.suite, self.started_unix_ms),
            limits: &self.limits,
            required: &self.required,
            confidence: self.confidence,
            raised: self.raise.as_str(),
            capacities: self.all.iter().map(row).collect(),
        }
    }

    pub(super) fn csv(&self) -> String {
        let rows = self.all.iter().map(|c| {
            let number = |t: &Option<Tested>| {
                let value = t.as_ref().map(|t| csv_number(t.value));
                value.unwrap_or_default()
            };
            let lead = vec![self.run.clone(), self.raise.to_string()];
            let found = vec![
                c.end.as_str().to_owned(),
                number(&c.kept),
                number(&c.broken),
                c.broken
                    .as_ref()
                    .map_or(String::new(), |t| t.broken().join("; ")),
            ];
            [lead, csv_cell(&c.experiment), found].concat()
        });
        let rest = ["end", "kept", "broken", "broke_first"];
        csv_table(&[&["run", "raised"], &CELL, &rest], rows)
    }
}

fn row(c: &Capacity) -> Row<'_> {
    Row {
        cell: Cell::of(&c.experiment),
        end: c.end.as_str(),
        kept: c.kept.as_ref().map(|t| t.value),
        confirmed: c.kept.as_ref().is_some_and(|t| t.confirms),
        broken: c.broken.as_ref().map(|t| t.value),
        broken_confirmed: c.is_cap_confirmed,
        broke_first: c.broken.as_ref().map_or_else(Vec::new, Tested::broken),
        undecided: c.between.iter().map(|t| t.value).collect(),
        refused_above: c.refused_above.as_deref(),
        limits: c.curve.first().map_or_else(Vec::new, |t| {
            t.checks.iter().map(|c| put(&c.limit)).collect()
        }),
        curve: c.curve.iter().map(point).collect(),
    }
}

fn put(limit: &Limit) -> Put<'_> {
    Put {
        limit: limit.name(),
        measure: limit.measure.text(),
        required: Required::of(limit),
    }
}

fn point(t: &Tested) -> Point<'_> {
    Point {
        id: t.experiment.id,
        value: t.value,
        rung: t.rung.as_str(),
        confirms: t.confirms,
        trials: t.judged,
        failed: t.failed,
        lossless: t.lossless,
        lossy_below: t.lossy_below(),
        confidence: t.confidence,
        delivered_hz: t.delivered_hz.and_then(exported),
        sent_share: t.sent_share.and_then(exported),
        limits: t.checks.iter().map(held).collect(),
    }
}

fn held(c: &Checked) -> Held<'_> {
    Held {
        limit: c.limit.name(),
        status: c.status.as_str(),
        value: c.found.and_then(|f| exported(f.value)),
        lo: c.found.and_then(|f| exported(f.lo)),
        hi: c.found.and_then(|f| exported(f.hi)),
        reason: &c.reason,
    }
}
