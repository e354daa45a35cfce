//! Traces of timers and clocks in latencies.

use super::assumption::Assumption;
use crate::context::{Context, DataSet, outcome};
use crate::interval::{short, value, with_unit};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Dimension, Figure, Quantity, Samples, Statistic};

/// The relative variation below which nothing that a processor does on its own is as regular.
const STEADY: f64 = 1e-3;

/// How far behind the end of its sleep a thread wakes, as a part of the sleep.
const LATE: f64 = 0.03;

/// The thread sleeps for most of what is timed.
pub(super) const ASLEEP: Assumption = Assumption {
    says: "the processor is idle most of the time",
    innocent: "steady work, such as a copy or a transform of a fixed size, takes nearly the same time again and again",
};

/// Whether the source prints a processor time of the same work that is less than half of the wall time.
fn is_idle(context: &Context, set: &DataSet) -> bool {
    let wall = set
        .one(Statistic::Percentile(50.0))
        .or_else(|| set.one(Statistic::Mean));
    let of_work = context.whole.iter().filter(|s| {
        s.quantity == Quantity::CpuTime && s.data == set.data && s.conditions == set.conditions
    });
    let middle = |s: &Samples| s.values.iter().sum::<f64>() / s.values.len().max(1) as f64;
    let raw = set.samples.first().map(|s| middle(s));
    let Some(wall) = wall.map(value).or(raw) else {
        return false;
    };
    of_work
        .flat_map(|s| {
            let figures = s.figures.iter().map(|f| value(f));
            figures.chain(s.samples.iter().map(|s| middle(s)))
        })
        .any(|cpu| cpu < wall / 2.0)
}

/// A latency of a timer's period that hardly varies: the median lies at most a thirtieth above k × 10ʲ ms with k of 1, 2 or 5, and
/// varies by less than a thousandth of itself.
pub(super) fn multiples(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.sets {
        if !matches!(set.quantity, Quantity::Latency | Quantity::Time) {
            continue;
        }
        let idle = is_idle(context, set);
        if let Some((middle, spread, figures, how)) = of_figures(set) {
            found.push(ASLEEP.unless(idle, verdict(middle, spread, &figures, &how)));
        }
        for samples in &set.samples {
            if let Some((middle, spread, how)) = of_samples(samples) {
                let figures: Vec<&Figure> = set.figures.iter().copied().take(1).collect();
                let mut outcome = ASLEEP.unless(idle, verdict(middle, spread, &figures, &how));
                if figures.is_empty() {
                    outcome.figures.push(samples.id.clone());
                }
                found.push(outcome);
            }
        }
    }
    found
}

/// The period just below, if the value is one.
fn period(seconds: f64) -> Option<f64> {
    let periods = (-3..=1).flat_map(|power| [1.0, 2.0, 5.0].map(|k| k * 10f64.powi(power)));
    periods
        .rev()
        .find(|p| *p <= seconds * (1.0 + 1e-9) && seconds / p - 1.0 <= LATE)
}

fn verdict(middle: f64, spread: f64, figures: &[&Figure], how: &str) -> Outcome {
    let (period, steady) = (period(middle), spread <= STEADY * middle);
    let time = |v| with_unit(v, Dimension::Time);
    match period.filter(|_| steady) {
        Some(period) => outcome(
            "timer",
            Verdict::NotWhatItIsCalled,
            figures,
            format!(
                "{} is a timer of {} plus {}: the figure measures a sleep",
                time(middle),
                time(period),
                time(middle - period)
            ),
            format!(
                "{} − {} = {}; {how} {}, or {} % of the figure",
                time(middle),
                time(period),
                time(middle - period),
                time(spread),
                short(100.0 * spread / middle)
            ),
        ),
        None => outcome(
            "timer",
            Verdict::NoObjection,
            figures,
            "no trace of a timer",
            format!(
                "{how} {} % of {}",
                short(100.0 * spread / middle),
                time(middle)
            ),
        ),
    }
}

type Found<'a> = (f64, f64, Vec<&'a Figure>, String);

fn of_figures<'a>(set: &DataSet<'a>) -> Option<Found<'a>> {
    let middle = set
        .one(Statistic::Percentile(50.0))
        .or_else(|| set.one(Statistic::Mean))?;
    let at = value(middle);
    if let Some(sd) = set.one(Statistic::Sd) {
        return Some((at, value(sd), vec![middle, sd], "σ is".to_owned()));
    }
    let tail = set.figures.iter().copied().find(|f| match f.statistic {
        Statistic::Max => true,
        Statistic::Percentile(p) => p >= 90.0,
        _ => false,
    })?;
    let apart = value(tail) - at;
    // Digits must be fine enough to tell.
    let known = tail.printed.half_step * tail.printed.unit.factor * 2.0 <= STEADY * at;
    (known && apart >= 0.0).then(|| {
        (
            at,
            apart,
            vec![middle, tail],
            format!("the {} lies above the middle by", tail.statistic),
        )
    })
}

/// From the first to the last twentieth of the raw values.
fn of_samples(samples: &Samples) -> Option<(f64, f64, String)> {
    if samples.values.len() < 10 {
        return None;
    }
    let mut sorted = samples.values.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    Some((
        at(0.5),
        at(0.95) - at(0.05),
        format!("p5 and p95 of {} raw values differ by", sorted.len()),
    ))
}

/// Values that are all multiples of a step much coarser than their digits.
pub(super) fn quantised(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.sets {
        for samples in &set.samples {
            let Some(step) = step(samples) else {
                continue;
            };
            let coarse = step >= 10.0 * samples.step;
            let figures: Vec<&Figure> = set.figures.iter().copied().take(1).collect();
            let mut outcome = outcome(
                "clock-step",
                match coarse {
                    true => Verdict::CannotBeKnown,
                    false => Verdict::NoObjection,
                },
                &figures,
                match coarse {
                    true => format!(
                        "the clock has steps of {}: smaller differences mean nothing",
                        with_unit(step, Dimension::Time)
                    ),
                    false => "the clock is as fine as the digits".to_owned(),
                },
                format!(
                    "all {} values are multiples of {}, printed to {}",
                    samples.values.len(),
                    with_unit(step, Dimension::Time),
                    with_unit(samples.step, Dimension::Time)
                ),
            );
            if figures.is_empty() {
                outcome.figures.push(samples.id.clone());
            }
            found.push(outcome);
        }
    }
    found
}

/// The greatest common divisor of all values in printed steps, of samples that are no means.
fn step(samples: &Samples) -> Option<f64> {
    let single = samples.each.iter().all(|m| *m <= 1);
    if samples.values.len() < 20 || samples.step <= 0.0 || !single {
        return None;
    }
    let mut divisor = 0u64;
    for value in &samples.values {
        let steps = (value / samples.step).round();
        if !(0.0..1e15).contains(&steps) {
            return None;
        }
        divisor = gcd(divisor, steps as u64);
    }
    (divisor > 0).then_some(divisor as f64 * samples.step)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
