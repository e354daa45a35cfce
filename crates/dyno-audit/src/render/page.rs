//! One self-contained page: the source's tables with each cell marked, and each mark with its calculation.

use super::beside::{NO_VERDICT, beside};
use crate::audit::Audit;
use crate::measure::Beside;
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Layout, Statements};
use dyno_report::clean;
use minijinja::{Environment, Value, context, escape_formatter};
use std::collections::{BTreeMap, BTreeSet};

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[error("the page cannot be written")]
pub struct PageError(#[from] minijinja::Error);

/// The page of some sources.
pub fn page(audits: &[(&Statements, &Audit)]) -> Result<String, PageError> {
    let mut environment = Environment::new();
    // Every text that stands in the page passes here.
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(clean(text))),
        _ => escape_formatter(out, state, value),
    });
    environment.add_template("audit.html", include_str!("../../templates/audit.html"))?;
    let sources: Vec<Value> = audits
        .iter()
        .enumerate()
        .map(|(i, (statements, audit))| source(i + 1, statements, audit))
        .collect();
    let template = environment.get_template("audit.html")?;
    Ok(template.render(context! { sources })?)
}

fn source(number: usize, statements: &Statements, audit: &Audit) -> Value {
    let findings: Vec<(usize, &Outcome)> = audit.findings().enumerate().collect();
    // Number and target of each finding that is said of a figure.
    let mut marks: BTreeMap<&str, Vec<(usize, Value)>> = BTreeMap::new();
    for (i, outcome) in &findings {
        let says = format!("{}: {}", outcome.verdict.as_str(), outcome.says);
        let mark = context! { number => i + 1, anchor => anchor(number, *i), says };
        for figure in &outcome.figures {
            let of_figure = marks.entry(figure).or_default();
            of_figure.push((*i, mark.clone()));
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
            .filter(|(i, _)| seen.insert(*i))
            .map(|(_, mark)| mark.clone());
        context! {
            text,
            // Of the worst verdict; empty where nothing was checked.
            verdict => worst.map_or("", |v| class(*v)),
            words => worst.map_or("", |v| v.as_str()),
            marks => marks.collect::<Vec<_>>(),
        }
    };
    // The output of a tool has no tables of its own.
    let layouts = match statements.layouts.is_empty() {
        true => &[statements.layout()],
        false => statements.layouts.as_slice(),
    };
    let tables = layouts.iter().map(|layout| {
        let row = |row: &Vec<(String, Vec<String>)>| -> Vec<Value> {
            row.iter().map(|(text, names)| cell(text, names)).collect()
        };
        let rows: Vec<_> = layout.rows.iter().map(row).collect();
        context! { id => &layout.id, place => &layout.place, header => &layout.header, rows }
    });
    let texts = texts(statements, layouts, |id| marks.contains_key(id));
    let texts = texts.into_iter().map(|((place, text), names)| {
        context! { place, cell => cell(text, &names) }
    });
    let findings = findings.iter().map(|(i, outcome)| {
        context! {
            number => i + 1,
            anchor => anchor(number, *i),
            verdict => class(outcome.verdict),
            words => outcome.verdict.as_str(),
            check => outcome.check,
            place => &outcome.place,
            says => &outcome.says,
            calculation => &outcome.calculation,
            figures => outcome.figures.join(", "),
        }
    });
    let about = &statements.source;
    context! {
        title => &about.title,
        year => about.year,
        place => &about.place,
        sentences => audit.sentences(statements),
        notes => &statements.notes,
        tables => tables.collect::<Vec<_>>(),
        texts => texts.collect::<Vec<_>>(),
        findings => findings.collect::<Vec<_>>(),
        no_verdict => NO_VERDICT,
        measured => audit.measured.iter().map(measured).collect::<Vec<_>>(),
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

/// A claim beside what was measured here.
fn measured(one: &Beside) -> Value {
    let (measured, ratio) = beside(one);
    context! {
        claim => &one.claim,
        figure => &one.figure,
        place => &one.place,
        on => format!("{} {}", one.stack, one.conditions),
        measured,
        ratio,
        differs => one.differs.join("; "),
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
