//! Equations between printed numbers.

use crate::context::{Context, interval, named, outcome, printed};
use crate::formula::{Expression, Formula};
use crate::interval::{Interval, Prefixes, short, to_digits};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Bound, Figure, RelationKind, Statistic};
use std::collections::BTreeMap;

/// Factors by which units and counts are mixed up.
const SLIPS: &[(f64, &str)] = &[
    (1e3, "a thousand"),
    (1e6, "a million"),
    (1e9, "10⁹"),
    (1024.0, "1024"),
    (1.024, "1024 / 1000"),
    (8.0, "8, bits for bytes"),
    (60.0, "60, minutes for seconds"),
    (100.0, "100, percent for shares"),
    (10.0, "10"),
    (2.0, "2, one way for both"),
];

/// Interval arithmetic: both sides are computed from what the printed digits leave open (a whole step of the last digit, for
/// rounding as for cutting off), and must meet with one meaning of `KB` and `MB` at least.
pub(super) fn formulas(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for relation in &context.statements.relations {
        let RelationKind::Formula(text) = &relation.kind else {
            continue;
        };
        // Reading the file made sure of both.
        let Ok(formula) = Formula::parse(text) else {
            continue;
        };
        let exists = |name: &&str| context.by_id.contains_key(*name);
        // Importers make many, of names that are bound.
        let bound = match formula.names().iter().all(exists) {
            true => Ok(vec![formula]),
            false => formula.bind(&context.statements.figures),
        };
        let Ok(bound) = bound else {
            continue;
        };
        for formula in bound {
            found.extend(holds(context, &formula, &relation.place));
        }
    }
    found
}

fn holds(context: &Context, formula: &Formula, place: &str) -> Option<Outcome> {
    let names = formula.names();
    let figures: Vec<&Figure> = names
        .iter()
        .filter_map(|name| context.by_id.get(name).copied())
        .collect();
    let sides = |prefixes| {
        let left = formula.left.value(&context.by_id, prefixes)?;
        let right = formula.right.value(&context.by_id, prefixes)?;
        Some((left, right))
    };
    let (left, right) = sides(Prefixes::default())?;
    let meets = Prefixes::ALL
        .into_iter()
        .filter_map(sides)
        .any(|(left, right)| formula.holds(left, right));
    let sides = |digits| [left, right].map(|side| range(side, &formula.left, context, digits));
    // As many digits as it takes to see that they differ.
    let [is, other] = (5..17)
        .map(sides)
        .find(|[is, other]| meets || is != other)
        .unwrap_or_else(|| sides(17));
    // Sides that meet may still read as two numbers.
    let middles = [left, right].map(Interval::middle);
    let is_about = left.meets(right)
        && middles.iter().all(|v| v.is_finite())
        && short(middles[0]) != short(middles[1]);
    let sign = match (meets, formula.at_most) {
        (true, false) if is_about => "≈",
        (true, _) => formula.sign(),
        (false, true) => ">",
        (false, false) => "≠",
    };
    let calculation = format!(
        "{} {sign} {}: {is} against {other}",
        formula.left.printed(&context.by_id),
        formula.right.printed(&context.by_id),
    );
    let (verdict, says) = match meets {
        true => match (
            differing_statistics(formula, &figures),
            cut_off(context, formula, &figures),
        ) {
            (Some((a, b)), _) => (
                Verdict::NotWhatItIsCalled,
                format!("the value is a {a} in one place and a {b} in the other"),
            ),
            (None, true) => (
                Verdict::NoObjection,
                "both sides agree only if digits were cut off instead of rounded".to_owned(),
            ),
            (None, false) => (Verdict::NoObjection, "both sides agree".to_owned()),
        },
        false => {
            let slip = slip(left, right)
                .filter(|_| !formula.at_most)
                .map_or(String::new(), |s| format!("; they are apart by {s}"));
            let is = if formula.at_most {
                "is more than"
            } else {
                "is not"
            };
            let (subject, [left, right]) = by_names(formula, &figures);
            (
                Verdict::Inconsistent,
                format!("{subject}{left} {is} {right}{slip}"),
            )
        }
    };
    let mut outcome = outcome("arithmetic", verdict, &figures, says, calculation);
    if !place.is_empty() {
        outcome.place = place.to_owned();
    }
    Some(outcome)
}

/// What all figures are of, where it is one row, and both sides by their names in it.
fn by_names(formula: &Formula, figures: &[&Figure]) -> (String, [String; 2]) {
    let row = figures.first().map_or("", |f| f.place.row.as_str());
    let in_one = |f: &&Figure| f.place.row == row && !f.place.column.is_empty();
    let in_one = !row.is_empty() && figures.iter().all(in_one);
    let name = |id: &str| match figures.iter().find(|f| f.id == id) {
        Some(f) if in_one => format!("\"{}\"", f.place.column),
        // A figure of a sentence has no name that a reader knows. Names of cells may hold commas and operators.
        Some(f) if f.place.row.is_empty() && f.place.column.is_empty() => printed(f),
        Some(f) => format!("\"{}\"", named(f)),
        None => id.to_owned(),
    };
    let subject = if in_one {
        format!("{row}: ")
    } else {
        String::new()
    };
    let sides = [&formula.left, &formula.right].map(|side| side.with(&name));
    (subject, sides)
}

/// The statistics of two figures that a source gives as one, where it names two.
fn differing_statistics(formula: &Formula, figures: &[&Figure]) -> Option<(Statistic, Statistic)> {
    let (Expression::Name(_), Expression::Name(_), [a, b], false) =
        (&formula.left, &formula.right, figures, formula.at_most)
    else {
        return None;
    };
    let named = |f: &Figure| {
        matches!(
            f.statistic,
            Statistic::Mean | Statistic::Percentile(_) | Statistic::Max | Statistic::Min
        ) && f.printed.bound == Bound::Rounded
    };
    let apart = named(a) && named(b) && a.quantity == b.quantity && a.statistic != b.statistic;
    apart.then_some((a.statistic, b.statistic))
}

/// Whether the sides of an equation that holds would not meet if every number were rounded to its last digit.
fn cut_off(context: &Context, formula: &Formula, figures: &[&Figure]) -> bool {
    let mut rounded: Vec<Figure> = figures.iter().map(|f| (*f).clone()).collect();
    for figure in &mut rounded {
        figure.printed.half_step /= 2.0;
    }
    let mut by_id = context.by_id.clone();
    by_id.extend(rounded.iter().map(|f| (f.id.as_str(), f)));
    !Prefixes::ALL.into_iter().any(|prefixes| {
        let sides = (
            formula.left.value(&by_id, prefixes),
            formula.right.value(&by_id, prefixes),
        );
        matches!(sides, (Some(left), Some(right)) if formula.holds(left, right))
    })
}

/// An interval in the unit of the figure on the left, where there is one.
fn range(interval: Interval, left: &Expression, context: &Context, digits: i32) -> String {
    let figure = match left {
        Expression::Name(name) => context.by_id.get(name.as_str()),
        _ => None,
    };
    let (factor, unit) = match figure {
        Some(f) => (f.printed.unit.factor, f.printed.unit.text.as_str()),
        None => (1.0, ""),
    };
    let [lo, hi] = [interval.lo, interval.hi].map(|end| to_digits(end / factor, digits));
    let text = match lo == hi {
        true => format!("{lo} {unit}"),
        false if interval.lo.is_infinite() => format!("at most {hi} {unit}"),
        false => format!("{lo} to {hi} {unit}"),
    };
    text.trim_end().to_owned()
}

/// The factor that brings the sides together, within a hundredth.
fn slip(left: Interval, right: Interval) -> Option<&'static str> {
    let ratio = (left.middle() / right.middle()).abs();
    let near =
        |factor: f64| (ratio / factor - 1.0).abs() < 0.01 || (ratio * factor - 1.0).abs() < 0.01;
    SLIPS
        .iter()
        .find(|(factor, _)| (*factor - 1.024).abs() > 1e-9 && near(*factor))
        .or_else(|| {
            let of_prefix = |ratio: f64| (ratio / 1.024 - 1.0).abs() < 0.002;
            let kilo = of_prefix(ratio) || of_prefix(1.0 / ratio);
            SLIPS
                .iter()
                .find(|(factor, _)| kilo && (*factor - 1.024).abs() < 1e-9)
        })
        .map(|(_, name)| *name)
}

/// Two figures of one data set and one statistic are one figure. Single values and parts of a whole may be several.
pub(super) fn printed_twice(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.whole {
        let mut seen: BTreeMap<String, Vec<&Figure>> = BTreeMap::new();
        for figure in &set.figures {
            let several = matches!(
                figure.statistic,
                Statistic::Value | Statistic::Share | Statistic::Count
            );
            if several
                || figure.printed.bound == Bound::Above
                || figure.printed.bound == Bound::Below
            {
                continue;
            }
            seen.entry(figure.statistic.to_string())
                .or_default()
                .push(figure);
        }
        for figures in seen.values() {
            for (i, second) in figures.iter().enumerate().skip(1) {
                // Two rows of one column are two things, whatever their labels, and so are two columns of one row.
                let apart = |first: &&Figure| !one_column(first, second) && !one_row(first, second);
                let agrees = |first: &&Figure| interval(first).meets(interval(second));
                // Each is held against the first that it does not agree with.
                let earlier: Vec<&Figure> = figures[..i].iter().copied().filter(apart).collect();
                let Some(first) = earlier.first().copied() else {
                    continue;
                };
                let against = earlier.into_iter().find(|f| !agrees(f));
                let other = against.unwrap_or(first);
                let (verdict, says) = match against {
                    None => (
                        Verdict::NoObjection,
                        "both places print the same".to_owned(),
                    ),
                    Some(_) => (
                        Verdict::Inconsistent,
                        format!(
                            "the same {} is {} in {} and {} in {}",
                            second.statistic,
                            printed(other),
                            place(other),
                            printed(second),
                            place(second)
                        ),
                    ),
                };
                let calculation = format!(
                    "{} ≠ {} by {}",
                    printed(other),
                    printed(second),
                    ratio(other, second)
                );
                let calculation = match against {
                    None => format!("{} = {}", printed(other), printed(second)),
                    Some(_) => calculation,
                };
                let held = outcome("same-figure", verdict, &[other, second], says, calculation);
                found.push(held);
            }
        }
    }
    found
}

/// Whether both stand in one column of one table.
fn one_column(a: &Figure, b: &Figure) -> bool {
    let ends = |f: &Figure| {
        let table = f.id.split('/').next().map(str::to_owned);
        (table, f.id.rsplit('/').next().map(str::to_owned))
    };
    !a.place.row.is_empty() && ends(a) == ends(b)
}

/// Whether both stand in one row of one table.
fn one_row(a: &Figure, b: &Figure) -> bool {
    let row = |f: &Figure| f.id.rsplit_once('/').map(|(row, _)| row.to_owned());
    let in_tables = !a.place.column.is_empty() && !b.place.column.is_empty();
    in_tables && a.place.section == b.place.section && row(a) == row(b)
}

fn place(figure: &Figure) -> String {
    format!("{} ({})", figure.place.section, named(figure))
}

fn ratio(a: &Figure, b: &Figure) -> String {
    let (a, b) = (crate::interval::value(a), crate::interval::value(b));
    format!("a factor of {}", short(b / a))
}
