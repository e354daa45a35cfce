//! Two sides that took turns within one trial: their quantiles without the slow noise that both had.
//!
//! A host stands in one state for longer than a slice, so the two slices of a pair mostly meet the same state, and
//! whole windows do not. Every pair is scaled to the level of the trial, both sides by the same factor; then the samples of
//! each side are pooled and the quantile is read. So what the states of the host have in common with both sides cancels out,
//! and everything else stays: the tail within slices, a few slow slices of one side, and lost messages, which are infinitely
//! late. The factor is the geometric mean of both medians, and so neither side is favoured. Of a pair in which a side has no
//! sample the other side's samples stand as they are.
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
    let levels: Vec<Option<f64>> = new
        .blocks
        .iter()
        .zip(&base.blocks)
        .map(|(a, b)| Some((median(a)? * median(b)?).sqrt()))
        .collect();
    let known: Vec<f64> = levels.iter().flatten().map(|level| level.ln()).collect();
    let overall = (known.iter().sum::<f64>() / known.len().max(1) as f64).exp();
    let scales: Vec<f64> = levels
        .iter()
        .map(|level| level.map_or(1.0, |level| overall / level))
        .collect();
    let of = |side: &TrialSamples| Sorted::scaled(&side.blocks, &scales).quantile(q);
    Some((of(new)?, of(base)?))
}

/// Of what arrived, so that a loss alone moves no level; `None` without a sample, or where it is no time.
fn median(block: &Block) -> Option<f64> {
    let arrived = Block {
        infinite: 0,
        ..block.clone()
    };
    Sorted::of(&[arrived]).quantile(0.5).filter(|v| *v > 0.0)
}
