//! Looks at the machine just before a trial, when nothing of the trial runs yet.

use dyno_measure::Clock;
use dyno_model::{Experiment, Graph, HostNoise, Nanos};

/// The CPUs that the experiment's participants may run on, ascending.
pub(crate) fn used_cpus(experiment: &Experiment) -> Vec<u32> {
    match experiment.participants_cpus() {
        free if free.is_empty() => dyno_measure::allowed_cpus(),
        pinned => pinned,
    }
}

/// How long each CPU is watched for gaps before a trial.
const GAP_PROBE: Nanos = Nanos::from_millis(20);

/// What the machine does by itself just before the trial. What cannot be probed becomes a warning.
pub(crate) fn before(
    experiment: &Experiment,
    graph: &Graph,
    clock: Clock,
    warnings: &mut Vec<String>,
) -> HostNoise {
    let cpus = used_cpus(experiment);
    let mut noted = |e: &dyn std::fmt::Display| warnings.push(format!("host noise: {e}"));
    let gaps = dyno_measure::gaps(clock, &cpus, GAP_PROBE);
    let line = match graph.ends().next() {
        Some((writer, reader)) => (writer.cpu, reader.cpu),
        // Nobody but a probe has no channel; its CPUs are those of its sides.
        None => (
            experiment.cpus.first().copied(),
            experiment.cpus.get(1).copied(),
        ),
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
