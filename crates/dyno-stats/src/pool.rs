//! Quantiles of many resamples of the same blocks, fast.
//!
//! **Each trial weighs the same**, however many samples it has: in a window of so many seconds a fast
//! trial of a closed loop has more of them, which makes it no better a witness. A sample of a trial with `n`
//! of them weighs `1/n`; where all trials have equally many, that is the same as counting.
//!
//! A resample only changes the weight of each block. So the values of all blocks are sorted
//! once; at every [`Pool::stride`]th value the counts below it are kept per block. A quantile of a
//! resample is then a binary search over those checkpoints (each a dot product with the blocks'
//! weights) and a short walk. Resamples differ little, so each search begins where the last one ended.

use crate::cells::Counts;
use crate::samples::{TrialSamples, reached_from};
use crate::values::Values;
use std::ops::Range;

/// Checkpoints at most; more would only shorten a short walk.
const CHECKPOINTS: usize = 256;
/// Counts in all checkpoints at most: of many blocks there are fewer checkpoints, so that they stay in the cache.
const COUNTS: usize = 1 << 19;

/// A large run has millions of them at once; so their values, of which many are equal, stand apart.
#[derive(Clone, Copy)]
struct Entry {
    /// See [`Counts`].
    count: u32,
    block: u32,
}

/// All blocks of several trials, ready for resampling.
#[derive(Default)]
pub(crate) struct Pool {
    /// Ascending by value; of one value, in the order of the blocks.
    entries: Vec<Entry>,
    values: Values,
    /// The first entry of each.
    starts: Vec<u32>,
    counts: Counts,
    /// Entries from one checkpoint to the next.
    stride: usize,
    /// Row `c`: per block, the samples among the first `c * stride` entries.
    below: Vec<f64>,
    /// Finite samples by block.
    finite: Vec<f64>,
    /// Lost messages by block.
    infinite: Vec<f64>,
    /// Both.
    n: Vec<f64>,
    /// Finite samples and lost messages of the average trial.
    average: f64,
    /// The blocks of each trial.
    trials: Vec<Range<usize>>,
}

impl Pool {
    pub(crate) fn new<'a>(trials: impl IntoIterator<Item = &'a TrialSamples>) -> Self {
        let mut pool = Pool {
            stride: 1,
            ..Pool::default()
        };
        let trials: Vec<&TrialSamples> = trials.into_iter().collect();
        pool.values = Values::of(&trials);
        // Where the next entry of each value goes: first how many there are of it.
        let mut next = vec![0u32; pool.values.all.len()];
        for value in &pool.values.of_cells {
            next[*value as usize] += 1;
        }
        let mut entries = 0;
        for next in &mut next {
            entries += std::mem::replace(next, entries);
        }
        pool.starts.clone_from(&next);
        pool.entries = vec![Entry { count: 0, block: 0 }; entries as usize];
        let mut of_cells = pool.values.of_cells.iter();
        for trial in trials.iter().copied() {
            let first = pool.finite.len();
            for block in &trial.blocks {
                let number = pool.finite.len() as u32;
                for (cell, value) in block.cells.iter().zip(&mut of_cells) {
                    let place = &mut next[*value as usize];
                    pool.entries[*place as usize] = Entry {
                        count: pool.counts.pack(cell.count),
                        block: number,
                    };
                    *place += 1;
                }
                let (finite, infinite) = (block.n as f64, block.infinite as f64);
                pool.finite.push(finite);
                pool.infinite.push(infinite);
                pool.n.push(finite + infinite);
            }
            pool.trials.push(first..pool.finite.len());
        }
        let samples: f64 = pool.n.iter().sum();
        pool.average = samples / pool.trials.len().max(1) as f64;
        let checkpoints = (COUNTS / pool.blocks().max(1)).clamp(1, CHECKPOINTS);
        pool.stride = pool.entries.len().div_ceil(checkpoints).max(1);
        let rows = pool.entries.len().div_ceil(pool.stride);
        pool.below.reserve_exact(rows * pool.blocks());
        let mut row = vec![0.0; pool.finite.len()];
        for chunk in pool.entries.chunks(pool.stride) {
            pool.below.extend_from_slice(&row);
            for entry in chunk {
                row[entry.block as usize] += pool.counts.of(entry.count) as f64;
            }
        }
        pool
    }

    /// A weight for the samples of each block, at which every trial weighs as much as the average one has
    /// samples: 1 where all have equally many. `drawn` are trials, each with the blocks that it is made of, as
    /// [`crate::Bootstrap::resample`] draws them; a trial or block drawn twice counts twice, one without a sample not
    /// at all.
    pub(crate) fn weigh(&self, mut drawn: &[u32], weights: &mut Vec<f64>) {
        weights.clear();
        weights.resize(self.blocks(), 0.0);
        while let Some((trial, rest)) = drawn.split_first() {
            let (blocks, rest) = rest.split_at(self.trials[*trial as usize].len());
            drawn = rest;
            let own: f64 = blocks.iter().map(|b| self.n[*b as usize]).sum();
            if own > 0.0 {
                let weight = self.average / own;
                blocks.iter().for_each(|b| weights[*b as usize] += weight);
            }
        }
    }

    /// Quantile `q` of all trials as they are.
    pub(crate) fn own_quantile(&self, q: f64) -> Option<f64> {
        let mut each = Vec::new();
        for (number, blocks) in self.trials.iter().enumerate() {
            each.push(number as u32);
            each.extend(blocks.clone().map(|b| b as u32));
        }
        let mut weights = Vec::new();
        self.weigh(&each, &mut weights);
        self.quantile(&weights, q)
    }

    /// Quantile `q` of each trial by itself, infinite where that is a lost message; trials without a sample are left
    /// out.
    pub(crate) fn quantile_of_each(&self, q: f64) -> Vec<f64> {
        let sum = |of: &[f64], blocks: &Range<usize>| -> f64 { of[blocks.clone()].iter().sum() };
        let with_samples = self
            .trials
            .iter()
            .filter(|blocks| sum(&self.n, blocks) > 0.0);
        // Of each trial: what must lie at or below its quantile, what was seen so far, and the quantile.
        let mut found: Vec<(f64, f64, f64)> = Vec::new();
        let mut trial_of = vec![0u32; self.blocks()];
        for blocks in with_samples {
            trial_of[blocks.clone()].fill(found.len() as u32);
            let target = reached_from(q, sum(&self.n, blocks));
            found.push((target, 0.0, f64::INFINITY));
        }
        let mut open = found.len();
        for (at, entry) in self.entries.iter().enumerate() {
            let (target, seen, value) = &mut found[trial_of[entry.block as usize] as usize];
            let was_short = *seen < *target;
            *seen += self.count(entry);
            if was_short && *seen >= *target {
                *value = self.value(at);
                open -= 1;
            }
            if open == 0 {
                break;
            }
        }
        found.into_iter().map(|(_, _, value)| value).collect()
    }

    /// The values of all samples.
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    #[inline]
    fn count(&self, entry: &Entry) -> f64 {
        self.counts.of(entry.count) as f64
    }

    /// The value of the entry at this place.
    fn value(&self, at: usize) -> f64 {
        let number = self.starts.partition_point(|start| *start as usize <= at);
        self.values.all[number - 1]
    }

    /// The blocks of each trial, as ranges of block numbers.
    pub(crate) fn trials(&self) -> &[Range<usize>] {
        &self.trials
    }

    pub(crate) fn blocks(&self) -> usize {
        self.finite.len()
    }

    /// Quantile `q` where each sample of block `b` has the weight `weights[b]`: the smallest value with at
    /// least a share `q` of all weight at or below it, infinite where that is a lost message; `None` without
    /// any weight.
    pub(crate) fn quantile(&self, weights: &[f64], q: f64) -> Option<f64> {
        self.quantile_near(weights, self.weight(weights), q, &mut 0)
    }

    /// The weight of all finite samples, and of all together.
    pub(crate) fn weight(&self, weights: &[f64]) -> (f64, f64) {
        let finite = dot(weights, &self.finite);
        (finite, finite + dot(weights, &self.infinite))
    }

    /// [`Pool::quantile`] of weights that together weigh `(finite, all)`. The search begins at the checkpoint
    /// `near` and leaves there the one that it found.
    pub(crate) fn quantile_near(
        &self,
        weights: &[f64],
        (finite, all): (f64, f64),
        q: f64,
        near: &mut usize,
    ) -> Option<f64> {
        if all <= 0.0 {
            return None;
        }
        let target = reached_from(q, all);
        if finite <= 0.0 || target > finite {
            return Some(f64::INFINITY);
        }
        let width = self.blocks();
        let below = |c: usize| dot(weights, &self.below[c * width..(c + 1) * width]);
        let rows = self.entries.len().div_ceil(self.stride);
        // The last checkpoint that falls short is in `lo..hi`; the first has nothing below it.
        let (mut lo, mut seen, mut hi) = (0, 0.0, rows);
        let (mut probe, mut step) = ((*near).min(rows - 1), 1);
        while hi - lo > 1 {
            let at = match probe > lo && probe < hi {
                true => probe,
                false => lo.midpoint(hi),
            };
            let found = below(at);
            if found < target {
                (lo, seen) = (at, found);
                probe = at + step;
            } else {
                hi = at;
                probe = at.saturating_sub(step);
            }
            step *= 2;
        }
        *near = lo;
        let first = lo * self.stride;
        let rest = &self.entries[first..];
        let weight = |entry: &Entry| weights[entry.block as usize];
        // What weighs nothing takes part: it reaches nothing either, and to pass it over would take longer.
        let reached = rest.iter().position(|entry| {
            seen += weight(entry) * self.count(entry);
            seen >= target
        });
        let last = || rest.iter().rposition(|entry| weight(entry) > 0.0);
        reached.or_else(last).map(|at| self.value(first + at))
    }

    /// The share of each block's samples that lies above `value`, and the block's samples; blocks
    /// without any are left out.
    pub(crate) fn shares_above(&self, value: f64) -> (Vec<f64>, Vec<f64>) {
        let mut at_or_below = vec![0.0; self.blocks()];
        let values = self.values.all.partition_point(|v| *v <= value);
        let end = self.starts.get(values);
        let end = end.map_or(self.entries.len(), |start| *start as usize);
        for entry in &self.entries[..end] {
            at_or_below[entry.block as usize] += self.count(entry);
        }
        at_or_below
            .iter()
            .enumerate()
            .map(|(b, below)| (*below, self.n[b]))
            .filter(|(_, n)| *n > 0.0)
            .map(|(below, n)| ((n - below) / n, n))
            .unzip()
    }

    /// The `rank`th smallest sample, from 1; infinite beyond the finite ones.
    pub(crate) fn order_statistic(&self, rank: u64) -> f64 {
        let mut seen = 0;
        self.entries
            .iter()
            .position(|e| {
                seen += self.counts.of(e.count);
                seen >= rank
            })
            .map_or(f64::INFINITY, |at| self.value(at))
    }
}

/// In several sums at once, which the processor adds up side by side.
fn dot(weights: &[f64], counts: &[f64]) -> f64 {
    const LANES: usize = 8;
    let (weights, counts) = (weights.chunks_exact(LANES), counts.chunks_exact(LANES));
    let rest = weights.remainder().iter().zip(counts.remainder());
    let rest: f64 = rest.map(|(w, c)| w * c).sum();
    let mut sums = [0.0; LANES];
    for (weights, counts) in weights.zip(counts) {
        for (sum, (w, c)) in sums.iter_mut().zip(weights.iter().zip(counts)) {
            *sum += w * c;
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{Cell, Cells};
    use crate::samples::Sorted;

    #[test]
    fn ranks_survive_rounding() {
        // By count: the rank, from 1, is the least whole number that reaches it.
        let rank = |q: f64, n: f64| reached_from(q, n).ceil();
        assert_eq!(rank(0.07, 100.0), 7.0);
        assert_eq!(rank(0.99, 100.0), 99.0);
        assert_eq!(rank(0.5, 5.0), 3.0);
        assert_eq!(rank(0.999, 1e6), 999_000.0);
        assert_eq!((rank(0.0, 9.0), rank(1.0, 9.0)), (1.0, 9.0));
    }

    #[test]
    fn a_block_that_counts_twice_weighs_twice() {
        let trial = TrialSamples::from_values(&[vec![1.0, 2.0], vec![10.0]], 0);
        let pool = Pool::new([&trial]);
        assert_eq!(pool.quantile(&[1.0, 1.0], 0.5), Some(2.0));
        assert_eq!(pool.quantile(&[1.0, 2.0], 0.75), Some(10.0));
        assert_eq!(pool.quantile(&[1.0, 3.0], 0.5), Some(10.0));
        assert_eq!(pool.quantile(&[0.0, 0.0], 0.5), None);
    }

    #[test]
    fn the_quantile_of_each_trial_is_its_own() {
        let values = |seed: u32| (0..300).map(move |i| f64::from((i * 7919 + seed) % 97));
        let blocks = |seed| {
            values(seed)
                .collect::<Vec<f64>>()
                .chunks(70)
                .map(<[f64]>::to_vec)
                .collect::<Vec<_>>()
        };
        let none = TrialSamples::default();
        let lost = TrialSamples::from_values(&[Vec::new()], 3);
        let trials = [
            TrialSamples::from_values(&blocks(1), 0),
            none,
            lost,
            TrialSamples::from_values(&blocks(50), 40),
        ];
        let pool = Pool::new(&trials);
        for q in [0.001, 0.5, 0.9, 0.999] {
            let sorted = trials.iter().map(|t| Sorted::of(&t.blocks));
            let expected: Vec<f64> = sorted.filter_map(|s| s.quantile(q)).collect();
            assert_eq!(pool.quantile_of_each(q), expected, "{q}");
        }
    }

    #[test]
    fn a_trial_with_more_samples_weighs_no_more() {
        let fast = TrialSamples::from_values(&[vec![1.0; 900]], 0);
        let slow = TrialSamples::from_values(&[vec![5.0; 50], vec![5.0; 50]], 0);
        let pool = Pool::new([&fast, &slow]);
        assert_eq!(pool.own_quantile(0.5), Some(1.0));
        assert_eq!(pool.own_quantile(0.51), Some(5.0));
        let mut weights = Vec::new();
        pool.weigh(&[0, 0, 1, 1, 1], &mut weights);
        // Five hundred samples' worth each.
        assert_eq!(weights, [500.0 / 900.0, 10.0, 0.0]);
    }

    #[test]
    fn equal_trials_count_one_by_one() {
        let trial = TrialSamples::from_values(&[vec![3.0; 7], vec![4.0; 7]], 1);
        let pool = Pool::new([&trial, &trial, &trial]);
        let mut weights = Vec::new();
        pool.weigh(&[0, 0, 1, 1, 2, 3, 2, 4, 5], &mut weights);
        assert_eq!(weights, [1.0; 6]);
    }

    #[test]
    fn counts_too_large_for_half_the_bytes_are_kept_whole() {
        let block = |counts: &[(u64, u64)]| crate::samples::Block {
            cells: Cells::new(
                &counts
                    .iter()
                    .map(|(value, count)| Cell {
                        value: *value as f64,
                        count: *count,
                    })
                    .collect::<Vec<_>>(),
            ),
            n: counts.iter().map(|(_, count)| count).sum(),
            infinite: 0,
        };
        let most = 1 << 31;
        let trial = TrialSamples {
            blocks: vec![
                block(&[(1, most - 1), (2, most), (3, 5)]),
                block(&[(2, most + 7), (9, 1 << 40)]),
            ],
        };
        let pool = Pool::new([&trial]);
        let below: u64 = 3 * most + 11;
        assert_eq!(pool.order_statistic(most - 1), 1.0);
        assert_eq!(pool.order_statistic(3 * most + 6), 2.0);
        assert_eq!(pool.order_statistic(below), 3.0);
        assert_eq!(pool.order_statistic(below + 1), 9.0);
        assert_eq!(pool.order_statistic(below + (1 << 40)), 9.0);
        assert_eq!(pool.order_statistic(below + (1 << 40) + 1), f64::INFINITY);
        let (above, _) = pool.shares_above(2.0);
        let share = |above: u64, all: u64| above as f64 / all as f64;
        let second = most + 7 + (1 << 40);
        assert_eq!(above, [share(5, 2 * most + 4), share(1 << 40, second)]);
    }

    #[test]
    fn checkpoints_do_not_change_the_answer() {
        let values: Vec<f64> = (0..5_000).map(|i| f64::from(i * 7919 % 5_000)).collect();
        let blocks: Vec<Vec<f64>> = values.chunks(100).map(<[f64]>::to_vec).collect();
        let pool = Pool::new([&TrialSamples::from_values(&blocks, 0)]);
        assert!(pool.stride > 1);
        for q in [0.0001, 0.1, 0.5, 0.9, 0.999, 1.0] {
            let expected = reached_from(q, 5_000.0).ceil() - 1.0;
            assert_eq!(pool.own_quantile(q), Some(expected), "{q}");
        }
    }
}
