//! The stacks of a question, best first, and the figures that they are ranked by.
//!
//! A stack is best among those that deliver and of which no trial failed: one that drops more than [`ENOUGH`] allows is
//! named apart, with what it delivers, and so is one whose figures are those of the trials that survived; whatever is lost is said of every stack that is called best. Stacks whose
//! intervals overlap that of the best cannot be told from it, and are said to be so. Yardsticks are never
//! best.
//!
//! By the law of verdicts (ADR 34) a stack is called fastest only if all of its planned trials are there and succeeded,
//! and if it is so with the trials that the host disturbed as well.

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
    /// Of what survived: trials failed or are missing, receivers stayed deaf in them, or it delivers only where those
    /// are left out that the host disturbed.
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
    /// From where to where its p50 may be, in nanoseconds, whether the trials that the host disturbed count or not.
    pub(crate) reach: (f64, f64),
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
        x.standing.compared()?;
        Some((x, x.reach.1))
    }) else {
        return Vec::new();
    };
    let reaches = |x: &&Entry<'_>| x.rank() == first.rank() && x.reach.0 <= highest;
    entries.iter().filter(reaches).map(|x| x.place).collect()
}

impl Ranked<'_> {
    /// The places of the fastest one and of those that may be as fast. None where its figure is that of what survived, or where
    /// no other has a figure and the disturbed trials leave its own without an upper end.
    pub(crate) fn fastest(&self) -> Vec<usize> {
        match self.entries.first() {
            Some(first) if self.best.len() == 1 && first.is_open() => Vec::new(),
            Some(first) if first.is_whole() => {
                let whole = self
                    .entries
                    .iter()
                    .filter(|e| e.is_whole() && self.best.contains(&e.place));
                whole.map(|e| e.place).collect()
            }
            _ => Vec::new(),
        }
    }
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
        let standing = standing(e, metric);
        Entry {
            place,
            e,
            name,
            reach: standing
                .compared()
                .map_or((0.0, f64::INFINITY), |own| reach(e, metric, own)),
            standing,
        }
    }

    /// Whether what it shows is all that was planned, and holds with the trials that the host disturbed.
    pub(crate) fn is_whole(&self) -> bool {
        !fails(self.e)
    }

    /// Whether its p50 has an upper end only where the trials are left out that the host disturbed.
    pub(crate) fn is_open(&self) -> bool {
        let own = self.standing.compared().map(|own| ns(&own.hi));
        self.reach.1.is_infinite() && own.is_some_and(f64::is_finite)
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
            _ if fails(e) => Standing::Fails(p50),
            _ => Standing::Delivers(p50),
        },
    }
}

/// The interval of the p50, and what the disturbed trials make of it.
fn reach(e: &ExperimentSummary, metric: Metric, own: &Estimate) -> (f64, f64) {
    let (lo, hi) = (ns(&own.lo), ns(&own.hi));
    let Some(with) = &e.with_disturbed else {
        return (lo, hi);
    };
    match &with.metric.quantiles[0] {
        Quantile::Estimated(all) if metric == e.headline() => {
            (lo.min(ns(&all.lo)), hi.max(ns(&all.hi)))
        }
        Quantile::Wide { interval, .. } if metric == e.headline() => {
            (lo.min(ns(&interval.lo)), f64::INFINITY)
        }
        _ => (0.0, f64::INFINITY),
    }
}

/// Whether its figures are those of what survived.
fn fails(e: &ExperimentSummary) -> bool {
    let deaf = e.with_disturbed.as_ref().map_or(0, |with| with.deaf);
    e.trials.failed > 0
        || e.missing > 0
        || is_deaf(e)
        || deaf > 0
        || dropping_disturbed(e).is_some()
}

/// The share of the messages that arrived, where it is enough only without the trials that the host disturbed.
pub(crate) fn dropping_disturbed(e: &ExperimentSummary) -> Option<f64> {
    let counts = &e.with_disturbed.as_ref()?.counts;
    let ratio = counts.received as f64 / counts.offered.max(1) as f64;
    let is_enough = e.delivered_ratio().is_none_or(|own| own >= ENOUGH);
    (is_enough && e.outage.is_none() && counts.offered > 0 && ratio < ENOUGH).then_some(ratio)
}

/// Whether each of those that fail has failed trials.
pub(crate) fn all_failed<'a, 'b: 'a>(mut entries: impl Iterator<Item = &'a Entry<'b>>) -> bool {
    entries.all(|x| !matches!(x.standing, Standing::Fails(_)) || x.e.trials.failed > 0)
}

/// Whether a receiver of some trial never got a newer message after the faults.
pub(crate) fn is_deaf(e: &ExperimentSummary) -> bool {
    e.outage.as_ref().is_some_and(|o| o.deaf() > 0)
}

fn ends(latency: &Latency) -> String {
    latency.finite().map_or_else(|| "∞".into(), duration)
}

/// Completed, failed and missing.
pub(crate) fn trials(e: &ExperimentSummary) -> u64 {
    e.trials.completed + e.trials.failed + e.missing
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
