//! How figures were measured: what is timed, by what, on what, and what the source leaves out.

use crate::context::{Context, interval, named, outcome, printed};
use crate::interval::{all_digits, value, with_unit};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Bound, Dimension, Figure, Quantity, Statistic, Trip};
use dyno_model::unit::counted;
use std::collections::BTreeMap;

/// Groups figures of one table or text, so that each thing is said once for all of them.
fn by_place<'a>(context: &Context<'a>, wanted: impl Fn(&Figure) -> bool) -> Vec<Vec<&'a Figure>> {
    let mut groups: BTreeMap<&str, Vec<&Figure>> = BTreeMap::new();
    for figure in context.statements.figures.iter().filter(|f| wanted(f)) {
        let table = figure.id.split('/').next().unwrap_or("");
        groups.entry(table).or_default().push(figure);
    }
    groups.into_values().collect()
}

fn is_time(figure: &Figure) -> bool {
    figure.quantity == Quantity::Latency
}

/// Half a round trip is one way only where both ways are alike, which a round trip cannot show.
pub(super) fn trip(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for figures in by_place(context, |f| is_time(f) && f.method.trip == Some(Trip::Half)) {
        found.push(outcome(
            "half-trip",
            Verdict::NotWhatItIsCalled,
            &figures,
            "half of a round trip is printed as a latency, but no measured time had this length",
            format!("{} × 2 was measured", printed(figures[0])),
        ));
    }
    // Two runs may have two offsets.
    for set in &context.sets {
        // An offset moves all times alike, and neither their spread nor their σ.
        let moved = |f: &&Figure| {
            let two_clocks = f.method.trip == Some(Trip::OneWay) && f.method.clocks == Some(2);
            let differs = matches!(
                f.statistic,
                Statistic::Sd | Statistic::Spread | Statistic::Cv
            );
            is_time(f) && two_clocks && !differs
        };
        let figures: Vec<&Figure> = set.figures.iter().copied().filter(moved).collect();
        let least = figures.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
        let Some(least) = least.copied() else {
            continue;
        };
        // One below zero is what `range` speaks of.
        if value(least) < 0.0 {
            continue;
        }
        let time = all_digits(least);
        found.push(match least.method.clock_bound {
            Some(bound) => {
                let (verdict, says) = match bound <= value(least) {
                    true => (
                        Verdict::NoObjection,
                        "the clocks differ by less than the measured times",
                    ),
                    false => (
                        Verdict::CannotBeKnown,
                        "the clocks may differ by more than the measured times",
                    ),
                };
                let bound = with_unit(bound, Dimension::Time);
                let calculation = format!("{bound} against {time}");
                outcome("half-trip", verdict, &figures, says, calculation)
            }
            None => outcome(
                "half-trip",
                Verdict::CannotBeKnown,
                &figures,
                "one-way times between two clocks, without a bound on their offset",
                format!("an offset of {time} would explain the whole of the smallest figure"),
            ),
        });
    }
    let unsaid = |f: &Figure| is_time(f) && f.method.trip.is_none() && !f.place.row.is_empty();
    for figures in by_place(context, unsaid) {
        found.push(outcome(
            "half-trip",
            Verdict::CannotBeKnown,
            &figures,
            "the source does not say whether it is a round trip, half of one, or one way",
            "the two meanings differ by a factor of two".to_owned(),
        ));
    }
    found
}

/// Tools that measure no latency of messages, with what they do.
const NO_LATENCY: &[(&str, &str)] = &[
    (
        "iperf3",
        "iperf3 sends as fast as it can one way and prints bits per second (iperf3(1)); it times no message",
    ),
    (
        "iperf",
        "iperf sends as fast as it can one way and prints bits per second; it times no message",
    ),
    ("netcat", "netcat copies streams and times nothing"),
    (
        "systemd-analyze",
        "systemd-analyze times units at boot and no message",
    ),
];

/// A figure that its own tool does not measure.
pub(super) fn tool(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for figures in by_place(context, |f| is_time(f) && f.method.tool.is_some()) {
        let tool = figures[0].method.tool.clone().unwrap_or_default();
        let known = NO_LATENCY.iter().find(|(name, _)| *name == tool);
        found.push(match known {
            Some((_, does)) => outcome(
                "tool",
                Verdict::NotWhatItIsCalled,
                &figures,
                format!(
                    "{tool} does not measure a {}",
                    match figures[0].method.trip {
                        Some(Trip::Round) => "round trip",
                        _ => "latency",
                    }
                ),
                (*does).to_owned(),
            ),
            None => outcome(
                "tool",
                Verdict::NoObjection,
                &figures,
                format!("{tool} may measure this"),
                String::new(),
            ),
        });
    }
    found
}

/// Lines of an output that say that its times are not those of a released build on a steady clock.
const SIGNS: &[(&str, &str)] = &[
    (
        "built as debug",
        "according to the output, a library was a debug build",
    ),
    (
        "cpu scaling is enabled",
        "according to the output, the processor's frequency was not steady",
    ),
    (
        "aslr is enabled",
        "according to the output, addresses were random, which changes the times",
    ),
];

/// Dates and banners of raw output against what the source says.
pub(super) fn banners(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    let tested = context.statements.source.tested.as_deref();
    for banner in &context.statements.banners {
        let text = banner.text.to_lowercase();
        let place = format!("{}, line {}", banner.place, banner.line);
        for (_, says) in SIGNS.iter().filter(|(sign, _)| text.contains(sign)) {
            let mut outcome = outcome(
                "build-and-date",
                Verdict::CannotBeKnown,
                &[],
                *says,
                banner.text.clone(),
            );
            outcome.place.clone_from(&place);
            found.push(outcome);
        }
        if let (Some(tested), Some(date)) = (tested, date(&banner.text)) {
            let same = date.starts_with(tested) || tested.starts_with(date);
            let verdict = match same {
                true => Verdict::NoObjection,
                false => Verdict::Inconsistent,
            };
            let says = match same {
                true => "the output is of the date that is named".to_owned(),
                false => {
                    format!(
                        "measured on {date} according to the output, on {tested} according to the text"
                    )
                }
            };
            let mut outcome = outcome(
                "build-and-date",
                verdict,
                &[],
                says,
                format!("{} against {tested}", banner.text),
            );
            outcome.place = place;
            found.push(outcome);
        }
    }
    found
}

/// A date as ISO 8601 writes it, such as `2025-08-06`.
fn date(text: &str) -> Option<&str> {
    let is_date = |t: &str| {
        t.len() == 10
            && t.bytes().enumerate().all(|(i, b)| match i {
                4 | 7 => b == b'-',
                _ => b.is_ascii_digit(),
            })
    };
    let starts = text.char_indices().map(|(i, _)| i);
    starts
        .filter_map(|i| text.get(i..i + 10))
        .find(|t| is_date(t) && (t.starts_with("19") || t.starts_with("20")))
}

const EMULATORS: &[&str] = &["qemu", "emulat", "simulat", "gem5", "renode", "fvp"];

/// Times on an emulated processor.
pub(super) fn emulated(context: &Context) -> Vec<Outcome> {
    let on = |f: &Figure| {
        let emulated = |v: &&String| {
            let words = v.to_lowercase();
            EMULATORS.iter().any(|e| words.contains(e))
        };
        f.conditions.values().find(emulated).cloned()
    };
    let timed = |f: &Figure| {
        matches!(
            f.printed.unit.dimension,
            Dimension::Time | Dimension::Rate | Dimension::Bandwidth | Dimension::Cycles
        )
    };
    let mut machines: BTreeMap<String, Vec<&Figure>> = BTreeMap::new();
    for figure in context.statements.figures.iter().filter(|f| timed(f)) {
        if let Some(machine) = on(figure) {
            machines.entry(machine).or_default().push(figure);
        }
    }
    let one = |(machine, figures): (String, Vec<&Figure>)| {
        let mut outcome = outcome(
            "emulated",
            Verdict::CannotBeKnown,
            &figures,
            "measured on an emulated machine, which says nothing about a real one",
            format!("{} figures of time on {machine}", figures.len()),
        );
        outcome.place = "the whole source".to_owned();
        outcome
    };
    machines.into_iter().map(one).collect()
}

/// Limits without a source, and figures beyond their limit.
pub(super) fn requirements(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for requirement in &context.statements.requirements {
        let figures = context.fitting(&requirement.on);
        let place = format!("{} ({})", requirement.place, requirement.id);
        let mut source = outcome(
            "requirement",
            match requirement.source {
                Some(_) => Verdict::NoObjection,
                None => Verdict::CannotBeKnown,
            },
            &figures,
            match &requirement.source {
                Some(source) => format!("the limit is from {source}"),
                None => "the source does not say where this limit comes from".to_owned(),
            },
            requirement.text.clone(),
        );
        source.place.clone_from(&place);
        found.push(source);
        let numbers = crate::parse::numbers(&requirement.text).unwrap_or_default();
        let bounds = |b: Bound| matches!(b, Bound::Below | Bound::Above);
        let Some(limit) = numbers.into_iter().rev().find(|n| bounds(n.bound)) else {
            continue;
        };
        for figure in figures {
            let unit = limit
                .unit
                .clone()
                .unwrap_or_else(|| figure.printed.unit.clone());
            if unit.dimension != figure.printed.unit.dimension || limit.bound == Bound::Rounded {
                continue;
            }
            let line = limit.value * unit.factor;
            let is = interval(figure);
            let keeps = match limit.bound {
                Bound::Below => is.lo <= line,
                _ => is.hi >= line,
            };
            let calculation = format!("{} against {}", printed(figure), requirement.text);
            // Of a mean or median single values lie above, which a limit on the mean or median itself allows.
            let of_middle = limit.bound == Bound::Below
                && !names_middle(&requirement.text, figure.statistic)
                && matches!(figure.quantity, Quantity::Latency | Quantity::Time)
                && matches!(
                    figure.statistic,
                    Statistic::Mean | Statistic::Percentile(50.0)
                );
            let mut kept = match keeps {
                true if of_middle => outcome(
                    "requirement",
                    Verdict::CannotBeKnown,
                    &[figure],
                    format!(
                        "a {} within the limit does not show that single values are within it",
                        figure.statistic
                    ),
                    calculation,
                ),
                true => outcome(
                    "requirement",
                    Verdict::NoObjection,
                    &[figure],
                    "within its limit",
                    calculation,
                ),
                false => outcome(
                    "requirement",
                    Verdict::Inconsistent,
                    &[figure],
                    format!("{} is beyond its limit", named(figure)),
                    calculation,
                ),
            };
            kept.place.clone_from(&place);
            found.push(kept);
        }
    }
    found
}

/// Whether a text has a word for this mean or median.
fn names_middle(text: &str, statistic: Statistic) -> bool {
    let words: &[&str] = match statistic {
        Statistic::Mean => &["mean", "average", "avg"],
        Statistic::Percentile(50.0) => &["median", "p50"],
        _ => &[],
    };
    let text = text.to_lowercase();
    let mut said = text.split(|c: char| !c.is_alphanumeric());
    said.any(|word| words.contains(&word))
}

/// Statistics without n, and single values without a statistic.
pub(super) fn not_stated(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    let timed = |f: &Figure| {
        matches!(
            f.quantity,
            Quantity::Latency
                | Quantity::Time
                | Quantity::CpuTime
                | Quantity::Cycles
                | Quantity::Instructions
        )
    };
    let statistic = |f: &Figure| {
        matches!(
            f.statistic,
            Statistic::Mean
                | Statistic::Percentile(_)
                | Statistic::Sd
                | Statistic::Max
                | Statistic::Min
        )
    };
    let in_table = |f: &Figure| !f.place.row.is_empty();
    for figures in by_place(context, |f| {
        timed(f) && statistic(f) && f.n.is_none() && in_table(f)
    }) {
        found.push(outcome(
            "not-stated",
            Verdict::CannotBeKnown,
            &figures,
            "the source does not say how many values these are based on",
            format!("{} without sample size", counted(figures.len(), "figure")),
        ));
    }
    let alone = |f: &Figure| timed(f) && f.statistic == Statistic::Value && in_table(f);
    for figures in by_place(context, alone) {
        found.push(outcome(
            "not-stated",
            Verdict::CannotBeKnown,
            &figures,
            "the source does not say whether these are means, medians or single runs, nor how much they vary",
            format!("{} without a statistic", counted(figures.len(), "figure")),
        ));
    }
    found
}
