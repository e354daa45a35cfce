//! The tables of a study, from a run.

use super::expr::Expr;
use super::model::{
    Across, After, Beside, Cell, Each, EachOf, Formula, Row, Selection, Study, Table, Word,
};
use super::names::{Bound, Value, metric as metric_of};
use super::rows::{Find, GENERATORS};
use super::scope::{Key, Line, NONE, Scope};
use crate::chains;
use crate::columns::Columns;
use crate::format::RenderOptions;
use crate::grid::{Grid, Mark, Text};
use crate::notes;
use crate::page::Page;
use crate::published::{PrintedTables, PublishedFigure};
use crate::settings;
use crate::summary::{ExperimentSummary, Summary};
use crate::view::View;
use dyno_model::ExperimentId;
use std::collections::{BTreeMap, BTreeSet};

type Experiments<'a> = Vec<&'a ExperimentSummary>;

/// All tables, legend and remarks. With `markdown` the width is ignored.
pub(crate) fn render(
    study: &Study,
    summary: &Summary,
    options: &RenderOptions,
    markdown: bool,
) -> String {
    let mut out = Page::new(options.width, markdown);
    let shapes = options.sparklines && out.lines.width.is_some();
    let whole = Scope::whole(study, summary, shapes);
    out.head(&notes::title(&summary.run), &notes::origin(&summary.run));
    let shown = ids(&whole);
    let view = View::new(summary, |e| shown.contains(&e.experiment.id), &Columns::All);
    let conditions = notes::conditions(&view);
    if study.conditions && !conditions.is_empty() {
        out.lines.add(&conditions, 2);
    }
    for table in study.tables.iter().filter(|table| !table.last) {
        show(table, &whole, &mut out);
    }
    let mut legend = texts(&study.legend, &whole);
    let all: Experiments<'_> = summary.experiments.iter().collect();
    legend.extend(chains::of_sleep(&all));
    legend.extend(settings::lines(&summary.run, all));
    out.list("How to read this", &legend);
    for table in study.tables.iter().filter(|table| table.last) {
        show(table, &whole, &mut out);
    }
    let printed = &study.published;
    let flaws = printed
        .flaws
        .iter()
        .map(|f| format!("{}: {}", f.about, f.says));
    let source = &printed.source;
    let year = source.year.map(|year| year.to_string());
    let named = [
        ("title", source.title.clone()),
        ("place", source.place.clone()),
        ("year", year.unwrap_or_default()),
    ];
    let named = named.map(|(name, text)| (name.to_owned(), Value::Text(text)));
    if let Some(title) = whole.with(named.to_vec()).text(&study.before) {
        out.list(&title, &flaws.collect::<Vec<_>>());
    }
    let is_said = |title: &str| {
        study
            .said
            .iter()
            .any(|said| title.starts_with(said.as_str()))
    };
    let mut remarks = notes::sections(&view);
    remarks.retain(|section| !is_said(section.title));
    out.remarks(&remarks);
    out.lines.text
}

/// The published figures of a study that stand beside each experiment.
pub(crate) fn figures<'a>(study: &'a Study, summary: &'a Summary) -> Vec<Vec<PublishedFigure>> {
    let whole = Scope::whole(study, summary, false);
    let all = summary.experiments.iter();
    all.map(|e| figures_of(&whole, e)).collect()
}

fn figures_of<'a>(whole: &Scope<'a>, e: &'a ExperimentSummary) -> Vec<PublishedFigure> {
    let study = whole.study;
    let scope = whole.at(Some(e)).around(vec![e], Some(e));
    let line =
        |line: &Line<'a>| is_in(&line.experiments, e).then(|| scope.with(line.bound.clone()));
    // An experiment that stands for several lines has the figures of all.
    let scopes: Vec<Scope<'a>> = match study.lines.own.is_empty() {
        true => vec![scope.clone()],
        false => scope.lines().iter().filter_map(line).collect(),
    };
    let one = |(scope, beside): (&Scope<'a>, &Beside)| {
        let Expr::Name(metric) = &beside.metric.expr else {
            return None;
        };
        Some(PublishedFigure {
            study: PrintedTables::built_in()
                .keys()
                .position(|key| *key == study.published.key)?,
            metric: metric_of(metric.first()?)?,
            statistic: beside.statistic,
            value_ns: scope.value(&beside.value.expr)?.number()?.round(),
            text: scope.text(&beside.text)?,
            label: scope.text(&beside.label)?,
        })
    };
    let beside = scopes.iter().flat_map(|scope| {
        let all = study.beside.iter().filter(|beside| scope.fits(&beside.of));
        all.map(move |beside| (scope, beside))
    });
    beside.filter_map(one).collect()
}

/// The experiments that have a row.
pub(crate) fn shown(study: &Study, summary: &Summary) -> BTreeSet<ExperimentId> {
    ids(&Scope::whole(study, summary, false))
}

fn ids(whole: &Scope<'_>) -> BTreeSet<ExperimentId> {
    whole.shown().iter().map(|e| e.experiment.id).collect()
}

/// Those of the cells that apply.
fn texts(cells: &[Cell], scope: &Scope<'_>) -> Vec<String> {
    cells.iter().filter_map(|cell| scope.text(cell)).collect()
}

/// Experiments that have rows together, and what the names of these rows are bound to.
struct Group<'a> {
    bound: Bound,
    /// `None`: rows of the whole table.
    of: Option<Experiments<'a>>,
}

fn show<'a>(table: &Table, whole: &Scope<'a>, out: &mut Page) {
    let is_there = |when: &Selection| some(when, whole);
    let shown: Experiments<'a> = match table.when.as_ref().is_none_or(is_there) {
        true => whole.shown().to_vec(),
        false => Vec::new(),
    };
    let is_apart = table.apart && table.is_grouped();
    let of = table.of_groups.as_ref();
    let parts: Vec<Experiments<'a>> = match (is_apart, table.split.is_empty()) {
        (true, _) => grouped(&shown, of, &table.by, table.order.as_ref(), whole),
        (false, false) => grouped(&shown, of, &table.split, None, whole),
        (false, true) => vec![shown],
    };
    for part in parts {
        let scope = match is_apart || !table.split.is_empty() {
            true => whole.at(part.first().copied()),
            false => whole.clone(),
        };
        let groups = groups(table, &part, whole);
        let columns = table.across.as_ref().map_or_else(Vec::new, |across| {
            let of = across.of_groups.as_ref();
            grouped(&part, of, &across.by, across.order.as_ref(), whole)
        });
        let mut forms = (0..table.forms).map(|form| {
            let form = vec![("form".to_owned(), Value::Number(form as f64))];
            let scope = scope.with(form);
            (grid(table, &scope, &groups, &columns), scope)
        });
        let mut found = forms.next();
        while let Some((grid, _)) = &found
            && table.forms > 1
            && !grid.fits(out.lines.width)
            && let Some(next) = forms.next()
        {
            found = Some(next);
        }
        let Some((grid, scope)) = found else {
            continue;
        };
        let title = scope.text(&table.title).unwrap_or_default();
        if !grid.is_empty() {
            whole.titles.borrow_mut().extend(grid.head.iter().cloned());
        }
        match table.empty.as_ref().filter(|_| grid.is_empty()) {
            Some(empty) => out.list(&title, &[scope.text(empty).unwrap_or_default()]),
            None if table.list => {
                let items = grid.rows.into_iter().flatten().map(|cell| cell.text);
                out.list(&title, &items.collect::<Vec<_>>());
            }
            None => {
                let around = [&table.above, &table.below].map(|cells| texts(cells, &scope));
                out.part(&title, table.banner, &around, &grid);
            }
        }
    }
}

fn some(selection: &Selection, whole: &Scope<'_>) -> bool {
    let mut shown = whole.shown().iter().copied();
    shown.any(|e| whole.at(Some(e)).fits(selection))
}

/// The groups of a part of a table that have rows.
fn groups<'a>(table: &Table, part: &Experiments<'a>, whole: &Scope<'a>) -> Vec<Group<'a>> {
    let (of, order) = (table.of_groups.as_ref(), table.order.as_ref());
    let group = |of| Group {
        bound: Bound::new(),
        of: Some(of),
    };
    if table.lines {
        let groups = match table.by.is_empty() {
            true => {
                let fits =
                    |e: &&'a ExperimentSummary| of.is_none_or(|of| whole.at(Some(*e)).fits(of));
                vec![part.iter().copied().filter(fits).collect()]
            }
            false => grouped(part, of, &table.by, order, whole),
        };
        let in_lines = |group: &Experiments<'a>| -> Vec<Group<'a>> {
            let of = |line: &Line<'a>| {
                let own = line.experiments.iter().copied().filter(|e| is_in(group, e));
                let own: Experiments<'a> = own.collect();
                (!own.is_empty()).then(|| Group {
                    bound: line.bound.clone(),
                    of: Some(own),
                })
            };
            whole.lines().iter().filter_map(of).collect()
        };
        return groups.iter().flat_map(in_lines).collect();
    }
    if table.is_grouped() {
        return grouped(part, of, &table.by, order, whole)
            .into_iter()
            .map(group)
            .collect();
    }
    // A table whose `when` does not hold has no rows.
    let none = Group {
        bound: Bound::new(),
        of: None,
    };
    (!part.is_empty()).then_some(none).into_iter().collect()
}

fn is_in(group: &Experiments<'_>, e: &ExperimentSummary) -> bool {
    group.iter().any(|known| std::ptr::eq(*known, e))
}

/// A cell that may be the smallest or the largest of its column.
struct Candidate {
    /// Its form of rows, and its column among those of `across`.
    of: (*const Row, usize),
    row: usize,
    cell: usize,
    value: f64,
    /// It is not to be called the smallest.
    is_unfit: bool,
}

/// A table of these groups; a column whose title does not apply is left out.
fn grid<'a>(
    table: &Table,
    scope: &Scope<'a>,
    groups: &[Group<'a>],
    columns: &[Experiments<'a>],
) -> Grid {
    let mut rows = Rows {
        columns,
        after_across: table.after_across,
        texts: Vec::new(),
        candidates: Vec::new(),
    };
    let is_grouped = table.is_grouped() || table.lines;
    for group in groups {
        let now = |row: &&Row| !is_grouped || row.after.is_none();
        let forms = table.rows.iter().filter(now);
        rows.add(forms, &scope.with(group.bound.clone()), group.of.as_ref());
    }
    if is_grouped {
        // What stands below the rows of all groups.
        let below = table.rows.iter().filter(|row| row.after.is_some());
        rows.add(below, scope, None);
    }
    let mut head: Vec<Option<String>> = table.head.iter().map(|cell| scope.text(cell)).collect();
    let last = head.split_off(head.len().saturating_sub(table.after_across));
    if let Some(across) = &table.across {
        head.extend(titles(across, scope, columns).into_iter().map(Some));
    }
    head.extend(last);
    let mut rows = rows.marked();
    for row in rows.iter_mut().filter(|_| !table.list) {
        let mut titles = head.iter();
        row.retain(|_| titles.next().is_some_and(Option::is_some));
    }
    Grid {
        head: head.into_iter().flatten().collect(),
        labels: table.labels.n,
        rows,
    }
}

/// The titles of columns; `same_kind`: so many groups have the first of their names in common.
fn titles<'a>(across: &Across, scope: &Scope<'a>, columns: &[Experiments<'a>]) -> Vec<String> {
    let first = |column: &Experiments<'a>| {
        let name = across.by.first()?;
        scope.at(column.first().copied()).value(&name.expr)
    };
    let titles = |column: &Experiments<'a>| -> Vec<String> {
        let alike = columns.iter().filter(|c| first(c) == first(column)).count();
        let scope = scope.at(column.first().copied()).with(same_kind(alike));
        let title = |cell| scope.text(cell).unwrap_or_default();
        across.heads.iter().map(title).collect()
    };
    columns.iter().flat_map(titles).collect()
}

/// The name that stands for how many there are, and its old name, which studies in stored runs have.
fn same_kind(n: usize) -> Bound {
    let of = |name: &str| (name.to_owned(), Value::Number(n as f64));
    vec![of("same_kind"), of("alike")]
}

/// The groups in the order of their first experiments, or as they are sorted.
fn grouped<'a>(
    all: &[&'a ExperimentSummary],
    of: Option<&Selection>,
    by: &[Formula],
    order: Option<&Formula>,
    whole: &Scope<'a>,
) -> Vec<Experiments<'a>> {
    let mut found: Vec<(Vec<Option<Value>>, Experiments<'a>)> = Vec::new();
    for &e in all {
        let scope = whole.at(Some(e));
        if !of.is_none_or(|of| scope.fits(of)) {
            continue;
        }
        let key: Vec<Option<Value>> = by.iter().map(|of| scope.value(&of.expr)).collect();
        match found.iter_mut().find(|(k, _)| !key.is_empty() && *k == key) {
            Some((_, group)) => group.push(e),
            None => found.push((key, vec![e])),
        }
    }
    let mut groups: Vec<Experiments<'a>> = found.into_iter().map(|(_, group)| group).collect();
    if let Some(Formula { expr, .. }) = order {
        groups.sort_by_cached_key(|group| Key(whole.at(group.first().copied()).value(expr)));
    }
    groups
}

/// The rows of a table under construction.
struct Rows<'a, 'c> {
    columns: &'c [Experiments<'a>],
    after_across: usize,
    texts: Vec<Vec<Text>>,
    candidates: Vec<Candidate>,
}

impl<'a> Rows<'a, '_> {
    /// Adds the rows of a group, or of the whole run.
    fn add<'t>(
        &mut self,
        forms: impl Iterator<Item = &'t Row>,
        whole: &Scope<'a>,
        group: Option<&Experiments<'a>>,
    ) {
        let is_some = |selection: &Selection| some(selection, whole);
        let group_or_all = || group.cloned().unwrap_or_else(|| whole.shown().to_vec());
        for row in forms {
            let is_there = row.when.as_ref().is_none_or(is_some)
                && !row.unless.as_ref().is_some_and(is_some)
                && match row.after {
                    Some(After::None) => self.texts.is_empty(),
                    Some(After::Rows) => !self.texts.is_empty(),
                    Some(After::All) | None => true,
                };
            if !is_there {
                continue;
            }
            let first = group.and_then(|group| group.first().copied());
            let whole = whole.around(group_or_all(), first);
            for scope in scopes(row, &whole, group, !self.columns.is_empty()) {
                let has = |of: &Option<Formula>| {
                    of.as_ref()
                        .is_some_and(|of| scope.value(&of.expr).is_some())
                };
                if row.needs.is_some() && !has(&row.needs) {
                    continue;
                }
                let mut cells: Vec<Text> = row
                    .cells
                    .iter()
                    .map(|cell| cell_text(&scope, cell))
                    .collect();
                let last = cells.split_off(cells.len().saturating_sub(self.after_across));
                for (at, column) in self.columns.iter().enumerate() {
                    self.cells(row, at, &scope, group, column, &mut cells);
                }
                cells.extend(last);
                self.texts.push(cells);
            }
        }
    }

    /// Adds the cells of a row in one column of `across`.
    fn cells(
        &mut self,
        row: &Row,
        at: usize,
        scope: &Scope<'a>,
        group: Option<&Experiments<'a>>,
        column: &Experiments<'a>,
        cells: &mut Vec<Text>,
    ) {
        let own = |e: &&'a ExperimentSummary| {
            group.is_none_or(|group| is_in(group, e))
                && row.of.as_ref().is_none_or(|of| scope.at(Some(*e)).fits(of))
        };
        let here: Experiments<'a> = column.iter().copied().filter(own).collect();
        let first = here.first().copied();
        let scope = scope.at(first).around(here, column.first().copied());
        let value = |of: &Option<Formula>| of.as_ref().and_then(|of| scope.value(&of.expr));
        let is_unfit = value(&row.unfit).is_some();
        if let Some(value) = value(&row.mark).and_then(|v| v.raw()) {
            self.candidates.push(Candidate {
                of: (std::ptr::from_ref(row), at),
                row: self.texts.len(),
                cell: cells.len(),
                value,
                is_unfit,
            });
        }
        cells.extend(row.across.iter().map(|cell| cell_text(&scope, cell)));
    }

    /// All rows, with marks on the extremes of columns that have several.
    fn marked(mut self) -> Vec<Vec<Text>> {
        for own in &self.candidates {
            let all = || self.candidates.iter().filter(|c| c.of == own.of);
            let most = all().map(|c| c.value).fold(f64::NEG_INFINITY, f64::max);
            let lowest = all().map(|c| c.value).fold(f64::INFINITY, f64::min);
            let fit = all().filter(|c| !c.is_unfit);
            let least = fit.map(|c| c.value).fold(f64::INFINITY, f64::min);
            let mark = &mut self.texts[own.row][own.cell].mark;
            if least < most && own.value == least && !own.is_unfit {
                *mark = Mark::Smallest;
            } else if lowest < most && own.value == most {
                *mark = Mark::Largest;
            }
        }
        self.texts
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
    let alike = same_kind(experiments.len());
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
                    .map(|(name, word)| (name.clone(), word.value()));
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
                    scope: whole,
                };
                let found = generator.map_or_else(Vec::new, |g| (g.find)(&find));
                found.into_iter().map(|bound| at(e).with(bound)).collect()
            };
            experiments.iter().flat_map(of).collect()
        }
    }
}

fn cell_text(scope: &Scope<'_>, cell: &Cell) -> Text {
    scope.text(cell).as_deref().unwrap_or(NONE).into()
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
            .iter()
            .copied()
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
        found.sort_by_cached_key(|e| Key(whole.at(Some(e)).value(&sort.expr)));
    }
    found.into_iter().map(Some).collect()
}
