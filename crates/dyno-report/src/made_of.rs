//! What a round trip is made of: system calls, wake-ups and copies, each at the cost that the probes of the same run found. It
//! is an estimate and no bound: a wake-up within a round trip may take less time than the probe's, which may find its CPU in a
//! deeper sleep.
//!
//! All three are counted with the kernel's tracepoints in a trial of their own, the counted twin of the experiment. Where they
//! could not be, wake-ups alone are known: a thread went to sleep of its own will (`voluntary_switches`). What a library's own
//! threads do beside the message's way is counted as well; what daemons do is not.

use crate::number::{duration, share, sig3};
use crate::remark::Item;
use crate::summary::{ExperimentSummary, Further, MadeOf, Spread};
use crate::view::View;
use dyno_model::cause::{Cause, Warning};
use dyno_model::probe::{Call, HandOver, Probe, Rest, Ring, Sides, Writer};
use dyno_model::record::{ProcessCost, TrialRecord};
use dyno_model::{Experiment, Metric, Placement, Wait, Workload};
use dyno_stats::Latency;
use std::collections::BTreeSet;

/// Bytes that one call surely carries: what a pipe holds.
const ONE_CALL: usize = 64 << 10;

/// Fewer wake-ups of a round trip are none of its way.
const LEAST: f64 = 0.5;

/// Takes round trips apart, where the run holds probes of what they are made of. `twins` are what was counted.
pub(crate) fn link(all: &mut [ExperimentSummary], twins: &[ExperimentSummary]) {
    let found: Vec<Option<MadeOf>> = all.iter().map(|e| of(e, all, twins)).collect();
    for (e, made_of) in all.iter_mut().zip(found) {
        e.made_of = made_of;
    }
}

/// Why nothing was counted, each reason once.
pub(crate) fn not_counted(twins: &[ExperimentSummary]) -> Vec<Cause<Warning>> {
    let mut all = Vec::new();
    for twin in twins.iter().filter(|t| t.asked.is_none()) {
        let mut warned = twin.warnings.iter().filter_map(|(cause, _)| cause.known());
        let reason = match warned.find(|w| matches!(w, Warning::NotCounted { .. })) {
            Some(warning) => warning.clone(),
            None => match twin.failures.first() {
                Some(f) => Warning::NotCounted {
                    error: format!("{} in {}: {}", f.kind, f.step, f.cause),
                },
                None => continue,
            },
        };
        let reason = Cause::Known(reason);
        if !all.contains(&reason) {
            all.push(reason);
        }
    }
    all
}

fn of(
    e: &ExperimentSummary,
    all: &[ExperimentSummary],
    twins: &[ExperimentSummary],
) -> Option<MadeOf> {
    let x = &e.experiment;
    // A broker's calls and wake-ups stand in the message's way and are counted of nobody.
    if !e.daemons.is_empty() {
        return None;
    }
    let asked = twins.iter().find(|t| is_twin(&t.experiment, x));
    let asked = asked.and_then(|t| t.asked);
    let (p50, slept) = counted(e, asked.map_or(0.0, |a| a.calls))?;
    let (probe, wake_up_ns) = all.iter().find_map(|p| {
        let in_one = fits(&p.experiment, x)?;
        Some((p, self::p50(p, Metric::Probe)? / in_one))
    })?;
    let cost = |is_it: fn(&Experiment, &Experiment) -> bool| {
        let found = all
            .iter()
            .find(|p| is_beside(&p.experiment, x) && is_it(&p.experiment, x));
        self::p50(found?, Metric::Probe)
    };
    // A look that finds nothing asks the kernel as well, and no copy is of more than one call carries.
    let counts = x.wait != Wait::Spin && x.payload.bytes() <= ONE_CALL;
    let further = asked.filter(|_| counts).and_then(|asked| {
        Some(Further {
            calls: (asked.calls - 2.0 * asked.wakings).max(0.0),
            call_ns: cost(is_call)?,
            copies: asked.carriers,
            copy_ns: cost(is_copy)?,
        })
    });
    let wake_ups = asked.map_or(slept, |a| a.wakings);
    let ns = wake_ups * wake_up_ns + further.map_or(0.0, |f: Further| f.ns());
    Some(MadeOf {
        wake_ups,
        wake_up_ns,
        probe: probe.experiment.id,
        further,
        ns,
        share: ns / p50,
    })
}

/// Whether `twin` is the counted one of `x`.
fn is_twin(twin: &Experiment, x: &Experiment) -> bool {
    let alike = Experiment {
        id: x.id,
        trials: x.trials,
        raw_samples: x.raw_samples,
        floor: x.floor,
        base: x.base,
        added: x.added,
        counted: x.counted,
        ..twin.clone()
    };
    alike == *x
}

/// The cheapest call, without the clock's reading.
fn is_call(p: &Experiment, _: &Experiment) -> bool {
    let Workload::Probe { probe, copies, .. } = p.workload else {
        return false;
    };
    let by = Call::Getppid;
    matches!(probe, Probe::Syscall { by: b, batch } if b == by && batch > 1) && copies == 1
}

/// Whether `p` copies as many bytes as the payload of `x` has, which its CPU has written itself.
fn is_copy(p: &Experiment, x: &Experiment) -> bool {
    is_copy_of(Writer::Own, p, x)
}

/// The same of bytes that `writer` has written.
pub(crate) fn is_copy_of(writer: Writer, p: &Experiment, x: &Experiment) -> bool {
    let Workload::Probe { probe, copies, .. } = p.workload else {
        return false;
    };
    let bytes = x.payload.bytes() as u64;
    probe == Probe::Copy { bytes, by: writer } && copies == 1
}

/// The p50 of the round trip and its sleeps, where there are any to take it apart with, or `calls` that were counted.
fn counted(e: &ExperimentSummary, calls: f64) -> Option<(f64, f64)> {
    let sleeps = e.wake_ups.unwrap_or(0.0);
    let p50 = p50(e, Metric::Rtt)?;
    let has_parts = calls >= LEAST || sleeps >= LEAST;
    (has_parts && e.experiment.placement != Placement::Host).then_some((p50, sleeps))
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

/// Whether the probe stands on the ground of `x`.
pub(crate) fn is_beside(p: &Experiment, x: &Experiment) -> bool {
    // What is not pinned may be anywhere.
    let cpus = x.cpus_of_one();
    let within = cpus.is_empty() || p.cpus.iter().all(|c| cpus.contains(c));
    p.machine == x.machine
        && p.on_host == x.on_host
        && p.scheduling == x.scheduling
        && p.mlock == x.mlock
        && within
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
    if !is_beside(p, x) {
        return None;
    }
    let cpus = x.cpus_of_one();
    let places: BTreeSet<u32> = cpus.iter().copied().collect();
    let on_one = cpus.len() > 1 && places.len() == 1;
    // Some of its wake-ups are between CPUs and some are not, and no count tells them apart.
    let is_mixed = !on_one && places.len() < cpus.len();
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
        } if !on_one && !is_mixed => Some(1.0),
        _ => None,
    }
}

fn further(f: Further) -> String {
    format!(
        " + {} further calls × {} + {} copies × {}",
        sig3(f.calls),
        duration(f.call_ns),
        sig3(f.copies),
        duration(f.copy_ns)
    )
}

/// A sentence for each row that was taken apart, and one on those that no probe fits.
pub(crate) fn remarks(view: &View<'_>) -> Vec<Item> {
    let one = |e: &&ExperimentSummary| {
        let m = e.made_of?;
        let p50 = p50(e, Metric::Rtt)?;
        let beside = match m.share > 1.0 {
            true => {
                "; this exceeds the whole: not all of it is on the path of the message, or the wake-ups of the probe took longer"
            }
            false => "",
        };
        Some(Item::from(format!(
            "{}: {} wake-ups × {}{} = {} of {}, {}{beside}",
            view.label(e),
            sig3(m.wake_ups),
            duration(m.wake_up_ns),
            m.further.map(further).unwrap_or_default(),
            duration(m.ns),
            duration(p50),
            share(m.share),
        )))
    };
    let mut items: Vec<Item> = view.rows.iter().filter_map(one).collect();
    let all = &view.summary.experiments;
    let has_probes = all.iter().any(|e| e.experiment.workload.kind().is_probe());
    let left = |e: &&&ExperimentSummary| e.made_of.is_none() && counted(e, 0.0).is_some();
    let left = view.rows.iter().filter(left);
    let (left, brokered): (Vec<&&ExperimentSummary>, Vec<_>) =
        left.partition(|e| e.daemons.is_empty());
    if let (Some(first), true) = (brokered.first(), has_probes) {
        items.push(Item::from(format!(
            "{} of {} rows are not broken down, such as {}: the system calls of a daemon on the path of the message are not counted",
            brokered.len(),
            view.rows.len(),
            view.label(first)
        )));
    }
    if let (Some(first), true) = (left.first(), has_probes) {
        items.push(Item::from(format!(
            "no probe of this run matches {} of {} rows, such as {}: these need a probe of futex wake-ups with the same machine, \
             scheduling class, memory locking and CPUs, and participants that share one CPU or have one each",
            left.len(),
            view.rows.len(),
            view.label(first)
        )));
    }
    items
}
