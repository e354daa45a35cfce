//! The host's part in an experiment: loads in the window, gaps before it, and what the gaps do to an
//! operation as long as the median one.

use crate::evidence::{BareSummary, HostSummary, HostTail};
use crate::modes::gap_share;
use crate::summary::{MetricSummary, QUANTILES, Spread};
use dyno_model::{BareMachine, HostLoad, TrialRecord};
use dyno_stats::{HostGaps, Latency, Quantile, SampleError, explained};

/// The host's part in these trials; `headline` is the metric whose tail it is held against. `None`
/// where nothing was recorded of the host.
///
/// # Errors
/// A stored histogram of gaps does not decode.
pub(crate) fn summarise(
    trials: &[&TrialRecord],
    headline: Option<&MetricSummary>,
) -> Result<Option<HostSummary>, SampleError> {
    let in_window = |share: fn(&HostLoad) -> f64| {
        Spread::of(
            trials
                .iter()
                .filter_map(|t| t.noise.window.as_ref())
                .map(share),
        )
    };
    let gaps = || trials.iter().flat_map(|t| &t.noise.gaps);
    let shares = HostSummary {
        foreign_share: in_window(HostLoad::foreign_share),
        stolen_share: in_window(HostLoad::stolen_share),
        gap_share: Spread::of(trials.iter().filter_map(|t| gap_share(&t.noise.gaps))),
        tail: [None; QUANTILES.len()],
    };
    if shares.foreign_share.is_none() && shares.gap_share.is_none() {
        return Ok(None);
    }
    let median = headline.and_then(|m| finite(&m.quantiles[0]));
    let (Some(headline), Some(median), true) = (headline, median, shares.gap_share.is_some())
    else {
        return Ok(Some(shares));
    };
    let machine = HostGaps::from_records(gaps())?;
    let mut tail = shares.tail;
    // From the second on: the p50 is what the others are held against.
    for (i, (_, _, rank)) in QUANTILES.iter().enumerate().skip(1) {
        let own_ns = machine.delay_quantile(median, *rank);
        let of_tail = |tail| explained(median, tail, own_ns);
        tail[i] = Some(HostTail {
            own_ns,
            explained: finite(&headline.quantiles[i]).and_then(of_tail),
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
