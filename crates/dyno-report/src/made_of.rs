//! What a round trip is made of at least: the wake-ups that the kernel counted, times what one costs on this machine by
//! the probes of the same run.
//!
//! A wake-up is counted where a thread went to sleep of its own will (`voluntary_switches`). What a library's own threads
//! do beside the message's way is counted as well, so that a sum above the p50 says that not all of them stand in it, or that
//! the probe found its CPU in a deeper sleep.
//! System calls and copies without a sleep are not counted in a trial; `cargo xtask study made-of` counts them with the
//! kernel's tracepoints.

use crate::notes::Item;
use crate::number::{duration, share, sig3};
use crate::summary::ExperimentSummary;
use crate::view::View;
use dyno_model::probe::{HandOver, Probe, Rest, Ring, Sides};
use dyno_model::{Experiment, ExperimentId, Metric, Placement, TrialFigure, Workload};
use dyno_stats::Latency;

/// What the p50 of an experiment's round trip holds at least.
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
    let p50 = p50(e, Metric::Rtt)?;
    let switches = e.figures.get(&TrialFigure::VoluntarySwitches)?.median;
    let trips = e.counts.received as f64 / e.trials.counted.max(1) as f64;
    let wake_ups = switches / trips;
    if x.placement == Placement::Host || !wake_ups.is_finite() || wake_ups < LEAST {
        return None;
    }
    let (probe, halves) = all.iter().find_map(|p| {
        let same = p.experiment.machine == x.machine && p.experiment.scheduling == x.scheduling;
        Some((p, fits(&p.experiment, x).filter(|_| same)?))
    })?;
    let wake_up_ns = self::p50(probe, Metric::Probe)? / halves;
    Some(MadeOf {
        wake_ups,
        wake_up_ns,
        probe: probe.experiment.id,
        share: wake_ups * wake_up_ns / p50,
    })
}

fn p50(e: &ExperimentSummary, metric: Metric) -> Option<f64> {
    match e.metrics.get(&metric)?.quantiles[0].estimate()?.value {
        Latency::Finite(ns) if ns > 0.0 => Some(ns),
        _ => None,
    }
}

/// Whether the probe measures a wake-up as `x` has them, and how many are in one sample of it.
fn fits(probe: &Experiment, x: &Experiment) -> Option<f64> {
    let Workload::Probe {
        probe,
        each,
        copies: 1,
    } = probe.workload
    else {
        return None;
    };
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

/// A sentence for each row that was taken apart.
pub(crate) fn remarks(view: &View<'_>) -> Vec<Item> {
    let one = |e: &&ExperimentSummary| {
        let m = e.made_of?;
        let p50 = p50(e, Metric::Rtt)?;
        let beside = match m.share > 1.0 {
            true => {
                "; more than all of it: not every one stands in the message's way, or the probe's were dearer"
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
    view.rows.iter().copied().filter_map(|e| one(&e)).collect()
}
