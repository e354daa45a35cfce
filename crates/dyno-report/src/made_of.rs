//! Wake-ups of a round trip, which the kernel counted, at the cost that the probes of the same run found. It is an estimate and
//! no bound: a wake-up within a round trip may take less time than the probe's, which may find its CPU in a deeper sleep.
//!
//! A wake-up is counted where a thread went to sleep of its own will (`voluntary_switches`). What a library's own threads
//! do beside the message's way is counted as well.
//! System calls and copies without a sleep are not counted in a trial; `cargo xtask study made-of` counts them with the
//! kernel's tracepoints.

use crate::notes::Item;
use crate::number::{duration, share, sig3};
use crate::summary::{ExperimentSummary, Spread};
use crate::view::View;
use dyno_model::probe::{HandOver, Probe, Rest, Ring, Sides};
use dyno_model::record::{ProcessCost, TrialRecord};
use dyno_model::{Experiment, ExperimentId, Metric, Placement, Workload};
use dyno_stats::Latency;

/// The wake-ups of an experiment's round trip at the cost of a probe's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MadeOf {
    /// Wake-ups of one round trip.
    pub wake_ups: f64,
    /// What one costs here, in nanoseconds: the p50 of a probe.
    pub wake_up_ns: f64,
    /// The experiment of that probe.
    pub probe: ExperimentId,
    /// Both multiplied, over the p50 of the round trip.
    pub share: f64,
}

impl MadeOf {
    /// Both multiplied, in nanoseconds.
    pub fn ns(&self) -> f64 {
        self.wake_ups * self.wake_up_ns
    }
}

/// Fewer wake-ups of a round trip are none of its way.
const LEAST: f64 = 0.5;

/// Takes round trips apart, where the run holds probes of what they are made of.
pub(crate) fn link(all: &mut [ExperimentSummary]) {
    let found: Vec<Option<MadeOf>> = all.iter().map(|e| of(e, all)).collect();
    for (e, made_of) in all.iter_mut().zip(found) {
        e.made_of = made_of;
    }
}

fn of(e: &ExperimentSummary, all: &[ExperimentSummary]) -> Option<MadeOf> {
    let x = &e.experiment;
    let (p50, wake_ups) = counted(e)?;
    let (probe, wake_up_ns) = all.iter().find_map(|p| {
        let in_one = fits(&p.experiment, x)?;
        Some((p, self::p50(p, Metric::Probe)? / in_one))
    })?;
    Some(MadeOf {
        wake_ups,
        wake_up_ns,
        probe: probe.experiment.id,
        share: wake_ups * wake_up_ns / p50,
    })
}

/// The p50 of the round trip and its wake-ups, where there are any to take it apart with.
fn counted(e: &ExperimentSummary) -> Option<(f64, f64)> {
    let wake_ups = e.wake_ups.filter(|n| *n >= LEAST)?;
    let p50 = p50(e, Metric::Rtt)?;
    (e.experiment.placement != Placement::Host).then_some((p50, wake_ups))
}

/// Voluntary switches of all processes for each message: the median over the trials. Switches are counted from somewhat
/// before the window, and `switches_per_message` is over the messages of the same time.
pub(crate) fn wake_ups(trials: &[&TrialRecord]) -> Option<f64> {
    let of = |t: &&TrialRecord| {
        let sum = |switches: fn(&ProcessCost) -> u64| {
            let all = t.cost.processes.iter().map(switches);
            all.fold(0, u64::saturating_add) as f64
        };
        let voluntary = sum(|p| p.voluntary_switches);
        let both = voluntary + sum(|p| p.involuntary_switches);
        let share = (both > 0.0).then(|| voluntary / both)?;
        Some(share * t.cost.switches_per_message?)
    };
    Spread::of(trials.iter().filter_map(of)).map(|s| s.median)
}

fn p50(e: &ExperimentSummary, metric: Metric) -> Option<f64> {
    match e.metrics.get(&metric)?.quantiles[0].estimate()?.value {
        Latency::Finite(ns) if ns > 0.0 => Some(ns),
        _ => None,
    }
}

/// Whether the probe measures a wake-up as `x` has them, and how many are in one sample of it.
fn fits(p: &Experiment, x: &Experiment) -> Option<f64> {
    let Workload::Probe {
        probe,
        each,
        copies: 1,
    } = p.workload
    else {
        return None;
    };
    let same = p.machine == x.machine && p.scheduling == x.scheduling && p.mlock == x.mlock;
    // What is not pinned may be anywhere.
    let within = x.cpus.is_empty() || p.cpus.iter().all(|c| x.cpus.contains(c));
    if !same || !within {
        return None;
    }
    let on_one = x.cpus.len() > 1 && x.cpus.iter().all(|c| *c == x.cpus[0]);
    let sides = match x.placement {
        Placement::Thread => Sides::Threads,
        Placement::Process | Placement::Host => Sides::Processes,
    };
    match probe {
        Probe::Switch {
            by: HandOver::Futex,
            sides: s,
        } if on_one && each == 1 && s == sides => Some(2.0),
        Probe::Ipi {
            by: Ring::Futex,
            rest: Rest::Sleeps,
        } if !on_one => Some(1.0),
        _ => None,
    }
}

/// A sentence for each row that was taken apart, and one on those that no probe fits.
pub(crate) fn remarks(view: &View<'_>) -> Vec<Item> {
    let one = |e: &&ExperimentSummary| {
        let m = e.made_of?;
        let p50 = p50(e, Metric::Rtt)?;
        let beside = match m.share > 1.0 {
            true => {
                "; more than all of it: not every one stands in the message's way, or the probe's wake-ups took longer"
            }
            false => "",
        };
        Some(Item::from(format!(
            "{}: {} wake-ups × {} = {} of {}, {}{beside}",
            view.label(e),
            sig3(m.wake_ups),
            duration(m.wake_up_ns),
            duration(m.ns()),
            duration(p50),
            share(m.share),
        )))
    };
    let mut items: Vec<Item> = view.rows.iter().filter_map(one).collect();
    let all = &view.summary.experiments;
    let has_probes = all.iter().any(|e| e.experiment.workload.kind().is_probe());
    let left = |e: &&&ExperimentSummary| e.made_of.is_none() && counted(e).is_some();
    let left: Vec<_> = view.rows.iter().filter(left).collect();
    if let (Some(first), true) = (left.first(), has_probes) {
        items.push(Item::from(format!(
            "no probe of this run fits {} of {} rows, such as {}: it takes one of wake-ups by futex with the same machine, scheduling \
             class, locking of memory and CPUs",
            left.len(),
            view.rows.len(),
            view.label(first)
        )));
    }
    items
}
