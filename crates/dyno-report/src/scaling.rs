//! The scaling factor S: how the median service time of a stream grows with the size of its messages.
//!
//! Each trial of each size gives one point, its median; a line is fitted through all of them. Sizes
//! are experiments of their own whose trials take turns in random order, so that drift of the machine
//! scatters the points and does not tilt the line.

use crate::counted::counted_trials;
use crate::decoded::Samples;
use crate::summary::ScalingSummary;
use dyno_model::{Experiment, Metric, WorkloadKind, factors};
use dyno_stats::{Bootstrap, Fit, Latency, fit_line, trial_quantiles};
use std::collections::BTreeSet;

/// Fewer sizes say nothing of a line.
const LEAST_SIZES: usize = 3;

/// One summary for each group of streams of the plan that differ in their payload only.
pub(crate) fn summarise(from: Samples<'_>, how: &Bootstrap) -> Vec<ScalingSummary> {
    let mut groups: Vec<Vec<&Experiment>> = Vec::new();
    let streams = from.run.manifest.plan.here();
    for e in streams.filter(|e| e.workload.kind() == WorkloadKind::Stream && e.base.is_none()) {
        match groups.iter_mut().find(|g| is_alike(g[0], e)) {
            Some(group) => group.push(e),
            None => groups.push(vec![e]),
        }
    }
    groups
        .into_iter()
        .filter(|group| sizes(group) >= LEAST_SIZES)
        .map(|group| of_group(from, &group, how))
        .collect()
}

fn sizes(group: &[&Experiment]) -> usize {
    let all: BTreeSet<usize> = group.iter().map(|e| e.payload.bytes()).collect();
    all.len()
}

/// Whether two experiments have all factors but the payload in common.
fn is_alike(a: &Experiment, b: &Experiment) -> bool {
    let mut others = factors::all().filter(|f| f.title != "payload");
    (&a.name, &a.stack) == (&b.name, &b.stack) && others.all(|f| f.key(a) == f.key(b))
}

fn of_group(from: Samples<'_>, group: &[&Experiment], how: &Bootstrap) -> ScalingSummary {
    let (mut offered, mut received) = (0, 0);
    for e in group {
        for trial in counted_trials(from.run, e.id) {
            offered += trial.counts.offered;
            received += trial.counts.received;
        }
    }
    let (fit, reason) = match fit(from, group, how) {
        Ok(fit) => (Some(fit), None),
        Err(reason) => (None, Some(reason)),
    };
    ScalingSummary {
        experiments: group.iter().map(|e| e.id).collect(),
        first: group[0].clone(),
        sizes: sizes(group) as u64,
        offered,
        received,
        fit,
        reason,
    }
}

/// The line through the medians of all trials, or why there is none. No size is left out: a line
/// through those that did well would be another stack's.
fn fit(from: Samples<'_>, group: &[&Experiment], how: &Bootstrap) -> Result<Fit, String> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for e in group {
        let trials = counted_trials(from.run, e.id);
        if trials.is_empty() {
            return Err(format!("no trial with {} was completed", e.payload));
        }
        for trial in trials {
            let samples = from.of_one(trial, Metric::Service);
            let median = samples.and_then(|s| trial_quantiles(&[s], 0.5).first().copied());
            match median {
                Some(Latency::Finite(ns)) => points.push((e.payload.bytes() as f64, ns)),
                Some(Latency::Infinite) => {
                    return Err(format!(
                        "half of the messages of {} or more were lost in a trial",
                        e.payload
                    ));
                }
                None => return Err(format!("a trial with {} has no service time", e.payload)),
            }
        }
    }
    fit_line(&points, how).ok_or_else(|| "the points make no line".into())
}
