//! For programs: `docs/reference/audit.schema.json`.

use crate::audit::Audit;
use crate::measure::Beside;
use crate::outcome::{Outcome, Verdict};
use crate::statement::Statements;
use serde::Serialize;
use std::collections::BTreeMap;

/// Of the whole document.
const FORMAT: u32 = 1;

#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "dyno audit --format json")
)]
struct Document<'a> {
    #[cfg_attr(test, schemars(extend("const" = 1)))]
    format: u32,
    audits: Vec<One<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "audit"))]
struct One<'a> {
    title: &'a str,
    year: Option<u16>,
    #[serde(rename = "where")]
    place: &'a str,
    sentences: [String; 3],
    /// How the output of a tool was read, and what it says of failures. Older documents lack it.
    notes: &'a [String],
    counts: BTreeMap<Verdict, usize>,
    outcomes: &'a [Outcome],
    measured: &'a [Beside],
    figures: Vec<FigureJson<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "figure"))]
struct FigureJson<'a> {
    id: &'a str,
    section: &'a str,
    row: &'a str,
    column: &'a str,
    printed: &'a str,
    value: Option<f64>,
    unit: &'a str,
    quantity: &'static str,
    statistic: String,
    n: Option<u64>,
    verdict: Option<Verdict>,
}

/// All outcomes of some sources, and each figure with the worst that is said of it.
pub fn json(audits: &[(&Statements, &Audit)]) -> String {
    let document = Document {
        format: FORMAT,
        audits: audits.iter().map(|(s, a)| one(s, a)).collect(),
    };
    dyno_report::json_text(&document)
}

fn one<'a>(statements: &'a Statements, audit: &'a Audit) -> One<'a> {
    let verdicts = audit.verdicts();
    let figures = statements.figures.iter().map(|f| FigureJson {
        id: &f.id,
        section: &f.place.section,
        row: &f.place.row,
        column: &f.place.column,
        printed: &f.printed.text,
        value: Some(f.printed.value).filter(|v| v.is_finite()),
        unit: &f.printed.unit.text,
        quantity: f.quantity.as_str(),
        statistic: f.statistic.to_string(),
        n: f.n,
        verdict: verdicts.get(f.id.as_str()).copied(),
    });
    One {
        title: &statements.source.title,
        year: statements.source.year,
        place: &statements.source.place,
        sentences: audit.sentences(statements),
        notes: &statements.notes,
        counts: Verdict::ALL
            .into_iter()
            .map(|v| (v, audit.count(v)))
            .collect(),
        outcomes: &audit.outcomes,
        measured: &audit.measured,
        figures: figures.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    /// Holds the published schema against the types, or writes it.
    #[test]
    fn the_published_schema_is_that_of_the_types() {
        let generator = dyno_report::schema_generator();
        let schema = generator.into_root_schema_for::<Document<'_>>();
        let mut schema = schema.to_value();
        let required = schema.pointer_mut("/$defs/audit/required").unwrap();
        required
            .as_array_mut()
            .unwrap()
            .retain(|name| name != "notes");
        dyno_kit::published::holds("docs/reference/audit.schema.json", &schema);
    }
}
