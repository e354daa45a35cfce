//! Counters: multiplied by iterations, and two that count the same time.

use crate::context::{Context, DataSet, interval, outcome, printed, size_of};
use crate::interval::{Interval, short, value};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Figure, Quantity, Statistic};
use std::collections::BTreeMap;

/// A size that is the payload's times the number of iterations is a sum over all of them.
pub(super) fn times_iterations(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in context.sets.iter().filter(|s| s.quantity == Quantity::Size) {
        let Some(payload) = size_of(set.conditions).filter(|bytes| *bytes > 0.0) else {
            continue;
        };
        for size in set.figures.iter().copied() {
            // A statistic of spread is none of a size, and a mean over repetitions is one.
            let of_all = matches!(
                size.statistic,
                Statistic::Value
                    | Statistic::Mean
                    | Statistic::Min
                    | Statistic::Max
                    | Statistic::Percentile(_)
            );
            if !of_all || value(size) <= 0.0 {
                continue;
            }
            let times = interval(size).by(Interval::exactly(payload));
            let fits = |count: &u64| times.lo <= *count as f64 && *count as f64 <= times.hi;
            let count = iterations(context, set, size).into_iter().find(fits);
            if fits(&1) {
                found.push(outcome(
                    "counter",
                    Verdict::NoObjection,
                    &[size],
                    "it is the size of one message",
                    format!("{} of a payload of {} B", printed(size), short(payload)),
                ));
            } else if let Some(count) = count {
                found.push(outcome(
                    "counter",
                    Verdict::NotWhatItIsCalled,
                    &[size],
                    format!(
                        "{} is not the size of a message: it was added up over the iterations",
                        printed(size)
                    ),
                    format!(
                        "{} B × {count} iterations = {}",
                        short(payload),
                        printed(size)
                    ),
                ));
            }
        }
    }
    found
}

/// How often an operation ran, by the size's own figure and by those of its data.
fn iterations(context: &Context, set: &DataSet, size: &Figure) -> Vec<u64> {
    let beside = context
        .sets
        .iter()
        .filter(|s| s.data == set.data && s.conditions == set.conditions && s.log == set.log);
    let of_data = beside.flat_map(|s| &s.figures).flat_map(|f| {
        let counted = (f.quantity == Quantity::Count).then(|| value(f).round() as u64);
        [f.each, f.n, counted]
    });
    [size.each, size.n]
        .into_iter()
        .chain(of_data)
        .flatten()
        .filter(|count| *count > 1)
        .collect()
}

/// Ratios may differ so much before columns count as measured at different frequencies.
const APART: f64 = 1.25;

/// Cycles of two counters over the same work: their ratio is one of two frequencies, and is the same in all columns of one run.
pub(super) fn ratio_of_clocks(context: &Context) -> Vec<Outcome> {
    let cycles = context.statements.figures.iter();
    let cycles =
        cycles.filter(|f| f.quantity == Quantity::Cycles && f.conditions.contains_key("counter"));
    let mut rows: BTreeMap<&str, Vec<&Figure>> = BTreeMap::new();
    for figure in cycles {
        let row = figure.id.rsplit_once('/').map_or("", |(row, _)| row);
        rows.entry(row).or_default().push(figure);
    }
    rows.into_values().filter_map(|row| of_row(&row)).collect()
}

fn of_row(figures: &[&Figure]) -> Option<Outcome> {
    let without = |f: &Figure| {
        let mut conditions = f.conditions.clone();
        conditions.remove("counter");
        conditions
    };
    let counter = |f: &Figure| f.conditions.get("counter").cloned();
    let first = figures.first()?;
    let mut ratios: Vec<(Interval, &Figure, &Figure)> = Vec::new();
    for a in figures.iter().filter(|f| counter(f) == counter(first)) {
        let same_work = |b: &&&Figure| without(b) == without(a) && counter(b) != counter(a);
        if let Some(b) = figures.iter().find(same_work) {
            ratios.push((interval(a).by(interval(b)), a, b));
        }
    }
    let least = ratios.iter().min_by(|a, b| a.0.hi.total_cmp(&b.0.hi))?;
    let most = ratios.iter().max_by(|a, b| a.0.lo.total_cmp(&b.0.lo))?;
    if ratios.len() < 2 {
        return None;
    }
    let calculation: Vec<String> = ratios
        .iter()
        .map(|(ratio, a, b)| {
            format!(
                "{} / {} = {}",
                a.printed.text,
                b.printed.text,
                short(ratio.middle())
            )
        })
        .collect();
    let calculation = calculation.join("; ");
    let apart = most.0.lo / least.0.hi > APART;
    let figures = [most.1, most.2, least.1, least.2];
    Some(match apart {
        false => outcome(
            "two-clocks",
            Verdict::NoObjection,
            &figures,
            "one ratio in all columns",
            calculation,
        ),
        true => outcome(
            "two-clocks",
            Verdict::Inconsistent,
            &figures,
            format!(
                "{}: the ratio of its clocks differs from the other columns, so the row mixes runs",
                most.1.place.column
            ),
            calculation,
        ),
    })
}
