//! Two sides that took turns within one trial: their quantiles without the slow noise that both had.
//!
//! A host stands in one state for longer than a slice, so the two slices of a pair mostly meet the same state, and
//! whole windows do not. Both sides of a pair are scaled by the same factor; then the samples of each side are pooled and
//! the quantile is read. The factor takes away what both slices have in common: each side's median deviates from that
//! side's mean over the pairs (of logarithms); where both deviate in the same direction, the smaller deviation is common to
//! both, and otherwise nothing is. So the states of the host cancel out, neither side is favoured, and everything else stays:
//! the tail within slices, slices that are slow or fast on one side alone, and lost messages, which are infinitely late. Of a
//! pair in which a side has no sample the other side's samples stand as they are.
//!
//! The trial stays the unit of replication: [`ratio`](crate::ratio) takes these quantiles as pairs, one of each trial.

use crate::samples::{Block, Sorted, TrialSamples};

/// Quantile `q` of the new side and of the base in one trial, in the samples' unit; infinite where it reaches into the lost
/// messages. The blocks of both are their slices, pair by pair. `None` where a side has no sample.
///
/// Swapping the sides swaps the results. Messages of a side that are lost in addition never lower its own quantile and leave
/// that of the other side as it is.
pub fn slice_quantiles(new: &TrialSamples, base: &TrialSamples, q: f64) -> Option<(f64, f64)> {
    if new.n() == 0 || base.n() == 0 {
        return None;
    }
    // Logarithms of the medians of new and base.
    let levels: Vec<Option<[f64; 2]>> = new
        .blocks
        .iter()
        .zip(&base.blocks)
        .map(|(a, b)| Some([median(a)?.ln(), median(b)?.ln()]))
        .collect();
    let known: Vec<[f64; 2]> = levels.iter().flatten().copied().collect();
    let mean = |side: usize| {
        known.iter().map(|level| level[side]).sum::<f64>() / known.len().max(1) as f64
    };
    let means = [mean(0), mean(1)];
    let scale = |[a, b]: [f64; 2]| (-in_common(a - means[0], b - means[1])).exp();
    let scales: Vec<f64> = levels
        .iter()
        .map(|level| level.map_or(1.0, scale))
        .collect();
    let of = |side: &TrialSamples| Sorted::scaled(&side.blocks, &scales).quantile(q);
    Some((of(new)?, of(base)?))
}

/// What two deviations have in common: the smaller one where both have one sign, and nothing otherwise.
fn in_common(a: f64, b: f64) -> f64 {
    if a * b <= 0.0 {
        0.0
    } else if a.abs() < b.abs() {
        a
    } else {
        b
    }
}

/// Of what arrived, so that a loss alone moves no level; `None` without a sample, or where it is no time.
fn median(block: &Block) -> Option<f64> {
    let arrived = Block {
        infinite: 0,
        ..block.clone()
    };
    Sorted::of(&[arrived]).quantile(0.5).filter(|v| *v > 0.0)
}
