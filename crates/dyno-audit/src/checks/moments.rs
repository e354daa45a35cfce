//! What σ, mean and median can be beside a range.

use crate::context::{Context, DataSet, interval, outcome, printed};
use crate::interval::{Interval, with_unit};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Figure, Statistic};

/// The bounds of σ, mean and median that hold for any data.
pub(super) fn bounds(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.sets {
        found.extend(sd_from_range(set));
        found.extend(mean_in_range(set));
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

/// Popoviciu: σ ≤ range / 2, by √(n/(n−1)) more where σ divides by n − 1. From below: two of n values are the range apart and all others
/// in the middle, so that σ ≥ range / √(2n), dividing by n.
fn sd_from_range(set: &DataSet) -> Option<Outcome> {
    let sd = set.one(Statistic::Sd)?;
    let (range, ends) = range(set)?;
    // σ of means says nothing of the range of single values, nor the other way round.
    if ends.iter().any(|f| f.of != sd.of || f.each != sd.each) {
        return None;
    }
    let n = set.n();
    let bessel = n.filter(|n| *n > 1).map_or(std::f64::consts::SQRT_2, |n| {
        (n as f64 / (n as f64 - 1.0)).sqrt()
    });
    let most = range.hi / 2.0 * bessel;
    let least = n.map_or(0.0, |n| (range.lo / (2.0 * n as f64).sqrt()).max(0.0));
    let is = interval(sd);
    let dimension = sd.printed.unit.dimension;
    let calculation = format!(
        "a range of {} to {} allows σ from {} to {}{}",
        with_unit(range.lo, dimension),
        with_unit(range.hi, dimension),
        with_unit(least, dimension),
        with_unit(most, dimension),
        n.map_or(String::new(), |n| format!(" for {n} values")),
    );
    let fits = is.lo <= most * (1.0 + 1e-9) && is.hi >= least * (1.0 - 1e-9);
    let mut figures = vec![sd];
    figures.extend(ends);
    Some(match fits {
        true => outcome(
            "spread",
            Verdict::NoObjection,
            &figures,
            "σ fits the range",
            calculation,
        ),
        false => outcome(
            "spread",
            Verdict::Impossible,
            &figures,
            format!("no data with this range has a σ of {}", printed(sd)),
            calculation,
        ),
    })
}

/// Mean and median lie between the smallest and the largest value.
fn mean_in_range(set: &DataSet) -> Vec<Outcome> {
    let (min, max) = (set.one(Statistic::Min), set.one(Statistic::Max));
    let mut found = Vec::new();
    for mean in set.all(Statistic::Mean) {
        let below = min.filter(|min| interval(mean).hi < interval(min).lo - 1e-15);
        let above = max.filter(|max| interval(mean).lo > interval(max).hi + 1e-15);
        if min.is_none() && max.is_none() {
            continue;
        }
        let figures: Vec<&Figure> = [Some(mean), min, max].into_iter().flatten().collect();
        let calculation = format!(
            "{} ≤ {} ≤ {}",
            min.map_or("…".to_owned(), printed),
            printed(mean),
            max.map_or("…".to_owned(), printed)
        );
        found.push(match below.or(above) {
            None => outcome(
                "spread",
                Verdict::NoObjection,
                &figures,
                "the mean lies in the range",
                calculation,
            ),
            Some(_) => outcome(
                "spread",
                Verdict::Impossible,
                &figures,
                format!("a mean of {} lies outside of its own range", printed(mean)),
                calculation,
            ),
        });
    }
    found
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
                "it follows from its parts",
                calculation,
            ),
            false => outcome(
                "spread",
                Verdict::Inconsistent,
                &figures,
                format!("{} is not what its parts give", printed(result)),
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
