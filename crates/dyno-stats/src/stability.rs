//! Whether a repeat of the run would show the same: the rule by which Dyno itself marks a result
//! as unstable.

use crate::quantile::trial_quantiles;
use crate::samples::TrialSamples;
use crate::value::{Estimate, Interval};

/// A repeat may differ by this share before a result is unstable: 10 %.
pub const TOLERANCE: f64 = 0.10;

/// Of trials with one sample each, two groups are modes where each holds at least this share of them:
/// fewer are the tail of a distribution, which its quantiles tell.
const MODE_SHARE: f64 = 0.1;

/// Why a result is unstable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Instability {
    /// A single trial says nothing about the next one.
    SingleTrial,
    /// A repeat may differ by more than [`TOLERANCE`].
    Wide,
    /// The trials fall into two groups; typical of unpinned roles and of changing placement.
    TwoModes {
        /// Geometric mean of the quantile in the lower group, in the samples' unit.
        low: f64,
        /// The same of the upper group; infinite where a trial lost that many messages.
        high: f64,
    },
}

/// How far the trials agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Stability {
    /// The largest quantile of a trial divided by the smallest; 1 where all are equal, infinite
    /// where some are zero or infinite and others are not.
    pub spread: f64,
    /// By which share the estimate of a repeat of the whole run may differ from this one, at the
    /// estimate's confidence: 0.1 for 10 %.
    pub repeat_within: f64,
    /// Why the result is unstable; empty where it is stable.
    pub reasons: Vec<Instability>,
}

impl Stability {
    /// Whether the result must be marked.
    pub fn is_unstable(&self) -> bool {
        !self.reasons.is_empty()
    }
}

/// Judges quantile `q` of `trials`, whose `estimate` came from [`crate::quantile()`].
///
/// The rule, each part enough by itself:
///
/// 1. There is one trial only.
/// 2. A repeat may differ by more than 10 %. The difference of two independent estimates scatters
///    √2 times as much as one, so with `w` the logarithm of the interval's farther end over the
///    estimate, a repeat stays within `exp(√2·w) - 1`. (10 % is reached when the interval itself
///    reaches 7 %; an interval of ±10 % alone would let repeats differ by 14 %.)
/// 3. The trials' own quantiles, sorted, have a gap of more than 10 % that is wider than either of
///    the two groups that it separates. Where each trial is one sample, each group also holds at least
///    a tenth of them.
pub fn stability(trials: &[TrialSamples], q: f64, estimate: &Estimate) -> Stability {
    let mut own: Vec<f64> = trial_quantiles(trials, q)
        .into_iter()
        .map(|v| v.as_f64())
        .collect();
    own.sort_unstable_by(f64::total_cmp);
    let mut interval = Interval::at(estimate.value.as_f64());
    interval.widen((estimate.lo.as_f64(), estimate.hi.as_f64()));
    let repeat_within = (std::f64::consts::SQRT_2 * interval.log_half_width()).exp_m1();
    let mut reasons = Vec::new();
    if own.len() < 2 {
        reasons.push(Instability::SingleTrial);
    }
    if repeat_within > TOLERANCE {
        reasons.push(Instability::Wide);
    }
    let least = match trials.iter().all(|t| t.n() <= 1) {
        true => (MODE_SHARE * own.len() as f64).ceil() as usize,
        false => 1,
    };
    reasons.extend(two_modes(&own, least.max(1)));
    let spread = match (own.first(), own.last()) {
        (Some(first), Some(last)) => log_gap(*first, *last).exp(),
        _ => 1.0,
    };
    Stability {
        spread,
        repeat_within,
        reasons,
    }
}

/// Part 3 of the rule; `sorted` ascends, and a group has at least `least` trials.
fn two_modes(sorted: &[f64], least: usize) -> Option<Instability> {
    let gap = |i: usize| log_gap(sorted[i - 1], sorted[i]);
    let splits = least..(sorted.len() + 1).saturating_sub(least);
    let split = splits.max_by(|a, b| gap(*a).total_cmp(&gap(*b)))?;
    let (low, high) = sorted.split_at(split);
    let width = |group: &[f64]| log_gap(group[0], group[group.len() - 1]);
    let apart = gap(split);
    let distinct = apart > TOLERANCE.ln_1p() && apart > width(low) && apart > width(high);
    distinct.then(|| Instability::TwoModes {
        low: geometric_mean(low),
        high: geometric_mean(high),
    })
}

/// `ln(b / a)` for `a <= b`; 0 for equal values, even where both are zero or infinite.
fn log_gap(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { (b / a).ln() }
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bootstrap, Quantile, quantile};

    fn trial(level: f64) -> TrialSamples {
        let block = |b: usize| {
            (0..100)
                .map(|i| level * (1.0 + ((i * 37 + b) % 100) as f64 / 1_000.0))
                .collect()
        };
        TrialSamples::from_values(&(0..10).map(block).collect::<Vec<_>>(), 0)
    }

    fn judge(levels: &[f64]) -> Stability {
        let trials: Vec<_> = levels.iter().map(|l| trial(*l)).collect();
        let Quantile::Estimated(e) = quantile(&trials, 0.5, &Bootstrap::default()) else {
            panic!("there are enough samples");
        };
        stability(&trials, 0.5, &e)
    }

    #[test]
    fn trials_that_agree_are_stable() {
        let s = judge(&[10e3, 10.1e3, 9.9e3, 10.05e3, 9.95e3]);
        assert!(!s.is_unstable(), "{s:?}");
        assert!((s.spread - 10.1 / 9.9).abs() < 0.01);
    }

    #[test]
    fn scattered_trials_are_unstable() {
        let s = judge(&[10e3, 12e3, 9e3, 13e3, 11e3]);
        assert!(s.reasons.contains(&Instability::Wide), "{s:?}");
        assert!(s.repeat_within > TOLERANCE);
    }

    #[test]
    fn two_groups_of_trials_are_named() {
        let s = judge(&[11e3, 51e3, 11.2e3, 50e3, 10.9e3]);
        let modes = s.reasons.iter().find_map(|r| match r {
            Instability::TwoModes { low, high } => Some((*low, *high)),
            _ => None,
        });
        let (low, high) = modes.expect("two modes");
        assert!((11e3..12.5e3).contains(&low) && (50e3..56e3).contains(&high));
    }

    #[test]
    fn a_slow_start_among_many_is_a_tail_and_no_mode() {
        let start = |level: f64| TrialSamples::from_values(&[vec![level]], 0);
        let modes = |slow: usize| {
            let levels = (0..40).map(|i| match i < slow {
                true => 30e6,
                false => 10e6 + 1e4 * f64::from(i as u32),
            });
            let trials: Vec<_> = levels.map(start).collect();
            let Quantile::Estimated(e) = quantile(&trials, 0.5, &Bootstrap::default()) else {
                panic!("there are enough samples");
            };
            let s = stability(&trials, 0.5, &e);
            let two = |r: &Instability| matches!(r, Instability::TwoModes { .. });
            s.reasons.iter().any(two)
        };
        assert!(!modes(3));
        assert!(modes(4));
    }

    #[test]
    fn one_trial_is_never_called_stable() {
        assert!(judge(&[10e3]).reasons.contains(&Instability::SingleTrial));
    }

    #[test]
    fn a_run_that_lost_everything_is_as_stable_as_can_be() {
        let lost = vec![TrialSamples::from_values(&[], 100); 5];
        let Quantile::Estimated(e) = quantile(&lost, 0.5, &Bootstrap::default()) else {
            panic!("lost messages count as samples");
        };
        assert!(!stability(&lost, 0.5, &e).is_unstable());
    }

    #[test]
    fn loss_in_some_trials_is_unstable() {
        let mut trials = vec![trial(10e3); 4];
        trials.push(TrialSamples::from_values(&[], 1_000));
        // Whether a repeat loses half of its messages is not known: no figure, but an interval.
        let found = quantile(&trials, 0.5, &Bootstrap::default());
        let Quantile::Wide { interval, need, .. } = found else {
            panic!("there are enough samples, and no bound: {found:?}");
        };
        assert_eq!(need, None);
        let s = stability(&trials, 0.5, &interval);
        assert!(s.is_unstable() && s.spread.is_infinite());
    }
}
