//! The host's part in an experiment: loads in the window, gaps before it, and what the gaps do to an
//! operation as long as the median one.

use crate::modes::gap_share;
use crate::summary::{
    BareSummary, HostSummary, HostTail, LEAST_TRIALS, MetricSummary, QUANTILES, Spread,
};
use dyno_model::record::Run;
use dyno_model::{BareMachine, HostLoad, TrialRecord, Workload};
use dyno_stats::{Begins, HostGaps, Latency, Quantile, SampleError, explained};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The gaps of a run's CPUs, seen before all of its trials that the host did not disturb: what a few
/// looks of one experiment happen to meet says little of the machine.
pub(crate) struct Machine<'a> {
    run: &'a Run,
    /// By the CPUs of an experiment.
    seen: Mutex<BTreeMap<BTreeSet<u32>, Arc<HostGaps>>>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(run: &'a Run) -> Self {
        Machine {
            run,
            seen: Mutex::default(),
        }
    }

    /// The gaps of these CPUs.
    fn gaps(&self, cpus: BTreeSet<u32>) -> Result<Arc<HostGaps>, SampleError> {
        use std::collections::btree_map::Entry;
        // Whoever asks for the same CPUs waits for the first who did.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.entry(cpus) {
            Entry::Occupied(seen) => Ok(Arc::clone(seen.get())),
            Entry::Vacant(place) => {
                let calm = self.run.trials.iter().filter(|t| t.disturbed.is_empty());
                let gaps = calm.flat_map(|t| &t.noise.gaps);
                let gaps = HostGaps::from_records(gaps.filter(|g| place.key().contains(&g.cpu)))?;
                Ok(Arc::clone(place.insert(Arc::new(gaps))))
            }
        }
    }
}

/// The host's part in these trials of one experiment; `headline` is the metric whose tail it is held
/// against. `None` where nothing was recorded of the host.
///
/// # Errors
/// A stored histogram of gaps does not decode.
pub(crate) fn summarise(
    machine: &Machine<'_>,
    workload: Workload,
    trials: &[&TrialRecord],
    headline: Option<&MetricSummary>,
) -> Result<Option<HostSummary>, SampleError> {
    let windows = || trials.iter().filter_map(|t| t.noise.window.as_ref());
    let in_window = |share: fn(&HostLoad) -> f64| Spread::of(windows().map(share));
    let gaps = || trials.iter().flat_map(|t| &t.noise.gaps);
    let shares = HostSummary {
        foreign_share: in_window(HostLoad::foreign_share),
        kernel_share: Spread::of(windows().filter_map(HostLoad::kernel_share)),
        stolen_share: in_window(HostLoad::stolen_share),
        gap_share: Spread::of(trials.iter().filter_map(|t| gap_share(&t.noise.gaps))),
        tail: [None; QUANTILES.len()],
    };
    if shares.foreign_share.is_none() && shares.gap_share.is_none() {
        return Ok(None);
    }
    let median = headline.and_then(|m| finite(&m.quantiles[0]));
    // A tail beside another takes two good sides: trials that the host left alone, and more than one.
    let is_good = trials.len() >= LEAST_TRIALS
        && trials.iter().all(|t| t.disturbed.is_empty())
        && shares.gap_share.is_some();
    let (Some(headline), Some(median), true) = (headline, median, is_good) else {
        return Ok(Some(shares));
    };
    let gaps = machine.gaps(gaps().map(|g| g.cpu).collect())?;
    let begins = match workload.kind().info().has_due_times || workload.kind().is_start() {
        true => Begins::OnSchedule,
        false => Begins::OneByOne,
    };
    let mut tail = shares.tail;
    // From the second on: the p50 is what the others are held against.
    for (i, (_, _, rank)) in QUANTILES.iter().enumerate().skip(1) {
        let Some(measured) = headline.quantiles[i].estimate() else {
            continue;
        };
        let own_ns = gaps.delay_quantile(median, *rank, begins);
        // Nothing is less late than what delays it: where the measured tail is surely shorter than the delay,
        // the gaps seen before the trials say nothing of the window.
        if measured.hi < Latency::Finite(own_ns) {
            continue;
        }
        let of_tail = |tail| explained(median, tail, own_ns);
        tail[i] = Some(HostTail {
            own_ns,
            explained: measured.value.finite().and_then(of_tail),
        });
    }
    Ok(Some(HostSummary { tail, ..shares }))
}

fn finite(quantile: &Quantile) -> Option<f64> {
    quantile
        .estimate()
        .map(|e| e.value)
        .and_then(Latency::finite)
}

/// The yardstick of a run.
pub(crate) fn bare(machine: &BareMachine) -> BareSummary {
    BareSummary {
        foreign_share: machine.load.foreign_share(),
        stolen_share: machine.load.stolen_share(),
        gap_share: gap_share(&machine.gaps),
        longest_gap_ns: machine.gaps.iter().map(|g| g.longest.0).max().unwrap_or(0),
    }
}
