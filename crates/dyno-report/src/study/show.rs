//! The tables of a study, from a run.

use super::model::{
    Across, After, Cell, Each, EachOf, Formula, Path, Row, Selection, Study, Table, Word,
};
use super::names::{Bound, Value};
use super::rows::{Find, GENERATORS};
use super::scope::{NONE, Scope};
use crate::chains;
use crate::columns::Columns;
use crate::grid::{Grid, Text};
use crate::notes;
use crate::page::Page;
use crate::settings;
use crate::summary::{ExperimentSummary, Summary};
use crate::view::View;
use std::collections::BTreeMap;

type Experiments<'a> = Vec<&'a ExperimentSummary>;

/// All tables, legend and remarks. With `markdown` the width is ignored.
pub(crate) fn render(
    study: &Study,
    summary: &Summary,
    limit: Option<usize>,
    markdown: bool,
) -> String {
    let whole = Scope::whole(study, summary);
    let mut out = Page::new(limit, markdown);
    out.head(&notes::title(&summary.run), &notes::origin(&summary.run));
    for table in &study.tables {
        show(table, &whole, &mut out);
    }
    let mut legend: Vec<String> = study
        .legend
        .iter()
        .filter_map(|line| whole.text(line))
        .collect();
    let all: Experiments<'_> = summary.experiments.iter().collect();
    legend.extend(chains::of_sleep(&all));
    legend.extend(settings::lines(&summary.run, all));
    out.list("How to read this", &legend);
    let printed = &study.published;
    let flaws = printed
        .flaws
        .iter()
        .map(|f| format!("{}: {}", f.about, f.says));
    let named = [("title", &printed.title), ("place", &printed.place)];
    let named = named.map(|(name, text)| (name.to_owned(), Value::Text(text.clone())));
    let title = whole.with(named.to_vec()).text(&study.before);
    out.list(&title.unwrap_or_default(), &flaws.collect::<Vec<_>>());
    let shows = |e: &ExperimentSummary| study.has_row(summary, e);
    let remarks = notes::sections(&View::new(summary, shows, &Columns::All));
    out.remarks(&remarks);
    out.lines.text
}

fn show<'a>(table: &Table, whole: &Scope<'a>, out: &mut Page) {
    let is_there = |when: &Selection| whole.shown().any(|e| whole.at(Some(e)).fits(when));
    let groups: Vec<Option<Experiments<'a>>> = if table.when.as_ref().is_none_or(is_there) {
        if table.is_grouped() {
            let groups = grouped(
                table.of_groups.as_ref(),
                &table.by,
                table.order.as_ref(),
                whole,
            );
            groups.into_iter().map(Some).collect()
        } else {
            vec![None]
        }
    } else {
        Vec::new()
    };
    let columns = table.across.as_ref().map(|across| {
        grouped(
            across.of_groups.as_ref(),
            &across.by,
            across.order.as_ref(),
            whole,
        )
    });
    let columns = columns.unwrap_or_default();
    let mut parts: Vec<(Scope<'a>, Vec<Vec<String>>)> = Vec::new();
    for group in &groups {
        let first = group.as_ref().and_then(|g| g.first().copied());
        if table.apart || parts.is_empty() {
            let scope = if table.apart {
                whole.at(first)
            } else {
                whole.clone()
            };
            parts.push((scope, Vec::new()));
        }
        if let Some((_, rows)) = parts.last_mut() {
            let now = |row: &&Row| !table.is_grouped() || row.after.is_none();
            add_rows(
                table.rows.iter().filter(now),
                whole,
                group.as_ref(),
                &columns,
                rows,
            );
        }
    }
    if parts.is_empty() && !table.apart {
        parts.push((whole.clone(), Vec::new()));
    }
    if table.is_grouped() {
        // What stands below the rows of all groups.
        let below = table.rows.iter().filter(|row| row.after.is_some());
        if let Some((_, rows)) = parts.last_mut() {
            add_rows(below, whole, None, &columns, rows);
        }
    }
    for (scope, rows) in parts {
        let title = scope.text(&table.title).unwrap_or_default();
        match table.empty.as_ref().filter(|_| rows.is_empty()) {
            Some(empty) => out.list(&title, &[scope.text(empty).unwrap_or_default()]),
            None if table.list => out.list(&title, &rows.concat()),
            None => out.part(&title, &grid(table, &scope, &columns, rows)),
        }
    }
}

fn grid<'a>(
    table: &Table,
    scope: &Scope<'a>,
    columns: &[Experiments<'a>],
    rows: Vec<Vec<String>>,
) -> Grid {
    let fixed = table
        .head
        .iter()
        .map(|cell| scope.text(cell).unwrap_or_default());
    let across = table
        .across
        .iter()
        .flat_map(|across| titles(across, scope, columns));
    Grid {
        head: fixed.chain(across).collect(),
        labels: table.labels,
        rows: rows
            .into_iter()
            .map(|row| row.into_iter().map(Text::from).collect())
            .collect(),
    }
}

/// The titles of columns; `alike`: so many of them have the first of their names in common.
fn titles<'a>(across: &Across, scope: &Scope<'a>, columns: &[Experiments<'a>]) -> Vec<String> {
    let first = |column: &Experiments<'a>| {
        let name = across.by.first()?;
        scope.at(column.first().copied()).named(&name.words)
    };
    let title = |column: &Experiments<'a>| {
        let alike = columns.iter().filter(|c| first(c) == first(column)).count();
        let scope = scope.at(column.first().copied()).with(alike_of(alike));
        scope.text(&across.head).unwrap_or_default()
    };
    columns.iter().map(title).collect()
}

fn alike_of(n: usize) -> Bound {
    vec![("alike".to_owned(), Value::Number(n as f64))]
}

/// The groups in the order of their first experiments, or as they are sorted.
fn grouped<'a>(
    of: Option<&Selection>,
    by: &[Path],
    order: Option<&Formula>,
    whole: &Scope<'a>,
) -> Vec<Experiments<'a>> {
    let mut found: Vec<(Vec<Option<Value>>, Experiments<'a>)> = Vec::new();
    for e in whole.shown() {
        let scope = whole.at(Some(e));
        if !of.is_none_or(|of| scope.fits(of)) {
            continue;
        }
        let key: Vec<Option<Value>> = by.iter().map(|path| scope.named(&path.words)).collect();
        match found.iter_mut().find(|(k, _)| !key.is_empty() && *k == key) {
            Some((_, group)) => group.push(e),
            None => found.push((key, vec![e])),
        }
    }
    let mut groups: Vec<Experiments<'a>> = found.into_iter().map(|(_, group)| group).collect();
    if let Some(Formula { expr, .. }) = order {
        let key = |group: &Experiments<'a>| {
            let value = whole.at(group.first().copied()).value(expr);
            value.and_then(|v| v.number()).unwrap_or(f64::INFINITY)
        };
        groups.sort_by(|a, b| key(a).total_cmp(&key(b)));
    }
    groups
}

/// Adds the rows of a group, or of the whole run.
fn add_rows<'a, 't>(
    forms: impl Iterator<Item = &'t Row>,
    whole: &Scope<'a>,
    group: Option<&Experiments<'a>>,
    columns: &[Experiments<'a>],
    rows: &mut Vec<Vec<String>>,
) {
    let some = |selection: &Selection| whole.shown().any(|e| whole.at(Some(e)).fits(selection));
    for row in forms {
        let is_there = row.when.as_ref().is_none_or(some)
            && !row.unless.as_ref().is_some_and(some)
            && row
                .after
                .is_none_or(|after| (after == After::None) == rows.is_empty());
        if !is_there {
            continue;
        }
        for scope in scopes(row, whole, group, !columns.is_empty()) {
            if row
                .needs
                .as_ref()
                .is_some_and(|needs| scope.value(&needs.expr).is_none())
            {
                continue;
            }
            let fixed = row.cells.iter().map(|cell| cell_text(&scope, cell));
            let across = columns.iter().map(|column| {
                let own = |e: &&&'a ExperimentSummary| {
                    let in_group = group.is_none_or(|g| g.iter().any(|o| std::ptr::eq(*o, **e)));
                    in_group && row.of.as_ref().is_none_or(|of| whole.at(Some(e)).fits(of))
                };
                let found = column.iter().find(own).copied();
                cell_text(&scope.at(found), &row.cell)
            });
            rows.push(fixed.chain(across).collect());
        }
    }
}

/// One for each row of that form: record by record, experiment by experiment, thing by thing.
fn scopes<'a>(
    row: &Row,
    whole: &Scope<'a>,
    group: Option<&Experiments<'a>>,
    across: bool,
) -> Vec<Scope<'a>> {
    let experiments = experiments(row, whole, group, across);
    let alike = alike_of(experiments.len());
    let at = |e: &Option<&'a ExperimentSummary>| whole.at(*e).with(alike.clone());
    match &row.each {
        None => experiments.iter().map(at).collect(),
        Some(Each {
            of: EachOf::Records(records),
            ..
        }) => {
            let of = |record: &BTreeMap<String, Word>| -> Vec<Scope<'a>> {
                let bound = record
                    .iter()
                    .map(|(name, word)| (name.clone(), value(word)));
                let bound: Bound = bound.collect();
                experiments
                    .iter()
                    .map(|e| at(e).with(bound.clone()))
                    .collect()
            };
            records.iter().flat_map(of).collect()
        }
        Some(Each {
            of: EachOf::Found(text),
            ..
        }) => {
            let (name, table) = text.split_once(' ').unwrap_or((text, ""));
            let generator = GENERATORS.iter().find(|g| g.name == name);
            let of = |e: &Option<&'a ExperimentSummary>| -> Vec<Scope<'a>> {
                let find = Find {
                    summary: whole.summary,
                    printed: &whole.study.published,
                    e: *e,
                    table,
                };
                let found = generator.map_or_else(Vec::new, |g| (g.find)(&find));
                found.into_iter().map(|bound| at(e).with(bound)).collect()
            };
            experiments.iter().flat_map(of).collect()
        }
    }
}

fn value(word: &Word) -> Value {
    match word {
        Word::Number(v) => Value::Number(*v),
        Word::Text(_) | Word::Flag(_) => Value::Text(word.text()),
    }
}

fn cell_text(scope: &Scope<'_>, cell: &Cell) -> String {
    scope.text(cell).unwrap_or_else(|| NONE.to_owned())
}

/// The experiments that have a row; with `across` the selection is that of its columns.
fn experiments<'a>(
    row: &Row,
    whole: &Scope<'a>,
    group: Option<&Experiments<'a>>,
    across: bool,
) -> Vec<Option<&'a ExperimentSummary>> {
    let mut found: Experiments<'a> = match (row.of.as_ref().filter(|_| !across), group) {
        (Some(of), Some(group)) => {
            let fits = |e: &&&'a ExperimentSummary| whole.at(Some(e)).fits(of);
            group.iter().filter(fits).copied().collect()
        }
        (Some(of), None) => whole
            .shown()
            .filter(|e| whole.at(Some(e)).fits(of))
            .collect(),
        (None, Some(group)) => return vec![group.first().copied()],
        (None, None) => return vec![None],
    };
    let number = |e: &&'a ExperimentSummary, of| {
        let value = whole.at(Some(e)).value(of);
        value.and_then(|v| v.number()).unwrap_or(f64::INFINITY)
    };
    if let Some(least) = &row.least {
        let smallest = found
            .iter()
            .map(|e| number(e, &least.expr))
            .fold(f64::INFINITY, f64::min);
        found.retain(|e| number(e, &least.expr) == smallest);
    }
    if let Some(sort) = &row.sort {
        found.sort_by(|a, b| number(a, &sort.expr).total_cmp(&number(b, &sort.expr)));
    }
    found.into_iter().map(Some).collect()
}
