//! A study as its file has it: which experiments it shows, and the tables that it makes of them.

use super::expr::{Expr, Template};
use super::names::Value;
use crate::published::{PrintedTables, Statistic};
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// A study.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    #[serde(default, rename = "title")]
    _title: IgnoredAny,
    /// Experiments with a row: those that one of these selects.
    pub(crate) shows: Vec<Selection>,
    /// What others published; cells refer to it by table, row and column.
    #[serde(default)]
    pub(crate) published: PrintedTables,
    /// The title of what is known to be wrong with it.
    #[serde(default)]
    pub(crate) before: Cell,
    /// The conditions that all experiments share stand below the title.
    #[serde(default)]
    pub(crate) conditions: bool,
    /// How to read the tables.
    #[serde(default)]
    pub(crate) legend: Vec<Cell>,
    /// Remarks whose titles begin so are left out, because the tables say them.
    #[serde(default)]
    pub(crate) said: Vec<String>,
    /// Rows that tables have in common.
    #[serde(default)]
    pub(crate) lines: Lines,
    /// The order of lines.
    pub(crate) ranking: Option<Ranking>,
    /// Selections by name.
    #[serde(default)]
    pub(crate) select: BTreeMap<String, Selection>,
    /// Texts that stand for values.
    #[serde(default, rename = "map")]
    pub(crate) maps: BTreeMap<String, Map>,
    /// Cells by name.
    #[serde(default, rename = "define")]
    pub(crate) defines: BTreeMap<String, Cell>,
    /// Other experiments that a cell may look at.
    #[serde(default, rename = "relation")]
    pub(crate) relations: BTreeMap<String, Relation>,
    #[serde(default, rename = "table")]
    pub(crate) tables: Vec<Table>,
    /// Published figures that stand beside an experiment in the plots of reports.
    #[serde(default)]
    pub(crate) beside: Vec<Beside>,
}

/// Lines of a comparison: experiments that stand in a row together, under several conditions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lines {
    /// Those of the study, in its order. An experiment may be in several.
    #[serde(default, rename = "of")]
    pub(crate) own: Vec<Line>,
    /// The others have a line for each value of this, which names it.
    pub(crate) other: Option<Formula>,
    pub(crate) order: Option<Formula>,
    /// A line is divided, and its name says how, where this has several values.
    pub(crate) divide: Option<Formula>,
}

/// A line of the study.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    /// Its experiments: those that one of these selects.
    pub(crate) select: Vec<Selection>,
    /// Names of its rows, of which `line` is what tables call it.
    #[serde(flatten)]
    pub(crate) words: BTreeMap<String, Word>,
}

/// How lines are put in an order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ranking {
    /// The word of lines that stand for the same thing, of which one is put in the order.
    pub(crate) of: Spanned<String>,
    /// A quantile.
    pub(crate) value: Formula,
    /// What is said of each.
    pub(crate) text: Cell,
    /// A number that was published.
    pub(crate) published: Formula,
    /// What this has a value of is not put in the order.
    pub(crate) unfit: Formula,
}

/// A published figure that stands beside the experiments of a selection.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Beside {
    pub(crate) of: Selection,
    pub(crate) metric: Formula,
    pub(crate) statistic: Statistic,
    /// In nanoseconds.
    pub(crate) value: Formula,
    /// As it was printed, with its unit.
    pub(crate) text: Cell,
    /// What it was measured of.
    pub(crate) label: Cell,
}

/// Where something stands in the file, in bytes.
pub(crate) type Span = Range<usize>;

/// What a cell shows: the first of these templates that applies, else a dash.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub(crate) at: Span,
    pub(crate) templates: Vec<Template>,
}

/// An expression and its place.
#[derive(Debug, Clone)]
pub(crate) struct Formula {
    pub(crate) at: Span,
    pub(crate) expr: Expr,
}

/// Which experiments, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) at: Span,
    pub(crate) of: Of,
}

/// Which experiments.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "write the name of a selection, or a table of names and values"
)]
pub(crate) enum Of {
    /// Those of a selection by its name.
    Named(String),
    /// Those that have one of the values of each name; `!x` is any but `x`, and `*` any at all.
    Values(BTreeMap<String, OneOrMore<Word>>),
}

/// A value of a file as a text.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "write a text, a number, or true or false")]
pub(crate) enum Word {
    Text(String),
    Number(f64),
    Flag(bool),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

/// A text for each value of a name.
#[derive(Debug, Deserialize)]
pub(crate) struct Map {
    pub(crate) from: Formula,
    #[serde(flatten)]
    pub(crate) texts: BTreeMap<String, String>,
}

/// Another experiment of the run, as seen from that of a row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Relation {
    pub(crate) of: Option<Selection>,
    /// What both have in common.
    #[serde(default)]
    pub(crate) same: Vec<Formula>,
    /// A named function that decides as well.
    pub(crate) with: Option<With>,
    /// Of several the one that has the most of it, else the first.
    pub(crate) most: Option<Formula>,
    /// Of several the one that has the least of it.
    pub(crate) least: Option<Formula>,
}

/// Named relations between two experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum With {
    /// The first leg of a chain, measured alone under the same conditions.
    FirstLeg,
    /// A larger payload, all else being equal.
    Larger,
}

/// One table, or a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) title: Cell,
    /// The first cell of each row is an item of a list.
    #[serde(default)]
    pub(crate) list: bool,
    /// Each group has a table of its own.
    #[serde(default)]
    pub(crate) apart: bool,
    /// A table for each group that has these in common, and in it the groups by `by`.
    #[serde(default)]
    pub(crate) split: Vec<Formula>,
    /// Groups are divided into the lines of the study.
    #[serde(default)]
    pub(crate) lines: bool,
    /// It stands below the legend.
    #[serde(default)]
    pub(crate) last: bool,
    /// So many of the last titles of `head` follow the columns of `across`. Runs may hold studies with the old name.
    #[serde(default, alias = "behind")]
    pub(crate) after_across: usize,
    /// The title on a terminal stands between asterisks.
    #[serde(default)]
    pub(crate) banner: bool,
    /// Paragraphs between the title and the table.
    #[serde(default)]
    pub(crate) above: Vec<Cell>,
    /// Paragraphs below the table.
    #[serde(default)]
    pub(crate) below: Vec<Cell>,
    /// The name `form` is the first number below it with which the table fits the width, else the last.
    #[serde(default = "one")]
    pub(crate) forms: usize,
    /// The first columns, which are left-aligned and repeated where a table is split.
    #[serde(default)]
    pub(crate) labels: Labels,
    #[serde(default)]
    pub(crate) head: Vec<Cell>,
    /// Titles, each with the templates of its cells, in place of `head` and `cells`.
    #[serde(default)]
    pub(crate) columns: Vec<Vec<Cell>>,
    /// There is a table only if some experiment is like this.
    pub(crate) when: Option<Selection>,
    /// What stands in the place of a table without rows.
    pub(crate) empty: Option<Cell>,
    /// The rows are made for each of these.
    #[serde(default, rename = "for")]
    pub(crate) of_groups: Option<Selection>,
    /// What a group has in common; empty: each experiment is a group.
    #[serde(default)]
    pub(crate) by: Vec<Formula>,
    pub(crate) order: Option<Formula>,
    /// Further columns, one for each of these groups.
    pub(crate) across: Option<Across>,
    #[serde(default, rename = "row")]
    pub(crate) rows: Vec<Row>,
    // The keys of a row, in a table that has one form of rows.
    of: Option<Selection>,
    each: Option<Each>,
    needs: Option<Formula>,
    least: Option<Formula>,
    sort: Option<Formula>,
    #[serde(default)]
    cells: Vec<Cell>,
}

const fn one() -> usize {
    1
}

/// How many of the first columns are labels, and where that stands.
#[derive(Debug)]
pub(crate) struct Labels {
    pub(crate) at: Span,
    pub(crate) n: usize,
}

impl Default for Labels {
    fn default() -> Labels {
        Labels { at: 0..0, n: 1 }
    }
}

/// Columns for groups of experiments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Across {
    #[serde(default, rename = "for")]
    pub(crate) of_groups: Option<Selection>,
    pub(crate) by: Vec<Formula>,
    pub(crate) order: Option<Formula>,
    #[serde(default)]
    pub(crate) head: Cell,
    /// Titles of several columns for each group, in place of `head`.
    #[serde(default)]
    pub(crate) heads: Vec<Cell>,
}

/// Rows of one form.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Row {
    /// The experiments that have such a row; `None`: the first of the group.
    pub(crate) of: Option<Selection>,
    /// How many rows an experiment has; `None`: one.
    pub(crate) each: Option<Each>,
    /// Only if some experiment is like this.
    pub(crate) when: Option<Selection>,
    /// Only if no experiment is like this.
    pub(crate) unless: Option<Selection>,
    /// Only if this has a value.
    pub(crate) needs: Option<Formula>,
    /// Only those that have the least of it.
    pub(crate) least: Option<Formula>,
    pub(crate) sort: Option<Formula>,
    /// Whether there must be rows before it, or must not.
    pub(crate) after: Option<After>,
    pub(crate) cells: Vec<Cell>,
    /// The cell of each column of [`Table::across`].
    pub(crate) cell: Cell,
    /// Those of its several columns, in place of `cell`.
    pub(crate) across: Vec<Cell>,
    /// The smallest and the largest of it in each column of `across` are marked.
    pub(crate) mark: Option<Formula>,
    /// What this has a value of is not marked as the smallest.
    pub(crate) unfit: Option<Formula>,
}

/// What must stand above a row below all groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum After {
    Rows,
    None,
    /// Anything or nothing.
    All,
}

/// How many rows an experiment has, and where that stands.
#[derive(Debug)]
pub(crate) struct Each {
    pub(crate) at: Span,
    pub(crate) of: EachOf,
}

/// How many rows an experiment has.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "write what an experiment has several of, or a list of records"
)]
pub(crate) enum EachOf {
    /// One for each thing that a named function finds.
    Found(String),
    /// One for each of these records.
    Records(Vec<BTreeMap<String, Word>>),
}

impl Table {
    /// A table with one form of rows as one with a list of forms.
    pub(crate) fn settle(&mut self) {
        let mut cells = std::mem::take(&mut self.cells);
        for column in std::mem::take(&mut self.columns) {
            let mut parts = column.into_iter();
            self.head.extend(parts.next());
            let merge = |mut all: Cell, next: Cell| {
                all.at = next.at;
                all.templates.extend(next.templates);
                all
            };
            cells.push(parts.fold(Cell::default(), merge));
        }
        if !cells.is_empty() {
            self.rows.push(Row {
                of: self.of.take(),
                each: self.each.take(),
                needs: self.needs.take(),
                least: self.least.take(),
                sort: self.sort.take(),
                cells,
                ..Row::default()
            });
        }
        for across in self.across.iter_mut().filter(|a| a.heads.is_empty()) {
            across.heads.push(std::mem::take(&mut across.head));
            for row in &mut self.rows {
                row.across.push(std::mem::take(&mut row.cell));
            }
        }
    }

    /// Whether rows are made for groups of experiments.
    pub(crate) fn is_grouped(&self) -> bool {
        self.of_groups.is_some() || !self.by.is_empty()
    }
}

impl Word {
    /// As a value of an expression.
    pub(crate) fn value(&self) -> Value {
        match self {
            Word::Number(v) => Value::Number(*v),
            Word::Text(_) | Word::Flag(_) => Value::Text(self.text()),
        }
    }

    /// As it is compared and shown.
    pub(crate) fn text(&self) -> String {
        match self {
            Word::Text(text) => text.clone(),
            Word::Number(v) => v.to_string(),
            Word::Flag(is) => if *is { "yes" } else { "no" }.to_owned(),
        }
    }
}

impl<T> OneOrMore<T> {
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            OneOrMore::One(one) => std::slice::from_ref(one),
            OneOrMore::More(all) => all,
        }
    }
}

/// The words of a name.
pub(crate) fn words(name: &str) -> Vec<String> {
    name.split('.').map(str::to_owned).collect()
}

/// Reads what knows its place.
macro_rules! placed {
    ($ty:ident from $inner:ty: |$at:ident, $value:ident| $make:expr) => {
        impl<'de> Deserialize<'de> for $ty {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let spanned = Spanned::<$inner>::deserialize(deserializer)?;
                let ($at, $value) = (spanned.span(), spanned.into_inner());
                $make
            }
        }
    };
}

placed!(Selection from Of: |at, of| Ok(Selection { at, of }));
placed!(Labels from usize: |at, n| Ok(Labels { at, n }));
placed!(Each from EachOf: |at, of| Ok(Each { at, of }));
placed!(Formula from String: |at, text| {
    let expr = Expr::parse(&text).map_err(D::Error::custom)?;
    Ok(Formula { at, expr })
});
placed!(Cell from OneOrMore<String>: |at, texts| {
    let all = texts.as_slice().iter().map(|text| Template::parse(text).map_err(D::Error::custom));
    let templates = all.collect::<Result<_, _>>()?;
    Ok(Cell { at, templates })
});
