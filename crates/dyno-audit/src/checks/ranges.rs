//! What a figure can be by what it counts: no share above the whole, nothing below zero, no time longer than the test, and
//! answers that are errors.

use crate::context::{Context, DataSet, interval, outcome, printed};
use crate::interval::with_unit;
use crate::outcome::{Outcome, Verdict};
use crate::statement::{
    Bound, Dimension, FAILED, Figure, Method, Quantity, Samples, Statistic, Trip,
};
use std::collections::BTreeMap;

fn is_time(quantity: Quantity) -> bool {
    matches!(
        quantity,
        Quantity::Latency
            | Quantity::Time
            | Quantity::CpuTime
            | Quantity::Duration
            | Quantity::Jitter
    )
}

/// Whether it cannot be below zero. A counter of Google Benchmark is what its user made it.
fn is_counted(figure: &Figure) -> bool {
    let of_user = figure.method.tool.as_deref() == Some("google-benchmark");
    match figure.quantity {
        Quantity::Other | Quantity::Factor | Quantity::Growth => false,
        quantity => is_time(quantity) || !of_user,
    }
}

/// A part of a whole, which is no more than it.
fn is_part(figure: &Figure) -> bool {
    figure.printed.unit.dimension == Dimension::One
        && match figure.statistic {
            Statistic::WithinOneSd => true,
            Statistic::Share => matches!(figure.quantity, Quantity::Share | Quantity::Loss),
            _ => false,
        }
}

/// The largest value of a negative number: rounded or cut off, it keeps its sign.
fn most(figure: &Figure) -> f64 {
    let printed = &figure.printed;
    let open = (printed.value + printed.half_step).min(printed.value / 2.0);
    match printed.value < 0.0 {
        true => open * printed.unit.factor,
        false => 0.0,
    }
}

/// A share lies between nothing and all, and what is counted or timed is not below zero.
pub(super) fn values(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.sets {
        let figures = set.figures.iter().copied();
        let mut held =
            figures.filter(|f| f.printed.bound == Bound::Rounded && (is_counted(f) || is_part(f)));
        let (before, checked) = (found.len(), set.samples.first());
        let mut below = Vec::new();
        let mut first = None;
        for figure in held.by_ref() {
            first = first.or(Some(figure));
            let is = interval(figure);
            if is_part(figure) && is.lo > 1.0 + 1e-9 {
                let says = format!("{} is more than the whole", printed(figure));
                let calculation = format!("{} > 100 %", printed(figure));
                let held = outcome("range", Verdict::Impossible, &[figure], says, calculation);
                found.push(held);
            } else if most(figure) < 0.0 && is_time(figure.quantity) {
                below.push((most(figure), figure));
            } else if most(figure) < 0.0 {
                let says = format!("{} is below zero", printed(figure));
                let calculation = format!("{} < 0", printed(figure));
                let held = outcome("range", Verdict::Impossible, &[figure], says, calculation);
                found.push(held);
            }
        }
        for samples in &set.samples {
            found.extend(raw_below_zero(set, samples));
        }
        found.extend(times_below_zero(set, below));
        if found.len() == before && (first.is_some() || checked.is_some()) {
            let says = "no value is below zero, and no share exceeds the whole";
            let figures: Vec<&Figure> = first.into_iter().collect();
            let mut held = outcome("range", Verdict::NoObjection, &figures, says, String::new());
            if let (None, Some(samples)) = (first, checked) {
                held.figures.push(samples.id.clone());
                held.place = format!("line {}", samples.line);
            }
            found.push(held);
        }
    }
    found
}

/// Whether a time may be the difference of two clocks: it goes one way, and is not said to be by one clock.
fn is_between_clocks(quantity: Quantity, method: &Method) -> bool {
    let one_way = matches!(method.trip, None | Some(Trip::OneWay));
    quantity == Quantity::Latency && one_way && method.clocks != Some(1)
}

/// Clocks that show a time between them below zero were apart by that much at least, and so is each time between them.
fn times_below_zero(set: &DataSet, mut below: Vec<(f64, &Figure)>) -> Vec<Outcome> {
    below.sort_by(|a, b| a.0.total_cmp(&b.0));
    let between = |f: &Figure| is_between_clocks(f.quantity, &f.method) && is_placed(f);
    let apart = below.iter().find(|(_, figure)| between(figure));
    let apart = apart.map(|(apart, first)| (with_unit(-apart, Dimension::Time), *first));
    let mut found: Vec<Outcome> = below
        .iter()
        .map(|(_, figure)| {
            let why = match &apart {
                Some((apart, _)) if between(figure) => format!(
                    ": the clocks differed by at least {apart}, so no figure of this set is the time that it is called"
                ),
                _ if is_placed(figure) => ", but a time cannot be negative".to_owned(),
                _ => ", but this difference between two times of a set cannot be negative".to_owned(),
            };
            outcome(
                "range",
                Verdict::Impossible,
                &[figure],
                format!("{} is below zero{why}", printed(figure)),
                format!("{} < 0", printed(figure)),
            )
        })
        .collect();
    let Some((apart, first)) = apart else {
        return found;
    };
    let negative = |f: &&Figure| below.iter().any(|(_, b)| b.id == f.id);
    let others: Vec<&Figure> = set
        .figures
        .iter()
        .copied()
        .filter(|f| !negative(f) && between(f))
        .collect();
    if !others.is_empty() {
        found.push(outcome(
            "range",
            Verdict::NotWhatItIsCalled,
            &others,
            format!(
                "the clocks differed by at least {apart}, so no figure of this set is the time that it is called"
            ),
            format!("{} < 0 by the same clocks", printed(first)),
        ));
    }
    found
}

/// Whether an offset of the clocks is in it, as it is not in the difference of two times.
fn is_placed(figure: &Figure) -> bool {
    !matches!(figure.statistic, Statistic::Sd | Statistic::Spread)
}

fn raw_below_zero(set: &DataSet, samples: &Samples) -> Option<Outcome> {
    let least = samples.values.iter().copied().fold(0.0, f64::min);
    if !is_time(set.quantity) || least >= 0.0 {
        return None;
    }
    let many = samples.values.iter().filter(|v| **v < 0.0).count();
    let mut found = outcome(
        "range",
        Verdict::Impossible,
        &[],
        format!(
            "{many} of {} raw values are below zero{}",
            samples.values.len(),
            match is_between_clocks(set.quantity, &samples.method) {
                true => ": the clocks differed by at least that much",
                false => ", but a time cannot be negative",
            }
        ),
        format!("the smallest is {}", with_unit(least, Dimension::Time)),
    );
    found.figures.push(samples.id.clone());
    found.place = format!("line {}", samples.line);
    Some(found)
}

/// Nothing within a test takes longer than the test.
pub(super) fn lengths(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in context
        .sets
        .iter()
        .filter(|s| s.quantity == Quantity::Duration)
    {
        let Some(length) = set.figures.first().copied() else {
            continue;
        };
        // Its parts, such as the kinds of latency of a job, have names below its own.
        let own = |s: &&DataSet| {
            let rest = s.data.strip_prefix(set.data);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                && s.conditions.iter().all(|(key, value)| {
                    key == "benchmark" || set.conditions.get(key) == Some(value)
                })
                && s.log == set.log
        };
        let timed = |s: &&DataSet| {
            matches!(
                s.quantity,
                Quantity::Latency | Quantity::Time | Quantity::Jitter
            )
        };
        for beside in context.sets.iter().filter(timed).filter(own) {
            for figure in beside.figures.iter().copied() {
                let times = matches!(
                    figure.statistic,
                    Statistic::Value
                        | Statistic::Mean
                        | Statistic::Min
                        | Statistic::Max
                        | Statistic::Percentile(_)
                );
                if !times || figure.printed.bound != Bound::Rounded {
                    continue;
                }
                let (is, whole) = (interval(figure), interval(length));
                let fits = is.lo <= whole.hi * (1.0 + 1e-9);
                let (verdict, says) = match fits {
                    true => (Verdict::NoObjection, "no longer than the test".to_owned()),
                    false => (
                        Verdict::Impossible,
                        format!("{} is longer than the whole test", printed(figure)),
                    ),
                };
                let calculation = format!(
                    "{} within a test of {}",
                    with_unit(is.middle(), Dimension::Time),
                    with_unit(whole.middle(), Dimension::Time)
                );
                let held = outcome("length", verdict, &[figure, length], says, calculation);
                found.push(held);
            }
        }
    }
    found
}

/// A rate of answers that are errors is none of answers, and a failed job has figures of what came before.
pub(super) fn errors(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in context
        .sets
        .iter()
        .filter(|s| s.quantity == Quantity::Errors)
    {
        let whole = |q| context.beside(set, q).and_then(|s| s.one(Statistic::Count));
        let (Some(errors), Some(all)) = (set.one(Statistic::Count), whole(Quantity::Count)) else {
            continue;
        };
        let share = interval(errors).middle() / interval(all).middle().max(1.0);
        let rate = context
            .beside(set, Quantity::Rate)
            .and_then(|s| s.one(Statistic::Rate));
        let calculation = format!("{} of {}", printed(errors), printed(all));
        let too_many = interval(errors).lo > interval(all).hi;
        let seen = rate.is_none_or(|r| {
            let is = interval(r);
            share * is.middle() > (is.hi - is.lo) / 2.0
        });
        let figures: Vec<&Figure> = rate.into_iter().chain([errors, all]).collect();
        let (verdict, says) = match (too_many, seen && share > 0.0) {
            (true, _) => (Verdict::Inconsistent, "more errors than answers".to_owned()),
            (_, true) => (
                Verdict::NotWhatItIsCalled,
                format!(
                    "{} {} are errors: the rate counts them too",
                    if share >= 1.0 {
                        "all"
                    } else {
                        "of all answers"
                    },
                    if share >= 1.0 {
                        "answers".to_owned()
                    } else {
                        printed(errors)
                    },
                ),
            ),
            _ => (
                Verdict::NoObjection,
                "no errors that the rate shows".to_owned(),
            ),
        };
        found.push(outcome("errors", verdict, &figures, says, calculation));
    }
    let mut failed: BTreeMap<&str, Vec<&Figure>> = BTreeMap::new();
    for figure in &context.statements.figures {
        if let Some(how) = figure.conditions.get(FAILED) {
            failed.entry(how).or_default().push(figure);
        }
    }
    for (how, figures) in failed {
        found.push(outcome(
            "errors",
            Verdict::NotWhatItIsCalled,
            &figures,
            format!("the job failed ({how}): its figures cover only the time before the failure"),
            String::new(),
        ));
    }
    found
}
