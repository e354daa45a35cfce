//! Drift inside the window: whether its later half is slower than its first.

use crate::rank::median;
use crate::samples::{Block, Sorted, TrialSamples};
use crate::small::Spread;
use crate::stability::TOLERANCE;
use crate::value::{Estimate, Interval};

/// The chance on each side that a drift is reported where there is none: 99 % of intervals hold.
const TAIL: f64 = 0.005;

/// The window was not level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The quantile of the last half of the window divided by that of its first half: the median
    /// over trials, and Student's interval over the trials' logarithms at 99 %.
    pub ratio: Estimate,
}

/// Whether quantile `q` drifts inside the windows of `trials`: the ratio of the two halves of each
/// trial, over trials. `Some` only where the interval excludes 1 and the ratio differs from 1 by more
/// than half of [`TOLERANCE`] (5 %).
///
/// A trial with fewer than two blocks, or with a half whose quantile is zero, infinite or without
/// samples, is left out; of an odd number of blocks, the one in the middle is. One trial has no
/// interval and shows no drift: what one window does, any next one may undo.
pub fn drift(trials: &[TrialSamples], q: f64) -> Option<Drift> {
    let logs: Vec<f64> = trials.iter().filter_map(|t| log_ratio(t, q)).collect();
    let spread = Spread::of(&logs)?;
    let ends = spread.interval(TAIL);
    let middle = median(&logs);
    let excludes_1 = ends.0 > 0.0 || ends.1 < 0.0;
    if !excludes_1 || middle.abs() <= (TOLERANCE / 2.0).ln_1p() {
        return None;
    }
    let mut interval = Interval::at(middle.exp());
    interval.widen((ends.0.exp(), ends.1.exp()));
    Some(Drift {
        ratio: interval.estimate(),
    })
}

/// Logarithm of the last half's quantile over the first half's.
fn log_ratio(trial: &TrialSamples, q: f64) -> Option<f64> {
    let half = trial.blocks.len() / 2;
    let of = |blocks: &[Block]| Sorted::of(blocks).quantile(q);
    let first = of(&trial.blocks[..half])?;
    let last = of(&trial.blocks[trial.blocks.len() - half..])?;
    Some((last / first).ln()).filter(|l| l.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::gauss;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Ten blocks whose level rises by `rise` in total over the window.
    fn trial(level: f64, rise: f64, generator: &mut ChaCha8Rng) -> TrialSamples {
        let blocks: Vec<Vec<f64>> = (0..10)
            .map(|b| {
                let at = level * (1.0 + rise * f64::from(b) / 9.0);
                (0..100)
                    .map(|_| at * (0.1 * gauss(generator)).exp())
                    .collect()
            })
            .collect();
        TrialSamples::from_values(&blocks, 0)
    }

    fn trials(seed: u64, n: usize, rise: f64) -> Vec<TrialSamples> {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        (0..n)
            .map(|_| {
                let level = 1e4 * (0.2 * gauss(&mut generator)).exp();
                trial(level, rise, &mut generator)
            })
            .collect()
    }

    #[test]
    fn windows_that_slow_down_are_reported_with_the_ratio() {
        let found = drift(&trials(1, 5, 0.5), 0.5).unwrap().ratio;
        // Medians of the halves: 1 + 0.5 * 2/9 and 1 + 0.5 * 7/9.
        let expected = (1.0 + 3.5 / 9.0) / (1.0 + 1.0 / 9.0);
        let value = found.value.as_f64();
        assert!((value / expected - 1.0).abs() < 0.03, "{value}");
        assert!(found.lo.as_f64() > 1.0 && found.lo <= found.value && found.value <= found.hi);
        assert!(drift(&trials(1, 5, -0.4), 0.5).unwrap().ratio.hi.as_f64() < 1.0);
    }

    #[test]
    fn level_windows_are_not() {
        let alarms = (0..500)
            .filter(|seed| drift(&trials(*seed, 5, 0.0), 0.9).is_some())
            .count();
        assert!(alarms <= 8, "{alarms}");
    }

    #[test]
    fn a_small_drift_is_let_pass() {
        assert!(drift(&trials(1, 20, 0.04), 0.5).is_none());
    }

    #[test]
    fn what_has_no_halves_shows_no_drift() {
        assert!(drift(&[], 0.5).is_none());
        assert!(drift(&trials(1, 1, 0.5), 0.5).is_none());
        let flat = TrialSamples::from_values(&[vec![1.0; 10]], 0);
        assert!(drift(&vec![flat; 5], 0.5).is_none());
        let lost = TrialSamples::from_values(&[], 10);
        assert!(drift(&vec![lost; 5], 0.5).is_none());
    }
}
