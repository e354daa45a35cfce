//! The hierarchical bootstrap: trials with replacement, then blocks within each drawn trial.
//!
//! Sources: Efron & Tibshirani, *An Introduction to the Bootstrap* (1993), chapters 8 and 13;
//! Davison & Hinkley, *Bootstrap Methods and their Application* (1997), section 3.8, for two levels.
//! Blocks keep what is close in time together, as the block bootstrap for dependent data does
//! (Künsch, Annals of Statistics 17, 1989).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// So many numbers drawn are kept of one set of trials at most, of two bytes each; of more, each resample is drawn when
/// it is needed.
const KEPT: usize = 1 << 22;
/// And so many of all sets of trials together: of two large ones, or of many small ones.
const KEPT_IN_ALL: usize = 2 * KEPT;

/// Resamples, drawn by whoever needs them first.
type Drawn = OnceLock<Vec<Box<[u16]>>>;

/// What was drawn for trials of these blocks.
struct Kept {
    /// Resamples, seed, stream, and the blocks of each trial.
    key: (u32, u64, u64, Vec<Range<usize>>),
    numbers: usize,
    drawn: Arc<Drawn>,
}

/// How intervals are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Resamples to draw; at least 1 is drawn, and below 200 the ends of intervals are rough.
    pub resamples: u32,
    /// The share of intervals that shall hold the true value; brought into 0.5 to 0.999.
    pub confidence: f64,
    /// The seed of the drawing; equal seeds give equal intervals.
    pub seed: u64,
}

impl Default for Bootstrap {
    /// 1,000 resamples, 95 %, a fixed seed.
    fn default() -> Self {
        Bootstrap {
            resamples: 1_000,
            confidence: 0.95,
            seed: 0x0064_796e_6f00,
        }
    }
}

impl Bootstrap {
    /// The probability left outside on each side.
    pub(crate) fn tail(&self) -> f64 {
        (1.0 - self.confidence.clamp(0.5, 0.999)) / 2.0
    }

    /// Generator number `stream`, so that two sides of a comparison draw independently.
    pub(crate) fn generator(&self, stream: u64) -> ChaCha8Rng {
        let mut generator = ChaCha8Rng::seed_from_u64(self.seed);
        generator.set_stream(stream);
        generator
    }

    /// Calls `each` once per resample with the trials drawn: the number of each, and the blocks drawn from it, which
    /// are as many as it has. `trials` are the blocks of each trial.
    pub(crate) fn resample(
        &self,
        stream: u64,
        trials: &[Range<usize>],
        mut each: impl FnMut(&[u32]),
    ) {
        let most = trials.iter().map(|t| t.len() + 1).max().unwrap_or(0) * trials.len();
        let numbers = most.saturating_mul(self.resamples.max(1) as usize);
        let blocks = trials.iter().map(|t| t.end).max().unwrap_or(0);
        if numbers > KEPT || blocks.max(trials.len()) > usize::from(u16::MAX) {
            return self.draw(stream, trials, each);
        }
        let kept = self.kept(stream, trials, numbers);
        let mut drawn = Vec::new();
        for one in kept.get().into_iter().flatten() {
            drawn.clear();
            drawn.extend(one.iter().copied().map(u32::from));
            each(&drawn);
        }
    }

    fn draw(&self, stream: u64, trials: &[Range<usize>], mut each: impl FnMut(&[u32])) {
        let mut generator = self.generator(stream);
        let mut drawn = Vec::new();
        for _ in 0..self.resamples.max(1) {
            drawn.clear();
            for _ in trials {
                let number = generator.random_range(0..trials.len());
                let trial = &trials[number];
                drawn.push(number as u32);
                let block = |_| generator.random_range(trial.clone()) as u32;
                drawn.extend(trial.clone().map(block));
            }
            each(&drawn);
        }
    }

    /// All resamples, of `numbers` numbers at most. What is drawn depends on nothing that was measured, so metrics and
    /// experiments of as many trials and blocks share it, on all threads: those asked for last are kept.
    fn kept(&self, stream: u64, trials: &[Range<usize>], numbers: usize) -> Arc<Drawn> {
        static LAST: Mutex<VecDeque<Kept>> = Mutex::new(VecDeque::new());
        let key = (self.resamples, self.seed, stream, trials.to_vec());
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.iter().position(|kept| kept.key == key);
        let found = known
            .and_then(|at| last.remove(at))
            .unwrap_or_else(|| Kept {
                key,
                numbers,
                drawn: Arc::default(),
            });
        let drawn = Arc::clone(&found.drawn);
        last.push_front(found);
        while last.iter().map(|kept| kept.numbers).sum::<usize>() > KEPT_IN_ALL {
            last.pop_back();
        }
        // Others go on while these are drawn.
        drop(last);
        drawn.get_or_init(|| {
            let mut all = Vec::new();
            // No number is larger than the blocks are many.
            let narrow = |one: &[u32]| one.iter().map(|number| *number as u16).collect();
            self.draw(stream, trials, |one| all.push(narrow(one)));
            all
        });
        drawn
    }

    /// The percentile interval of resampled values, its ends rounded outwards; `None` without any.
    pub(crate) fn percentiles(&self, values: Vec<f64>) -> Option<(f64, f64)> {
        Self::between_tails(self.tail(), values)
    }

    /// The values between the tails, each a share of all, rounded outwards; `None` without any.
    pub(crate) fn between_tails(tail: f64, mut values: Vec<f64>) -> Option<(f64, f64)> {
        values.sort_unstable_by(f64::total_cmp);
        let cut = (tail * values.len() as f64).floor() as usize;
        let lo = *values.get(cut)?;
        Some((lo, values[values.len() - 1 - cut]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resample_draws_as_many_blocks_as_the_trials_it_drew_have() {
        let how = Bootstrap {
            resamples: 50,
            ..Bootstrap::default()
        };
        let mut drawn = 0;
        how.resample(0, &[0..4, 4..8, 8..12], |draws| {
            assert_eq!(draws.len(), 3 * 5);
            for one in draws.chunks(5) {
                // All of one trial.
                assert!(one[1..].iter().all(|b| b / 4 == one[0]));
            }
            drawn += 1;
        });
        assert_eq!(drawn, 50);
    }

    #[test]
    fn what_is_kept_is_what_would_be_drawn() {
        let how = Bootstrap {
            resamples: 20,
            ..Bootstrap::default()
        };
        // Others in between, and trials of different length.
        for trials in [vec![0..4, 4..6], vec![0..4, 4..7], vec![0..4, 4..6]] {
            for stream in [0, 1, 1] {
                let (mut kept, mut drawn) = (Vec::new(), Vec::new());
                how.resample(stream, &trials, |one| kept.push(one.to_vec()));
                how.draw(stream, &trials, |one| drawn.push(one.to_vec()));
                assert_eq!(kept, drawn);
            }
        }
    }

    #[test]
    fn streams_differ_and_seeds_repeat() {
        let how = Bootstrap::default();
        let draw = |stream| how.generator(stream).random::<u64>();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn a_percentile_interval_rounds_outwards() {
        let how = Bootstrap::default();
        let values: Vec<f64> = (0..1_000).map(f64::from).collect();
        assert_eq!(how.percentiles(values), Some((25.0, 974.0)));
        assert_eq!(how.percentiles(vec![4.0]), Some((4.0, 4.0)));
        assert_eq!(how.percentiles(Vec::new()), None);
    }
}
