//! Looks at the machine just before a trial, when nothing of the trial runs yet.

use dyno_measure::Clock;
use dyno_model::cause::{Cause, Warning};
use dyno_model::{Experiment, Graph, HostNoise, Nanos};

/// The CPUs that the participants of these experiments may run on, ascending.
pub(crate) fn used_cpus(flows: &[&Experiment]) -> Vec<u32> {
    let mut all = std::collections::BTreeSet::new();
    for experiment in flows {
        match experiment.participants_cpus() {
            free if free.is_empty() => return dyno_measure::allowed_cpus(),
            pinned => all.extend(pinned),
        }
    }
    all.into_iter().collect()
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
