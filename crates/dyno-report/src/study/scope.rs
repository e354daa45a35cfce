//! What expressions come to: the names of a row, the experiments beside it, and named functions that any study may use.

use super::expr::{Expr, Kind, Op, Piece, Template};
use super::model::{self, Cell, Formula, Of, Selection, Study, With, Word, words};
use super::names::{self, Bound, Value};
use crate::factors;
use crate::number::{Measured, latency_ns};
use crate::published::cell::part;
use crate::spark;
use crate::summary::{DaemonCost, ExperimentSummary, Spread, Summary};
use dyno_model::factors::{Factor, in_tables};
use dyno_model::plan::Extent;
use dyno_model::{Metric, OptionValue, WorkloadKind};
use dyno_stats::{Estimate, Latency, Quantile};
use std::cell::{OnceCell, RefCell};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Where nothing can be said.
pub(crate) const NONE: &str = "–";

/// An experiment of a relation, with what it must have in common with that of a row.
type Candidate<'a> = (&'a ExperimentSummary, Vec<Option<Value>>);

/// A line of the study as the run has it.
pub(crate) struct Line<'a> {
    /// Its names.
    pub(crate) bound: Bound,
    /// Its place in the study; `None`: it is none of the study's own.
    pub(crate) own: Option<usize>,
    pub(crate) experiments: Vec<&'a ExperimentSummary>,
}

/// Pseudo-relations: to the experiments of a cell, and to the first one of its column.
pub(crate) const AROUND: [&str; 2] = ["here", "column"];

/// A row under construction.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    pub(crate) study: &'a Study,
    pub(crate) summary: &'a Summary,
    pub(crate) e: Option<&'a ExperimentSummary>,
    /// Names that win over those of the experiment.
    pub(crate) bound: Bound,
    /// The experiments of the group, and in a column those of the cell.
    pub(crate) here: Rc<Vec<&'a ExperimentSummary>>,
    /// The first experiment of the column.
    pub(crate) column: Option<&'a ExperimentSummary>,
    /// Whether the shapes of distributions are shown.
    shapes: bool,
    /// Reasons that cells refer to by their numbers, each with how often.
    pub(crate) reasons: Rc<RefCell<Vec<(String, u64)>>>,
    /// The titles of columns of the tables so far.
    pub(crate) titles: Rc<RefCell<BTreeSet<String>>>,
    lines: Rc<OnceCell<Vec<Line<'a>>>>,
    /// The experiments with a row, and the factors that differ between them, once they were looked for.
    shown: Rc<OnceCell<Vec<&'a ExperimentSummary>>>,
    varying: Rc<OnceCell<Vec<&'static Factor>>>,
    /// The experiments of each relation, once they were looked for.
    candidates: Rc<RefCell<BTreeMap<String, Rc<Vec<Candidate<'a>>>>>>,
}

/// A named function: its name, how many arguments it takes at least and at most, and what it does.
type Function = (
    &'static str,
    usize,
    usize,
    fn(&Scope<'_>, &[Value]) -> Option<Value>,
);

/// Functions over all experiments of a relation, whose argument is a name of these: see [`Scope::over`].
pub(crate) const OVER: [&str; 4] = ["most", "least", "median", "list"];

/// All others.
pub(crate) const FUNCTIONS: [Function; 31] = [
    ("named", 1, 1, named),
    ("printed", 2, 3, printed),
    ("column", 2, 2, column),
    ("said", 1, 1, |scope, arguments| {
        let name = arguments.first()?.word();
        Some(Value::Text(scope.study.published.said(&name)?.to_owned()))
    }),
    ("from_another_run", 3, 3, from_another_run),
    // Its old name, which studies in stored runs have.
    ("another_ratio", 3, 3, from_another_run),
    ("has_column", 1, 1, |scope, arguments| {
        let titles = scope.titles.borrow();
        let is_there = titles.contains(&arguments.first()?.word());
        is_there.then_some(Value::Number(1.0))
    }),
    ("refused", 2, 3, refused),
    ("cpu", 1, 1, cpu),
    ("option", 1, 1, option),
    ("contains", 2, 2, contains),
    ("ratio", 2, 2, ratio),
    ("half", 1, 1, |_, arguments| {
        let all = interval(arguments.first()?)?;
        Some(Value::Interval(all.map(|v| v / 2.0)))
    }),
    ("lowest", 1, 1, |_, arguments| end(arguments, 1)),
    ("highest", 1, 1, |_, arguments| end(arguments, 2)),
    ("subscribers_in_time", 0, 0, subscribers_in_time),
    ("note", 1, 1, |scope, arguments| {
        Some(Value::Text(scope.note(arguments.first()?.word())))
    }),
    ("failures", 0, 0, failures),
    ("blurred", 1, 1, |scope, arguments| {
        let is_blurred = names::is_blurred(scope.e?, &arguments.first()?.word());
        is_blurred.then_some(Value::Number(1.0))
    }),
    ("clear", 1, 1, |scope, arguments| {
        let name = arguments.first()?.word();
        let value = scope.named(&words(&name));
        value.filter(|_| !scope.e.is_some_and(|e| names::is_blurred(e, &name)))
    }),
    ("configured", 1, 1, configured),
    ("number", 1, 2, number),
    ("rounded", 1, 1, |_, arguments| {
        let v = arguments.first()?.number()?;
        Some(Value::Number(v.round()))
    }),
    ("measured", 2, 2, |scope, arguments| {
        Some(Value::Text(measured(scope, arguments)?.line()))
    }),
    ("estimate", 2, 2, |scope, arguments| {
        Some(Value::Text(measured(scope, arguments)?.value))
    }),
    ("accuracy", 2, 2, accuracy),
    ("withheld", 1, 1, withheld),
    ("shape", 1, 1, shape),
    ("heading", 0, 9, |scope, arguments| {
        let text = factors::heading(&others(in_tables(), arguments), Some(&scope.e?.experiment));
        Some(Value::Text(text))
    }),
    ("conditions", 0, 9, |scope, arguments| {
        let text = factors::label(&others(in_tables(), arguments), &scope.e?.experiment);
        Some(Value::Text(text))
    }),
    ("varying", 0, 9, |scope, arguments| {
        let varying = others(scope.varying().clone(), arguments);
        let text = factors::label(&varying, &scope.e?.experiment);
        (!text.is_empty()).then_some(Value::Text(text))
    }),
];

/// A value by which things are sorted: numbers, then texts, then what has no value.
#[derive(PartialEq)]
pub(crate) struct Key(pub(crate) Option<Value>);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        let key = |value: &Key| match &value.0 {
            Some(Value::Text(text)) => (f64::INFINITY, 0, text.clone()),
            other => {
                let number = other.as_ref().and_then(Value::number);
                (number.unwrap_or(f64::INFINITY), 1, String::new())
            }
        };
        let ((a, a_rest, a_text), (b, b_rest, b_text)) = (key(self), key(other));
        let texts = (a_rest, a_text).cmp(&(b_rest, b_text));
        a.total_cmp(&b).then(texts)
    }
}

impl<'a> Scope<'a> {
    /// The scope without a row.
    pub(crate) fn whole(study: &'a Study, summary: &'a Summary, shapes: bool) -> Scope<'a> {
        Scope {
            study,
            summary,
            e: None,
            bound: Bound::new(),
            here: Rc::default(),
            column: None,
            shapes,
            reasons: Rc::default(),
            titles: Rc::default(),
            lines: Rc::default(),
            shown: Rc::default(),
            varying: Rc::default(),
            candidates: Rc::default(),
        }
    }

    /// The same at an experiment.
    pub(crate) fn at(&self, e: Option<&'a ExperimentSummary>) -> Scope<'a> {
        Scope { e, ..self.clone() }
    }

    /// The same among the experiments of a group or of a cell, and in a column.
    pub(crate) fn around(
        &self,
        here: Vec<&'a ExperimentSummary>,
        column: Option<&'a ExperimentSummary>,
    ) -> Scope<'a> {
        Scope {
            here: Rc::new(here),
            column,
            ..self.clone()
        }
    }

    /// The same with further names.
    pub(crate) fn with(&self, more: Bound) -> Scope<'a> {
        let bound = more.into_iter().chain(self.bound.iter().cloned());
        Scope {
            bound: bound.collect(),
            ..self.clone()
        }
    }

    /// The experiments that the study has rows for.
    pub(crate) fn shown(&self) -> &[&'a ExperimentSummary] {
        self.shown.get_or_init(|| {
            let all = self.summary.experiments.iter();
            all.filter(|e| self.alone(e).has_row()).collect()
        })
    }

    /// Whether the experiment has a row.
    pub(crate) fn has_row(&self) -> bool {
        let mut shows = self.study.shows.iter();
        shows.any(|selection| self.fits(selection))
    }

    /// The number of a reason, in parentheses.
    fn note(&self, reason: String) -> String {
        let mut reasons = self.reasons.borrow_mut();
        let known = reasons.iter().position(|(known, _)| *known == reason);
        let at = known.unwrap_or(reasons.len());
        if known.is_none() {
            reasons.push((reason, 0));
        }
        reasons[at].1 += 1;
        format!("({})", at + 1)
    }

    /// The lines of the study, and one for each other thing; those of the study may have no experiments.
    pub(crate) fn lines(&self) -> &[Line<'a>] {
        self.lines.get_or_init(|| {
            let lines = &self.study.lines;
            let shown = self.shown();
            let is_of = |line: &model::Line, e: &&'a ExperimentSummary| {
                line.select.iter().any(|s| self.alone(e).fits(s))
            };
            let mut found: Vec<Line<'a>> = Vec::new();
            for (own, line) in lines.own.iter().enumerate() {
                let words = line.words.iter();
                found.push(Line {
                    bound: words
                        .map(|(name, word)| (name.clone(), word.value()))
                        .collect(),
                    own: Some(own),
                    experiments: shown.iter().copied().filter(|e| is_of(line, e)).collect(),
                });
            }
            let mut others: Vec<Line<'a>> = Vec::new();
            if let Some(other) = &lines.other {
                let is_other =
                    |e: &&'a ExperimentSummary| !lines.own.iter().any(|line| is_of(line, e));
                for e in shown.iter().copied().filter(is_other) {
                    let name = self.alone(e).value(&other.expr);
                    let bound: Bound = name
                        .map(|name| ("line".to_owned(), name))
                        .into_iter()
                        .collect();
                    match others.iter_mut().find(|line| line.bound == bound) {
                        Some(line) => line.experiments.push(e),
                        None => others.push(Line {
                            bound,
                            own: None,
                            experiments: vec![e],
                        }),
                    }
                }
            }
            for line in &mut others {
                let stack = line.experiments[0].experiment.stack.clone();
                line.bound
                    .push(("line_stack".to_owned(), Value::Text(stack)));
            }
            if let Some(order) = &lines.order {
                others.sort_by_cached_key(|line| {
                    Key(self.alone(line.experiments[0]).value(&order.expr))
                });
            }
            found.extend(others);
            found
                .into_iter()
                .flat_map(|line| self.divided(line))
                .collect()
        })
    }

    /// The line, or one for each of several conditions of its experiments.
    fn divided(&self, line: Line<'a>) -> Vec<Line<'a>> {
        let mut parts: Vec<(Option<Value>, Line<'a>)> = Vec::new();
        let divide = self.study.lines.divide.as_ref();
        for &e in &line.experiments {
            let key = divide.and_then(|divide| self.alone(e).value(&divide.expr));
            match parts.iter_mut().find(|(known, _)| *known == key) {
                Some((_, part)) => part.experiments.push(e),
                None => {
                    let part = Line {
                        bound: line.bound.clone(),
                        experiments: vec![e],
                        ..line
                    };
                    parts.push((key, part));
                }
            }
        }
        if parts.len() < 2 {
            return vec![line];
        }
        let named = |(key, mut part): (Option<Value>, Line<'a>)| {
            let key = key.map_or_else(String::new, |key| key.word());
            for (name, value) in &mut part.bound {
                if name == "line" {
                    *value = Value::Text(format!("{} ({key})", value.word()));
                }
            }
            part
        };
        parts.into_iter().map(named).collect()
    }

    fn varying(&self) -> &Vec<&'static Factor> {
        let shown = || self.shown().iter().map(|e| &e.experiment);
        self.varying.get_or_init(|| factors::split(shown()).1)
    }

    /// The first template that applies.
    pub(crate) fn text(&self, cell: &Cell) -> Option<String> {
        cell.templates
            .iter()
            .find_map(|template| self.filled(template))
    }

    fn filled(&self, template: &Template) -> Option<String> {
        let mut text = String::new();
        for piece in &template.0 {
            match piece {
                Piece::Text(t) => text.push_str(t),
                Piece::Show(expr, form) => text.push_str(&self.value(expr)?.shown(form)?),
                Piece::If(expr) => {
                    self.value(expr)?;
                }
            }
        }
        Some(text)
    }

    /// What an expression comes to; `None` where a part of it is not known, or a comparison does not hold.
    pub(crate) fn value(&self, expr: &Expr) -> Option<Value> {
        match expr {
            Expr::Number(v) => Some(Value::Number(*v)),
            Expr::Text(text) => Some(Value::Text(text.clone())),
            Expr::Name(path) => self.named(path),
            Expr::Call(name, arguments) if OVER.contains(&name.as_str()) => {
                match arguments.as_slice() {
                    [Expr::Name(path)] => self.over(name, path),
                    _ => None,
                }
            }
            Expr::Call(name, arguments) => {
                let values: Option<Vec<Value>> = arguments.iter().map(|a| self.value(a)).collect();
                let (_, _, _, function) = FUNCTIONS.iter().find(|f| f.0 == name)?;
                function(self, &values?)
            }
            Expr::Binary(op, a, b) => binary(*op, self.value(a)?, self.value(b)?),
        }
    }

    /// The value of a name.
    pub(crate) fn named(&self, path: &[String]) -> Option<Value> {
        let (first, rest) = path.split_first()?;
        if !self.study.relations.contains_key(first) && !AROUND.contains(&first.as_str()) {
            return self.own(path);
        }
        let other = self.related(first).into_iter().next()?;
        self.alone(other).own(rest)
    }

    /// Another experiment, without the names of this row.
    fn alone(&self, e: &'a ExperimentSummary) -> Scope<'a> {
        Scope {
            e: Some(e),
            bound: Bound::new(),
            ..self.clone()
        }
    }

    /// The value of a name that is not that of a relation.
    fn own(&self, path: &[String]) -> Option<Value> {
        let first = path.first()?;
        let is_bound = self.bound.iter().any(|(name, _)| name == first);
        if let Some(cell) = self.study.defines.get(first).filter(|_| !is_bound) {
            return cell.templates.iter().find_map(|t| self.defined(t));
        }
        match self.study.maps.get(first) {
            Some(map) => {
                let from = self.value(&map.from.expr)?.word();
                map.texts.get(&from).map(|text| Value::Text(text.clone()))
            }
            None => self.plain(path),
        }
    }

    /// What a template comes to: a value where it is one expression, else a text.
    fn defined(&self, template: &Template) -> Option<Value> {
        let shown = template.0.iter().filter(|p| !matches!(p, Piece::If(_)));
        match shown.collect::<Vec<_>>().as_slice() {
            [Piece::Show(expr, form)] if form.kind == Kind::Plain && !form.signed => {
                let conditions = template.0.iter().filter_map(|piece| match piece {
                    Piece::If(condition) => Some(condition),
                    _ => None,
                });
                for condition in conditions {
                    self.value(condition)?;
                }
                self.value(expr)
            }
            _ => self.filled(template).map(Value::Text),
        }
    }

    /// The value of a name of the row or of its experiment.
    fn plain(&self, path: &[String]) -> Option<Value> {
        let mut path: Vec<&str> = path.iter().map(String::as_str).collect();
        let bound = self.bound.iter().find(|(name, _)| name == path[0]);
        let of_record;
        if let Some((_, value)) = bound {
            if path.len() == 1 {
                return Some(value.clone());
            }
            // A record names the metric.
            of_record = value.word();
            path[0] = &of_record;
        }
        names::value(self.summary, self.e, &path)
    }

    /// What the values of a name come to over all experiments of a relation: the largest, the smallest, or all as a text.
    fn over(&self, function: &str, path: &[String]) -> Option<Value> {
        let (first, rest) = path.split_first()?;
        let all = self.related(first).into_iter();
        let values: Vec<Value> = all.filter_map(|e| self.alone(e).own(rest)).collect();
        let numbers = values.iter().filter_map(Value::number);
        match function {
            "most" => numbers.max_by(f64::total_cmp).map(Value::Number),
            "least" => numbers.min_by(f64::total_cmp).map(Value::Number),
            "median" => Spread::of(numbers).map(|s| Value::Number(s.median)),
            _ => {
                let texts: Vec<String> = values.iter().map(Value::word).collect();
                (!texts.is_empty()).then(|| Value::Text(texts.join("; ")))
            }
        }
    }

    /// The experiments of a relation, the one that counts first.
    fn related(&self, name: &str) -> Vec<&'a ExperimentSummary> {
        let Some(relation) = self.study.relations.get(name) else {
            return match name {
                "here" => self.here.to_vec(),
                _ => self.column.into_iter().collect(),
            };
        };
        let same = |scope: &Scope<'a>| -> Vec<Option<Value>> {
            relation
                .same
                .iter()
                .map(|formula| scope.value(&formula.expr))
                .collect()
        };
        // Which experiments it is about does not depend on the row.
        let known = self.candidates.borrow().get(name).cloned();
        let candidates = known.unwrap_or_else(|| {
            let all = self.summary.experiments.iter().map(|e| self.alone(e));
            let of = |scope: &Scope<'a>| relation.of.as_ref().is_none_or(|of| scope.fits(of));
            let found = all
                .filter(of)
                .filter_map(|scope| Some((scope.e?, same(&scope))));
            let found: Rc<Vec<Candidate<'a>>> = Rc::new(found.collect());
            let mut known = self.candidates.borrow_mut();
            known.insert(name.to_owned(), found.clone());
            found
        });
        let own = same(self);
        let fits = |(e, theirs): &&Candidate<'a>| {
            relation.with.is_none_or(|with| self.is_with(with, e)) && *theirs == own
        };
        let mut found: Vec<_> = candidates.iter().filter(fits).map(|(e, _)| *e).collect();
        for (by, sign) in [(&relation.most, -1.0), (&relation.least, 1.0)] {
            if let Some(Formula { expr, .. }) = by {
                let key = |e: &&'a ExperimentSummary| {
                    let value = self.alone(e).value(expr).and_then(|v| v.number());
                    sign * value.unwrap_or(sign * f64::INFINITY)
                };
                // Of equals the last has the most, as everywhere.
                if sign < 0.0 {
                    found.reverse();
                }
                found.sort_by(|a, b| key(a).total_cmp(&key(b)));
            }
        }
        found
    }

    fn is_with(&self, with: With, other: &ExperimentSummary) -> bool {
        let Some(e) = self.e else {
            return false;
        };
        let (x, y) = (&e.experiment, &other.experiment);
        match with {
            With::Larger => {
                (&x.name, &x.stack, x.wait, x.placement) == (&y.name, &y.stack, y.wait, y.placement)
                    && y.payload > x.payload
            }
            With::FirstLeg => {
                let chain = self
                    .summary
                    .run
                    .stacks
                    .get(&x.stack)
                    .and_then(|s| s.chain.as_ref());
                let messages = |window| match window {
                    Extent::Messages(n) => Some(n),
                    Extent::Duration(_) => None,
                };
                chain
                    .and_then(|chain| chain.legs.first())
                    .is_some_and(|leg| {
                        let wanted = (&leg.stack, leg.wait.unwrap_or(x.wait), leg.placement);
                        wanted == (&y.stack, y.wait, y.placement)
                            && (x.payload, x.echo_poll, x.workload, x.topology)
                                == (y.payload, y.echo_poll, y.workload, y.topology)
                            && messages(x.window) == messages(y.window)
                            && !(other.is_base || other.is_floor || other.chain.is_some())
                    })
            }
        }
    }

    /// Whether the row is one of those that a selection means.
    pub(crate) fn fits(&self, selection: &Selection) -> bool {
        match &selection.of {
            Of::Named(name) => self.study.select.get(name).is_some_and(|s| self.fits(s)),
            Of::Values(values) => values.iter().all(|(name, wanted)| {
                let found = self.own(&words(name)).map(|value| value.word());
                is_wanted(found.as_deref(), wanted.as_slice())
            }),
        }
    }
}

/// Whether a value is none of the refused ones and one of the others, where there are any.
fn is_wanted(found: Option<&str>, wanted: &[Word]) -> bool {
    let wanted: Vec<String> = wanted.iter().map(Word::text).collect();
    let (refused, asked): (Vec<&str>, Vec<&str>) = wanted
        .iter()
        .map(String::as_str)
        .partition(|w| w.starts_with('!'));
    let is_refused = refused.iter().any(|w| found == w.strip_prefix('!'));
    let is_asked = asked
        .iter()
        .any(|w| found == Some(w) || (*w == "*" && found.is_some()));
    !is_refused && (is_asked || asked.is_empty())
}

fn binary(op: Op, a: Value, b: Value) -> Option<Value> {
    let holds = |holds: bool| holds.then_some(Value::Number(1.0));
    match op {
        Op::Equal => return holds(a.word() == b.word()),
        Op::Unequal => return holds(a.word() != b.word()),
        _ => {}
    }
    if let (Op::Add, Value::Text(a), Value::Text(b)) = (op, &a, &b) {
        return Some(Value::Text(format!("{a}{b}")));
    }
    let (x, y) = (a.raw()?, b.raw()?);
    match op {
        Op::Less => return holds(x < y),
        Op::More => return holds(x > y),
        Op::AtLeast => return holds(x >= y),
        _ => {}
    }
    let (a, b) = (a.number()?, b.number()?);
    let value = match op {
        Op::Add => a + b,
        Op::Subtract => a - b,
        Op::Multiply => a * b,
        _ => a / b,
    };
    value.is_finite().then_some(Value::Number(value))
}

/// `printed(table, label)`: all cells of a published row; `printed(table, label, n)`: one of them, from 0 or by the title of its column.
fn printed(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let printed = &scope.study.published;
    let table = arguments.first()?.word();
    let row = printed.row(&table, &arguments.get(1)?.word())?;
    let text = match arguments.get(2) {
        Some(Value::Text(title)) => row.get(printed.column(&table, title)?)?.clone(),
        Some(n) => row.get(n.number()? as usize)?.clone(),
        None => row.join(" · "),
    };
    Some(Value::Text(text))
}

/// `from_another_run(table, label, column)`: whether a published cell comes from another run than the rest of its row.
fn from_another_run(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let [table, row, column] = arguments else {
        return None;
    };
    let (table, row, column) = (table.word(), row.word(), column.word());
    let published = &scope.study.published;
    let is_another = published.has_another_ratio(&table, &row, &column)?;
    is_another.then_some(Value::Number(1.0))
}

/// `number(text)`: the number that a text begins with; `number(text, n)`: its part `n` of several between slashes, from 0.
fn number(_: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let text = arguments.first()?.word();
    let at = arguments.get(1).map_or(Some(0.0), Value::number)?;
    part(&text, at as usize).map(Value::Number)
}

/// The quantile of a name, or another value with an interval, in such units; a dash where the clocks do not bear it.
fn measured(scope: &Scope<'_>, arguments: &[Value]) -> Option<Measured> {
    let (name, unit) = (arguments.first()?.word(), arguments.get(1)?.number()?);
    let Some(quantile) = quantile(scope, arguments) else {
        let [value, lo, hi] = interval(&scope.named(&words(&name))?)?.map(Latency::Finite);
        return Some(Measured::estimate(&Estimate { value, lo, hi }, unit));
    };
    Some(match names::is_blurred(scope.e?, &name) {
        true => Measured::bare(NONE),
        false => Measured::quantile(quantile, unit),
    })
}

fn quantile<'a>(scope: &Scope<'a>, arguments: &[Value]) -> Option<&'a Quantile> {
    names::quantile(scope.e?, &arguments.first()?.word())
}

/// `accuracy(quantile, unit)`: what `measured` has beside the number, or what stands in its place.
fn accuracy(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let measured = measured(scope, arguments)?;
    let text = match measured.beside.trim_matches(['(', ')']) {
        "" => &measured.value,
        beside => beside,
    };
    Some(Value::Text(text.to_owned()))
}

/// `failures()`: the numbers of the reasons for which trials failed.
fn failures(scope: &Scope<'_>, _: &[Value]) -> Option<Value> {
    let failures = &scope.e?.failures;
    let all = failures
        .iter()
        .map(|f| scope.note(format!("failed, {} in {}: {}", f.kind, f.step, f.cause)));
    (!failures.is_empty()).then(|| Value::Text(all.collect()))
}

/// `configured(stack)`: its name with its options; no value of a stack that is not in the run.
fn configured(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let stack = scope.summary.run.stacks.get(&arguments.first()?.word())?;
    let options = stack
        .options
        .iter()
        .map(|(key, value)| format!("{key} = {value}"));
    let options: Vec<String> = options.collect();
    let options = match options.is_empty() {
        true => "default settings".to_owned(),
        false => options.join(", "),
    };
    Some(Value::Text(format!("{} ({options})", stack.name)))
}

/// `withheld(quantile)`: what there is too little of for it, `samples` or `trials`.
fn withheld(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let few = match quantile(scope, arguments)? {
        Quantile::Refused { .. } => "samples",
        Quantile::Wide { .. } => "trials",
        Quantile::Estimated(_) => return None,
    };
    Some(Value::Text(few.to_owned()))
}

/// `shape(metric)`: its distribution as a line of bars, where there is a terminal for it.
fn shape(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let metric = names::metric(&arguments.first()?.word())?;
    let shape = scope.e?.metrics.get(&metric)?.shape.as_ref();
    shape
        .filter(|_| scope.shapes)
        .map(|bins| Value::Text(spark::line(bins)))
}

/// These factors but for those of the titles that are named.
fn others(mut all: Vec<&'static Factor>, arguments: &[Value]) -> Vec<&'static Factor> {
    all.retain(|factor| arguments.iter().all(|a| a.word() != factor.title));
    all
}

/// `column(table, n)`: all cells of a published column, from 0, which is that of the labels.
fn column(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let n = arguments.get(1)?.number()? as usize;
    let rows = scope.study.published.rows(&arguments.first()?.word());
    let cells: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.cells.get(n))
        .map(String::as_str)
        .collect();
    Some(Value::Text(cells.join(", ")))
}

/// `named(text)`: the value of the name that a text has.
fn named(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    scope.named(&words(&arguments.first()?.word()))
}

/// `refused(experiment, stack)`: why the plan left a stack out; with a third text only where its conditions end so.
fn refused(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let (experiment, stack) = (arguments.first()?.word(), arguments.get(1)?.word());
    let mut all = scope.summary.refused.iter();
    let end = arguments.get(2).map_or_else(String::new, Value::word);
    let found =
        all.find(|r| r.experiment == experiment && r.stack == stack && r.factors.ends_with(&end))?;
    Some(Value::Text(found.reason.to_string()))
}

/// `cpu(label)`: CPUs that the processes of that label kept busy; 1 is one CPU.
fn cpu(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let (e, label) = (scope.e?, arguments.first()?.word());
    let of = |d: &&DaemonCost| d.label.starts_with(&label);
    let all = e.agents.iter().chain(&e.machines).filter(of);
    let shares: Option<Vec<f64>> = all.map(|d| Some(d.cpu_share?.median)).collect();
    let shares = shares.filter(|all| !all.is_empty())?;
    Some(Value::Number(shares.iter().sum()))
}

/// `option(name)`: how a stack has an option set, where that is a text.
fn option(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let stack = scope.summary.run.stacks.get(&scope.e?.experiment.stack)?;
    match stack.options.get(&arguments.first()?.word())? {
        OptionValue::Text(text) => Some(Value::Text(text.clone())),
        _ => None,
    }
}

/// `contains(text, part)`: whether a text has a part.
fn contains(_: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let (text, part) = (arguments.first()?.word(), arguments.get(1)?.word());
    text.contains(&part).then_some(Value::Number(1.0))
}

fn interval(value: &Value) -> Option<[f64; 3]> {
    match value {
        Value::Interval(all) => Some(*all),
        Value::Number(_) | Value::Text(_) => None,
    }
}

/// `lowest(quantile)` and `highest(quantile)`: an end of its interval, infinite where messages were lost.
fn end(arguments: &[Value], at: usize) -> Option<Value> {
    Some(Value::Interval([interval(arguments.first()?)?[at]; 3]))
}

/// `ratio(a, b)`: of two quantiles; each end of the interval is against the worst of the other.
fn ratio(_: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let ends = |value| interval(value).filter(|[_, lo, hi]| hi.is_finite() && *lo > 0.0);
    let [value, lo, hi] = ends(arguments.first()?)?;
    let [of, least, most] = ends(arguments.get(1)?)?;
    Some(Value::Interval([value / of, lo / most, hi / least]))
}

/// `subscribers_in_time()`: the most subscribers of the stack for which, as for each smaller number that was tried, nothing was lost
/// and the whole interval of p99 ends before the next value is due.
fn subscribers_in_time(scope: &Scope<'_>, _: &[Value]) -> Option<Value> {
    let own = &scope.e?.experiment;
    let rate = |e: &ExperimentSummary| e.experiment.workload.numbers().rate;
    let receivers = |e: &ExperimentSummary| e.experiment.topology.receivers;
    let streams = || {
        let all = scope.summary.experiments.iter();
        all.filter(|e| e.experiment.workload.kind() == WorkloadKind::Stream)
    };
    let fans = || {
        streams().filter(|e| {
            let x = &e.experiment;
            (&x.stack, x.wait) == (&own.stack, own.wait)
                && (x.topology.senders, x.topology.copies) == (1, 1)
                && !(e.is_base || e.is_leg || x.added)
        })
    };
    let fanned = fans().find(|e| receivers(e) > 1)?;
    let mut steps: Vec<_> = fans().filter(|e| rate(e) == rate(fanned)).collect();
    steps.sort_by_key(|e| receivers(e));
    let kept = steps
        .iter()
        .take_while(|e| keeps_up(e) == Some(true))
        .count();
    let before = kept.checked_sub(1).map(|last| receivers(steps[last]));
    // What was planned for other stacks and is missing here tells nothing good of this one.
    let most = streams()
        .filter(|e| rate(e) == rate(fanned))
        .map(receivers)
        .max();
    let next = steps.get(kept).map(|e| (receivers(e), keeps_up(e)));
    Some(Value::Text(match (before, next) {
        (None, None) => return None,
        (Some(n), None) => match most.filter(|most| *most > n) {
            Some(most) => format!("{n}, {most} not run"),
            None => format!("≥ {n}"),
        },
        (Some(n), Some((m, None))) => format!("{n}, {m} undecided"),
        (Some(n), Some((m, Some(_)))) => format!("{n}, not {m}"),
        (None, Some((m, None))) => format!("{m} undecided"),
        (None, Some((m, Some(_)))) => format!("not {m}"),
    }))
}

/// Whether all values arrive, and surely no later than the next is due; `None`: the trials do not tell.
fn keeps_up(e: &ExperimentSummary) -> Option<bool> {
    let period = 1e9 / e.experiment.workload.numbers().rate?.hz();
    if e.delivered_ratio()? < 1.0 {
        return Some(false);
    }
    let p99 = e.metrics.get(&Metric::Response)?.quantiles[2].estimate()?;
    match (latency_ns(&p99.lo), latency_ns(&p99.hi)) {
        _ if e.trials.failed > 0 => None,
        (_, hi) if hi <= period => Some(true),
        (lo, _) if lo > period => Some(false),
        _ => None,
    }
}
