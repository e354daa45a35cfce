//! What is set side by side: over sizes, and over mechanisms.

use super::assumption::Assumption;
use crate::context::{Context, interval, named, outcome, printed, size_of};
use crate::interval::{short, value};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Figure, Method, Quantity, RelationKind, Statistic};
use std::collections::{BTreeMap, BTreeSet};

/// A fall by a smaller factor is no objection, whatever the standard errors.
const LEAST_FALL: f64 = 1.25;

/// A fall by more than this is not the noise of a mean of many, where the source does not say how large that is.
const FALL: f64 = 2.0;

/// Standard errors, where σ and n are known.
const ERRORS: f64 = 6.0;

/// Nothing waits for more bytes before it sends.
pub(super) const AT_ONCE: Assumption = Assumption {
    says: "a small message is sent at once",
    innocent: "Nagle's algorithm with delayed acknowledgements, or other buffering, delays small messages by milliseconds",
};

/// The first row is measured in the same warm state as the later ones.
pub(super) const WARM: Assumption = Assumption {
    says: "the first size was measured in the same warm state as the later ones",
    innocent: "a first row without a warm-up includes connections, page faults, cold caches and a slow clock",
};

/// Mechanisms that send each message at once.
const AT_ONCE_BY: &[&str] = &[
    "message queue",
    "unix domain",
    "uds",
    "iceoryx",
    "shared memory",
    "shm",
    "pipe",
    "udp",
    "zero-copy",
];

fn no_nagle(figure: &Figure) -> bool {
    let named = figure.conditions.values().map(|v| v.to_lowercase());
    named
        .into_iter()
        .any(|v| AT_ONCE_BY.iter().any(|m| v.contains(m)))
}

/// Over growing sizes a latency may stay but hardly fall: beyond six standard errors where σ and n are printed, else to less than a half.
pub(super) fn by_size(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for (_, mut series) in series(context) {
        series.sort_by(|a, b| a.0.total_cmp(&b.0));
        if series.len() < 3 {
            continue;
        }
        let mut worst: Option<(f64, &Figure, &Figure)> = None;
        for (i, (size, figure)) in series.iter().enumerate() {
            for (larger, after) in &series[i + 1..] {
                let ratio = interval(figure).lo / interval(after).hi;
                let beyond = match (error(context, figure), error(context, after)) {
                    (Some(a), Some(b)) => value(figure) - value(after) > ERRORS * a.hypot(b),
                    _ => ratio > FALL,
                };
                // Less than that, drift between the sizes accounts for, which no σ within a size shows.
                let falls = larger > size && ratio > LEAST_FALL && beyond;
                if falls && worst.is_none_or(|(known, ..)| ratio > known) {
                    worst = Some((ratio, figure, after));
                }
            }
        }
        let all: Vec<&Figure> = series.iter().map(|(_, f)| *f).collect();
        found.push(match worst {
            None => outcome("by-size", Verdict::NoObjection, &all, "the time does not fall with the size", String::new()),
            Some((_, before, after)) => {
                let warm = before.method.warm_up == Some(true) || series[0].1.id != before.id;
                let said = no_nagle(before) && no_nagle(after);
                let size = |f: &Figure| size_of(&f.conditions).unwrap_or(0.0);
                let known = error(context, before).is_some();
                let found = outcome(
                    "by-size",
                    Verdict::Inconsistent,
                    &[before, after],
                    format!(
                        "with {} × the size, the time is {} × shorter, so the printed figure does not measure the cost of the size",
                        short(size(after) / size(before)),
                        short(value(before) / value(after))
                    ),
                    format!(
                        "{}: {}; {}: {}; {}",
                        named(before),
                        printed(before),
                        named(after),
                        printed(after),
                        match known {
                            true => "beyond six standard errors",
                            false => "the source prints no spread that would explain this",
                        }
                    ),
                );
                match said {
                    true => WARM.unless(warm, found),
                    false => AT_ONCE.unless(false, found),
                }
            }
        });
    }
    found
}

type Series<'a> = Vec<(f64, &'a Figure)>;

/// Means and medians of latency that differ in size alone: those of one table, and those that a relation names.
fn series<'a>(context: &Context<'a>) -> BTreeMap<String, Series<'a>> {
    let mut found: BTreeMap<String, Series> = BTreeMap::new();
    let middle = |f: &Figure| matches!(f.statistic, Statistic::Mean | Statistic::Percentile(50.0));
    for figure in &context.statements.figures {
        let timed = matches!(figure.quantity, Quantity::Latency | Quantity::Time);
        let Some(size) = size_of(&figure.conditions).filter(|_| timed && middle(figure)) else {
            continue;
        };
        let others = figure
            .conditions
            .iter()
            .filter(|(name, _)| !name.contains("payload") && !name.to_lowercase().contains("size"));
        let others: Vec<String> = others.map(|(k, v)| format!("{k}={v}")).collect();
        // The benchmark's own name tells sizes of different benchmarks apart, and holds the size.
        if others.iter().any(|o| o.starts_with("benchmark=")) {
            continue;
        }
        let key = format!(
            "{} {} {} {:?}",
            figure.data,
            others.join(","),
            figure.statistic,
            figure.quantity
        );
        found.entry(key).or_default().push((size, figure));
    }
    let mut found: BTreeMap<String, Series> = found.into_iter().flat_map(by_column).collect();
    for (i, relation) in context.statements.relations.iter().enumerate() {
        if let RelationKind::BySize(of) = &relation.kind {
            let figures = context.fitting(of);
            let known = found.values().any(|s| {
                figures
                    .iter()
                    .all(|f| s.iter().any(|(_, known)| known.id == f.id))
            });
            let sized = figures
                .into_iter()
                .filter_map(|f| Some((size_of(&f.conditions)?, f)));
            if !known {
                found.insert(format!("relation {i}"), sized.collect());
            }
        }
    }
    found
}

/// A series with two figures in one row is of several columns: each is a series of its own.
fn by_column((key, series): (String, Series<'_>)) -> Vec<(String, Series<'_>)> {
    let parts = |f: &Figure| {
        let (row, column) = f.id.rsplit_once('/').unwrap_or(("", &f.id));
        (row.to_owned(), column.to_owned())
    };
    let rows: BTreeSet<String> = series.iter().map(|(_, f)| parts(f).0).collect();
    let one_size = |row: &String| {
        let own: Vec<f64> = series
            .iter()
            .filter(|(_, f)| parts(f).0 == *row)
            .map(|(s, _)| *s)
            .collect();
        own.windows(2).any(|w| w[0] == w[1])
    };
    if !rows.iter().any(one_size) {
        return vec![(key, series)];
    }
    let mut columns: BTreeMap<String, Series> = BTreeMap::new();
    for (size, figure) in series {
        let column = format!("{key} {}", parts(figure).1);
        columns.entry(column).or_default().push((size, figure));
    }
    columns.into_iter().collect()
}

/// The standard error of a mean or median, where its data set has σ and n. That of a median is √(π/2) times that of a mean, of normal data; the larger is
/// taken for both.
fn error(context: &Context, figure: &Figure) -> Option<f64> {
    let set = context
        .sets
        .iter()
        .find(|s| s.figures.iter().any(|f| f.id == figure.id))?;
    let sd = value(set.one(Statistic::Sd)?);
    let n = figure.n.or_else(|| set.n()).filter(|n| *n > 1)? as f64;
    let rounding = figure.printed.half_step * figure.printed.unit.factor;
    Some((sd / n.sqrt() * (std::f64::consts::PI / 2.0).sqrt()).hypot(rounding))
}

/// What the method of two figures differs in, as far as both say it.
fn differences(a: &Figure, b: &Figure) -> Vec<String> {
    type Said = fn(&Method) -> Option<&str>;
    let all: [(&str, Said); 6] = [
        ("the receiver's wait", |m| Some(m.wait?.as_str())),
        ("the payload", |m| Some(m.access?.as_str())),
        ("the trip", |m| Some(m.trip?.as_str())),
        ("the loop", |m| Some(m.load?.as_str())),
        ("seconds", |m| Some(m.time?.as_str())),
        ("the tool", |m| m.tool.as_deref()),
    ];
    all.into_iter()
        .filter_map(|(what, of)| match (of(&a.method)?, of(&b.method)?) {
            (a, b) if a == b => None,
            (a, b) => Some(format!("{what}: {a} against {b}")),
        })
        .collect()
}

/// Figures of one quantity and statistic that a relation or a table sets side by side differ in their stack or size, and
/// not in how the receiver waits, what is done with the payload, or what is timed.
pub(super) fn alike(context: &Context) -> Vec<Outcome> {
    let mut groups: BTreeMap<String, Vec<&Figure>> = BTreeMap::new();
    for figure in &context.statements.figures {
        let table = figure.id.split('/').next().unwrap_or("");
        if context.statements.layouts.iter().any(|l| l.id == table) {
            let key = format!("{table} {:?} {}", figure.quantity, figure.statistic);
            groups.entry(key).or_default().push(figure);
        }
    }
    for (i, relation) in context.statements.relations.iter().enumerate() {
        if let RelationKind::Comparison(of) = &relation.kind {
            for figure in context.fitting(of) {
                let key = format!("relation {i} {:?} {}", figure.quantity, figure.statistic);
                groups.entry(key).or_default().push(figure);
            }
        }
    }
    let mut found: Vec<Outcome> = Vec::new();
    for group in groups.values() {
        let Some(first) = group.first() else { continue };
        if group.len() < 2 {
            continue;
        }
        let mut said: BTreeMap<Vec<String>, Vec<&Figure>> = BTreeMap::new();
        for other in &group[1..] {
            said.entry(differences(first, other))
                .or_default()
                .push(other);
        }
        for (differences, mut figures) in said {
            figures.insert(0, first);
            let next = match differences.is_empty() {
                true => outcome(
                    "comparison",
                    Verdict::NoObjection,
                    &figures,
                    "measured in the same way, as far as the source says",
                    String::new(),
                ),
                false => outcome(
                    "comparison",
                    Verdict::NotWhatItIsCalled,
                    &figures,
                    format!(
                        "the source compares {} and {}, but they were not measured in the same way",
                        named(first),
                        named(figures[1])
                    ),
                    differences.join("; "),
                ),
            };
            let known = found
                .iter()
                .any(|f| f.calculation == next.calculation && f.figures == next.figures);
            if !known {
                found.push(next);
            }
        }
    }
    found
}
