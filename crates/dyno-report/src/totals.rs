//! What is added up or spread over the counted trials of an experiment: counts, rates and costs.

use crate::summary::{DaemonCost, Spread};
use dyno_model::record::ProcessCost;
use dyno_model::{COUNTS, Counts, TrialFigure, TrialRecord};
use std::collections::BTreeMap;

/// Sums saturate: a damaged record must not end a report.
pub(crate) fn add_counts<'a>(counts: impl Iterator<Item = &'a Counts>) -> Counts {
    let none = Counts {
        in_window: Some(0),
        ..Counts::default()
    };
    let mut counts = counts.peekable();
    if counts.peek().is_none() {
        return Counts::default();
    }
    counts.fold(none, |mut sum, own| {
        for count in COUNTS {
            let place = (count.place)(&mut sum);
            *place = place.saturating_add((count.of)(own));
        }
        // Known only where it is of every trial.
        let both = sum.in_window.zip(own.in_window);
        sum.in_window = both.map(|(a, b)| a.saturating_add(b));
        sum
    })
}

/// Rates and costs of these trials.
pub(crate) fn figures(trials: &[&TrialRecord]) -> BTreeMap<TrialFigure, Spread> {
    let spread = |figure: &TrialFigure| {
        let known = || trials.iter().filter_map(|t| figure.of(t));
        let fair = !figure.info().all_or_none || known().count() == trials.len();
        Some((*figure, Spread::of(known()).filter(|_| fair)?))
    };
    TrialFigure::ALL.iter().filter_map(spread).collect()
}

/// The part that some processes have in the costs of these trials, in the order of their start.
pub(crate) fn processes(
    trials: &[&TrialRecord],
    keep: fn(&ProcessCost) -> bool,
) -> Vec<DaemonCost> {
    let of = |t: &TrialRecord| t.cost.processes.clone().into_iter().filter(keep);
    let mut labels: Vec<String> = Vec::new();
    for p in trials.iter().flat_map(|t| of(t)) {
        if !labels.contains(&p.label) {
            labels.push(p.label);
        }
    }
    let one = |label: String| {
        let found: Vec<(&TrialRecord, ProcessCost)> = trials
            .iter()
            .filter_map(|t| Some((*t, of(t).find(|p| p.label == label)?)))
            .collect();
        let spread =
            |f: fn(&ProcessCost) -> u64| Spread::of(found.iter().map(|(_, p)| f(p) as f64));
        let per_message = |(t, p): &(&TrialRecord, ProcessCost)| {
            let received = t.counts.received;
            (received > 0).then(|| (p.user.0 + p.system.0) as f64 / received as f64)
        };
        Some(DaemonCost {
            cpu_ns: spread(|p| p.user.0 + p.system.0)?,
            cpu_ns_per_message: Spread::of(found.iter().filter_map(per_message)),
            switches: spread(|p| p.voluntary_switches + p.involuntary_switches)?,
            pss_bytes: spread(|p| p.pss_bytes)?,
            peak_rss_bytes: spread(|p| p.peak_rss_bytes)?,
            label,
        })
    };
    labels.into_iter().filter_map(one).collect()
}
