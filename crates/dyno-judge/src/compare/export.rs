//! A comparison for programs: JSON and CSV. `docs/reference/judge-json.md` describes both.

use super::comparison::{ComparedCell, Comparison, Finding, LeftOut, MovedFloor, Row, Side};
use super::ratio::ends;
use crate::difference::Difference;
use crate::export::{self, Cell, csv_table, json_text};
use crate::number::{csv_number, exported};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    kind: &'static str,
    base: &'a Side,
    new: &'a Side,
    paired: bool,
    confidence: f64,
    confidence_each: Option<f64>,
    statements: usize,
    margin: f64,
    differences: &'a [Difference],
    unknown: &'a [String],
    conclusion: Option<String>,
    moved_floor: Option<&'a MovedFloor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_runs: Option<usize>,
    cells: Vec<CellRows<'a>>,
    left_out: &'a [LeftOut],
    notes: &'a [String],
}

#[derive(Serialize)]
struct CellRows<'a> {
    base_stack: &'a str,
    #[serde(flatten)]
    cell: Cell<'a>,
    floor: bool,
    rows: Vec<JsonRow<'a>>,
    remarks: &'a [String],
}

#[derive(Serialize)]
struct JsonRow<'a> {
    figure: String,
    unit: &'static str,
    verdict: &'static str,
    #[serde(flatten)]
    figures: Option<Figures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// `null` is infinite.
#[derive(Serialize)]
struct Figures {
    text: String,
    base: Option<f64>,
    new: Option<f64>,
    #[serde(flatten)]
    ratio: Option<Interval>,
    base_trials: usize,
    new_trials: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    more_trials: Option<u64>,
}

/// `null` is infinite. Losses and failures have no ratio.
#[derive(Serialize)]
struct Interval {
    ratio: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
}

impl Comparison {
    pub(crate) fn json(&self) -> String {
        json_text(&Document {
            format: export::FORMAT,
            kind: "compare",
            base: &self.base,
            new: &self.new,
            paired: self.paired,
            confidence: self.options.confidence,
            confidence_each: exported(self.each),
            statements: self.statements,
            margin: self.options.margin,
            differences: &self.differences,
            unknown: &self.unknown,
            conclusion: crate::difference::conclusion(&self.differences),
            moved_floor: self.moved.as_ref(),
            history_runs: self.history,
            cells: self.cells.iter().map(|c| self.cell_rows(c)).collect(),
            left_out: &self.left_out,
            notes: &self.notes,
        })
    }

    fn cell_rows<'a>(&self, cell: &'a ComparedCell) -> CellRows<'a> {
        CellRows {
            base_stack: &cell.base.stack,
            cell: Cell::of(&cell.new),
            floor: cell.is_floor,
            rows: cell.rows.iter().map(|row| self.json_row(row)).collect(),
            remarks: &cell.remarks,
        }
    }

    fn json_row<'a>(&self, row: &'a Row) -> JsonRow<'a> {
        let figures = row.result.as_ref().ok().map(|c| {
            let interval = |r| {
                let (ratio, lo, hi) = ends(r);
                let [ratio, lo, hi] = [ratio, lo, hi].map(exported);
                Interval { ratio, lo, hi }
            };
            Figures {
                text: self.verdict(row, c),
                base: exported(c.base),
                new: exported(c.new),
                ratio: c.ratio.as_ref().map(interval),
                new_trials: c.trials.0,
                base_trials: c.trials.1,
                more_trials: match c.finding {
                    Finding::Undecided { more } => more,
                    _ => None,
                },
            }
        });
        JsonRow {
            figure: row.figure.name(),
            unit: row.figure.unit().as_str(),
            verdict: row.word(),
            figures,
            reason: row
                .result
                .as_ref()
                .err()
                .or(row.but.as_ref())
                .map(String::as_str),
        }
    }

    pub(crate) fn csv(&self) -> String {
        let rows = self.cells.iter().flat_map(|cell| {
            let rows = cell.rows.iter();
            rows.map(|row| self.csv_row(cell, row))
        });
        let heads = "base_run,new_run,experiment,base_stack,stack,workload,payload_bytes,wait,access,\
             placement,topology,figure,unit,verdict,base,new,ratio,lo,hi,base_trials,new_trials,\
             more_trials,reason";
        csv_table(heads, rows)
    }

    fn csv_row(&self, cell: &ComparedCell, row: &Row) -> Vec<String> {
        let e = &cell.new;
        let mut fields = vec![
            self.base.run.clone(),
            self.new.run.clone(),
            e.name.clone(),
            cell.base.stack.clone(),
            e.stack.clone(),
            e.exchange(),
            e.payload.bytes().to_string(),
            e.wait.to_string(),
            e.access.to_string(),
            e.placement.to_string(),
            e.topology.to_string(),
            row.figure.name(),
            row.figure.unit().as_str().to_owned(),
            row.word().to_owned(),
        ];
        match &row.result {
            Ok(c) => {
                fields.extend([c.base, c.new].map(csv_number));
                fields.extend(match c.ratio.as_ref().map(ends) {
                    Some((value, lo, hi)) => [value, lo, hi].map(csv_number),
                    None => [const { String::new() }; 3],
                });
                fields.extend([c.trials.1, c.trials.0].map(|n| n.to_string()));
                fields.push(match c.finding {
                    Finding::Undecided { more: Some(more) } => more.to_string(),
                    _ => String::new(),
                });
                fields.push(row.but.clone().unwrap_or_default());
            }
            Err(reason) => {
                fields.extend(std::iter::repeat_n(String::new(), 8));
                fields.push(reason.clone());
            }
        }
        fields
    }
}
