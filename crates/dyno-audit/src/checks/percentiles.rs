//! What percentiles can be, and what they can say.

use crate::context::{Context, interval, named, outcome, printed};
use crate::formula::Formula;
use crate::interval::short;
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Bound, Figure, RelationKind, Statistic};

/// The rank of a statistic in percent, the smallest value being 0 and the largest 100.
fn rank(statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Min => Some(0.0),
        Statistic::Percentile(p) => Some(p),
        Statistic::Max => Some(100.0),
        _ => None,
    }
}

/// Those of these figures that have a rank, by rank.
pub(super) fn ranked<'a>(figures: impl Iterator<Item = &'a Figure>) -> Vec<(f64, &'a Figure)> {
    let rounded = figures.filter(|f| f.printed.bound == Bound::Rounded);
    let mut found: Vec<_> = rounded
        .filter_map(|f| Some((rank(f.statistic)?, f)))
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// Quantiles of one data set grow with their rank.
pub(super) fn order(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.sets {
        for pair in ranked(set.figures.iter().copied()).windows(2) {
            let [(lower, a), (higher, b)] = pair else {
                continue;
            };
            if lower == higher {
                continue;
            }
            let grows = interval(a).lo <= interval(b).hi;
            let calculation = format!(
                "{} = {}, {} = {}",
                a.statistic,
                printed(a),
                b.statistic,
                printed(b)
            );
            found.push(match grows {
                true => outcome(
                    "order",
                    Verdict::NoObjection,
                    &[b, a],
                    "in order",
                    calculation,
                ),
                false => outcome(
                    "order",
                    Verdict::Impossible,
                    &[b, a],
                    format!(
                        "{} is below {} of the same values",
                        b.statistic, a.statistic
                    ),
                    calculation,
                ),
            });
        }
    }
    found
}

/// A percentile needs values beyond it: of n values a share of 1/n lies at or beyond the largest. A percentile of means is one of batches.
pub(super) fn samples(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.whole {
        for figure in &set.figures {
            let Statistic::Percentile(p) = figure.statistic else {
                continue;
            };
            if p <= 50.0 || p >= 100.0 {
                continue;
            }
            let n = figure.n.or_else(|| set.n());
            let means = figure.of == crate::statement::Of::Means || set.of_means();
            let each = figure
                .each
                .or_else(|| set.figures.iter().find_map(|f| f.each));
            let beyond = 1.0 - p / 100.0;
            let needed = (1.0 / beyond).round();
            // Interpolation between the two largest of n begins where less than one gap of n − 1 is left.
            let too_few = n.is_some_and(|n| (n as f64) < needed);
            let mut reasons = Vec::new();
            let mut sums = Vec::new();
            if let (true, Some(n)) = (too_few, n) {
                reasons.push(format!("only the largest of {n} values determines it"));
                sums.push(format!(
                    "(1 − {}) × {n} = {} values lie beyond it; for one such value, {} are needed",
                    short(p / 100.0),
                    short(beyond * n as f64),
                    short(needed)
                ));
            }
            if means {
                let many = each.map_or("several".to_owned(), |m| m.to_string());
                reasons.push(format!(
                    "it is a percentile of means of {many} messages, and says nothing about single messages"
                ));
                sums.push(match each {
                    Some(m) => {
                        format!("one message that is {m} ms late moves a mean of {m} by 1 ms")
                    }
                    None => "a mean hides its largest value".to_owned(),
                });
            }
            found.push(match reasons.is_empty() {
                true => outcome(
                    "tail-samples",
                    match n {
                        Some(_) => Verdict::NoObjection,
                        None => Verdict::CannotBeKnown,
                    },
                    &[figure],
                    match n {
                        Some(_) => "there are values beyond it".to_owned(),
                        None => format!(
                            "the source does not say how many values this {} is based on",
                            figure.statistic
                        ),
                    },
                    match n {
                        Some(n) => {
                            format!("{} of {n} values lie beyond it", short(beyond * n as f64))
                        }
                        None => format!(
                            "a {} needs {} values at least",
                            figure.statistic,
                            short(needed)
                        ),
                    },
                ),
                false => outcome(
                    "tail-samples",
                    Verdict::NotWhatItIsCalled,
                    &[figure],
                    format!("{}: {}", figure.statistic, reasons.join(", and ")),
                    sums.join("; "),
                ),
            });
        }
    }
    found
}

/// Digits that are known, without leading zeros.
fn significant(figure: &Figure) -> usize {
    let digits: String = figure
        .printed
        .text
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.trim_start_matches('0').len()
}

/// With five digits, two different values are the same by chance once in tens of thousands.
const DIGITS: usize = 5;

/// A median that is also the maximum: one value, or half of all values are the largest.
pub(super) fn median_is_maximum(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.sets {
        let both = (
            set.one(Statistic::Percentile(50.0)),
            set.one(Statistic::Max),
        );
        let (Some(median), Some(max)) = both else {
            continue;
        };
        if significant(median) < DIGITS || significant(max) < DIGITS {
            continue;
        }
        let same = (crate::interval::value(median) - crate::interval::value(max)).abs()
            <= median.printed.half_step * median.printed.unit.factor * 1e-3;
        let calculation = format!("median {} and maximum {}", printed(median), printed(max));
        found.push(match same {
            false => outcome("median-is-maximum", Verdict::NoObjection, &[median, max], "they differ", calculation),
            true => outcome(
                "median-is-maximum",
                Verdict::NotWhatItIsCalled,
                &[median, max],
                format!(
                    "{}: the median equals the maximum in {} digits: there is only one value, or half of all values are equal",
                    named(median),
                    significant(median)
                ),
                calculation,
            ),
        });
    }
    found
}

/// A sum whose parts are percentiles or largest values is an upper bound at best.
pub(super) fn sums(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for relation in &context.statements.relations {
        let RelationKind::Formula(text) = &relation.kind else {
            continue;
        };
        let bound = Formula::parse(text).and_then(|f| f.bind(&context.statements.figures));
        for formula in bound.unwrap_or_default() {
            let parts: Vec<&Figure> = formula
                .right
                .summands()
                .into_iter()
                .filter_map(|name| context.by_id.get(name).copied())
                .collect();
            let tail = |f: &&Figure| match f.statistic {
                Statistic::Max => true,
                Statistic::Percentile(p) => p > 50.0,
                _ => false,
            };
            if parts.len() < 2 || !parts.iter().all(tail) {
                continue;
            }
            let whole = formula
                .names()
                .first()
                .and_then(|name| context.by_id.get(name));
            let statistic = parts[0].statistic;
            let figures: Vec<&Figure> = whole.into_iter().copied().chain(parts).collect();
            found.push(outcome(
                "sum-of-tails",
                Verdict::NotWhatItIsCalled,
                &figures,
                format!(
                    "{}: a sum of the parts' {statistic} is not the {statistic} of the whole",
                    named(figures[0])
                ),
                format!(
                    "{} = {}; this is correct only if all parts reach their {statistic} in the same event",
                    formula.left.printed(&context.by_id),
                    formula.right.printed(&context.by_id)
                ),
            ));
        }
    }
    found
}
