//! The hierarchical bootstrap: trials with replacement, then blocks within each drawn trial.
//!
//! Sources: Efron & Tibshirani, *An Introduction to the Bootstrap* (1993), chapters 8 and 13;
//! Davison & Hinkley, *Bootstrap Methods and their Application* (1997), section 3.8, for two levels.
//! Blocks keep what is close in time together, as the block bootstrap for dependent data does
//! (Künsch, Annals of Statistics 17, 1989).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

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

    /// Calls `each` once per resample with the trials drawn, each as the blocks drawn from it. `trials` are
    /// the blocks of each trial.
    pub(crate) fn resample(
        &self,
        stream: u64,
        trials: &[Range<usize>],
        mut each: impl FnMut(&[Vec<usize>]),
    ) {
        let mut generator = self.generator(stream);
        let mut draws = vec![Vec::new(); trials.len()];
        for _ in 0..self.resamples.max(1) {
            for drawn in &mut draws {
                let trial = &trials[generator.random_range(0..trials.len())];
                drawn.clear();
                drawn.extend(trial.clone().map(|_| generator.random_range(trial.clone())));
            }
            each(&draws);
        }
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
            assert_eq!(draws.len(), 3);
            for blocks in draws {
                // All of one trial.
                assert!(blocks.len() == 4 && blocks.iter().all(|b| b / 4 == blocks[0] / 4));
            }
            drawn += 1;
        });
        assert_eq!(drawn, 50);
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
