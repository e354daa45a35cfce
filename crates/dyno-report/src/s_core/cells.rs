//! What the study's tables are made of: sizes, tests, rows and single cells.

use crate::cells::kind;
use crate::grid::{Grid, Text};
use crate::number::{duration, latency_ns};
use crate::summary::{ExperimentSummary, MetricSummary, Spread, Summary};
use dyno_model::plan::Extent;
use dyno_model::{Metric, Placement, TrialFigure, WorkloadKind};
use dyno_stats::Quantile;

/// Messages of the study's stress test.
pub(super) const BATCH: u64 = 100;

/// The study's sizes in bytes, and what it calls them. One-way messages of 32 B stand for its 8 B.
pub(super) const SIZES: [(usize, &str); 7] = [
    (8, "Tiny (8B)"),
    (32, "Tiny (8B)"),
    (64, "Small (64B)"),
    (1 << 10, "Medium (1KB)"),
    (8 << 10, "Large (8KB)"),
    (64 << 10, "XLarge (64KB)"),
    (1 << 20, "XXLarge (1MB)"),
];

/// Where nothing can be said.
pub(super) const NONE: &str = "–";

/// What the study tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Echo,
    Throughput,
    Stress,
}

impl Test {
    pub(super) fn of(e: &ExperimentSummary) -> Option<Test> {
        match (e.experiment.workload.kind(), e.experiment.window) {
            (WorkloadKind::PingPong | WorkloadKind::Call, _) => Some(Test::Echo),
            (WorkloadKind::Flood, Extent::Messages(BATCH)) => Some(Test::Stress),
            (WorkloadKind::Flood, _) => Some(Test::Throughput),
            _ => None,
        }
    }
}

/// `Tiny (8B)`.
pub(super) fn size(e: &ExperimentSummary) -> Option<&'static str> {
    let bytes = e.experiment.payload.bytes();
    SIZES
        .iter()
        .find(|(b, _)| *b == bytes)
        .map(|(_, name)| *name)
}

pub(super) fn is_apart(e: &ExperimentSummary) -> bool {
    e.experiment.placement == Placement::Host
}

/// A table with a row for each experiment: stack and payload, our cells, and what the study printed.
pub(super) fn table(
    titles: &[&str],
    rows: &[&ExperimentSummary],
    cells: impl Fn(&ExperimentSummary) -> Vec<String>,
) -> Grid {
    let head = ["stack", "payload"].iter().chain(titles);
    let row = |e: &&ExperimentSummary| {
        let x = &e.experiment;
        let labels = [format!("{}{}", x.stack, kind(e)), x.payload.to_string()];
        labels.into_iter().chain(cells(e)).map(Text::from).collect()
    };
    Grid {
        head: head.map(|t| (*t).to_owned()).collect(),
        labels: 2,
        rows: rows.iter().map(row).collect(),
    }
}

pub(super) fn rtt(e: &ExperimentSummary) -> Option<&MetricSummary> {
    e.metrics.get(&Metric::Rtt)
}

pub(super) fn quantile(m: &MetricSummary, i: usize) -> String {
    match &m.quantiles[i] {
        Quantile::Estimated(q) => {
            let [value, lo, hi] = [q.value, q.lo, q.hi].map(|l| latency_ns(&l));
            format!("{} [{}, {}]", duration(value), duration(lo), duration(hi))
        }
        Quantile::Refused { .. } | Quantile::Wide { .. } => NONE.into(),
    }
}

pub(super) fn value(m: &MetricSummary, i: usize) -> Option<f64> {
    let ns = latency_ns(&m.quantiles[i].estimate()?.value);
    ns.is_finite().then_some(ns)
}

pub(super) fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| NONE.into())
}

/// As many cells as a row has that has no figure at all.
pub(super) fn empty(cells: usize) -> Vec<String> {
    vec![NONE.to_owned(); cells]
}

/// The standard deviation, where there are trials enough for one.
pub(super) fn sd(e: &ExperimentSummary, of: Spread) -> Option<f64> {
    (e.trials.counted > 1).then_some(of.sd)
}

pub(super) fn cpu_of(e: &ExperimentSummary) -> Option<Spread> {
    e.figure(TrialFigure::CpuPerMessage)
}

pub(super) fn rate(e: &ExperimentSummary) -> Option<f64> {
    e.median(TrialFigure::DeliveredHz).filter(|hz| *hz > 0.0)
}

/// The first leg of a chain alone under the same conditions, where the run has that.
pub(super) fn alone<'a>(
    summary: &'a Summary,
    e: &ExperimentSummary,
) -> Option<&'a ExperimentSummary> {
    let x = &e.experiment;
    let chain = summary.run.stacks.get(&x.stack)?.chain.as_ref()?;
    let leg = chain.legs.first()?;
    let wait = leg.wait.unwrap_or(x.wait);
    let wanted = (&leg.stack, x.payload, wait, leg.placement, x.echo_poll);
    let mut others = summary.experiments.iter();
    others.find(|l| {
        let y = &l.experiment;
        wanted == (&y.stack, y.payload, y.wait, y.placement, y.echo_poll)
            && Test::of(l) == Test::of(e)
            && (y.workload, y.topology) == (x.workload, x.topology)
            && !(l.is_base || l.is_floor || l.chain.is_some())
    })
}
