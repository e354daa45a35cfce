//! What is spread over the counted trials of an experiment: rates and costs.

use crate::summary::{DaemonCost, MemorySummary, Spread};
use dyno_model::record::{MemoryUse, ProcessCost};
use dyno_model::{TrialFigure, TrialRecord};
use std::collections::BTreeMap;

/// Rates and costs of these trials.
pub(crate) fn figures(trials: &[&TrialRecord]) -> BTreeMap<TrialFigure, Spread> {
    let spread = |figure: &TrialFigure| {
        let known = || trials.iter().filter_map(|t| figure.of(t));
        let fair = !figure.info().all_or_none || known().count() == trials.len();
        Some((*figure, Spread::of(known()).filter(|_| fair)?))
    };
    TrialFigure::ALL.iter().filter_map(spread).collect()
}

/// The part that some processes have in the costs of these trials, in the order of their start; those of one label
/// together.
pub(crate) fn processes(
    trials: &[&TrialRecord],
    keep: fn(&ProcessCost) -> bool,
) -> Vec<DaemonCost> {
    shares(trials, |t| {
        let all = t.cost.processes.iter();
        all.filter(|p| keep(p)).cloned().collect()
    })
}

/// The same of what virtual machines are made of, which is part of no sum.
pub(crate) fn machines(trials: &[&TrialRecord]) -> Vec<DaemonCost> {
    shares(trials, |t| t.cost.machines.clone())
}

/// The memory of virtual machines in these trials, in the order of the first that has it.
pub(crate) fn memory(trials: &[&TrialRecord]) -> Vec<MemorySummary> {
    let all = || trials.iter().flat_map(|t| &t.cost.memory);
    let mut labels: Vec<&String> = Vec::new();
    for used in all() {
        if !labels.contains(&&used.label) {
            labels.push(&used.label);
        }
    }
    let one = |label: &String| {
        let spread = |f: fn(&MemoryUse) -> u64| {
            let own = all().filter(|used| used.label == *label);
            Spread::of(own.map(|used| f(used) as f64))
        };
        Some(MemorySummary {
            label: label.clone(),
            at_rest_bytes: spread(|used| used.at_rest_bytes)?,
            in_use_bytes: spread(|used| used.in_use_bytes)?,
        })
    };
    labels.into_iter().filter_map(one).collect()
}

fn shares(
    trials: &[&TrialRecord],
    of: impl Fn(&TrialRecord) -> Vec<ProcessCost>,
) -> Vec<DaemonCost> {
    let mut labels: Vec<String> = Vec::new();
    for p in trials.iter().flat_map(|t| of(t)) {
        if !labels.contains(&p.label) {
            labels.push(p.label);
        }
    }
    // As in the costs of all: without Dyno's own pacing.
    let cpu = |p: &ProcessCost| (p.user.0 + p.system.0).saturating_sub(p.pacing.0);
    let one = |label: String| {
        let found: Vec<(&TrialRecord, Vec<ProcessCost>)> = trials
            .iter()
            .map(|t| {
                (
                    *t,
                    of(t)
                        .into_iter()
                        .filter(|p| p.label == label)
                        .collect::<Vec<_>>(),
                )
            })
            .filter(|(_, all)| !all.is_empty())
            .collect();
        let sum = |all: &[ProcessCost], f: fn(&ProcessCost) -> u64| {
            all.iter().map(f).fold(0, u64::saturating_add) as f64
        };
        let spread =
            |f: fn(&ProcessCost) -> u64| Spread::of(found.iter().map(|(_, all)| sum(all, f)));
        // Its part of what all cost, so that it is shared among the same messages.
        let per_message = |(t, all): &(&TrialRecord, Vec<ProcessCost>)| {
            let whole = t.cost.cpu.0;
            let part = (whole > 0).then(|| sum(all, cpu) / whole as f64)?;
            Some(part * t.cost.cpu_ns_per_message?)
        };
        let share = |(_, all): &(&TrialRecord, Vec<ProcessCost>)| {
            let wall = all.iter().map(|p| p.wall.0).max().filter(|ns| *ns > 0)?;
            Some(sum(all, cpu) / wall as f64)
        };
        Some(DaemonCost {
            cpu_ns: spread(cpu)?,
            cpu_share: Spread::of(found.iter().filter_map(share)),
            cpu_ns_per_message: Spread::of(found.iter().filter_map(per_message)),
            switches: spread(|p| p.voluntary_switches + p.involuntary_switches)?,
            pss_bytes: spread(|p| p.pss_bytes)?,
            peak_rss_bytes: spread(|p| p.peak_rss_bytes)?,
            label,
        })
    };
    labels.into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::record::Outcome;
    use dyno_model::{ExperimentId, Nanos, TrialId};

    #[test]
    fn processes_of_one_label_are_one_part_of_what_all_cost() {
        let id = TrialId {
            experiment: ExperimentId(0),
            number: 0,
        };
        let mut trial = TrialRecord::blank(id, 0, Outcome::Completed);
        let process = |label: &str, user, pacing| ProcessCost {
            label: label.into(),
            user: Nanos(user),
            pacing: Nanos(pacing),
            wall: Nanos(if label == "sink" { 0 } else { 1_000 + user }),
            pss_bytes: 1,
            ..ProcessCost::default()
        };
        trial.cost.processes = vec![
            process("source", 700, 400),
            process("source", 500, 400),
            process("sink", 600, 0),
        ];
        // Ten messages in the window and two before it.
        trial.counts.received = 10;
        trial.cost.cpu = Nanos(1_000);
        trial.cost.cpu_ns_per_message = Some(1_000.0 / 12.0);
        let found = processes(&[&trial], |_| true);
        let [source, sink] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(
            (source.cpu_ns.median, source.pss_bytes.median),
            (400.0, 2.0)
        );
        // Both together, over the longer time of the two; who knows no time has no share.
        let share = |p: &DaemonCost| p.cpu_share.map(|s| s.median);
        assert_eq!((share(source), share(sink)), (Some(400.0 / 1_700.0), None));
        let per_message = |p: &DaemonCost| p.cpu_ns_per_message.unwrap().median;
        assert!((per_message(source) - 400.0 / 12.0).abs() < 1e-9);
        assert!((per_message(source) + per_message(sink) - 1_000.0 / 12.0).abs() < 1e-9);
    }
}
