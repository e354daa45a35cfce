//! Results of each copy of a probe or an exchange that ran several times at once, or of a probe alone.

use crate::number::{duration, sig3};
use crate::remark::Item;
use crate::summary::{CopySummary, ExperimentSummary, Spread};
use crate::view::View;
use dyno_model::cpus::ranges;
use dyno_model::probe::Probe;
use dyno_model::record::{CopyRecord, TrialRecord};
use dyno_model::{Experiment, Nanos, Workload};
use std::collections::BTreeMap;

/// CPUs, and which exchange on them.
type Place<'a> = (&'a [u32], usize);
/// A copy of a trial, and what all of that trial did.
type Found<'a> = (&'a CopyRecord, u64);

/// Copies in the order of their CPUs; threads of a probe that share the same CPUs are one copy here.
pub(crate) fn copies(experiment: &Experiment, trials: &[&TrialRecord]) -> Vec<CopySummary> {
    let has_peer = matches!(
        experiment.workload,
        Workload::Probe {
            probe: Probe::Switch { .. },
            ..
        }
    );
    let is_probe = experiment.workload.kind().is_probe();
    let mut by_cpus: BTreeMap<Place<'_>, Vec<Found<'_>>> = BTreeMap::new();
    for t in trials {
        let whole: u64 = t.copies.iter().map(|c| c.done).sum();
        for (number, copy) in t.copies.iter().enumerate() {
            let number = if is_probe { 0 } else { number };
            let of_cpus = by_cpus.entry((&copy.cpus, number)).or_default();
            of_cpus.push((copy, whole));
        }
    }
    let summary = |((cpus, _), found): (Place<'_>, Vec<Found<'_>>)| {
        let part = |(c, whole): &Found<'_>| {
            (c.share.is_some() && *whole > 0).then(|| c.done as f64 / *whole as f64)
        };
        let work = Spread::of(found.iter().filter_map(part));
        let all: Vec<&CopyRecord> = found.into_iter().map(|(c, _)| c).collect();
        let sampled = || all.iter().filter(|c| c.n + c.missed > 0);
        Some(CopySummary {
            cpus: cpus.to_vec(),
            p50_ns: Spread::with_infinite(sampled().map(|c| ns(c.p50)))?,
            p99_ns: Spread::with_infinite(sampled().map(|c| ns(c.p99)))?,
            own_ns: Spread::of(all.iter().map(|c| c.own_ns))?,
            bytes_per_s: Spread::of(all.iter().filter_map(|c| c.bytes_per_s)),
            share: Spread::of(all.iter().filter_map(|c| c.share)),
            work,
            core: core(&all, has_peer),
        })
    };
    by_cpus.into_iter().filter_map(summary).collect()
}

/// A sentence for each row of several copies: how far their medians are apart.
pub(crate) fn remarks(view: &View<'_>) -> Vec<Item> {
    let one = |e: &&ExperimentSummary| {
        let several = e.copies.len() > 1;
        let medians = e.copies.iter().map(|c| c.p50_ns.median);
        let apart = Spread::with_infinite(medians).filter(|_| several)?;
        let times = match apart.max / apart.min {
            times if times.is_finite() => format!(", × {}", sig3(times)),
            _ => String::new(),
        };
        let cpus: Vec<String> = e.copies.iter().map(|c| ranges(&c.cpus)).collect();
        Some(Item::from(format!(
            "{}: p50 of each copy {} to {}{times}; {}",
            view.label(e),
            duration(apart.min),
            duration(apart.max),
            match cpus.iter().all(String::is_empty) {
                true => "not pinned".to_owned(),
                false => format!("on CPUs {}", cpus.join(" and ")),
            },
        )))
    };
    view.rows.iter().filter_map(one).collect()
}

fn ns(time: Nanos) -> f64 {
    match time {
        Nanos::MAX => f64::INFINITY,
        finite => finite.0 as f64,
    }
}

fn core(all: &[&CopyRecord], has_peer: bool) -> Option<[f64; 2]> {
    let both = |c: &&CopyRecord| {
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

    #[test]
    fn core_cycles_are_of_both_sides_and_of_every_trial() {
        let copy = |cycles: f64| CopyRecord {
            cpus: vec![0],
            n: 1,
            p50: Nanos(5),
            core: Some([cycles, 10.0]),
            peer_core: Some([1.0, 2.0]),
            ..CopyRecord::default()
        };
        let (a, b) = (copy(100.0), copy(102.0));
        assert_eq!(core(&[&a, &b], true), Some([102.0, 12.0]));
        let none = CopyRecord {
            core: None,
            ..copy(1.0)
        };
        assert_eq!(core(&[&a, &none], true), None);
        let alone = CopyRecord {
            peer_core: None,
            ..copy(100.0)
        };
        assert_eq!(core(&[&alone], false), Some([100.0, 10.0]));
        assert_eq!(core(&[&a, &alone], true), None);
    }
}
