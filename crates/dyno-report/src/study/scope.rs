//! What expressions come to: the names of a row, the experiments beside it, and named functions that any study may use.

use super::expr::{Expr, Op, Piece, Template};
use super::model::{Cell, Formula, Of, Selection, Study, With, Word, words};
use super::names::{self, Bound, Value};
use crate::number::latency_ns;
use crate::summary::{DaemonCost, ExperimentSummary, Summary};
use dyno_model::plan::Extent;
use dyno_model::{Metric, OptionValue, WorkloadKind};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Where nothing can be said.
pub(crate) const NONE: &str = "–";

/// An experiment of a relation, with what it must have in common with that of a row.
type Candidate<'a> = (&'a ExperimentSummary, Vec<Option<Value>>);

/// A row under construction.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    pub(crate) study: &'a Study,
    pub(crate) summary: &'a Summary,
    pub(crate) e: Option<&'a ExperimentSummary>,
    /// Names that win over those of the experiment.
    pub(crate) bound: Bound,
    /// The experiments of each relation, once they were looked for.
    candidates: Rc<RefCell<BTreeMap<String, Vec<Candidate<'a>>>>>,
}

/// A named function: its name, how many arguments it takes at least and at most, and what it does.
type Function = (
    &'static str,
    usize,
    usize,
    fn(&Scope<'_>, &[Value]) -> Option<Value>,
);

/// All of them; `most` stands in [`Scope::value`], because its argument is a name.
pub(crate) const FUNCTIONS: [Function; 12] = [
    ("named", 1, 1, named),
    ("printed", 2, 3, printed),
    ("column", 2, 2, column),
    ("refused", 2, 2, refused),
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
];

impl<'a> Scope<'a> {
    /// The scope without a row.
    pub(crate) fn whole(study: &'a Study, summary: &'a Summary) -> Scope<'a> {
        Scope {
            study,
            summary,
            e: None,
            bound: Bound::new(),
            candidates: Rc::default(),
        }
    }

    /// The same at an experiment.
    pub(crate) fn at(&self, e: Option<&'a ExperimentSummary>) -> Scope<'a> {
        Scope { e, ..self.clone() }
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
    pub(crate) fn shown(&self) -> impl Iterator<Item = &'a ExperimentSummary> {
        let (study, summary) = (self.study, self.summary);
        let all = summary.experiments.iter();
        all.filter(move |e| study.has_row(summary, e))
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
            Expr::Call(name, arguments) if name == "most" => match arguments.as_slice() {
                [Expr::Name(path)] => self.most(path),
                _ => None,
            },
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
        if !self.study.relations.contains_key(first) {
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
        match self.study.maps.get(first) {
            Some(map) => {
                let from = self.plain(&map.from.words)?.word();
                map.texts.get(&from).map(|text| Value::Text(text.clone()))
            }
            None => self.plain(path),
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
        names::value(self.summary, self.e?, &path)
    }

    /// The largest value of a name over all experiments of a relation.
    fn most(&self, path: &[String]) -> Option<Value> {
        let (first, rest) = path.split_first()?;
        let all = self.related(first);
        let values = all
            .into_iter()
            .filter_map(|e| self.alone(e).own(rest)?.number());
        values.max_by(f64::total_cmp).map(Value::Number)
    }

    /// The experiments of a relation, the one that counts first.
    fn related(&self, name: &str) -> Vec<&'a ExperimentSummary> {
        let Some(relation) = self.study.relations.get(name) else {
            return Vec::new();
        };
        let same = |scope: &Scope<'a>| -> Vec<Option<Value>> {
            relation
                .same
                .iter()
                .map(|path| scope.own(&path.words))
                .collect()
        };
        // Which experiments it is about does not depend on the row.
        let mut known = self.candidates.borrow_mut();
        let candidates = known.entry(name.to_owned()).or_insert_with(|| {
            let all = self.summary.experiments.iter().map(|e| self.alone(e));
            let of = |scope: &Scope<'a>| relation.of.as_ref().is_none_or(|of| scope.fits(of));
            let found = all
                .filter(of)
                .filter_map(|scope| Some((scope.e?, same(&scope))));
            found.collect()
        });
        let own = same(self);
        let fits = |(e, theirs): &&Candidate<'a>| {
            relation.with.is_none_or(|with| self.is_with(with, e)) && *theirs == own
        };
        let mut found: Vec<_> = candidates.iter().filter(fits).map(|(e, _)| *e).collect();
        drop(known);
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

impl Study {
    /// Whether an experiment has a row.
    pub(crate) fn has_row(&self, summary: &Summary, e: &ExperimentSummary) -> bool {
        let scope = Scope::whole(self, summary).at(Some(e));
        self.shows.iter().any(|selection| scope.fits(selection))
    }
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
    let [x, y] = [&a, &b].map(|value| match value {
        Value::Number(v) | Value::Interval([v, ..]) => Some(*v),
        Value::Text(_) => None,
    });
    let (x, y) = (x?, y?);
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

/// `printed(table, label)`: all cells of a published row; `printed(table, label, n)`: one of them, from 0.
fn printed(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let printed = &scope.study.published;
    let row = printed.row(&arguments.first()?.word(), &arguments.get(1)?.word())?;
    let text = match arguments.get(2) {
        Some(n) => row.get(n.number()? as usize)?.clone(),
        None => row.join(" · "),
    };
    Some(Value::Text(text))
}

/// `column(table, n)`: all cells of a published column, from 0, which is that of the labels.
fn column(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let n = arguments.get(1)?.number()? as usize;
    let rows = scope.study.published.rows(&arguments.first()?.word());
    let cells: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.get(n))
        .map(String::as_str)
        .collect();
    Some(Value::Text(cells.join(", ")))
}

/// `named(text)`: the value of the name that a text has.
fn named(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    scope.named(&words(&arguments.first()?.word()))
}

/// `refused(experiment, stack)`: why the plan left a stack out.
fn refused(scope: &Scope<'_>, arguments: &[Value]) -> Option<Value> {
    let (experiment, stack) = (arguments.first()?.word(), arguments.get(1)?.word());
    let mut all = scope.summary.refused.iter();
    let found = all.find(|r| r.experiment == experiment && r.stack == stack)?;
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
