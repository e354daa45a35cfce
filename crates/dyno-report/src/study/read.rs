//! From the text of a study file to a [`Study`] whose every name, function and published row exists.

use super::expr::Expr;
use super::model::{Cell, Each, EachOf, Formula, Of, Selection, Span, Study, Table, Word, words};
use super::names;
use super::rows::GENERATORS;
use super::scope::{AROUND, FUNCTIONS, OVER};
use crate::published::PrintedTables;
use dyno_model::factors::in_tables;
use dyno_toml::{Mistakes, Place, Problem, Problems, Source, suggest};
use std::collections::{BTreeMap, BTreeSet};

/// So many names may stand behind one, so that definitions that double each other cannot take a table forever.
const MOST_NAMES: u64 = 100_000;

impl Study {
    /// Reads a study file. `source` names the file and has its text.
    ///
    /// # Errors
    /// The mistakes of the file, each with its place and what to write instead.
    pub fn read(source: &Source) -> Result<Study, Mistakes> {
        let mut study: Study = toml::from_str(source.inner()).map_err(|error| {
            let at = Place {
                source: source.clone(),
                span: error.span().unwrap_or(0..0),
            };
            Problem::at(&at, error.message().trim().replace('\n', "; ")).help(
                "docs/reference/study-files.md lists the keys, formats and functions of a study",
            )
        })?;
        study.tables.iter_mut().for_each(Table::settle);
        let mut problems = Problems::default();
        Check {
            study: &study,
            source,
            problems: &mut problems,
            records: Vec::new(),
            bound: Vec::new(),
            words: words_of_lines(&study),
            in_relation: false,
            told: BTreeSet::new(),
        }
        .all();
        problems.check(|n| format!("the study has {n} mistakes"))?;
        Ok(study)
    }
}

/// Refuses what does not exist.
struct Check<'s> {
    study: &'s Study,
    source: &'s Source,
    problems: &'s mut Problems,
    /// What the records of the row bind.
    records: Vec<(String, String)>,
    /// The other names of the row.
    bound: Vec<String>,
    /// The words of lines.
    words: Vec<String>,
    /// A relation is made of names of experiments, not of other relations.
    in_relation: bool,
    /// Places and messages so far: a word of a line that several cells use is one mistake.
    told: BTreeSet<(usize, String)>,
}

impl Check<'_> {
    fn refuse(&mut self, at: &Span, message: String, help: String) {
        if !self.told.insert((at.start, message.clone())) {
            return;
        }
        let at = Place {
            source: self.source.clone(),
            span: at.clone(),
        };
        self.problems.push(Problem::at(&at, message).help(help));
    }

    fn all(&mut self) {
        let study = self.study;
        study.shows.iter().for_each(|s| self.selection(s));
        for selection in study.select.values() {
            match &selection.of {
                Of::Named(_) => self.refuse(
                    &selection.at,
                    "a selection by name cannot be that of another name".into(),
                    "write a table of names and values".into(),
                ),
                Of::Values(_) => self.selection(selection),
            }
        }
        self.in_relation = true;
        study.maps.values().for_each(|map| self.formula(&map.from));
        for relation in study.relations.values() {
            relation.of.iter().for_each(|s| self.selection(s));
            let formulas = relation.same.iter().chain(&relation.most);
            formulas
                .chain(&relation.least)
                .for_each(|f| self.formula(f));
        }
        self.in_relation = false;
        self.bound = vec!["form".to_owned()];
        let mut weights = BTreeMap::new();
        for (name, cell) in &study.defines {
            self.cell(cell);
            if uses(study, name, &mut Vec::new()) {
                let message = format!("`{name}` is defined by itself");
                let help = "define it without itself, also not through other names";
                self.refuse(&cell.at, message, help.into());
            } else if weight(study, name, &mut weights) > MOST_NAMES {
                let message = format!("more than {MOST_NAMES} names stand behind `{name}`");
                self.refuse(
                    &cell.at,
                    message,
                    "use fewer names in its definition".into(),
                );
            }
        }
        self.bound.clear();
        let lines = &study.lines;
        let selections = lines.own.iter().flat_map(|line| &line.select);
        selections.for_each(|s| self.selection(s));
        let formulas = lines.other.iter().chain(&lines.order).chain(&lines.divide);
        formulas.for_each(|f| self.formula(f));
        if let Some(ranking) = &study.ranking {
            for formula in [&ranking.value, &ranking.published, &ranking.unfit] {
                self.formula(formula);
            }
            self.cell(&ranking.text);
            let name = ranking.of.get_ref();
            if !self.words.contains(name) {
                let help = suggest::instead(name, "names", self.words.iter().map(String::as_str));
                let message = format!("no line of `[lines]` has the name `{name}`");
                self.refuse(&ranking.of.span(), message, help);
            }
        }
        study.legend.iter().for_each(|cell| self.cell(cell));
        self.bound = ["title", "place", "year"].map(str::to_owned).to_vec();
        self.cell(&study.before);
        self.bound.clear();
        for beside in &study.beside {
            self.selection(&beside.of);
            self.formula(&beside.value);
            self.cell(&beside.text);
            self.cell(&beside.label);
            let metric = match &beside.metric.expr {
                Expr::Name(path) => names::metric(&path.join(".")),
                _ => None,
            };
            if metric.is_none() {
                let help = "write the name of a metric, for example `rtt_ns`";
                self.refuse(&beside.metric.at, "this is no metric".into(), help.into());
            }
        }
        for table in &study.tables {
            self.table(table);
        }
    }

    fn table(&mut self, table: &Table) {
        self.bound = vec!["form".to_owned()];
        let cells = table.head.iter().chain(&table.empty);
        let cells = cells.chain(&table.above).chain(&table.below);
        cells.chain([&table.title]).for_each(|cell| self.cell(cell));
        table
            .when
            .iter()
            .chain(&table.of_groups)
            .for_each(|s| self.selection(s));
        let formulas = table.by.iter().chain(&table.order).chain(&table.split);
        formulas.for_each(|f| self.formula(f));
        self.bound.extend(["same_kind", "alike"].map(str::to_owned));
        if let Some(across) = &table.across {
            across.of_groups.iter().for_each(|s| self.selection(s));
            let formulas = across.by.iter().chain(&across.order);
            formulas.for_each(|f| self.formula(f));
            across.heads.iter().for_each(|cell| self.cell(cell));
        }
        let wanted_across = table.across.as_ref().map_or(0, |a| a.heads.len());
        let least = usize::from(table.across.is_none());
        if !table.list && table.labels.n > table.head.len().saturating_sub(least) {
            let help = "write fewer `labels`, or more columns; the last column is no label";
            let columns = table.head.len();
            let message = format!(
                "a table of {columns} columns cannot have {} labels",
                table.labels.n
            );
            self.refuse(&table.labels.at, message, help.into());
        }
        for row in &table.rows {
            let has_unknown = row.each.iter().filter(|each| !self.each(each)).count() > 0;
            if has_unknown {
                // What its names would stand for cannot be told.
                self.records.clear();
                self.bound.truncate(3);
                continue;
            }
            let selections = row.of.iter().chain(&row.when).chain(&row.unless);
            selections.for_each(|s| self.selection(s));
            let formulas = row.needs.iter().chain(&row.least).chain(&row.sort);
            let formulas = formulas.chain(&row.mark).chain(&row.unfit);
            formulas.for_each(|f| self.formula(f));
            let cells = row.cells.iter().chain(&row.across);
            cells.for_each(|cell| self.cell(cell));
            let wanted = if table.list { 1 } else { table.head.len() };
            if row.across.len() != wanted_across {
                let message = format!(
                    "the row has {} cells for {wanted_across} columns of `across`",
                    row.across.len()
                );
                let help = "write as many cells in `across` of the row as `across` of the table has `heads`";
                let at = row.across.first().or(row.cells.first());
                self.refuse(
                    at.map_or(&table.title.at, |cell| &cell.at),
                    message,
                    help.into(),
                );
            }
            if row.cells.len() != wanted {
                let at = row.cells.first().map_or(&table.title.at, |cell| &cell.at);
                let message = format!("the row has {} cells for {wanted} columns", row.cells.len());
                self.refuse(
                    at,
                    message,
                    "write a cell for each title in `head`; of a list one cell".into(),
                );
            }
            self.records.clear();
            self.bound.truncate(3);
        }
    }

    /// Whether it says what there is a row for.
    fn each(&mut self, each: &Each) -> bool {
        match &each.of {
            EachOf::Records(records) => {
                for (name, word) in records.iter().flatten() {
                    self.records.push((name.clone(), word.text()));
                    self.bound.push(name.clone());
                }
            }
            EachOf::Found(text) => {
                let (name, table) = text.split_once(' ').unwrap_or((text, ""));
                let Some(generator) = GENERATORS.iter().find(|g| g.name == name) else {
                    let help = suggest::instead(name, "things", GENERATORS.iter().map(|g| g.name));
                    self.refuse(&each.at, format!("an experiment has no `{name}`s"), help);
                    return false;
                };
                if (name == "printed") == self.study.published.rows(table).is_empty() {
                    let help = "write for example `each = \"printed latency\"`; only `printed` takes a table";
                    self.refuse(
                        &each.at,
                        format!("`each = {text:?}` names no published table"),
                        help.into(),
                    );
                }
                self.bound
                    .extend(generator.gives.iter().map(|name| (*name).to_owned()));
            }
        }
        true
    }

    fn selection(&mut self, selection: &Selection) {
        match &selection.of {
            Of::Named(name) if self.study.select.contains_key(name) => {}
            Of::Named(name) => {
                let names = self.study.select.keys().map(String::as_str);
                let help = suggest::instead(name, "selections", names);
                self.refuse(
                    &selection.at,
                    format!("there is no selection `{name}`"),
                    help,
                );
            }
            Of::Values(values) => {
                let study = self.study;
                let own = study.maps.keys().chain(study.defines.keys());
                let own: Vec<&str> = own.map(String::as_str).collect();
                for name in values.keys().filter(|name| !own.contains(&name.as_str())) {
                    self.exists(&words(name), &selection.at, &own);
                }
            }
        }
    }

    fn formula(&mut self, formula: &Formula) {
        self.expr(&formula.expr, &formula.at);
    }

    fn cell(&mut self, cell: &Cell) {
        let all = cell.templates.iter().flat_map(|t| t.expressions());
        all.for_each(|e| self.expr(e, &cell.at));
    }

    fn expr(&mut self, expr: &Expr, at: &Span) {
        let mut all = Vec::new();
        expr.walk(&mut |e| all.push(e));
        for e in all {
            match e {
                Expr::Name(path) => self.name(path, at),
                Expr::Call(name, arguments) => self.call(name, arguments, at),
                Expr::Number(_) | Expr::Text(_) | Expr::Binary(..) => {}
            }
        }
    }

    /// Refuses a name that stands for nothing in a row.
    fn name(&mut self, path: &[String], at: &Span) {
        let study = self.study;
        let (first, rest) = (&path[0], &path[1..]);
        let relations = study.relations.keys().filter(|_| !self.in_relation);
        let bound = self.bound.clone();
        let own = study.maps.keys().chain(study.defines.keys());
        let words = self.words.clone();
        let others = bound.iter().chain(&words).chain(own).chain(relations);
        let others = others.map(String::as_str).chain(AROUND);
        let others: Vec<&str> = others.collect();
        let of_records = self.records.iter().filter(|(name, _)| name == first);
        let of_records: Vec<String> = of_records.map(|(_, value)| value.clone()).collect();
        let is_around = AROUND.contains(&first.as_str());
        let is_relation = is_around || study.relations.contains_key(first) && !self.in_relation;
        if rest.is_empty() && others.contains(&first.as_str()) {
            return;
        }
        if is_relation {
            let known = rest.first().is_some_and(|name| {
                study.maps.contains_key(name) || study.defines.contains_key(name)
            });
            if !known {
                self.exists(rest, at, &others);
            }
        } else if of_records.is_empty() {
            self.exists(path, at, &others);
        } else {
            // A record names the metric.
            for value in of_records {
                self.exists(&[&[value][..], rest].concat(), at, &others);
            }
        }
    }

    /// Refuses what is no name of an experiment.
    fn exists(&mut self, path: &[String], at: &Span, others: &[&str]) {
        let plain: Vec<&str> = path.iter().map(String::as_str).collect();
        if let Err((message, help)) = names::check(&plain, others) {
            self.refuse(at, message, help);
        }
    }

    fn call(&mut self, name: &str, arguments: &[Expr], at: &Span) {
        let found = FUNCTIONS.iter().find(|f| f.0 == name).map(|f| (f.1, f.2));
        let over = OVER.contains(&name).then_some((1, 1));
        let Some((least, most)) = found.or(over) else {
            let names = FUNCTIONS.map(|f| f.0).into_iter().chain(OVER);
            let help = suggest::instead(name, "functions", names);
            self.refuse(at, format!("there is no function `{name}`"), help);
            return;
        };
        if !(least..=most).contains(&arguments.len()) {
            let message = format!("`{name}` takes {most} arguments, found {}", arguments.len());
            self.refuse(
                at,
                message,
                "docs/reference/study-files.md lists the functions".into(),
            );
            return;
        }
        let published = &self.study.published;
        let mut place = at.clone();
        let missing = match (name, arguments) {
            ("printed", [Expr::Text(table), Expr::Text(row), rest @ ..]) => {
                no_cell(published, table, row, rest)
            }
            (
                "printed" | "column" | "from_another_run" | "another_ratio",
                [Expr::Text(table), ..],
            ) => {
                let is_empty = published.rows(table).is_empty();
                is_empty.then(|| format!("there is no published table {table:?}"))
            }
            ("said", [argument]) => {
                let (message, its_place) = self.unsaid(argument).unzip();
                place = its_place.flatten().unwrap_or(place);
                message
            }
            (
                "named" | "measured" | "estimate" | "accuracy" | "withheld" | "clear" | "blurred",
                [argument, ..],
            ) => {
                self.named(argument, at);
                None
            }
            ("has_column", [Expr::Text(title)]) => {
                let heads = self.study.tables.iter().flat_map(|table| &table.head);
                let mut titles = heads.flat_map(|cell| &cell.templates);
                let is_known = titles.any(|template| template.plain() == *title);
                (!is_known).then(|| format!("no table has a column {title:?}"))
            }
            ("shape", [Expr::Text(metric)]) => {
                let is_known = names::metric(metric).is_some();
                (!is_known).then(|| format!("there is no metric {metric:?}"))
            }
            ("heading" | "conditions" | "varying", titles) => titles.iter().find_map(|title| {
                let Expr::Text(title) = title else {
                    return None;
                };
                let is_known = in_tables().iter().any(|f| f.title == title);
                (!is_known).then(|| format!("there is no factor with the title {title:?}"))
            }),
            _ => None,
        };
        if let Some(message) = missing {
            self.refuse(
                &place,
                message,
                "write tables and rows as the published figures have them, factors and metrics as docs/reference/tables.md".into(),
            );
        }
    }

    /// The figure of the published sentences that is not there, and its place where it is a word of a line, which has no
    /// place of its own.
    fn unsaid(&self, argument: &Expr) -> Option<(String, Option<Span>)> {
        let names = match argument {
            Expr::Text(name) => vec![name.clone()],
            Expr::Name(path) => self.texts_of(path),
            _ => Vec::new(),
        };
        let published = &self.study.published;
        let name = names
            .into_iter()
            .find(|name| published.said(name).is_none())?;
        let quoted = format!("{name:?}");
        let start = match argument {
            Expr::Name(_) => self.source.inner().find(&quoted),
            _ => None,
        };
        let place = start.map(|start| start..start + quoted.len());
        Some((
            format!("the published sentences have no figure {name:?}"),
            place,
        ))
    }

    /// The texts that a name of lines or records stands for.
    fn texts_of(&self, path: &[String]) -> Vec<String> {
        let [name] = path else {
            return Vec::new();
        };
        let lines = &self.study.lines.own;
        let of_lines = lines.iter().filter_map(|line| line.words.get(name));
        let of_records = self.records.iter().filter(|(known, _)| known == name);
        let of_records = of_records.map(|(_, text)| text.clone());
        of_lines.map(Word::text).chain(of_records).collect()
    }

    /// Refuses what `named` cannot find: the text of each record, with a text before it.
    fn named(&mut self, argument: &Expr, at: &Span) {
        let (before, key) = match argument {
            Expr::Text(name) => return self.name(&words(name), at),
            Expr::Name(path) => ("", path),
            Expr::Binary(_, before, path) => match (&**before, &**path) {
                (Expr::Text(before), Expr::Name(path)) => (before.as_str(), path),
                _ => return,
            },
            _ => return,
        };
        let values = self
            .records
            .iter()
            .filter(|(name, _)| key.as_slice() == [name.as_str()]);
        let paths: Vec<_> = values
            .map(|(_, value)| words(&format!("{before}{value}")))
            .collect();
        paths.iter().for_each(|path| self.name(path, at));
    }
}

/// The names that lines bind.
fn words_of_lines(study: &Study) -> Vec<String> {
    let own = study.lines.own.iter().flat_map(|line| line.words.keys());
    let others = study
        .lines
        .other
        .iter()
        .flat_map(|_| ["line", "line_stack"]);
    own.cloned().chain(others.map(str::to_owned)).collect()
}

/// Whether what a name stands for leads back to it; `above` are the names that led to it.
fn uses(study: &Study, name: &str, above: &mut Vec<String>) -> bool {
    if let Some(first) = above.first()
        && (first == name || above.iter().any(|known| known == name))
    {
        return first == name;
    }
    above.push(name.to_owned());
    let names = behind(study, name);
    names.iter().any(|next| uses(study, next, above))
}

/// How many names stand behind a name, each as often as it is used; `known` are those that were counted.
fn weight(study: &Study, name: &str, known: &mut BTreeMap<String, u64>) -> u64 {
    if let Some(weight) = known.get(name) {
        return *weight;
    }
    // What is defined by itself is refused elsewhere.
    known.insert(name.to_owned(), 1);
    let names = behind(study, name);
    let all = names.iter().map(|next| weight(study, next, known));
    let weight = all.fold(1, u64::saturating_add);
    known.insert(name.to_owned(), weight);
    weight
}

/// The names that the definition of a name uses.
fn behind(study: &Study, name: &str) -> Vec<String> {
    let mut exprs: Vec<&Expr> = Vec::new();
    let mut selections: Vec<&Selection> = Vec::new();
    if let Some(cell) = study.defines.get(name) {
        exprs.extend(cell.templates.iter().flat_map(|t| t.expressions()));
    }
    exprs.extend(study.maps.get(name).map(|map| &map.from.expr));
    if let Some(relation) = study.relations.get(name) {
        let formulas = relation.same.iter().chain(&relation.most);
        exprs.extend(formulas.chain(&relation.least).map(|f| &f.expr));
        selections.extend(&relation.of);
    }
    let mut names: Vec<String> = Vec::new();
    for expr in exprs {
        expr.walk(&mut |e| match e {
            Expr::Name(path) => names.extend(path.iter().cloned()),
            // Of whatever has a row.
            Expr::Call(function, _) if function == "varying" => selections.extend(&study.shows),
            Expr::Call(function, arguments) if function == "named" => {
                let texts = arguments.iter().filter_map(|argument| match argument {
                    Expr::Text(text) => Some(text),
                    _ => None,
                });
                names.extend(texts.flat_map(|text| words(text)));
            }
            _ => {}
        });
    }
    for selection in selections {
        let of = match &selection.of {
            Of::Named(name) => study.select.get(name).map(|s| &s.of),
            values => Some(values),
        };
        if let Some(Of::Values(values)) = of {
            names.extend(values.keys().flat_map(|name| words(name)));
        }
    }
    names
}

/// That a published table has no such cell, or `None` where it has one.
fn no_cell(published: &PrintedTables, table: &str, row: &str, cell: &[Expr]) -> Option<String> {
    let place = match cell {
        [Expr::Number(n)] => Some(*n as usize),
        [Expr::Text(title)] => published.column(table, title),
        _ => Some(0),
    };
    let found = published.row(table, row).zip(place);
    if found.and_then(|(cells, place)| cells.get(place)).is_some() {
        return None;
    }
    Some(match cell {
        [Expr::Text(title)] => {
            format!("the published table {table:?} has no row {row:?} with a column {title:?}")
        }
        _ => format!(
            "the published table {table:?} has no row {row:?} with a cell {}",
            place.unwrap_or(0)
        ),
    })
}
