//! Quantiles of many resamples of the same blocks, fast.
//!
//! A resample only changes how often each block counts. So the values of all blocks are sorted
//! once; at every [`Pool::stride`]th value the counts below it are kept per block. A quantile of a
//! resample is then a binary search over those checkpoints (each a dot product with the blocks'
//! multiplicities) and a short walk.

use crate::samples::TrialSamples;
use std::ops::Range;

/// Checkpoints at most; bounds both memory and the walk.
const CHECKPOINTS: usize = 256;

struct Entry {
    value: f64,
    block: u32,
    count: u64,
}

/// All blocks of several trials, ready for resampling.
pub(crate) struct Pool {
    /// Ascending by value.
    entries: Vec<Entry>,
    /// Entries from one checkpoint to the next.
    stride: usize,
    /// Row `c`: per block, the samples among the first `c * stride` entries.
    below: Vec<u64>,
    /// Finite samples by block.
    finite: Vec<u64>,
    /// Lost messages by block.
    infinite: Vec<u64>,
    /// The blocks of each trial.
    trials: Vec<Range<usize>>,
}

impl Pool {
    pub(crate) fn new<'a>(trials: impl IntoIterator<Item = &'a TrialSamples>) -> Self {
        let mut pool = Pool {
            entries: Vec::new(),
            stride: 1,
            below: Vec::new(),
            finite: Vec::new(),
            infinite: Vec::new(),
            trials: Vec::new(),
        };
        for trial in trials {
            let first = pool.finite.len();
            for block in &trial.blocks {
                let number = pool.finite.len() as u32;
                pool.entries.extend(block.cells.iter().map(|c| Entry {
                    value: c.value,
                    block: number,
                    count: c.count,
                }));
                pool.finite.push(block.n);
                pool.infinite.push(block.infinite);
            }
            pool.trials.push(first..pool.finite.len());
        }
        pool.entries
            .sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
        pool.stride = pool.entries.len().div_ceil(CHECKPOINTS).max(1);
        let mut row = vec![0; pool.finite.len()];
        for chunk in pool.entries.chunks(pool.stride) {
            pool.below.extend_from_slice(&row);
            for entry in chunk {
                row[entry.block as usize] += entry.count;
            }
        }
        pool
    }

    /// The blocks of each trial, as ranges of block numbers.
    pub(crate) fn trials(&self) -> &[Range<usize>] {
        &self.trials
    }

    pub(crate) fn blocks(&self) -> usize {
        self.finite.len()
    }

    /// Finite samples and lost messages of a block.
    pub(crate) fn n_of(&self, block: usize) -> u64 {
        self.finite[block] + self.infinite[block]
    }

    /// Quantile `q` of the samples in which block `b` occurs `times[b]` times: the smallest value
    /// with at least a share `q` of all samples at or below it, infinite where that is a lost
    /// message; `None` without any sample.
    pub(crate) fn quantile(&self, times: &[u32], q: f64) -> Option<f64> {
        let finite = dot(times, &self.finite);
        let n = finite + dot(times, &self.infinite);
        if n == 0 {
            return None;
        }
        let rank = rank(q, n);
        if rank > finite {
            return Some(f64::INFINITY);
        }
        let width = self.blocks();
        let row = |c: usize| &self.below[c * width..(c + 1) * width];
        let rows = self.entries.len().div_ceil(self.stride);
        // The last checkpoint with fewer than `rank` samples below; the first has none below.
        let (mut lo, mut hi) = (0, rows);
        while hi - lo > 1 {
            let middle = lo.midpoint(hi);
            if dot(times, row(middle)) < rank {
                lo = middle;
            } else {
                hi = middle;
            }
        }
        let mut seen = dot(times, row(lo));
        self.entries[lo * self.stride..]
            .iter()
            .find(|e| {
                seen += u64::from(times[e.block as usize]) * e.count;
                seen >= rank
            })
            .map(|e| e.value)
    }

    /// The share of each block's samples that lies above `value`, and the block's samples; blocks
    /// without any are left out.
    pub(crate) fn shares_above(&self, value: f64) -> (Vec<f64>, Vec<f64>) {
        let mut at_or_below = vec![0u64; self.blocks()];
        for entry in self.entries.iter().take_while(|e| e.value <= value) {
            at_or_below[entry.block as usize] += entry.count;
        }
        at_or_below
            .iter()
            .enumerate()
            .map(|(b, below)| (*below as f64, self.n_of(b) as f64))
            .filter(|(_, n)| *n > 0.0)
            .map(|(below, n)| ((n - below) / n, n))
            .unzip()
    }

    /// The `rank`th smallest sample, from 1; infinite beyond the finite ones.
    pub(crate) fn order_statistic(&self, rank: u64) -> f64 {
        let mut seen = 0;
        self.entries
            .iter()
            .find(|e| {
                seen += e.count;
                seen >= rank
            })
            .map_or(f64::INFINITY, |e| e.value)
    }
}

/// The rank, from 1, of quantile `q` among `n` samples: the least whole number not below `q·n`. A
/// product that misses a whole number by rounding alone counts as that number.
pub(crate) fn rank(q: f64, n: u64) -> u64 {
    let exact = q * n as f64;
    ((exact * (1.0 - 1e-12)).ceil() as u64).clamp(1, n)
}

fn dot(times: &[u32], counts: &[u64]) -> u64 {
    times
        .iter()
        .zip(counts)
        .map(|(t, c)| u64::from(*t) * c)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_survive_rounding() {
        assert_eq!(rank(0.07, 100), 7);
        assert_eq!(rank(0.99, 100), 99);
        assert_eq!(rank(0.5, 5), 3);
        assert_eq!(rank(0.999, 1_000_000), 999_000);
        assert_eq!((rank(0.0, 9), rank(1.0, 9)), (1, 9));
    }

    #[test]
    fn a_block_that_counts_twice_weighs_twice() {
        let trial = TrialSamples::from_values(&[vec![1.0, 2.0], vec![10.0]], 0);
        let pool = Pool::new([&trial]);
        assert_eq!(pool.quantile(&[1, 1], 0.5), Some(2.0));
        assert_eq!(pool.quantile(&[1, 2], 0.75), Some(10.0));
        assert_eq!(pool.quantile(&[1, 3], 0.5), Some(10.0));
        assert_eq!(pool.quantile(&[0, 0], 0.5), None);
    }

    #[test]
    fn checkpoints_do_not_change_the_answer() {
        let values: Vec<f64> = (0..5_000).map(|i| f64::from(i * 7919 % 5_000)).collect();
        let blocks: Vec<Vec<f64>> = values.chunks(100).map(<[f64]>::to_vec).collect();
        let pool = Pool::new([&TrialSamples::from_values(&blocks, 0)]);
        assert!(pool.stride > 1);
        let ones = vec![1; pool.blocks()];
        for q in [0.0001, 0.1, 0.5, 0.9, 0.999, 1.0] {
            let expected = (rank(q, 5_000) - 1) as f64;
            assert_eq!(pool.quantile(&ones, q), Some(expected), "{q}");
        }
    }
}
