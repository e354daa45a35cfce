//! The summary of one metric of an experiment over its trials.

use crate::spark;
use crate::summary::{MetricSummary, QUANTILES, Spread};
use dyno_model::record::Distribution;
use dyno_stats::{Quantile, TrialSamples, log_bins};

/// Those of [`QUANTILES`], in their order.
pub(crate) const RANKS: [f64; QUANTILES.len()] = {
    let mut ranks = [0.0; QUANTILES.len()];
    let mut i = 0;
    while i < ranks.len() {
        ranks[i] = QUANTILES[i].2;
        i += 1;
    }
    ranks
};

/// `estimated`: the quantiles of the samples at [`RANKS`].
pub(crate) fn metric_summary<'a>(
    samples: &[TrialSamples],
    stored: impl Iterator<Item = &'a Distribution> + Clone,
    estimated: Vec<Quantile>,
) -> MetricSummary {
    let total = |f: fn(&Distribution) -> u64| stored.clone().map(f).fold(0, u64::saturating_add);
    let n = total(|d| d.n);
    let filled = stored.clone().filter(|d| d.n > 0);
    // Each trial weighs the same, however many samples it has.
    let means: Vec<f64> = filled.clone().map(|d| d.sum / d.n as f64).collect();
    let mut estimated = estimated.into_iter();
    MetricSummary {
        n,
        infinite: total(|d| d.infinite),
        saturated: total(|d| d.saturated),
        min: filled.clone().map(|d| d.min).min(),
        mean: (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64),
        max: filled.map(|d| d.max).max(),
        means: Spread::of(means.iter().copied()),
        quantiles: RANKS.map(|_| {
            // One per rank, by the contract of `quantiles`; a missing one would be a refusal.
            estimated.next().unwrap_or(Quantile::Refused {
                have: n,
                need: u64::MAX,
            })
        }),
        shape: log_bins(samples, spark::BINS),
    }
}
