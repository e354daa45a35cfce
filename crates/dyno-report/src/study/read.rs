//! From the text of a study file to a [`Study`] whose every name, function and published row exists.

use super::expr::Expr;
use super::model::{Cell, Each, EachOf, Formula, Of, Path, Selection, Span, Study, Table, words};
use super::names;
use super::rows::GENERATORS;
use super::scope::FUNCTIONS;
use dyno_toml::{Mistakes, Place, Problem, Problems, Source, suggest};

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
            in_relation: false,
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
    /// A relation is made of names of experiments, not of other relations.
    in_relation: bool,
}

impl Check<'_> {
    fn refuse(&mut self, at: &Span, message: String, help: String) {
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
        for map in study.maps.values() {
            self.exists(&map.from.words, &map.from.at, &[]);
        }
        self.in_relation = true;
        for relation in study.relations.values() {
            relation.of.iter().for_each(|s| self.selection(s));
            relation
                .most
                .iter()
                .chain(&relation.least)
                .for_each(|f| self.formula(f));
        }
        self.in_relation = false;
        study.legend.iter().for_each(|cell| self.cell(cell));
        self.bound = ["title", "place"].map(str::to_owned).to_vec();
        self.cell(&study.before);
        for table in &study.tables {
            self.table(table);
        }
    }

    fn table(&mut self, table: &Table) {
        self.bound.clear();
        self.cell(&table.title);
        table
            .head
            .iter()
            .chain(&table.empty)
            .for_each(|cell| self.cell(cell));
        table
            .when
            .iter()
            .chain(&table.of_groups)
            .for_each(|s| self.selection(s));
        table.by.iter().for_each(|path| self.path(path));
        table.order.iter().for_each(|f| self.formula(f));
        self.bound = vec!["alike".to_owned()];
        if let Some(across) = &table.across {
            across.of_groups.iter().for_each(|s| self.selection(s));
            across.by.iter().for_each(|path| self.path(path));
            across.order.iter().for_each(|f| self.formula(f));
            self.cell(&across.head);
        }
        let least = usize::from(table.across.is_none());
        if !table.list && !(1..=table.head.len().saturating_sub(least)).contains(&table.labels) {
            let help = "write fewer `labels`, or more columns; the last column is no label";
            let columns = table.head.len();
            let message = format!(
                "a table of {columns} columns cannot have {} labels",
                table.labels
            );
            self.refuse(&table.title.at, message, help.into());
        }
        for row in &table.rows {
            row.each.iter().for_each(|each| self.each(each));
            let selections = row.of.iter().chain(&row.when).chain(&row.unless);
            selections.for_each(|s| self.selection(s));
            let formulas = row.needs.iter().chain(&row.least).chain(&row.sort);
            formulas.for_each(|f| self.formula(f));
            row.cells
                .iter()
                .chain([&row.cell])
                .for_each(|cell| self.cell(cell));
            let wanted = if table.list { 1 } else { table.head.len() };
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
            self.bound.truncate(1);
        }
    }

    fn each(&mut self, each: &Each) {
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
                    return;
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
                let maps: Vec<&str> = study.maps.keys().map(String::as_str).collect();
                for name in values.keys().filter(|name| !maps.contains(&name.as_str())) {
                    self.exists(&words(name), &selection.at, &maps);
                }
            }
        }
    }

    fn path(&mut self, path: &Path) {
        self.name(&path.words, &path.at);
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
        let others = bound.iter().chain(study.maps.keys()).chain(relations);
        let others: Vec<&str> = others.map(String::as_str).collect();
        let of_records = self.records.iter().filter(|(name, _)| name == first);
        let of_records: Vec<String> = of_records.map(|(_, value)| value.clone()).collect();
        let is_relation = study.relations.contains_key(first) && !self.in_relation;
        if rest.is_empty() && others.contains(&first.as_str()) {
            return;
        }
        if is_relation {
            if !study.maps.contains_key(&rest[0]) {
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
        let Some((least, most)) = found.or((name == "most").then_some((1, 1))) else {
            let names = FUNCTIONS.map(|f| f.0).into_iter().chain(["most"]);
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
        let missing = match (name, arguments) {
            ("printed", [Expr::Text(table), Expr::Text(row), rest @ ..]) => {
                let cell = match rest {
                    [Expr::Number(n)] => *n as usize,
                    _ => 0,
                };
                let found = published.row(table, row).and_then(|cells| cells.get(cell));
                found.is_none().then(|| {
                    format!("the published table {table:?} has no row {row:?} with a cell {cell}")
                })
            }
            ("printed" | "column", [Expr::Text(table), ..]) => {
                let is_empty = published.rows(table).is_empty();
                is_empty.then(|| format!("there is no published table {table:?}"))
            }
            ("named", [argument]) => {
                self.named(argument, at);
                None
            }
            _ => None,
        };
        if let Some(message) = missing {
            self.refuse(
                at,
                message,
                "write table and row as the published figures have them".into(),
            );
        }
    }

    /// Refuses what `named` cannot find: the text of each record, with a text before it.
    fn named(&mut self, argument: &Expr, at: &Span) {
        let (before, key) = match argument {
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
