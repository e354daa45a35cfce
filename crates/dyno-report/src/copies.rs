//! What each copy of a probe found that ran on several CPUs at once, or alone.

use crate::summary::Spread;
use dyno_model::probe::{Probe, ProbeCopy};
use dyno_model::record::TrialRecord;
use dyno_model::{Experiment, Workload};
use std::collections::BTreeMap;

/// One copy of a probe over the counted trials. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct CopySummary {
    /// The CPUs that it was on.
    pub cpus: Vec<u32>,
    /// Its median in each trial.
    pub p50_ns: Spread,
    /// Its 99 % quantile in each trial.
    pub p99_ns: Spread,
    /// Dyno's own cost, which is taken out of each sample, in each trial.
    pub own_ns: Spread,
    /// Bytes per second, where bytes are moved.
    pub bytes_per_s: Option<Spread>,
    /// The share of a CPU that a spinning thread had, 0 to 1.
    pub share: Option<Spread>,
    /// Core cycles and instructions of one piece on all sides together: medians over the trials, where every trial
    /// could read them.
    pub core: Option<[f64; 2]>,
}

/// Copies in the order of their CPUs; threads that share the same CPUs are one copy here.
pub(crate) fn copies(experiment: &Experiment, trials: &[&TrialRecord]) -> Vec<CopySummary> {
    let has_peer = matches!(
        experiment.workload,
        Workload::Probe {
            probe: Probe::Switch { .. },
            ..
        }
    );
    let mut by_cpus: BTreeMap<&[u32], Vec<&ProbeCopy>> = BTreeMap::new();
    for copy in trials.iter().flat_map(|t| &t.copies) {
        by_cpus.entry(&copy.cpus).or_default().push(copy);
    }
    let summary = |(cpus, all): (&[u32], Vec<&ProbeCopy>)| {
        let sampled = || all.iter().filter(|c| c.n > 0);
        Some(CopySummary {
            cpus: cpus.to_vec(),
            p50_ns: Spread::of(sampled().map(|c| c.p50.0 as f64))?,
            p99_ns: Spread::of(sampled().map(|c| c.p99.0 as f64))?,
            own_ns: Spread::of(all.iter().map(|c| c.own_ns))?,
            bytes_per_s: Spread::of(all.iter().filter_map(|c| c.bytes_per_s)),
            share: Spread::of(all.iter().filter_map(|c| c.share)),
            core: core(&all, has_peer),
        })
    };
    by_cpus.into_iter().filter_map(summary).collect()
}

fn core(all: &[&ProbeCopy], has_peer: bool) -> Option<[f64; 2]> {
    let both = |c: &&ProbeCopy| {
        let own = c.core?;
        let peer = match has_peer {
            true => c.peer_core?,
            false => [0.0; 2],
        };
        Some([own[0] + peer[0], own[1] + peer[1]])
    };
    let values: Vec<[f64; 2]> = all.iter().map(both).collect::<Option<_>>()?;
    let median = |i: usize| Spread::of(values.iter().map(|v| v[i])).map(|s| s.median);
    Some([median(0)?, median(1)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::Nanos;

    #[test]
    fn core_cycles_are_of_both_sides_and_of_every_trial() {
        let copy = |cycles: f64| ProbeCopy {
            cpus: vec![0],
            n: 1,
            p50: Nanos(5),
            core: Some([cycles, 10.0]),
            peer_core: Some([1.0, 2.0]),
            ..ProbeCopy::default()
        };
        let (a, b) = (copy(100.0), copy(102.0));
        assert_eq!(core(&[&a, &b], true), Some([102.0, 12.0]));
        let none = ProbeCopy {
            core: None,
            ..copy(1.0)
        };
        assert_eq!(core(&[&a, &none], true), None);
        let alone = ProbeCopy {
            peer_core: None,
            ..copy(100.0)
        };
        assert_eq!(core(&[&alone], false), Some([100.0, 10.0]));
        assert_eq!(core(&[&a, &alone], true), None);
    }
}
