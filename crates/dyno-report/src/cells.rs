//! The contents of one cell of the table of stacks.

use crate::layout::Tone;
use crate::number::{self, Measured, TimeUnit};
use crate::summary::{ExperimentSummary, HostTail, MetricSummary};
use dyno_model::{Metric, TrialFigure};
use dyno_stats::Quantile;

/// The place of the p99 among the quantiles.
pub(crate) const P99: usize = 2;

/// What its row is there for where it is none of the suite's own: a yardstick, or one leg of a chain alone.
pub(crate) fn kind(e: &ExperimentSummary) -> &'static str {
    match (e.is_floor, e.is_leg) {
        (true, _) => " (floor)",
        (false, true) => " (leg)",
        (false, false) => "",
    }
}

/// The stack's name with the marks of its row: `~` unstable, `(floor)` a yardstick, `(leg)` one of a chain alone,
/// `(reference)` a yardstick that is not below all others, `(loopback)` an exchange without a second side, `(base)`
/// what others are compared with, `(disturbed)` without a trial that the host did not disturb.
pub(crate) fn marked_stack(e: &ExperimentSummary) -> String {
    let mark = if e.is_unstable() { "~ " } else { "" };
    let mut stack = format!("{mark}{}", e.experiment.stack);
    for (applies, kind) in [
        (e.undercut_by.is_empty(), kind(e)),
        (e.is_floor && !e.undercut_by.is_empty(), " (reference)"),
        (e.is_loopback && !e.is_floor, " (loopback)"),
        (e.is_base, " (base)"),
        (e.trials.all_disturbed(), " (disturbed)"),
    ] {
        if applies {
            stack.push_str(kind);
        }
    }
    stack
}

pub(crate) fn host_p99(e: &ExperimentSummary) -> Option<&HostTail> {
    e.host.as_ref()?.tail[P99].as_ref()
}

/// The delay, and the share of the tail that it may account for.
pub(crate) fn own_delay(tail: &HostTail, unit: TimeUnit) -> Measured {
    let share = tail.explained.map(|share| format!("{:.0}", 100.0 * share));
    Measured {
        value: number::sig3(tail.own_ns / unit.ns()),
        beside: share
            .as_ref()
            .map_or_else(String::new, |s| format!("({s} %)")),
        below: share.map_or_else(String::new, |s| format!("{s}%")),
    }
}

pub(crate) fn tone(e: &ExperimentSummary) -> Tone {
    if e.trials.counted == 0 && e.trials.failed > 0 {
        Tone::Failed
    } else if e.is_unstable() || e.trials.all_disturbed() {
        Tone::Unstable
    } else if e.is_floor {
        Tone::Floor
    } else {
        Tone::Plain
    }
}

/// What stands in the place of one-way figures that the clocks do not bear.
pub(crate) fn unresolved(e: &ExperimentSummary, index: usize) -> Measured {
    match e.unresolved() {
        Some(bound) if index == 0 => Measured {
            value: "unresolved".into(),
            beside: format!("(clocks ±{bound})"),
            below: format!("±{bound}"),
        },
        _ => Measured::default(),
    }
}

/// What stands beside a headline: a metric that is recorded for each message, as it is.
pub(crate) fn beside(e: &ExperimentSummary, metric: Metric) -> Option<&MetricSummary> {
    let is_known = e.is_resolvable(metric) != Some(false);
    let stands_apart = is_known && e.headline() != metric;
    e.metrics.get(&metric).filter(|_| stands_apart)
}

/// What stands in the place of a missing p50.
pub(crate) fn absence(e: &ExperimentSummary) -> Measured {
    match e.failures.first() {
        Some(first) => Measured {
            value: "failed".into(),
            beside: format!("({})", first.kind),
            below: first.kind.to_string(),
        },
        None if e.trials.counted > 0 => Measured::bare("none"),
        None => Measured::bare("not run"),
    }
}

pub(crate) fn floor(e: &ExperimentSummary) -> Measured {
    match &e.floor {
        Some(floor) => match &floor.p50_ratio {
            Some(ratio) => Measured::ratio(ratio),
            None => Measured::default(),
        },
        // Nothing is known of a floor that failed, not even that it is as fast as itself.
        None if e.is_floor && e.trials.counted > 0 => Measured::bare("1"),
        None => Measured::default(),
    }
}

pub(crate) fn delivered(e: &ExperimentSummary) -> Measured {
    let Some(ratio) = e.delivered_ratio() else {
        return Measured::default();
    };
    Measured {
        value: number::share(ratio),
        beside: match e.missing_messages() {
            None => String::new(),
            Some(missing) => format!("({missing})"),
        },
        below: String::new(),
    }
}

pub(crate) fn per_second(rate: Option<f64>, unit: &str) -> Measured {
    match rate {
        Some(rate) => Measured::bare(number::with_prefix(rate, unit)),
        None => Measured::default(),
    }
}

/// Whether the rate that arrives is what the workload is for.
pub(crate) fn is_saturating(e: &ExperimentSummary) -> bool {
    e.experiment.workload.kind().info().is_of_rates
}

/// A finite quantile of a metric in nanoseconds, else infinity.
pub(crate) fn quantile_ns(e: &ExperimentSummary, metric: Metric, index: usize) -> f64 {
    match e.metrics.get(&metric).map(|m| &m.quantiles[index]) {
        Some(Quantile::Estimated(estimate)) => number::latency_ns(&estimate.value),
        _ => f64::INFINITY,
    }
}

/// p50 of the headline in nanoseconds for sorting: unknown after infinite after finite. Of silence the median trial.
pub(crate) fn p50_ns(e: &ExperimentSummary) -> f64 {
    if e.experiment.workload.kind().is_idle() {
        return e.median(TrialFigure::CpuEach).unwrap_or(f64::NAN);
    }
    match e.headline_metric().map(|m| &m.quantiles[0]) {
        Some(Quantile::Estimated(estimate)) => number::latency_ns(&estimate.value),
        _ => f64::NAN,
    }
}

/// The unit of the first column, unless a column's own values would have too many digits in it.
pub(crate) fn column_unit(base: TimeUnit, ns: impl Iterator<Item = f64>) -> TimeUnit {
    let mut values: Vec<f64> = ns.filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    match values.get(values.len() / 2) {
        Some(&median) if median >= 1e4 * base.ns() => TimeUnit::of(median),
        _ => base,
    }
}
