//! One self-contained page: the source's tables with each cell marked, and each mark with its calculation.

use super::beside::{NO_VERDICT, beside};
use crate::audit::Audit;
use crate::measure::Beside;
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Layout, Statements};
use dyno_report::clean;
use minijinja::value::Serde;
use minijinja::{Environment, Value, escape_formatter};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[error("the page cannot be written")]
pub struct PageError(#[from] minijinja::Error);

#[derive(Serialize)]
struct Page {
    sources: Vec<Source>,
}

#[derive(Serialize)]
struct Source {
    title: String,
    year: Option<u16>,
    place: String,
    sentences: [String; 3],
    notes: Vec<String>,
    tables: Vec<Table>,
    texts: Vec<Text>,
    findings: Vec<Finding>,
    no_verdict: &'static str,
    measured: Vec<MeasuredRow>,
}

/// A claim beside what was measured here.
#[derive(Serialize)]
struct MeasuredRow {
    claim: String,
    figure: String,
    place: String,
    on: String,
    measured: String,
    ratio: String,
    differs: String,
}

#[derive(Serialize)]
struct Table {
    id: String,
    place: String,
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Serialize)]
struct Cell {
    text: String,
    /// Class of the worst verdict; empty where nothing was checked.
    verdict: &'static str,
    words: &'static str,
    marks: Vec<Mark>,
}

#[derive(Serialize)]
struct Text {
    place: String,
    cell: Cell,
}

/// Number and target of a finding.
#[derive(Serialize, Clone)]
struct Mark {
    number: usize,
    anchor: String,
    says: String,
}

#[derive(Serialize)]
struct Finding {
    number: usize,
    anchor: String,
    verdict: &'static str,
    words: &'static str,
    check: &'static str,
    place: String,
    says: String,
    calculation: String,
    figures: String,
}

/// The page of some sources.
pub fn page(audits: &[(&Statements, &Audit)]) -> Result<String, PageError> {
    let mut environment = Environment::new();
    // Every text that stands in the page passes here.
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(clean(text))),
        _ => escape_formatter(out, state, value),
    });
    environment.add_template("audit.html", include_str!("../../templates/audit.html"))?;
    let sources: Vec<Source> = audits
        .iter()
        .enumerate()
        .map(|(i, (statements, audit))| source(i + 1, statements, audit))
        .collect();
    let template = environment.get_template("audit.html")?;
    Ok(template.render(Serde(Page { sources }))?)
}

fn source(number: usize, statements: &Statements, audit: &Audit) -> Source {
    let findings: Vec<(usize, &Outcome)> = audit.findings().enumerate().collect();
    let mut marks: BTreeMap<&str, Vec<Mark>> = BTreeMap::new();
    for (i, outcome) in &findings {
        for figure in &outcome.figures {
            marks.entry(figure).or_default().push(Mark {
                number: i + 1,
                anchor: anchor(number, *i),
                says: format!("{}: {}", outcome.verdict.as_str(), outcome.says),
            });
        }
    }
    let verdicts = audit.verdicts();
    let cell = |text: &str, figures: &[String]| {
        let worst = figures
            .iter()
            .filter_map(|f| verdicts.get(f.as_str()))
            .min();
        let mut seen = BTreeSet::new();
        let marks = figures
            .iter()
            .filter_map(|f| marks.get(f.as_str()))
            .flatten()
            .filter(|m| seen.insert(m.number))
            .cloned();
        Cell {
            text: text.to_owned(),
            verdict: worst.map_or("", |v| class(*v)),
            words: worst.map_or("", |v| v.as_str()),
            marks: marks.collect(),
        }
    };
    // The output of a tool has no tables of its own.
    let layouts = match statements.layouts.is_empty() {
        true => &[statements.layout()],
        false => statements.layouts.as_slice(),
    };
    let tables = layouts.iter().map(|layout| Table {
        id: layout.id.clone(),
        place: layout.place.clone(),
        header: layout.header.clone(),
        rows: layout
            .rows
            .iter()
            .map(|row| row.iter().map(|(text, names)| cell(text, names)).collect())
            .collect(),
    });
    let texts = texts(statements, layouts, |id| marks.contains_key(id));
    Source {
        title: statements.source.title.clone(),
        year: statements.source.year,
        place: statements.source.place.clone(),
        sentences: audit.sentences(statements),
        notes: statements.notes.clone(),
        tables: tables.collect(),
        texts: texts
            .into_iter()
            .map(|((place, text), names)| Text {
                place: place.to_owned(),
                cell: cell(text, &names),
            })
            .collect(),
        findings: findings
            .iter()
            .map(|(i, outcome)| Finding {
                number: i + 1,
                anchor: anchor(number, *i),
                verdict: class(outcome.verdict),
                words: outcome.verdict.as_str(),
                check: outcome.check,
                place: outcome.place.clone(),
                says: outcome.says.clone(),
                calculation: outcome.calculation.clone(),
                figures: outcome.figures.join(", "),
            })
            .collect(),
        no_verdict: NO_VERDICT,
        measured: audit.measured.iter().map(measured).collect(),
    }
}

/// Sentences, and the lines of outputs; those of outputs only where something is said of them. Each is a place and its text, with the
/// names of its figures.
fn texts<'a>(
    statements: &'a Statements,
    layouts: &[Layout],
    is_marked: impl Fn(&str) -> bool,
) -> Vec<((&'a str, &'a str), Vec<String>)> {
    let in_tables: BTreeSet<&String> = layouts
        .iter()
        .flat_map(|l| l.rows.iter().flatten().flat_map(|(_, names)| names))
        .collect();
    let mut texts: Vec<((&str, &str), Vec<String>)> = Vec::new();
    for figure in &statements.figures {
        let of_log = !figure.place.row.is_empty() && !is_marked(&figure.id);
        if in_tables.contains(&figure.id) || of_log {
            continue;
        }
        let key = (figure.place.section.as_str(), figure.place.text.as_str());
        match texts.last_mut().filter(|(last, _)| *last == key) {
            Some((_, names)) => names.push(figure.id.clone()),
            None => texts.push((key, vec![figure.id.clone()])),
        }
    }
    texts
}

fn measured(one: &Beside) -> MeasuredRow {
    let (measured, ratio) = beside(one);
    MeasuredRow {
        claim: one.claim.clone(),
        figure: one.figure.clone(),
        place: one.place.clone(),
        on: format!("{} {}", one.stack, one.conditions),
        measured,
        ratio,
        differs: one.differs.join("; "),
    }
}

fn anchor(source: usize, finding: usize) -> String {
    format!("f{source}-{}", finding + 1)
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Impossible => "impossible",
        Verdict::Inconsistent => "inconsistent",
        Verdict::NotWhatItIsCalled => "not-what-it-is-called",
        Verdict::CannotBeKnown => "cannot-be-known",
        Verdict::NoObjection => "no-objection",
    }
}
