//! Facts about the reliability of the figures, as remarks below a table. Rows with the same fact
//! share one remark, so that thirty rows do not take thirty lines.

use crate::flagged::{FlagRates, Flagged};
use crate::number::{Measured, duration, sig3};
use crate::remark::Item;
use crate::summary::{
    Covariate, CovariateSummary, ExperimentSummary, HostSummary, HostTail, ModesSummary, NoRatio,
    PrecisionSummary, QUANTILES, Spread,
};
use crate::view::View;
use dyno_stats::{Latency, Quantile};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Of a longer list of rows only the first are named.
const MOST_NAMED: usize = 8;

/// Of more reasons for disturbed trials only the most frequent are shown.
const MOST_REASONS: usize = 5;

/// Host noise is remarked on from this share of a tail on.
const MUCH_OF_A_TAIL: f64 = 0.5;

/// Two modes within the window, and what goes with them.
pub(crate) fn modes(view: &View<'_>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for e in &view.rows {
        let Some(modes) = &e.modes else { continue };
        let (text, by) = explanation(modes);
        let mut line = format!(
            "{}: p50 {} and {}, {} of the blocks slow",
            view.label(e),
            duration(modes.low_ns),
            duration(modes.high_ns),
            percent(modes.high_share)
        );
        if let Some(covariate) = by {
            line.push_str(&format!("; {}", groups(covariate)));
        }
        Item::add(&mut items, text, line);
    }
    for lines in items.iter_mut().map(|item| &mut item.lines) {
        cut(lines, MOST_NAMED, "rows");
    }
    items
}

/// Leaves the first lines of many, and says how many more there are.
fn cut(lines: &mut Vec<String>, most: usize, what: &str) {
    match lines.len().saturating_sub(most) {
        0 => {}
        n => {
            lines.truncate(most);
            let what = match n {
                1 => what.trim_end_matches('s'),
                _ => what,
            };
            lines.push(format!("and {n} more {what}; see --format json"));
        }
    }
}

/// What tells modes apart, in words, and the covariate that does.
fn explanation(modes: &ModesSummary) -> (String, Option<&CovariateSummary>) {
    if let Some(cause) = modes.cause() {
        let covariate = name(cause.covariate);
        return (format!("the modes differ in {covariate}:"), Some(cause));
    }
    match modes.covariates.first() {
        Some(best) if best.strength >= ModesSummary::STRENGTH => (
            format!(
                "the modes may differ in {}, but there are too few trials to show it:",
                name(best.covariate)
            ),
            Some(best),
        ),
        _ => ("no recorded quantity explains the difference:".into(), None),
    }
}

fn name(covariate: Covariate) -> &'static str {
    match covariate {
        Covariate::Sharing => "whether participants shared a CPU",
        Covariate::Cpus => "the CPUs of the participants",
        Covariate::CoreDistance => {
            "the distance between the two CPUs (round trip of a cache line before the trial)"
        }
        Covariate::Frequency => "the CPUs' frequency",
        Covariate::ForeignLoad => "the load of other processes",
        Covariate::StolenTime => "the CPU time taken by the hypervisor",
        Covariate::Gaps => "the gaps before the trial",
    }
}

fn groups(covariate: &CovariateSummary) -> String {
    const MOST: usize = 4;
    let mut groups: Vec<_> = covariate.groups.iter().collect();
    groups.sort_by_key(|g| Reverse(g.low + g.high));
    let text = |(label, high, all): (&str, u64, u64)| format!("{label}: {high} of {all} slow");
    let mut texts: Vec<String> = groups
        .iter()
        .take(MOST)
        .map(|g| text((&g.label, g.high, g.low + g.high)))
        .collect();
    let rest = groups.iter().skip(MOST);
    let (high, all) = rest.fold((0, 0), |(h, a), g| (h + g.high, a + g.low + g.high));
    if all > 0 {
        texts.push(text(("others", high, all)));
    }
    texts.join(", ")
}

/// Warm-ups that ended without a steady series, and windows in which the p50 drifts.
pub(crate) fn not_steady(view: &View<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    let unsteady: Vec<(&ExperimentSummary, u64)> = view
        .rows
        .iter()
        .filter_map(|e| Some((*e, e.warmup?.unsteady)))
        .filter(|(_, n)| *n > 0)
        .collect();
    if !unsteady.is_empty() {
        let trials: u64 = unsteady.iter().map(|(_, n)| n).sum();
        let all: u64 = view.rows.iter().map(|e| e.trials.counted).sum();
        let longest = unsteady
            .iter()
            .filter_map(|(e, _)| e.experiment.settle)
            .max();
        let longest = longest.map_or_else(String::new, |ns| format!(" of at most {ns}"));
        let rows = unsteady.iter();
        let rows = rows.map(|(e, n)| format!("{} ({n} of {})", view.label(e), e.trials.counted));
        items.push(Item::from(format!(
            "{trials} of {all} trials were not yet steady after a warm-up{longest}: {}",
            listed(rows.collect())
        )));
    }
    let drifting = view.rows.iter().filter_map(|e| {
        let ratio = Measured::ratio(&e.drift?).line();
        Some(format!("{} × {ratio}", view.label(e)))
    });
    let drifting: Vec<String> = drifting.collect();
    if !drifting.is_empty() {
        items.push(Item::from(format!(
            "the p50 drifts within the window (second half divided by first half): {}",
            listed(drifting)
        )));
    }
    items
}

/// Floors that are none, and rows without a ratio although they have a floor.
pub(crate) fn floor(view: &View<'_>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for e in &view.rows {
        let Some(floor) = e.floor.as_ref().filter(|f| !f.holds()) else {
            continue;
        };
        let text = format!(
            "{} (wait {}) is only a reference here and not a floor, because the whole interval of \
             another stack's ratio to it is below 1:",
            floor.stack, e.experiment.wait
        );
        let mut below = floor.undercut_by.iter();
        let Some((_, ratio)) = below.find(|(stack, _)| *stack == e.experiment.stack) else {
            continue;
        };
        let line = format!(
            "{}: {} times it",
            view.label(e),
            Measured::ratio(ratio).line()
        );
        Item::add(&mut items, text, line);
    }
    for lines in items.iter_mut().map(|item| &mut item.lines) {
        cut(lines, MOST_NAMED, "rows");
    }
    let mut without: BTreeMap<NoRatio, Vec<String>> = BTreeMap::new();
    for e in &view.rows {
        // What has no p50 at all shows that in its row.
        let reason = e.floor.as_ref().and_then(|f| f.without);
        if let Some(reason) = reason.filter(|r| *r != NoRatio::Unknown) {
            without.entry(reason).or_default().push(view.label(e));
        }
    }
    items.extend(without.into_iter().map(|(reason, rows)| {
        let (reason, rows) = (reason.as_str(), listed(rows));
        Item::from(format!(
            "no {}, because {reason}: {rows}",
            view.ratio_title()
        ))
    }));
    items
}

/// What the host did to trials and to tails.
pub(crate) fn host(view: &View<'_>) -> Vec<Item> {
    let mut items = disturbed(view);
    if let Some(rates) = FlagRates::of(view.rows.iter().copied()) {
        // Only the first remarks are shown of all.
        let place = rates.odd().map_or(items.len(), |_| 0);
        items.insert(place, by_stack(&rates));
    }
    items.extend(with_disturbed(view));
    items.extend(tails(view));
    items.extend(shares(view));
    items
}

fn disturbed(view: &View<'_>) -> Vec<Item> {
    let (all, some): (Vec<&ExperimentSummary>, Vec<_>) = view
        .rows
        .iter()
        .copied()
        .filter(|e| e.trials.disturbed > 0)
        .partition(|e| e.trials.all_disturbed());
    let mut items = Vec::new();
    if !some.is_empty() {
        let trials: u64 = some.iter().map(|e| e.trials.disturbed).sum();
        let of: u64 = view.rows.iter().map(|e| e.trials.completed).sum();
        let rows = some.iter();
        let rows = rows.map(|e| format!("{} ({})", view.label(e), e.trials.disturbed));
        let does = if trials == 1 { "does" } else { "do" };
        items.push(Item {
            text: format!(
                "the host disturbed {trials} of {of} trials, which {does} not count: {}",
                listed(rows.collect())
            ),
            lines: reasons(&some),
        });
        let short = some.iter().filter(|e| e.trials.counted < e.trials.planned);
        let short = short.map(|e| {
            let (left, planned) = (e.trials.counted, e.trials.planned);
            format!("{} ({left} of {planned})", view.label(e))
        });
        let short: Vec<String> = short.collect();
        if !short.is_empty() {
            items.push(Item::from(format!(
                "fewer trials than planned remain: {}",
                listed(short)
            )));
        }
    }
    if !all.is_empty() {
        let rows = all.iter();
        let rows = rows.map(|e| format!("{} ({})", view.label(e), e.trials.disturbed));
        items.push(Item {
            text: format!(
                "the host disturbed every trial, so Dyno uses the disturbed trials: {}",
                listed(rows.collect())
            ),
            lines: reasons(&all),
        });
    }
    items
}

/// Whether the host disturbed trials of all stacks alike.
fn by_stack(rates: &FlagRates) -> Item {
    let text = |s: &Flagged| format!("{} {} of {}", s.stack, s.disturbed, s.completed);
    let stacks = listed(rates.stacks.iter().map(text).collect());
    let p = format!("p = {}, Fisher's exact test", sig3(rates.p));
    Item::from(match rates.odd() {
        None => {
            format!(
                "disturbed trials per stack, without repeats: {stacks}; chance alone can explain the differences ({p})"
            )
        }
        Some((odd, often)) => format!(
            "disturbed trials per stack, without repeats: {stacks}; chance alone is unlikely to explain \
             the differences ({p}): trials of {} are disturbed {often} than others. Find the cause \
             before you compare",
            odd.stack
        ),
    })
}

/// Quantiles that would be others if the disturbed trials counted: outside of the interval that is shown.
fn with_disturbed(view: &View<'_>) -> Option<Item> {
    let of_row = |e: &&ExperimentSummary| {
        let (with, counted) = (e.with_disturbed.as_ref()?, e.headline_metric()?);
        let pairs = counted.quantiles.iter().zip(&with.metric.quantiles);
        let named = QUANTILES.iter().zip(pairs);
        let moved: Vec<String> = named
            .filter_map(|((_, title, _), (without, with))| {
                Some(format!("{title} {}", moved(without, with)?))
            })
            .collect();
        (!moved.is_empty()).then(|| format!("{}: {}", view.label(e), moved.join(", ")))
    };
    let mut lines: Vec<String> = view.rows.iter().filter_map(of_row).collect();
    cut(&mut lines, MOST_NAMED, "rows");
    (!lines.is_empty()).then(|| Item {
        text: "including the disturbed trials would change these quantiles (without → with them):"
            .into(),
        lines,
    })
}

/// `6.80 µs → 12.1 ms`, where the second is outside of the first one's interval or is no figure any more.
fn moved(without: &Quantile, with: &Quantile) -> Option<String> {
    let own = without.estimate()?;
    let text = |latency: &Latency| latency.finite().map_or_else(|| "∞".into(), duration);
    let shown = match with {
        Quantile::Refused { .. } => return None,
        Quantile::Estimated(e) if own.lo <= e.value && e.value <= own.hi => return None,
        Quantile::Estimated(e) => text(&e.value),
        Quantile::Wide { interval, .. } => {
            format!("between {} and {}", text(&interval.lo), text(&interval.hi))
        }
    };
    Some(format!("{} → {shown}", text(&own.value)))
}

/// Causes by their sentence, with their trials: where numbers differ in digits that are not shown, they read alike.
pub(crate) fn read_alike(causes: impl Iterator<Item = (impl ToString, u64)>) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for (cause, count) in causes {
        let text = cause.to_string();
        match all.iter_mut().find(|(known, _)| *known == text) {
            Some((_, n)) => *n += count,
            None => all.push((text, count)),
        }
    }
    all
}

/// Why trials of these rows were disturbed, the most frequent reasons first.
fn reasons(rows: &[&ExperimentSummary]) -> Vec<String> {
    let all = rows.iter().flat_map(|e| &e.disturbances);
    let mut reasons = read_alike(all.map(|(cause, count)| (cause, *count)));
    reasons.sort_by_key(|(_, count)| Reverse(*count));
    let line = |(text, count): (String, u64)| match count {
        1 => text,
        n => format!("{n} × {text}"),
    };
    let mut lines: Vec<String> = reasons.into_iter().map(line).collect();
    cut(&mut lines, MOST_REASONS, "reasons");
    lines
}

/// One remark for each quantile of which the host explains much.
fn tails(view: &View<'_>) -> Vec<Item> {
    let quantiles = QUANTILES.iter().enumerate();
    let remark = |(i, (_, title, _)): (usize, &(_, &str, _))| {
        let explained = |e: &&ExperimentSummary| -> Option<f64> {
            let HostTail { explained, .. } = e.host.as_ref()?.tail[i]?;
            explained.filter(|share| *share >= MUCH_OF_A_TAIL)
        };
        let mut rows: Vec<(&ExperimentSummary, f64)> = view
            .rows
            .iter()
            .filter_map(|e| Some((*e, explained(e)?)))
            .collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (_, largest) = rows.first()?;
        let (_, smallest) = rows.last()?;
        let text = match rows.len() {
            1..=MOST_NAMED => {
                let named = rows.iter();
                let named = named.map(|(e, s)| format!("{} ({})", view.label(e), percent(*s)));
                listed(named.collect())
            }
            n => {
                let (low, high) = (percent(*smallest), percent(*largest));
                let range = match low == high {
                    true => high,
                    false => format!("{low} to {high}"),
                };
                format!("{n} of {} rows ({range})", view.rows.len())
            }
        };
        Some(Item::from(format!(
            "host noise may explain most of the difference between p50 and {title}: {text}"
        )))
    };
    quantiles.filter_map(remark).collect()
}

/// What others took of the CPUs, in one line for the whole table.
fn shares(view: &View<'_>) -> Option<Item> {
    type Share = fn(&HostSummary) -> Option<Spread>;
    const SHARES: [(&str, Share); 4] = [
        ("other processes", |h| h.foreign_share),
        ("kernel threads", |h| h.kernel_share),
        ("the hypervisor", |h| h.stolen_share),
        ("gaps before the trials", |h| h.gap_share),
    ];
    let hosts = || view.rows.iter().filter_map(|e| e.host.as_ref());
    let part = |(what, of): &(&str, Share)| {
        let over_rows = Spread::of(hosts().filter_map(|h| Some(of(h)?.median)))?;
        let (low, high) = (percent(over_rows.min), percent(over_rows.max));
        Some(match low == high {
            true => format!("{what} {low}"),
            false => format!("{what} {low} to {high}"),
        })
    };
    let parts: Vec<String> = SHARES.iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| {
        Item::from(format!(
            "load on the CPUs besides the trial, median trial of each row: {}",
            parts.join(", ")
        ))
    })
}

/// Whether the precision asked for was reached.
pub(crate) fn precision(view: &View<'_>) -> Vec<Item> {
    let of = |of_ratio: bool| {
        let rows: Vec<(&ExperimentSummary, PrecisionSummary)> = view
            .rows
            .iter()
            .filter_map(|e| Some((*e, e.precision?)))
            .filter(|(_, p)| p.of_ratio == of_ratio)
            .collect();
        let asked = rows.first()?.1;
        let what = match of_ratio {
            true => "'s ratio to the base",
            false => "",
        };
        let reached = rows.iter().filter(|(_, p)| p.reached()).count();
        let mut text = format!(
            "±{} for {}{what}: reached by {reached} of {} {}",
            percent(asked.asked),
            quantile_name(asked.quantile),
            rows.len(),
            if rows.len() == 1 { "row" } else { "rows" }
        );
        let missed = rows.iter().filter(|(_, p)| !p.reached());
        let missed: Vec<String> = missed
            .map(|(e, p)| format!("{} ({})", view.label(e), got(p)))
            .collect();
        if !missed.is_empty() {
            text.push_str(&format!("; missed: {}", listed(missed)));
        }
        Some(Item::from(text))
    };
    [of(false), of(true)].into_iter().flatten().collect()
}

fn got(p: &PrecisionSummary) -> String {
    match p.got {
        None => "no interval".into(),
        Some(share) if share.is_infinite() => "no bound".into(),
        // Upwards: what was missed must not look reached.
        Some(share) => format!("±{}", percent((1e3 * share).ceil() / 1e3)),
    }
}

fn quantile_name(q: f64) -> String {
    match QUANTILES.iter().find(|(_, _, rank)| *rank == q) {
        Some((_, title, _)) => (*title).to_owned(),
        // Through a rounded number, so that 0.995 is not 99.50000000000001.
        None => format!("p{}", (1e6 * 100.0 * q).round() / 1e6),
    }
}

/// The first few of a list.
pub(crate) fn listed(mut parts: Vec<String>) -> String {
    let more = parts.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        parts.truncate(MOST_NAMED);
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
}

/// A share in whole percents, below ten with one digit more.
fn percent(share: f64) -> String {
    let p = 100.0 * share;
    match p {
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p > 0.0 && p < 0.1 => "<0.1 %".into(),
        p => format!("{} %", (10.0 * p).round() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_short() {
        let shown = [0.0, 0.000_4, 0.05, 0.034_9, 0.099_6, 0.123, 1.0].map(percent);
        assert_eq!(
            shown,
            ["0 %", "<0.1 %", "5 %", "3.5 %", "10 %", "12 %", "100 %"]
        );
    }

    #[test]
    fn a_missed_precision_never_looks_reached() {
        let p = PrecisionSummary {
            metric: dyno_model::Metric::Rtt,
            quantile: 0.5,
            asked: 0.05,
            got: Some(0.050_01),
            of_ratio: false,
        };
        assert!(!p.reached());
        assert_eq!(got(&p), "±5.1 %");
        let endless = PrecisionSummary {
            got: Some(f64::INFINITY),
            ..p
        };
        assert_eq!(
            (got(&endless), endless.reached()),
            ("no bound".into(), false)
        );
    }

    #[test]
    fn quantiles_have_names() {
        assert_eq!(
            [0.5, 0.999, 0.995].map(quantile_name),
            ["p50", "p99.9", "p99.5"]
        );
    }

    #[test]
    fn a_long_list_is_cut() {
        let parts = |n: usize| (0..n).map(|i| i.to_string()).collect();
        assert_eq!(listed(parts(3)), "0, 1, 2");
        assert_eq!(listed(parts(10)), "0, 1, 2, 3, 4, 5, 6, 7, and 2 more");
    }
}
