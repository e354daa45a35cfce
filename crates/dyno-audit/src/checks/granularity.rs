//! What shares of a counted number of values can be.

use super::assumption::Assumption;
use crate::context::{Context, outcome, printed};
use crate::interval::short;
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Bound, Dimension, Figure, Of, Quantity, Statistic};

/// Means of shares are of as many values each.
pub(super) const EACH_ALIKE: Assumption = Assumption {
    says: "all means have the same number of values",
    innocent: "the mean of 1/3 and 1/4 is a multiple of neither",
};

/// GRIM (Brown and Heathers 2017): k of n values are a share of k/n. A printed share must lie within one step of its last digit
/// of some k/n. Where n is so large that every printed value is near one, nothing can be said.
pub(super) fn shares(context: &Context) -> Vec<Outcome> {
    let figures = context.statements.figures.iter();
    figures.filter_map(share).collect()
}

fn share(figure: &Figure) -> Option<Outcome> {
    let of_values = figure.statistic == Statistic::WithinOneSd
        || (figure.statistic == Statistic::Share
            && matches!(figure.quantity, Quantity::Share | Quantity::Loss));
    let means = figure.of == Of::Means;
    // A mean of shares is a share of all values, where each mean is of as many.
    let of_each = if means { figure.each? } else { 1 };
    let n = figure
        .n
        .filter(|n| of_values && *n > 0)?
        .checked_mul(of_each)?;
    if figure.printed.unit.dimension != Dimension::One || figure.printed.bound != Bound::Rounded {
        return None;
    }
    let factor = figure.printed.unit.factor;
    let share = figure.printed.value * factor;
    // Rounded to the nearest digit; cutting off would shift it by half a step more.
    let step = 2.0 * figure.printed.half_step * factor;
    let nearest = (share * n as f64).round();
    let count = nearest.clamp(0.0, n as f64);
    let off = (share - count / n as f64).abs();
    let cut = share <= count / n as f64 + 1e-12 && off < step;
    let possible = off <= step / 2.0 + 1e-12 || cut;
    let one = |k: f64| format!("{}/{n} = {}%", short(k), short(100.0 * k / n as f64));
    let neighbour = match share * (n as f64) > count {
        true => count + 1.0,
        false => count - 1.0,
    };
    let calculation = match possible {
        true => one(count),
        false if (0.0..=n as f64).contains(&neighbour) => {
            format!(
                "{} and {}; nothing lies between",
                one(count.min(neighbour)),
                one(count.max(neighbour))
            )
        }
        false => one(count),
    };
    let (verdict, says) = match possible {
        true => (
            Verdict::NoObjection,
            format!("{} is a share of {n} values", printed(figure)),
        ),
        false => (
            Verdict::Impossible,
            format!("{} cannot be a share of {n} values", printed(figure)),
        ),
    };
    let found = outcome("granularity", verdict, &[figure], says, calculation);
    Some(EACH_ALIKE.unless(!means, found))
}
