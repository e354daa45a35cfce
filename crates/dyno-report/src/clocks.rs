//! One-way times between hosts: how well the hosts' clocks are known, and where not well enough.
//!
//! A bound is hard, so no statistics are made of it: over several trials the largest holds.

use crate::findings::listed;
use crate::number::{duration, latency_ns};
use crate::remark::Item;
use crate::summary::{ExperimentSummary, HostClockSummary, MetricSummary, Spread, Summary};
use crate::view::View;
use dyno_model::{Experiment, Metric, Nanos, TrialRecord, WorkloadKind, factors};
use dyno_stats::{Estimate, Latency};

/// The bound must not exceed this share of the median of what is to be told.
const SHARE: f64 = 0.1;

/// The most by which one-way times of these trials are wrong; `None` where both sides had one clock.
pub fn clock_bound(trials: &[&TrialRecord]) -> Option<Nanos> {
    trials.iter().filter_map(|t| t.one_way_bound).max()
}

/// What the clocks of hosts may have added to a time between them or taken from it, in nanoseconds; zero for other times.
pub fn clock_slack(trials: &[&TrialRecord], metric: Metric) -> f64 {
    let bound = clock_bound(trials).filter(|_| metric.is_between_hosts());
    bound.map_or(0.0, |bound| bound.0 as f64)
}

/// The interval of what a ratio would be with one clock, by the shares (of what is divided, of what it is divided by) that clocks
/// may have changed the values by. A share that is not known, such as that of zero, is infinite.
pub fn widened(ratio: &Estimate, (above, below): (f64, f64)) -> Estimate {
    let less = |share: f64| (1.0 - share).max(0.0);
    let times = |end: Latency, factor: f64| match end {
        Latency::Finite(v) if factor.is_finite() => Latency::Finite(v * factor),
        _ => Latency::Infinite,
    };
    Estimate {
        value: ratio.value,
        lo: times(ratio.lo, less(above) / (1.0 + below)),
        hi: times(ratio.hi, (1.0 + above) / less(below)),
    }
}

/// Whether a bound is too wide for a median in nanoseconds: more than a tenth of it.
pub fn is_too_wide(bound: Nanos, p50_ns: f64) -> bool {
    bound.0 as f64 > SHARE * p50_ns
}

/// The bound on this experiment's times, where they are one-way.
pub(crate) fn bound_of(experiment: &Experiment, trials: &[&TrialRecord]) -> Option<Nanos> {
    clock_bound(trials).filter(|_| experiment.workload.is_one_way())
}

pub(crate) fn hosts(trials: &[&TrialRecord]) -> Vec<HostClockSummary> {
    let mut names: Vec<&str> = Vec::new();
    for clock in trials.iter().flat_map(|t| &t.clocks) {
        if !names.contains(&clock.host.as_str()) {
            names.push(&clock.host);
        }
    }
    let summary = |name: &str| {
        let of = || {
            let all = trials.iter().flat_map(|t| &t.clocks);
            all.filter(|c| c.host == name)
        };
        Some(HostClockSummary {
            host: name.to_owned(),
            bound_ns: Spread::of(of().map(|c| c.bound.0 as f64))?,
            residual_ns: Spread::of(of().map(|c| c.residual_ns as f64))?,
            drift_ppm: Spread::of(of().map(|c| c.drift_ppm))?,
            shortest_ns: Spread::of(of().map(|c| c.shortest.0 as f64))?,
            exchanges: of().map(|c| u64::from(c.exchanges)).sum(),
            ptp: of().next_back().and_then(|c| c.ptp.clone()),
        })
    };
    names.into_iter().filter_map(summary).collect()
}

impl ExperimentSummary {
    /// Whether the clocks are known well enough for this metric; `None` where its times are of one
    /// clock, or its median is not known.
    pub fn is_resolvable(&self, metric: Metric) -> Option<bool> {
        let bound = self.clock_bound.filter(|_| metric.is_between_hosts())?;
        let p50 = p50_ns(self.metrics.get(&metric)?)?;
        Some(!is_too_wide(bound, p50))
    }

    /// The bound, where it is too wide for the headline: its figures say nothing.
    pub fn unresolved(&self) -> Option<Nanos> {
        match self.is_resolvable(self.headline()) {
            Some(false) => self.clock_bound,
            Some(true) | None => None,
        }
    }
}

/// The median, infinite where more than half was lost.
fn p50_ns(metric: &MetricSummary) -> Option<f64> {
    metric.quantiles[0].estimate().map(|e| latency_ns(&e.value))
}

/// The median round trip of the same stack under the same factors, if the run has it.
fn round_trip(summary: &Summary, e: &ExperimentSummary) -> Option<f64> {
    let factors = |x: &Experiment| {
        let same = factors::all().filter(|f| !["workload", "window"].contains(&f.title));
        let keys: Vec<String> = same.map(|f| f.key(x)).collect();
        (x.stack.clone(), keys)
    };
    let own = factors(&e.experiment);
    let found = summary.experiments.iter().find(|r| {
        r.experiment.workload.kind() == WorkloadKind::PingPong
            && r.is_base == e.is_base
            && factors(&r.experiment) == own
    })?;
    p50_ns(found.metrics.get(&Metric::Rtt)?)
}

/// What is to be said below a table.
pub(crate) fn remarks(view: &View<'_>) -> Vec<Item> {
    let rows = || view.rows.iter().filter(|e| e.clock_bound.is_some());
    let resolved = rows().filter(|e| e.unresolved().is_none());
    let mut items = Vec::new();
    if let Some(bound) = resolved.filter_map(|e| e.clock_bound).max() {
        items.push(Item::from(format!(
            "one-way latencies between hosts: clocks known to ±{bound}"
        )));
    }
    let unresolved: Vec<String> = rows()
        .filter_map(|e| {
            let bound = e.unresolved()?;
            let round_trip = match round_trip(view.summary, e) {
                Some(p50) if p50.is_finite() => {
                    format!("; round trip p50 {}", duration(p50))
                }
                Some(_) => "; round trip p50 ∞ (lost)".to_owned(),
                None => String::new(),
            };
            Some(format!(
                "{}: clocks known to ±{bound}{round_trip}",
                view.label(e)
            ))
        })
        .collect();
    if !unresolved.is_empty() {
        items.push(Item {
            text:
                "one-way latency cannot be resolved here, because the bound on the clocks is more \
                   than a tenth of the median:"
                    .into(),
            lines: unresolved,
        });
    }
    let mut ptp: Vec<String> = Vec::new();
    for clock in rows().flat_map(|e| &e.clocks) {
        if let Some(state) = &clock.ptp {
            let line = format!("{}: {state}", clock.host);
            if !ptp.contains(&line) {
                ptp.push(line);
            }
        }
    }
    if !ptp.is_empty() {
        items.push(Item::from(format!("linuxptp says: {}", listed(ptp))));
    }
    items
}
