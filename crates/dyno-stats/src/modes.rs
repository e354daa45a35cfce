//! Two modes: blocks of time that are either fast or slow with little in between, as where a
//! scheduler puts two threads on one core in some of them.
//!
//! On the logarithms of the blocks' own quantiles, sorted, a split into two groups counts where the
//! gap between them is wide against each group's own width, as in [`crate::stability()`], but both
//! taken without the outer tenth of each group, so that a few blocks in between or far out do not
//! decide. (That a gap beside the spread within the groups separates modes, not a bimodality
//! coefficient alone: Ashman, Bird & Zepf, Astronomical Journal 108, 1994.)
//!
//! Blocks of one trial share its level. Trials that merely scatter also leave gaps between their
//! blocks; so unless both modes occur within trials, the trials' own levels must show a gap that as
//! many levels from one log-normal distribution would show in at most 1 of 100 cases.

use crate::population::gauss;
use crate::rank::median;
use crate::samples::{Sorted, TrialSamples};
use crate::stability::TOLERANCE;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The least number of blocks in a mode.
const LEAST_BLOCKS: usize = 3;
/// The least share of all blocks in a mode.
const LEAST_SHARE: f64 = 0.10;
/// How many times as wide as each mode the gap between them must be.
const GAP_IN_WIDTHS: f64 = 1.5;
/// Histograms resolve to a thousandth: nothing is narrower than that.
const RESOLUTION: f64 = 1e-3;
/// So many blocks on the other side than most of their trial cannot be the trials' doing.
const BLOCKS_THAT_SWITCH: usize = 3;
/// Draws of trials' levels, and the share of them that may show as wide a gap.
const DRAWS: u32 = 2_000;
const LEVEL: f64 = 0.01;
const SEED: u64 = 0x6d6f_6465_7300;

/// Two modes among the blocks of all trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// Median of the quantile over the blocks of the lower mode, in the samples' unit.
    pub low: f64,
    /// The same of the upper mode.
    pub high: f64,
    /// Share, 0 to 1, of the blocks with samples that are in the upper mode.
    pub high_share: f64,
    /// By trial and block: whether the block is in the upper mode; `None` for a block without
    /// samples.
    pub upper: Vec<Vec<Option<bool>>>,
}

/// The two modes of quantile `q` over the blocks of `trials`, where there are two.
///
/// Each mode has at least a tenth of the blocks and at least three; the gap between them is at least
/// [`TOLERANCE`] and half again as wide as the wider of them; see the source file's header for blocks that
/// differ between trials only. Blocks whose quantile is zero or infinite (loss) are not looked at, but
/// sorted in with the lower or the upper mode.
pub fn modes(trials: &[TrialSamples], q: f64) -> Option<Modes> {
    let values: Vec<Vec<Option<f64>>> = trials.iter().map(|t| block_quantiles(t, q)).collect();
    let by_trial: Vec<Vec<f64>> = values.iter().map(|blocks| logs(blocks)).collect();
    let mut sorted = by_trial.concat();
    sorted.sort_unstable_by(f64::total_cmp);
    let threshold = split(&sorted)?;
    if !switches_within_trials(&by_trial, threshold) && !levels_have_a_gap(&by_trial, threshold) {
        return None;
    }
    let at = sorted.partition_point(|v| *v <= threshold);
    let upper: Vec<Vec<Option<bool>>> = values
        .iter()
        .map(|blocks| {
            blocks
                .iter()
                .map(|b| b.map(|v| v.ln() > threshold))
                .collect()
        })
        .collect();
    let known = || upper.iter().flatten().flatten();
    Some(Modes {
        low: median(&sorted[..at]).exp(),
        high: median(&sorted[at..]).exp(),
        high_share: known().filter(|u| **u).count() as f64 / known().count() as f64,
        upper,
    })
}

/// The quantile of each block by itself; `None` without samples.
fn block_quantiles(trial: &TrialSamples, q: f64) -> Vec<Option<f64>> {
    let blocks = trial.blocks.iter();
    blocks
        .map(|b| Sorted::of(std::slice::from_ref(b)).quantile(q))
        .collect()
}

fn logs(blocks: &[Option<f64>]) -> Vec<f64> {
    let logs = blocks.iter().flatten().map(|v| v.ln());
    logs.filter(|l| l.is_finite()).collect()
}

/// The logarithm between two modes of ascending logarithms: of all splits that are wide enough, that
/// at the widest step from one value to the next.
fn split(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    let least = LEAST_BLOCKS.max((LEAST_SHARE * n as f64).ceil() as usize);
    let step = |at: usize| sorted[at] - sorted[at - 1];
    (least..(n + 1).saturating_sub(least))
        .filter(|at| {
            let (low, high) = (trimmed(&sorted[..*at]), trimmed(&sorted[*at..]));
            let gap = high.0 - low.1;
            let width = (low.1 - low.0).max(high.1 - high.0).max(RESOLUTION);
            gap > TOLERANCE.ln_1p() && gap > GAP_IN_WIDTHS * width
        })
        .max_by(|a, b| step(*a).total_cmp(&step(*b)))
        .map(|at| f64::midpoint(sorted[at - 1], sorted[at]))
}

/// The ends of a group without its outer tenths.
fn trimmed(group: &[f64]) -> (f64, f64) {
    let cut = group.len() / 10;
    (group[cut], group[group.len() - 1 - cut])
}

/// Whether enough blocks are on the other side than most of their trial.
fn switches_within_trials(by_trial: &[Vec<f64>], threshold: f64) -> bool {
    let switched = by_trial.iter().map(|blocks| {
        let high = blocks.iter().filter(|v| **v > threshold).count();
        high.min(blocks.len() - high)
    });
    switched.sum::<usize>() >= BLOCKS_THAT_SWITCH
}

/// Whether the trials' own levels fall into two groups more clearly than chance would have them.
fn levels_have_a_gap(by_trial: &[Vec<f64>], threshold: f64) -> bool {
    let full = by_trial.iter().filter(|b| !b.is_empty());
    let mut levels: Vec<f64> = full.map(|b| median(b)).collect();
    levels.sort_unstable_by(f64::total_cmp);
    let at = levels.partition_point(|v| *v <= threshold);
    if at == 0 || at == levels.len() || levels.len() < 3 {
        return false;
    }
    let seen = gap_in_widths(&levels, at);
    let mut generator = ChaCha8Rng::seed_from_u64(SEED);
    let mut drawn = vec![0.0; levels.len()];
    let as_wide = (0..DRAWS)
        .filter(|_| {
            drawn.fill_with(|| gauss(&mut generator));
            drawn.sort_unstable_by(f64::total_cmp);
            (1..drawn.len()).any(|at| gap_in_widths(&drawn, at) >= seen)
        })
        .count();
    f64::from(1 + as_wide as u32) / f64::from(1 + DRAWS) <= LEVEL
}

/// The gap before `at` over the wider of the two groups that it separates.
fn gap_in_widths(sorted: &[f64], at: usize) -> f64 {
    let (low, high) = sorted.split_at(at);
    let width = |group: &[f64]| group[group.len() - 1] - group[0];
    (high[0] - low[low.len() - 1]) / width(low).max(width(high)).max(RESOLUTION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    /// Trials of ten blocks; `level` gives each block's median by trial and block, which scatters by
    /// the share `scatter`.
    fn trials(
        n: usize,
        scatter: f64,
        g: &mut ChaCha8Rng,
        level: impl Fn(usize, usize) -> f64,
    ) -> Vec<TrialSamples> {
        let block = |t, b, g: &mut ChaCha8Rng| {
            let at = level(t, b) * (scatter * gauss(g)).exp();
            (0..40).map(|_| at * (0.2 * gauss(g)).exp()).collect()
        };
        (0..n)
            .map(|t| {
                let blocks: Vec<Vec<f64>> = (0..10).map(|b| block(t, b, g)).collect();
                TrialSamples::from_values(&blocks, 0)
            })
            .collect()
    }

    fn generator(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    fn alarms(of: u64, make: impl Fn(&mut ChaCha8Rng) -> Vec<TrialSamples>, q: f64) -> usize {
        (0..of)
            .filter(|seed| modes(&make(&mut generator(*seed)), q).is_some())
            .count()
    }

    #[test]
    fn one_noisy_mode_is_rarely_taken_for_two() {
        // Of 400 with 1 to 10 trials and 10 % to 50 % between blocks, at most 3 were.
        for (n, scatter) in [(1, 0.1), (1, 0.5), (5, 0.3)] {
            let found = alarms(150, |g| trials(n, scatter, g, |_, _| 1e4), 0.5);
            assert!(found <= 4, "{n} trials, {scatter}: {found} of 150");
        }
    }

    #[test]
    fn a_heavy_tail_is_rarely_taken_for_two_modes() {
        let pareto = |g: &mut ChaCha8Rng| {
            let value = |g: &mut ChaCha8Rng| 1e4 * (1.0 - g.random::<f64>()).powf(-1.0 / 1.5);
            let block = |g: &mut ChaCha8Rng| (0..60).map(|_| value(g)).collect();
            let blocks: Vec<Vec<f64>> = (0..20).map(|_| block(g)).collect();
            vec![TrialSamples::from_values(&blocks, 0)]
        };
        assert!(alarms(200, pareto, 0.99) <= 5);
    }

    #[test]
    fn trials_that_scatter_are_rarely_taken_for_two_modes() {
        // Of 400 with 3 to 20 trials at most 5 were, where only 1 % lies between blocks.
        for n in [3, 5, 10] {
            let scattered = |g: &mut ChaCha8Rng| {
                let levels: Vec<f64> = (0..n).map(|_| 1e4 * (0.2 * gauss(g)).exp()).collect();
                trials(n, 0.01, g, |t, _| levels[t])
            };
            let found = alarms(150, scattered, 0.5);
            assert!(found <= 6, "{n} trials: {found} of 150");
        }
    }

    #[test]
    fn blocks_that_jump_are_found_and_told_apart() {
        let slow = |t: usize, b: usize| (t * 7 + b * 3) % 10 < 3;
        let level = |t, b| if slow(t, b) { 51e3 } else { 11e3 };
        let found = modes(&trials(5, 0.05, &mut generator(1), level), 0.5).unwrap();
        assert!((10.5e3..11.5e3).contains(&found.low), "{}", found.low);
        assert!((49e3..53e3).contains(&found.high), "{}", found.high);
        assert!((found.high_share - 0.3).abs() < 1e-9);
        for (t, blocks) in found.upper.iter().enumerate() {
            for (b, upper) in blocks.iter().enumerate() {
                assert_eq!(*upper, Some(slow(t, b)));
            }
        }
    }

    #[test]
    fn modes_that_are_close_are_found_where_blocks_scatter_little() {
        let level = |t, b| if (t + b) % 2 == 0 { 10e3 } else { 15e3 };
        let seen = (0..50)
            .filter(|s| modes(&trials(5, 0.01, &mut generator(*s), level), 0.5).is_some())
            .count();
        assert!(seen >= 45, "{seen} of 50");
    }

    #[test]
    fn whole_trials_in_another_mode_are_found() {
        let level = |t, _| if t == 2 { 51e3 } else { 11e3 };
        let found = modes(&trials(5, 0.02, &mut generator(1), level), 0.5).unwrap();
        assert!(found.upper[2].iter().all(|u| *u == Some(true)));
        assert!((found.high_share - 0.2).abs() < 1e-9);
        // Of two trials each may have any level; nothing says that these are modes.
        let two = |t, _| if t == 1 { 51e3 } else { 11e3 };
        assert!(modes(&trials(2, 0.02, &mut generator(1), two), 0.5).is_none());
    }

    #[test]
    fn a_few_blocks_in_between_or_far_out_do_not_hide_the_modes() {
        let level = |t: usize, b: usize| match (t, b) {
            (0, 3) | (2, 5) => 24e3,
            (1, 1) => 900e3,
            _ if b >= 5 => 51e3,
            _ => 11e3,
        };
        let found = modes(&trials(5, 0.05, &mut generator(3), level), 0.5).unwrap();
        assert!(found.low < 12e3 && found.high > 48e3, "{found:?}");
        assert_eq!(found.upper[1][1], Some(true));
    }

    #[test]
    fn fewer_than_three_slow_blocks_are_outliers() {
        let level = |t: usize, b: usize| if t == 0 && b < 2 { 51e3 } else { 11e3 };
        assert!(modes(&trials(2, 0.05, &mut generator(1), level), 0.5).is_none());
    }

    #[test]
    fn blocks_without_samples_are_none_and_lost_ones_are_high() {
        let block = |b: usize| match b {
            0 => Vec::new(),
            b if b < 6 => vec![10.0, 10.1],
            _ => vec![50.0, 50.1],
        };
        let mut trial = TrialSamples::from_values(&(0..11).map(block).collect::<Vec<_>>(), 0);
        trial.blocks[10].infinite = 5;
        let found = modes(&[trial], 0.5).unwrap();
        assert_eq!(found.upper[0][0], None);
        assert_eq!(found.upper[0][10], Some(true));
        assert_eq!(found.high_share, 0.5);
        assert!(modes(&[], 0.5).is_none());
    }
}
