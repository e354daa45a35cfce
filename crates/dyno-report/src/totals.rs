//! What is added up or spread over the counted trials of an experiment: counts, rates and costs.

use crate::summary::{CostSummary, DaemonCost, Spread, ThroughputSummary};
use dyno_model::record::{ProcessCost, Throughput};
use dyno_model::{Counts, TrialRecord};

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
    counts.fold(none, |a, b| Counts {
        offered: a.offered.saturating_add(b.offered),
        sent: a.sent.saturating_add(b.sent),
        received: a.received.saturating_add(b.received),
        lost: a.lost.saturating_add(b.lost),
        under_way: a.under_way.saturating_add(b.under_way),
        duplicated: a.duplicated.saturating_add(b.duplicated),
        reordered: a.reordered.saturating_add(b.reordered),
        corrupted: a.corrupted.saturating_add(b.corrupted),
        truncated: a.truncated.saturating_add(b.truncated),
        refused: a.refused.saturating_add(b.refused),
        late: a.late.saturating_add(b.late),
        // Known only where it is of every trial.
        in_window: a
            .in_window
            .zip(b.in_window)
            .map(|(a, b)| a.saturating_add(b)),
    })
}

/// Rates of these trials.
pub(crate) fn throughput(trials: &[&TrialRecord]) -> Option<ThroughputSummary> {
    let of = |f: fn(&Throughput) -> f64| Spread::of(trials.iter().map(|t| f(&t.throughput)));
    Some(ThroughputSummary {
        offered_hz: of(|t| t.offered_hz)?,
        sent_hz: of(|t| t.sent_hz)?,
        delivered_hz: of(|t| t.delivered_hz)?,
        delivered_bytes_per_s: of(|t| t.delivered_bytes_per_s)?,
        blocked_share: Spread::of(trials.iter().filter_map(|t| t.throughput.blocked())),
        in_window_hz: Spread::of(trials.iter().filter_map(|t| t.throughput.in_window_hz)),
    })
}

/// Costs of these trials.
pub(crate) fn cost(trials: &[&TrialRecord]) -> Option<CostSummary> {
    let sum = |f: fn(&ProcessCost) -> u64| {
        Spread::of(
            trials
                .iter()
                .map(|t| t.cost.processes.iter().map(|p| f(p) as f64).sum()),
        )
    };
    let busy = |t: &&TrialRecord| -> f64 {
        let ran = t.cost.processes.iter().filter(|p| p.wall.0 > 0);
        ran.map(|p| {
            let own = (p.user.0 + p.system.0).saturating_sub(p.pacing.0);
            own as f64 / p.wall.0 as f64
        })
        .sum()
    };
    let timed = |t: &&&TrialRecord| t.cost.processes.iter().any(|p| p.wall.0 > 0);
    // Of all or of none: those that happen to be long enough would be the dear ones.
    let host: Option<Vec<f64>> = trials.iter().map(|t| t.cost.host_cpu_figure()).collect();
    let whole = |f: fn(&TrialRecord) -> u64| Spread::of(trials.iter().map(|t| f(t) as f64));
    Some(CostSummary {
        cpu_ns: whole(|t| t.cost.cpu.0)?,
        user_ns: sum(|p| p.user.0)?,
        system_ns: sum(|p| p.system.0)?,
        pacing_ns: sum(|p| p.pacing.0)?,
        cpu_ns_per_message: Spread::of(trials.iter().filter_map(|t| t.cost.cpu_ns_per_message)),
        host_cpu_ns_per_message: host.and_then(Spread::of),
        busy_cpus: Spread::of(trials.iter().filter(timed).map(busy)),
        switches_per_message: Spread::of(trials.iter().filter_map(|t| t.cost.switches_per_message)),
        voluntary_switches: sum(|p| p.voluntary_switches)?,
        involuntary_switches: sum(|p| p.involuntary_switches)?,
        minor_faults: sum(|p| p.minor_faults)?,
        major_faults: sum(|p| p.major_faults)?,
        pss_bytes: whole(|t| t.cost.pss_bytes)?,
        peak_rss_bytes: whole(|t| t.cost.peak_rss_bytes)?,
    })
}

/// The daemons' part of the costs of these trials, in the order of their start.
pub(crate) fn daemons(trials: &[&TrialRecord]) -> Vec<DaemonCost> {
    let of = |t: &TrialRecord| t.cost.processes.clone().into_iter().filter(|p| p.daemon);
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
