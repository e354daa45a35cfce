//! Capacities for programs: JSON and CSV. `docs/reference/judge-json.md` describes both.

use super::{Capacities, Capacity, Tested};
use crate::check::{Checked, Limit};
use crate::export::{CELL, Cell, Head, Required, csv_cell, csv_table, json_text};
use crate::number::{csv_number, exported};
use dyno_model::ExperimentId;
use serde::Serialize;

/// What a search has found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "capacity"))]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    /// The limits file.
    limits: &'a str,
    /// What each limit of the file asks for.
    required: &'a [String],
    /// Of each interval on the way.
    #[cfg_attr(test, schemars(range(min = 0, max = 1)))]
    confidence: f64,
    /// The factor that was raised, in messages per second, bytes or participants: `rate`, `payload` or `clients`.
    raised: &'static str,
    /// One for each stack and its other factors.
    capacities: Vec<Row<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "capacity_cell"))]
struct Row<'a> {
    #[serde(flatten)]
    cell: Cell<'a>,
    /// How the search ended: the value was `found`; the highest value that can be tried (`top`) is kept; not even the `first` is
    /// surely kept; or trials are missing (`unfinished`).
    end: &'static str,
    /// The highest value that surely keeps all limits.
    kept: Option<f64>,
    /// By trials of its own.
    confirmed: bool,
    /// The lowest value that surely breaks one.
    broken: Option<f64>,
    /// By trials of its own.
    broken_confirmed: bool,
    /// What broke there, with what was measured.
    broke_first: Vec<String>,
    /// Values between the two that were tried.
    undecided: Vec<f64>,
    /// Why the stack refuses higher values.
    refused_above: Option<&'a str>,
    /// The limits that are put on it.
    limits: Vec<Put<'a>>,
    /// All that was tried, in ascending order; confirmations after what they confirm.
    curve: Vec<Point<'a>>,
}

/// A limit that is put on the cell.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "capacity_limit")
)]
struct Put<'a> {
    limit: &'a str,
    /// What is limited, for people: `p99 response`.
    measure: String,
    #[serde(flatten)]
    required: Required,
}

#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "capacity_point")
)]
struct Point<'a> {
    /// The experiment that it is of.
    #[cfg_attr(test, schemars(with = "u32"))]
    id: ExperimentId,
    /// Of the raised factor.
    value: f64,
    /// `kept`, `broken`, `undecided` or `no figure`.
    rung: &'static str,
    confirms: bool,
    trials: usize,
    /// How many of these the host disturbed; beside a `kept` it only delayed them.
    disturbed: usize,
    failed: usize,
    lossless: usize,
    lossy_below: f64,
    confidence: f64,
    /// Messages per second that arrived, all receivers together: the median of its trials.
    delivered_hz: Option<f64>,
    /// The share of what was due that the sources sent, where it was too little.
    sent_share: Option<f64>,
    limits: Vec<Held<'a>>,
}

/// What came of a limit there.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "capacity_check")
)]
struct Held<'a> {
    limit: &'a str,
    /// `pass`, `fail` or `undecided`.
    status: &'static str,
    /// Null is infinite, or not known.
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
        let heads = format!("run,raised,{CELL},end,kept,broken,broke_first");
        csv_table(&heads, rows)
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
        disturbed: t.disturbed,
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

#[cfg(test)]
mod tests {
    use super::Document;

    /// Holds the published schema against the types, or writes it.
    #[test]
    fn the_published_schema_is_that_of_the_types() {
        let mut generator = dyno_report::schema_generator();
        generator.subschema_for::<Document<'_>>();
        let schema = dyno_report::json_schema(generator.take_definitions(true));
        dyno_kit::published::holds("docs/reference/show.schema.json", &schema);
    }
}
