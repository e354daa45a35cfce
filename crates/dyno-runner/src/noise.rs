//! Looks at the machine just before a trial, when nothing of the trial runs yet.

use dyno_measure::Clock;
use dyno_model::cause::{Cause, Warning};
use dyno_model::{Experiment, Graph, HostNoise, Nanos};
use std::collections::BTreeSet;

/// The CPUs that the participants of these experiments may run on, ascending.
pub(crate) fn used_cpus(flows: &[&Experiment]) -> Vec<u32> {
    let mut all = BTreeSet::new();
    for experiment in flows {
        match experiment.participants_cpus() {
            free if free.is_empty() => return dyno_measure::allowed_cpus(),
            pinned => all.extend(pinned),
        }
    }
    all.into_iter().collect()
}

/// Of [`used_cpus`] those on which something of the trial can be disturbed, ascending: the participants' own and their
/// cores, and those to which a thread is confined. A library that makes no thread leaves the others alone. `threads`: the sets of
/// CPUs of the agents' threads; one that may run everywhere, such as an agent's main thread, says nothing.
pub(crate) fn busy_cpus(
    flows: &[&Experiment],
    cores: &[Vec<u32>],
    threads: &BTreeSet<Vec<u32>>,
) -> Vec<u32> {
    let all = used_cpus(flows);
    let own: BTreeSet<u32> = flows.iter().flat_map(|e| e.cpus.clone()).collect();
    let is_everywhere = |set: &[u32]| set.len() == cores.iter().flatten().count();
    let confined = threads.iter().filter(|set| !is_everywhere(set));
    let near = cores
        .iter()
        .filter(|core| core.iter().any(|cpu| own.contains(cpu)));
    let busy: BTreeSet<u32> = confined
        .chain(near)
        .flatten()
        .chain(&own)
        .copied()
        .collect();
    let is_free = flows.iter().any(|e| e.cpus.is_empty());
    all.into_iter()
        .filter(|cpu| is_free || busy.contains(cpu))
        .collect()
}

/// How long each CPU is watched for gaps before a trial.
const GAP_PROBE: Nanos = Nanos::from_millis(20);

/// What the machine does by itself just before the trial. What cannot be probed becomes a warning.
pub(crate) fn before(
    flows: &[&Experiment],
    graph: &Graph,
    clock: Clock,
    warnings: &mut Vec<Cause<Warning>>,
) -> HostNoise {
    let cpus = used_cpus(flows);
    let mut noted = |e: &dyn std::fmt::Display| {
        let error = e.to_string();
        warnings.push(Warning::NotProbed { error }.into());
    };
    let gaps = dyno_measure::gaps(clock, &cpus, GAP_PROBE);
    let line = match graph.ends().next() {
        Some((writer, reader)) => (writer.cpu, reader.cpu),
        // Nobody but a probe has no channel; its CPUs are those of its sides.
        None => {
            let own = flows.first().map(|e| e.cpus.as_slice()).unwrap_or_default();
            (own.first().copied(), own.get(1).copied())
        }
    };
    let line = match line {
        (Some(a), Some(b)) if a != b => Some(dyno_measure::line_round_trip(clock, a, b)),
        _ => None,
    };
    HostNoise {
        gaps: gaps.map_err(|e| noted(&e)).unwrap_or_default(),
        line_ns: line.and_then(|line| line.map_err(|e| noted(&e)).ok()),
        window: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::{ExperimentId, PayloadSize, Workload};

    #[test]
    fn the_cpus_of_a_library_count_where_it_has_threads() {
        let probe = Workload::PingPong {
            gap: Nanos::ZERO,
            timeout: Nanos::ZERO,
        };
        let payload = PayloadSize::new(64).unwrap();
        let mut spins = Experiment::blank(ExperimentId(0), "s", probe, payload);
        spins.cpus = vec![1, 3];
        spins.library_cpus = vec![vec![0, 2], vec![4]];
        let cores = [0, 1, 2, 3, 4, 5].map(|cpu| vec![cpu]);
        let of = |cores: &[Vec<u32>], sets: &[&[u32]]| {
            let sets = sets.iter().map(|set| set.to_vec()).collect();
            busy_cpus(&[&spins], cores, &sets)
        };
        // An agent's main thread may run everywhere.
        assert_eq!(of(&cores, &[&[0, 1, 2, 3, 4, 5]]), [1, 3]);
        assert_eq!(of(&cores, &[&[1], &[0, 2]]), [0, 1, 2, 3]);
        assert_eq!(of(&cores, &[&[0, 2], &[4]]), [0, 1, 2, 3, 4]);
        // One that has narrowed itself, and one of another program's.
        assert_eq!(of(&cores, &[&[2], &[5]]), [1, 2, 3]);
        // Threads of one core share what it can do.
        let pairs = [vec![0, 1], vec![2, 3], vec![4, 5]];
        assert_eq!(of(&pairs, &[]), [0, 1, 2, 3]);
        let free = Experiment::blank(ExperimentId(0), "s", probe, payload);
        assert_eq!(
            busy_cpus(&[&free], &cores, &BTreeSet::new()),
            dyno_measure::allowed_cpus()
        );
    }
}
