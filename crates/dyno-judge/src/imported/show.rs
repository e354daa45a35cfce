//! An output by itself.

use super::origin::{NO_TRIALS, Named, Origin, origin, unsaid};
use crate::export::{FORMAT, csv_table, json_text};
use crate::number::{csv_number, exported};
use crate::page::{Page, Tone, rendered};
use dyno_audit::{RESULT_COLUMNS, Statements, ToolResult};
use serde::Serialize;

/// The results of an output as a table.
#[derive(Debug, Clone)]
pub struct ImportSheet<'a> {
    statements: &'a Statements,
    results: Vec<ToolResult<'a>>,
}

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    kind: &'static str,
    #[serde(flatten)]
    origin: Origin<'a>,
    not_said: Vec<&'static str>,
    results: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    result: Named<'a>,
    n: Option<u64>,
    of: &'static str,
    figures: Vec<FigureJson<'a>>,
}

#[derive(Serialize)]
struct FigureJson<'a> {
    statistic: String,
    text: &'a str,
    value: Option<f64>,
    digits_lo: Option<f64>,
    digits_hi: Option<f64>,
    /// `null`: Dyno made it of the raw values.
    id: Option<&'a str>,
}

rendered!(ImportSheet<'_>);

impl<'a> ImportSheet<'a> {
    /// Of an output that was read.
    pub fn new(statements: &'a Statements) -> ImportSheet<'a> {
        ImportSheet {
            statements,
            results: statements.results(),
        }
    }

    pub(crate) fn page(&self) -> Page {
        let rows = self
            .results
            .iter()
            .map(|r| (Tone::Plain, r.cells().map(|(text, _)| text).collect()));
        let is_number = |head: &str| !["result", "quantity", "said", "beside"].contains(&head);
        let heads = RESULT_COLUMNS.map(|head| (head, is_number(head)));
        let mut lead = vec![
            format!("{NO_TRIALS}."),
            format!("Not said: {}.", unsaid(&self.results).join(", ")),
        ];
        let mut figures = self.results.iter().flat_map(|r| &r.figures);
        if figures.any(|f| f.id.is_none()) {
            lead.push("*: computed by Dyno from the raw values that the tool prints.".to_owned());
        }
        lead.extend(
            self.statements
                .notes
                .iter()
                .map(|note| format!("Note: {note}")),
        );
        Page {
            title: origin(self.statements),
            lead,
            heads: heads.into(),
            rows: rows.collect(),
            nothing: "No results.".to_owned(),
            ..Page::default()
        }
    }

    pub(crate) fn json(&self) -> String {
        let row = |r: &ToolResult<'a>| (Named::of(r), r.n, r.of.as_str());
        let rows = self.results.iter().map(|r| {
            let (result, n, of) = row(r);
            let figures = r.figures.iter().map(|f| FigureJson {
                statistic: f.statistic.to_string(),
                text: &f.text,
                value: exported(f.value),
                digits_lo: exported(f.digits.0),
                digits_hi: exported(f.digits.1),
                id: f.id.as_deref(),
            });
            Row {
                result,
                n,
                of,
                figures: figures.collect(),
            }
        });
        json_text(&Document {
            format: FORMAT,
            kind: "imported",
            origin: Origin::of(self.statements),
            not_said: unsaid(&self.results),
            results: rows.collect(),
        })
    }

    pub(crate) fn csv(&self) -> String {
        let rows = self.results.iter().flat_map(|r| {
            r.figures.iter().map(|f| {
                let n = r.n.map_or_else(String::new, |n| n.to_string());
                vec![
                    r.label(),
                    r.quantity.as_str().to_owned(),
                    f.statistic.to_string(),
                    n,
                    r.of.as_str().to_owned(),
                    f.text.clone(),
                    csv_number(f.value),
                    f.id.is_none().to_string(),
                    f.id.clone().unwrap_or_default(),
                ]
            })
        });
        csv_table(
            "result,quantity,statistic,n,of,text,value,of_raw_values,id",
            rows,
        )
    }
}
