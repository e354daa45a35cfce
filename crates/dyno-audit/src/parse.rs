//! From the text of a statement file to [`Statements`].

mod resolve;

pub(crate) use dyno_report::published::cell::{Number, numbers, slug as labelled};

use crate::formula;
use crate::import;
use crate::statement::{
    Banner, Nearest, Place, Quantity, Relation, RelationKind, Requirement, Statements,
};
use dyno_model::Metric;
pub use dyno_report::published::statement::StatementError;
use dyno_report::published::statement::{
    LogFile, NearestFile, RelationFile, StatementFile, Text, TextFile,
};
use std::collections::BTreeMap;
use toml::Spanned;

/// Files of Dyno that are no statements: a key of each, what it is, and the command that takes it.
const OTHERS: [(&str, &str, &str); 6] = [
    ("experiment", "suite", "run FILE"),
    ("limit", "limits file", "check RUN FILE"),
    ("host", "testbed file", "run SUITE --testbed FILE"),
    ("link", "testbed file", "run SUITE --testbed FILE"),
    ("leg", "stack file", "run SUITE --stack NAME"),
    ("adapter", "stack file", "run SUITE --stack NAME"),
];

impl Statements {
    /// Reads a statement file; `name` stands in errors.
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn parse(text: &str, name: &str) -> Result<Statements, StatementError> {
        let at = Text { name, text };
        if let Ok(whole) = toml::from_str::<toml::Table>(text)
            && !whole.contains_key("source")
            && let Some((_, what, command)) =
                OTHERS.iter().find(|(key, ..)| whole.contains_key(*key))
        {
            return Err(at.error(
                0..0,
                0,
                format!(
                    "this is a {what}, which has no figures to audit; use it with `dyno {}`, and audit the resulting run",
                    command.replace("FILE", name)
                ),
            ));
        }
        let file = StatementFile::read(text, name)?;
        let mut statements = Statements {
            source: file.source,
            ..Statements::default()
        };
        for table in &file.tables {
            resolve::table(&mut statements, table, &at)?;
        }
        for sentence in &file.texts {
            add_text(&mut statements, sentence, &at)?;
        }
        for log in &file.logs {
            add_log(&mut statements, log, &at)?;
        }
        names_are_unique(&statements, &at)?;
        for relation in &file.relations {
            let relations = relations_of(&statements, relation, &at)?;
            statements.relations.extend(relations);
        }
        for nearest in file.nearest {
            let nearest = nearest_of(&statements, nearest, &at)?;
            statements.nearest.push(nearest);
        }
        for requirement in file.requirements {
            for name in &requirement.on {
                known(&statements, name, &at)?;
            }
            statements.requirements.push(Requirement {
                id: requirement.id,
                place: requirement.place,
                text: requirement.text,
                on: requirement
                    .on
                    .into_iter()
                    .map(Spanned::into_inner)
                    .collect(),
                source: requirement.source,
            });
        }
        Ok(statements)
    }
}

fn add_text(statements: &mut Statements, text: &TextFile, at: &Text) -> Result<(), StatementError> {
    let says = text.says.get_ref();
    let place = Place {
        section: text.place.clone(),
        text: says.trim().to_owned(),
        ..Place::default()
    };
    let id = text.id.get_ref();
    let keys = text.keys();
    let numbers = text.numbers(at)?;
    let figures = resolve::figures(numbers, &keys, &place, id, &Default::default());
    let figures = figures.map_err(|message| at.error(text.says.span(), 0, message))?;
    statements.figures.extend(figures);
    Ok(())
}

fn add_log(statements: &mut Statements, log: &LogFile, at: &Text) -> Result<(), StatementError> {
    let id = log.id.get_ref();
    let tool = log.tool.get_ref();
    let Some(known) = import::Tool::from_word(tool) else {
        let all: Vec<&str> = import::Tool::ALL.iter().map(|t| t.as_str()).collect();
        return Err(at.error(
            log.tool.span(),
            0,
            format!(
                "{tool:?} is not a tool that Dyno can read; one of {}",
                all.join(", ")
            ),
        ));
    };
    statements.logs.push(id.clone());
    let mut reader = log.text.get_ref().as_bytes();
    let read = import::import(&mut reader, id, Some(known))
        .map_err(|e| at.error(log.text.span(), 0, e.to_string()))?;
    let keys = log.keys();
    let said_of = |conditions: &BTreeMap<String, String>| {
        let name = conditions.get("benchmark").map_or("", String::as_str);
        let found = log.matches.iter().find(|m| formula::fits(&m.name, name));
        let said = found.map_or_else(|| keys.clone(), |found| found.keys().within(&keys));
        (found.is_some(), said)
    };
    for mut figure in read.figures {
        let (is_found, mut said) = said_of(&figure.conditions);
        // What the wall clock says of an operation may be a latency; processor time, rates and sizes stay what they are.
        said.quantity = said.quantity.filter(|_| figure.quantity == Quantity::Time);
        figure.id = format!("{id}/{}", figure.id);
        figure.place.section = format!("{}, {}", log.place, figure.place.section);
        if is_found {
            let counter = figure.conditions.remove_entry(import::COUNTER);
            figure.conditions = said.conditions.clone();
            figure.conditions.extend(counter);
        } else {
            figure.conditions.extend(said.conditions.clone());
        }
        resolve::say(&mut figure, &said, id).map_err(|m| at.error(log.text.span(), 0, m))?;
        statements.figures.push(figure);
    }
    for mut samples in read.samples {
        let (is_found, said) = said_of(&samples.conditions);
        samples.id = format!("{id}/{}", samples.id);
        if is_found {
            samples.conditions.clear();
        }
        samples.conditions.extend(said.conditions.clone());
        if let Some(data) = &said.data {
            samples.data.clone_from(data);
        }
        if matches!(samples.quantity, None | Some(Quantity::Time)) {
            samples.quantity = said.quantity.or(samples.quantity);
        }
        statements.samples.push(samples);
    }
    for relation in read.relations {
        let RelationKind::Formula(text) = &relation.kind else {
            continue;
        };
        // Every second part is a name.
        let named = text.split('`').enumerate().map(|(i, part)| match i % 2 {
            0 => part.to_owned(),
            _ => format!("`{id}/{part}`"),
        });
        statements.relations.push(Relation {
            place: log.place.clone(),
            kind: RelationKind::Formula(named.collect()),
        });
    }
    let note = |note| format!("{}: {note}", log.place);
    statements.notes.extend(read.notes.into_iter().map(note));
    let banner = |banner: Banner| Banner {
        place: log.place.clone(),
        ..banner
    };
    statements
        .banners
        .extend(read.banners.into_iter().map(banner));
    Ok(())
}

fn names_are_unique(statements: &Statements, at: &Text) -> Result<(), StatementError> {
    let mut seen = std::collections::BTreeSet::new();
    for figure in &statements.figures {
        if !seen.insert(&figure.id) {
            return Err(at.error(
                0..0,
                0,
                format!(
                    "two figures have the name `{}` ({}, row {:?}); give the row or the column an `id` of its own",
                    figure.id, figure.place.section, figure.place.row
                ),
            ));
        }
    }
    Ok(())
}

fn known(statements: &Statements, name: &Spanned<String>, at: &Text) -> Result<(), StatementError> {
    let pattern = name.get_ref();
    if statements
        .figures
        .iter()
        .any(|f| formula::fits(pattern, &f.id))
    {
        return Ok(());
    }
    Err(at.error(
        name.span(),
        0,
        format!(
            "no figure is named `{pattern}`{}",
            near(statements, pattern)
        ),
    ))
}

/// The name that shares the longest beginning, as advice.
fn near(statements: &Statements, pattern: &str) -> String {
    let shared = |id: &str| {
        let pairs = id.chars().zip(pattern.chars());
        pairs.take_while(|(a, b)| a == b).count()
    };
    let ids = statements.figures.iter().map(|f| f.id.as_str());
    match ids.max_by_key(|id| shared(id)) {
        Some(id) if shared(id) > 2 => format!("; there is `{id}`"),
        _ => String::new(),
    }
}

/// Keys of an experiment that are not its author's to say: it has one stack and one cell.
const OF_NO_NEAREST: [&str; 3] = ["name", "stacks", "matrix"];

fn nearest_of(
    statements: &Statements,
    nearest: NearestFile,
    at: &Text,
) -> Result<Nearest, StatementError> {
    for name in &nearest.of {
        known(statements, name, at)?;
    }
    let keys = nearest.experiment.get_ref();
    if let Some(key) = OF_NO_NEAREST.iter().find(|key| keys.contains_key(**key)) {
        return Err(at.error(
            nearest.experiment.span(),
            0,
            format!(
                "`{key}` cannot be set in `experiment`, which describes one cell on the given `stack`"
            ),
        ));
    }
    let stack = nearest.stack.get_ref();
    if !stack
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        || stack.is_empty()
    {
        return Err(at.error(
            nearest.stack.span(),
            0,
            format!("{stack:?} is not the name of a stack"),
        ));
    }
    let metric = match &nearest.metric {
        Some(word) => Some(metric_of(word.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = Metric::ALL.iter().map(word_of).collect();
            at.error(
                word.span(),
                0,
                format!("{:?} is none of {}", word.get_ref(), known.join(", ")),
            )
        })?),
        None => None,
    };
    let experiment = toml::to_string(keys).map_err(|e| {
        at.error(
            nearest.experiment.span(),
            0,
            format!("cannot be an experiment: {e}"),
        )
    })?;
    Ok(Nearest {
        of: nearest.of.into_iter().map(Spanned::into_inner).collect(),
        stack: stack.clone(),
        has_payload: keys.contains_key("payload"),
        experiment,
        metric,
        differs: nearest.differs,
    })
}

/// A metric's name without its unit.
fn word_of(metric: &Metric) -> &'static str {
    metric.as_str().trim_end_matches("_ns")
}

fn metric_of(word: &str) -> Option<Metric> {
    Metric::ALL.iter().copied().find(|m| word_of(m) == word)
}

/// The equations of a relation, or its one kind.
fn relations_of(
    statements: &Statements,
    relation: &RelationFile,
    at: &Text,
) -> Result<Vec<Relation>, StatementError> {
    let place = relation.place.clone();
    match (&relation.formula, &relation.kind) {
        (Some(formulas), None) => {
            let all = formulas.all().iter();
            all.map(|text| equation(statements, text, &place, at))
                .collect()
        }
        (None, Some(kind)) => {
            for name in &relation.of {
                known(statements, name, at)?;
            }
            let of: Vec<String> = relation.of.iter().map(|n| n.get_ref().clone()).collect();
            let kind = match kind.get_ref().as_str() {
                "comparison" => RelationKind::Comparison(of),
                "by-size" => RelationKind::BySize(of),
                "one-client" => RelationKind::OneClient(of),
                "independent" => RelationKind::OneDataSet(of),
                other => {
                    return Err(at.error(
                        kind.span(),
                        0,
                        format!("{other:?} is not a kind of relation; write comparison, by-size, one-client or independent"),
                    ));
                }
            };
            Ok(vec![Relation { place, kind }])
        }
        _ => {
            let span = relation.of.first().map_or(0..0, Spanned::span);
            Err(at.error(
                span,
                0,
                "a relation has either `formula` or `kind` with `of`",
            ))
        }
    }
}

fn equation(
    statements: &Statements,
    text: &str,
    place: &str,
    at: &Text,
) -> Result<Relation, StatementError> {
    // A list of texts loses their places; a formula is found by its words.
    let start = at.text.find(text).unwrap_or(0);
    let span = start..start + text.len();
    let formula = formula::Formula::parse(text).map_err(|m| at.error(span.clone(), 0, m))?;
    for name in formula.names() {
        known(statements, &Spanned::new(span.clone(), name.to_owned()), at)?;
    }
    formula
        .bind(&statements.figures)
        .map_err(|m| at.error(span, 0, m))?;
    Ok(Relation {
        place: place.to_owned(),
        kind: RelationKind::Formula(text.to_owned()),
    })
}
