//! The stacks of a question, best first, and the figures that they are ranked by.
//!
//! A stack is best among those that deliver and of which no trial failed: one that drops more than [`ENOUGH`] allows is
//! named apart, with what it delivers, and so is one whose figures are those of the trials that survived; whatever is lost is said of every stack that is called best. Stacks whose
//! intervals overlap that of the best cannot be told from it, and are said to be so. Yardsticks are never
//! best.

use crate::question::Question;
use dyno_model::{Metric, TrialFigure};
use dyno_report::{ExperimentSummary, duration, sig3};
use dyno_stats::{Estimate, Latency, Quantile};

/// What delivers less of what it was offered is not called fastest beside what delivers; the same as in the
/// RWTH tables of `dyno show`.
pub(crate) const ENOUGH: f64 = 0.99;

/// How a stack comes out.
pub(crate) enum Standing {
    Delivers(Estimate),
    /// Of what survived: trials failed, or receivers stayed deaf in them.
    Fails(Estimate),
    Drops(Estimate),
    Infinite,
    /// No figure, and why.
    Without(String),
    Failed(String),
}

pub(crate) struct Entry<'a> {
    pub(crate) place: usize,
    pub(crate) e: &'a ExperimentSummary,
    pub(crate) name: String,
    pub(crate) standing: Standing,
}

/// The stacks of a question, best first.
pub(crate) struct Ranked<'a> {
    pub(crate) entries: Vec<Entry<'a>>,
    /// The places of the best one and of those that cannot be told from it.
    pub(crate) best: Vec<usize>,
    pub(crate) metric: Metric,
}

pub(crate) fn ranked<'a>(question: &Question<'a>) -> Ranked<'a> {
    let all = &question.experiments;
    let mut recorded = all
        .iter()
        .map(|(_, e)| *e)
        .filter(|e| e.headline_metric().is_some());
    let first = recorded.next().or(all.first().map(|(_, e)| *e));
    let metric = first.map_or(Metric::Rtt, ExperimentSummary::headline);
    let mut entries: Vec<Entry<'a>> = all
        .iter()
        .map(|(place, e)| Entry::new(*place, e, metric, question.mixes_waits))
        .collect();
    // Equal values keep the plan's order.
    entries.sort_by(|a, b| a.rank().cmp(&b.rank()).then(a.p50().total_cmp(&b.p50())));
    let best = best(&entries);
    Ranked {
        entries,
        best,
        metric,
    }
}

/// The first one, and those whose intervals reach down to its own.
fn best(entries: &[Entry<'_>]) -> Vec<usize> {
    let Some((first, highest)) = entries.first().and_then(|x| {
        let estimate = x.standing.compared()?;
        Some((x, ns(&estimate.hi)))
    }) else {
        return Vec::new();
    };
    let reaches = |x: &&Entry<'_>| {
        x.rank() == first.rank() && x.standing.compared().is_some_and(|e| ns(&e.lo) <= highest)
    };
    entries.iter().filter(reaches).map(|x| x.place).collect()
}

impl Standing {
    /// The p50 of what may be called best.
    pub(crate) fn compared(&self) -> Option<&Estimate> {
        match self {
            Standing::Delivers(e) | Standing::Fails(e) | Standing::Drops(e) => Some(e),
            Standing::Infinite | Standing::Without(_) | Standing::Failed(_) => None,
        }
    }
}

impl<'a> Entry<'a> {
    fn new(place: usize, e: &'a ExperimentSummary, metric: Metric, names_wait: bool) -> Entry<'a> {
        let mut name = e.experiment.stack.clone();
        if e.experiment.paired {
            name.push_str(" (pair)");
        }
        if names_wait {
            name.push_str(&format!(" ({})", e.experiment.wait));
        }
        Entry {
            place,
            e,
            name,
            standing: standing(e, metric),
        }
    }

    /// Best first.
    pub(crate) fn rank(&self) -> u8 {
        match self.standing {
            Standing::Delivers(_) => 0,
            Standing::Fails(_) => 1,
            Standing::Drops(_) => 2,
            Standing::Infinite => 3,
            Standing::Without(_) => 4,
            Standing::Failed(_) => 5,
        }
    }

    /// In nanoseconds; infinite without one.
    pub(crate) fn p50(&self) -> f64 {
        self.standing
            .compared()
            .map_or(f64::INFINITY, |e| ns(&e.value))
    }
}

fn standing(e: &ExperimentSummary, metric: Metric) -> Standing {
    if e.trials.counted == 0 {
        return match e.failures.first() {
            Some(first) => Standing::Failed(format!("{} in {}", first.kind, first.step)),
            None => Standing::Without("not run".into()),
        };
    }
    if let Some(bound) = e.unresolved() {
        return Standing::Without(format!(
            "one-way times are not shown, because the clocks of the hosts may differ by up to {bound}"
        ));
    }
    let Some(own) = e.metrics.get(&metric) else {
        return Standing::Without(format!("no {} was recorded", metric.phrase()));
    };
    match own.quantiles[0] {
        Quantile::Refused { have, need } => {
            Standing::Without(format!("p50 needs {need} samples, has {have}"))
        }
        Quantile::Wide { interval, .. } => {
            let (lo, hi) = (ends(&interval.lo), ends(&interval.hi));
            Standing::Without(format!("its p50 interval is too wide, {lo} to {hi}"))
        }
        Quantile::Estimated(p50) if p50.value == Latency::Infinite => Standing::Infinite,
        Quantile::Estimated(p50) => match e.delivered_ratio() {
            // A fault loses messages; what counts is whether it recovers.
            Some(ratio) if ratio < ENOUGH && e.outage.is_none() => Standing::Drops(p50),
            _ if e.trials.failed > 0 || is_deaf(e) => Standing::Fails(p50),
            _ => Standing::Delivers(p50),
        },
    }
}

/// Whether a receiver of some trial never got a newer message after the faults.
pub(crate) fn is_deaf(e: &ExperimentSummary) -> bool {
    e.outage.as_ref().is_some_and(|o| o.deaf() > 0)
}

fn ends(latency: &Latency) -> String {
    latency.finite().map_or_else(|| "∞".into(), duration)
}

/// Completed and failed.
pub(crate) fn trials(e: &ExperimentSummary) -> u64 {
    e.trials.completed + e.trials.failed
}

pub(crate) fn floor(e: &ExperimentSummary) -> Option<f64> {
    let ratio = e.floor.as_ref()?.p50_ratio.as_ref()?;
    ratio.value.finite()
}

/// What the ratio is to: the floor, or, where something is surely faster than that, the stack by its name.
pub(crate) fn yardstick(e: &ExperimentSummary) -> String {
    match &e.floor {
        Some(floor) if !floor.holds() => floor.stack.clone(),
        _ => "floor".into(),
    }
}

/// In nanoseconds per message, start or operation of a probe.
pub(crate) fn cpu(e: &ExperimentSummary) -> Option<f64> {
    e.median(match e.experiment.workload.kind().is_start() {
        true => TrialFigure::CpuNs,
        false => TrialFigure::CpuPerMessage,
    })
}

/// What the cost is shared among.
pub(crate) fn each(e: &ExperimentSummary) -> &'static str {
    match e.experiment.workload.kind() {
        kind if kind.is_start() => "start",
        kind if kind.is_probe() => "operation",
        _ => "message",
    }
}

pub(crate) fn ns(latency: &Latency) -> f64 {
    latency.finite().unwrap_or(f64::INFINITY)
}

/// `5.10 µs [5.02, 5.31]`: a finite value with its interval, in the value's unit.
pub(crate) fn interval(p50: &Estimate) -> String {
    let value = ns(&p50.value);
    let (scale, unit) = match value {
        v if v >= 1e9 => (1e9, "s"),
        v if v >= 1e6 => (1e6, "ms"),
        v if v >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    let end = |latency: &Latency| match latency.finite() {
        Some(ns) => sig3(ns / scale),
        None => "∞".into(),
    };
    format!(
        "{} {unit} [{}, {}]",
        sig3(value / scale),
        end(&p50.lo),
        end(&p50.hi)
    )
}
