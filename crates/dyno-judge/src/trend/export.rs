//! A trend for programs: JSON, and CSV with a row per value. `docs/reference/judge-json.md` describes
//! both.

use super::{Series, Trend};
use crate::book::HistoryRun;
use crate::check::Measure;
use crate::difference::Difference;
use crate::export::{self, CELL, Cell, csv_cell, csv_table, json_text};
use crate::figure::rank;
use crate::number::{csv_number, exported};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    kind: &'static str,
    quantile: String,
    level: f64,
    level_each: Option<f64>,
    least_runs: usize,
    runs: &'a [HistoryRun],
    series: Vec<JsonSeries<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct JsonSeries<'a> {
    suite: &'a str,
    #[serde(flatten)]
    cell: Cell<'a>,
    host: &'a str,
    metric: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantile: Option<String>,
    unit: &'static str,
    enough_runs: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    blind: Option<&'a str>,
    values: Vec<JsonValue<'a>>,
    missing: Vec<JsonMissing<'a>>,
    changes: Vec<JsonChange<'a>>,
}

#[derive(Serialize)]
struct JsonValue<'a> {
    run: &'a str,
    value: Option<f64>,
}

#[derive(Serialize)]
struct JsonMissing<'a> {
    run: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct JsonChange<'a> {
    run: &'a str,
    previous_run: &'a str,
    started_unix_ms: u64,
    verdict: &'static str,
    worse: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    within_clocks: bool,
    before: Option<f64>,
    after: Option<f64>,
    ratio: Option<f64>,
    p: Option<f64>,
    differences: &'a [Difference],
}

/// Latencies by the name of their metric, as from the beginning; all else by its word in limits files.
fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Latency(metric, _) | Measure::Start(metric, _) => metric.as_str(),
        other => other.word(),
    }
}

impl Trend {
    pub(crate) fn json(&self) -> String {
        json_text(&Document {
            format: export::FORMAT,
            kind: "trend",
            quantile: rank(self.options.quantile),
            level: self.options.level,
            level_each: exported(self.level_each),
            least_runs: self.options.least_runs(),
            runs: &self.runs,
            series: self.series.iter().map(|s| self.series_of(s)).collect(),
            notes: &self.notes,
        })
    }

    fn series_of<'a>(&'a self, s: &'a Series) -> JsonSeries<'a> {
        let id = |run: usize| self.runs[run].id.as_str();
        JsonSeries {
            suite: &s.suite,
            cell: Cell::of(&s.experiment),
            host: &s.machine.host,
            metric: name(s.measure),
            quantile: s.measure.quantile().map(rank),
            unit: s.measure.unit().as_str(),
            blind: s.blind.as_deref(),
            enough_runs: s.is_long_enough(&self.options),
            values: s
                .values
                .iter()
                .map(|(run, value)| JsonValue {
                    run: id(*run),
                    value: exported(*value),
                })
                .collect(),
            missing: s
                .missing
                .iter()
                .map(|(run, reason)| JsonMissing {
                    run: id(*run),
                    reason,
                })
                .collect(),
            changes: s
                .changes
                .iter()
                .map(|c| JsonChange {
                    run: id(c.run),
                    previous_run: id(c.previous),
                    started_unix_ms: self.runs[c.run].started_unix_ms,
                    verdict: if c.is_higher() { "higher" } else { "lower" },
                    worse: s.is_worse(c),
                    within_clocks: c.within_clocks,
                    before: exported(c.before),
                    after: exported(c.after),
                    ratio: exported(c.ratio()),
                    p: exported(c.p),
                    differences: &c.differences,
                })
                .collect(),
        }
    }

    pub(crate) fn csv(&self) -> String {
        let of_series = |s: &Series| -> Vec<Vec<String>> {
            let row = |(run, value): &(usize, f64)| {
                let begins = s.changes.iter().any(|c| c.run == *run);
                let at = &self.runs[*run];
                let rest = vec![
                    name(s.measure).to_owned(),
                    s.measure.quantile().map_or_else(String::new, rank),
                    at.id.clone(),
                    at.started_unix_ms.to_string(),
                    csv_number(*value),
                    begins.to_string(),
                    s.machine.host.clone(),
                    s.measure.unit().as_str().to_owned(),
                ];
                [vec![s.suite.clone()], csv_cell(&s.experiment), rest].concat()
            };
            s.values.iter().map(row).collect()
        };
        let rows = self.series.iter().flat_map(of_series);
        let heads = format!(
            "suite,{CELL},metric,quantile,run,started_unix_ms,value,change_begins,host,unit"
        );
        csv_table(&heads, rows)
    }
}
