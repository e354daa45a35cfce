//! What σ, mean and median can be beside a range.

use super::assumption::Assumption;
use super::percentiles::ranked;
use crate::context::{Context, DataSet, interval, outcome, printed};
use crate::interval::{Interval, value, with_unit};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Bound, Dimension, Figure, Quantity, SOME, Statistic};

/// The bounds of σ, mean and median that hold for any data.
pub(super) fn bounds(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.sets {
        found.extend(sd_from_range(set));
        found.extend(mean_by_rank(context, set));
        found.extend(median_near_mean(set));
        found.extend(parts_of_spread(set));
    }
    found
}

/// The range as printed, or as largest less smallest.
fn range<'a>(set: &DataSet<'a>) -> Option<(Interval, Vec<&'a Figure>)> {
    let ends = (set.one(Statistic::Min), set.one(Statistic::Max));
    let of_ends = match ends {
        (Some(min), Some(max)) => Some((interval(max).minus(interval(min)), vec![max, min])),
        _ => None,
    };
    let of_spread = set.one(Statistic::Spread).map(|s| (interval(s), vec![s]));
    match (of_ends, of_spread) {
        // Whichever leaves more open decides nothing less.
        (Some(a), Some(b)) if b.0.hi - b.0.lo < a.0.hi - a.0.lo && a.0.meets(b.0) => Some(b),
        (Some(a), _) => Some(a),
        (None, b) => b,
    }
}

/// Values are not below zero.
pub(super) const NOT_NEGATIVE: Assumption = Assumption {
    says: "no value is below zero",
    innocent: "a time between two clocks that are apart, a jitter, and an offset may be",
};

/// Percentiles are of many values.
pub(super) const MANY: Assumption = Assumption {
    says: "the percentiles are of a hundred values or more",
    innocent: "a percentile of few values is one of these values, and definitions choose different ones",
};

/// The least that a value can be where no smallest one is printed, and whether that is sure.
fn least_value(figure: &Figure) -> Option<(f64, bool)> {
    let counted = !matches!(
        figure.printed.unit.dimension,
        Dimension::One | Dimension::TimePerSize
    );
    let sure = match figure.quantity {
        // Early is below zero.
        Quantity::Jitter => false,
        Quantity::Latency => figure.method.clocks == Some(1),
        // A drift or an offset has a sign.
        Quantity::Time => figure.method.tool.is_some(),
        _ => true,
    };
    counted.then_some((0.0, sure))
}

/// Popoviciu: σ ≤ range / 2; with the mean at hand, Bhatia and Davis: σ² ≤ (max − mean)(mean − min); by √(n/(n−1)) more where σ divides by
/// n − 1. From below: two of n values are the range apart and all others in the middle, so that σ ≥ range / √(2n); and one of n is an
/// extreme, so that σ ≥ (max − mean) / √(n−1), dividing by n (Samuelson 1968).
fn sd_from_range(set: &DataSet) -> Option<Outcome> {
    let sd = set.one(Statistic::Sd)?;
    // σ of means says nothing of the range of single values, nor the other way round.
    let alike = |f: &&Figure| f.of == sd.of && f.each == sd.each;
    let [min, max, mean] = [Statistic::Min, Statistic::Max, Statistic::Mean]
        .map(|statistic| set.one(statistic).filter(alike));
    let (range, mut figures, sure) = match range(set) {
        Some((range, ends)) if ends.iter().all(alike) => (range, ends, true),
        Some(_) => return None,
        None => {
            let (max, (floor, sure)) = (max?, least_value(sd)?);
            // How far apart the values are is not known, only how far they can be.
            let (lo, hi) = (0.0, interval(max).hi - floor);
            (Interval { lo, hi }, vec![max], sure)
        }
    };
    let n = set.n().filter(|n| *n > 1).map(|n| n as f64);
    let bessel = n.map_or(std::f64::consts::SQRT_2, |n| (n / (n - 1.0)).sqrt());
    let mut most = range.hi / 2.0;
    let mut least = n.map_or(0.0, |n| (range.lo / (2.0 * n).sqrt()).max(0.0));
    let mut lost = 0.0;
    if let (Some(mean), Some(max)) = (mean, max) {
        figures.push(mean);
        let (mean, max) = (interval(mean), interval(max));
        let lo = min.map_or(max.hi - range.hi, |min| interval(min).lo);
        let at = ((max.hi + lo) / 2.0).clamp(mean.lo, mean.hi);
        most = most.min(((max.hi - at) * (at - lo)).max(0.0).sqrt());
        // Whoever takes the square of the mean from the mean of squares loses digits of a small σ.
        lost = 8.0 * n.unwrap_or(1.0) * f64::EPSILON * mean.hi * mean.hi;
        if let Some(n) = n {
            let below = min.map_or(0.0, |min| mean.lo - interval(min).hi);
            // Whoever counts may be one ahead of whoever adds up.
            least = least.max((max.lo - mean.hi).max(below) / n.sqrt());
        }
    }
    let most = (most * most + lost).sqrt() * bessel;
    let least = (least * least - lost).max(0.0).sqrt();
    let is = interval(sd);
    let dimension = sd.printed.unit.dimension;
    let calculation = format!(
        "a range of {} to {}{} allows σ from {} to {}{}",
        with_unit(range.lo, dimension),
        with_unit(range.hi, dimension),
        mean.map_or(String::new(), |m| format!(" around {}", printed(m))),
        with_unit(least, dimension),
        with_unit(most, dimension),
        n.map_or(String::new(), |n| format!(" for {n} values")),
    );
    let fits = is.lo <= most * (1.0 + 1e-9) && is.hi >= least * (1.0 - 1e-9);
    figures.insert(0, sd);
    let (verdict, says) = match fits {
        true => (Verdict::NoObjection, "σ fits the range".to_owned()),
        false => (
            Verdict::Impossible,
            format!("no data with this range has a σ of {}", printed(sd)),
        ),
    };
    let found = outcome("spread", verdict, &figures, says, calculation);
    Some(NOT_NEGATIVE.unless(sure, found))
}

/// What ranks say of the mean: of n values one is the largest and one the smallest, and n − ⌈np⌉ at least are no smaller than the percentile
/// of p, ⌊np⌋ no larger, by each of Hyndman and Fan's definitions. So the mean lies between the sums of the least and the most that these can
/// be. Of how many values a set is may be known by what is counted beside it alone; then no single value weighs.
fn mean_by_rank(context: &Context, set: &DataSet) -> Vec<Outcome> {
    let means = set.all(Statistic::Mean).into_iter();
    let means = means.filter(|m| m.printed.bound == Bound::Rounded);
    means.filter_map(|m| mean_among(context, set, m)).collect()
}

fn mean_among(context: &Context, set: &DataSet, mean: &Figure) -> Option<Outcome> {
    let same_n = |f: &Figure| f.n.zip(mean.n).is_none_or(|(a, b)| a == b);
    let alike = |f: &&Figure| f.of == mean.of && f.each == mean.each && same_n(f);
    let of_all = |f: &&Figure| {
        !matches!(f.statistic, Statistic::Percentile(_)) || !f.conditions.contains_key(SOME)
    };
    let ranked = ranked(set.figures.iter().copied().filter(alike).filter(of_all));
    let at = |rank| ranked.iter().find(|(p, _)| *p == rank).map(|(_, f)| *f);
    let (min, max) = (at(0.0), at(100.0));
    let own = mean.n.or_else(|| set.n()).filter(|n| *n > 0);
    let beside = || context.beside(set, Quantity::Count)?.one(Statistic::Count);
    let known = own.map(|n| n as f64).or_else(|| beside().map(value));
    let many = 1e12;
    let n = known.unwrap_or(many);
    let floor = match min {
        Some(min) => Some((interval(min).lo, true)),
        None => least_value(mean),
    };
    // Of n or, where whoever counts is one behind, of one more.
    let (sum, counted) = weighed(
        ranked.iter().rev(),
        |f| interval(f).lo,
        |p| match (p, own) {
            (100.0, Some(_)) => 1.0,
            (100.0, None) => 0.0,
            (0.0, _) => n,
            (p, _) => n - (n * p / 100.0 - 1e-9).ceil() - if own.is_some() { 0.0 } else { 1.0 },
        },
    );
    let least = floor.map(|(floor, _)| {
        let sum = sum + (n - counted) * floor;
        (sum / n).min((sum + floor) / (n + 1.0))
    });
    let (sum, _) = weighed(
        ranked.iter(),
        |f| interval(f).hi,
        |p| match (p, own) {
            (0.0, Some(_)) => 1.0,
            (0.0, None) => 0.0,
            (100.0, _) => n,
            (p, _) => (n * p / 100.0 + 1e-9).floor() - if own.is_some() { 0.0 } else { 1.0 },
        },
    );
    let most = max.map(|max| (sum / n).max((sum + interval(max).hi) / (n + 1.0)));
    if (least.is_none() && most.is_none()) || ranked.is_empty() {
        return None;
    }
    let is = interval(mean);
    let slack = |bound: f64| 1e-9 * bound.abs() + 1e-15;
    let above = least.is_none_or(|least| is.hi >= least - slack(least));
    let below = most.is_none_or(|most| is.lo <= most + slack(most));
    let dimension = mean.printed.unit.dimension;
    let bound = |b: Option<f64>| b.map_or("…".to_owned(), |b| with_unit(b, dimension));
    let figures: Vec<&Figure> = [mean]
        .into_iter()
        .chain(ranked.iter().map(|r| r.1))
        .collect();
    let calculation = format!(
        "{} ≤ {} ≤ {}, by {}{}",
        bound(least),
        printed(mean),
        bound(most),
        list(&figures[1..]),
        known.map_or(String::new(), |n| format!(" of {n} values")),
    );
    if above && below {
        let says = "the mean is consistent with the percentiles";
        let held = outcome("spread", Verdict::NoObjection, &figures, says, calculation);
        return Some(held);
    }
    let outside = min.is_some_and(|min| is.hi < interval(min).lo)
        || max.is_some_and(|max| is.lo > interval(max).hi);
    let says = match outside {
        true => format!("a mean of {} lies outside of its own range", printed(mean)),
        false => format!("no such values have a mean of {}", printed(mean)),
    };
    let found = outcome("spread", Verdict::Impossible, &figures, says, calculation);
    // Only what a percentile or a smallest value decides rests on them.
    let by_extremes = outside || ranked.iter().all(|(p, _)| *p == 0.0 || *p == 100.0);
    let sure = by_extremes || known.is_some_and(|n| n >= 100.0 || own.is_some());
    let found = MANY.unless(sure, found);
    Some(NOT_NEGATIVE.unless(above || floor.is_some_and(|(_, sure)| sure), found))
}

/// The sum of values of which so many, as `up_to` says of each rank, are counted with an end of the figure of the rank; and how many
/// are counted.
fn weighed<'a>(
    ranked: impl Iterator<Item = &'a (f64, &'a Figure)>,
    end: fn(&Figure) -> f64,
    up_to: impl Fn(f64) -> f64,
) -> (f64, f64) {
    ranked.fold((0.0, 0.0), |(sum, counted), (p, figure)| {
        let more = f64::max(up_to(*p), counted);
        (sum + (more - counted) * end(figure), more)
    })
}

/// Figures as `statistic = value`.
fn list(figures: &[&Figure]) -> String {
    let one = |f: &&Figure| format!("{} = {}", f.statistic, printed(f));
    figures.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// |mean − median| ≤ σ, for every distribution (Hotelling and Solomons 1932).
fn median_near_mean(set: &DataSet) -> Option<Outcome> {
    let sd = set.one(Statistic::Sd)?;
    let mean = set.one(Statistic::Mean)?;
    let median = set.one(Statistic::Percentile(50.0))?;
    let apart = interval(mean).minus(interval(median));
    let least = match apart.lo <= 0.0 && apart.hi >= 0.0 {
        true => 0.0,
        false => apart.lo.abs().min(apart.hi.abs()),
    };
    let figures = [sd, mean, median];
    let dimension = sd.printed.unit.dimension;
    let calculation = format!(
        "|{} − {}| is at least {}; σ is {}",
        printed(mean),
        printed(median),
        with_unit(least, dimension),
        printed(sd)
    );
    let fits = least <= interval(sd).hi * (1.0 + 1e-9);
    Some(match fits {
        true => outcome(
            "spread",
            Verdict::NoObjection,
            &figures,
            "mean and median are within σ",
            calculation,
        ),
        false => outcome(
            "spread",
            Verdict::Impossible,
            &figures,
            "mean and median are further apart than σ allows for any data",
            calculation,
        ),
    })
}

/// Spread is largest less smallest, and CV is σ by mean, without anybody saying so.
fn parts_of_spread(set: &DataSet) -> Vec<Outcome> {
    let mut found = Vec::new();
    let mut hold = |result: &Figure, expected: Interval, of: [&Figure; 2], operator: &str| {
        let figures = [result, of[0], of[1]];
        let dimension = result.printed.unit.dimension;
        let calculation = format!(
            "{} {operator} {} = {} to {}; printed is {}",
            printed(of[0]),
            printed(of[1]),
            with_unit(expected.lo, dimension),
            with_unit(expected.hi, dimension),
            printed(result)
        );
        found.push(match expected.meets(interval(result)) {
            true => outcome(
                "spread",
                Verdict::NoObjection,
                &figures,
                "it agrees with its parts",
                calculation,
            ),
            false => outcome(
                "spread",
                Verdict::Inconsistent,
                &figures,
                format!("{} contradicts its parts", printed(result)),
                calculation,
            ),
        });
    };
    let ends = (set.one(Statistic::Max), set.one(Statistic::Min));
    if let (Some(spread), (Some(max), Some(min))) = (set.one(Statistic::Spread), ends) {
        hold(spread, interval(max).minus(interval(min)), [max, min], "−");
    }
    let moments = (set.one(Statistic::Sd), set.one(Statistic::Mean));
    if let (Some(cv), (Some(sd), Some(mean))) = (set.one(Statistic::Cv), moments) {
        hold(cv, interval(sd).by(interval(mean)), [sd, mean], "/");
    }
    found
}
