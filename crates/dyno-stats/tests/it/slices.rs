//! Sides that took turns: what the ratio of their quantiles is worth, where both share a slow noise.
//!
//! The host of this simulation stands in one of two states, 30 % apart, for 12 slices on average. Each side of each trial has a
//! start of its own (σ = 0.5 %), each message a scatter of its own (σ = 5 %). Whole trials meet the states one after the
//! other, slices meet them in turns.

use dyno_stats::{
    Pairing, TrialSamples, Verdict, ratio, slice_quantiles, trial_quantiles, verdict,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const REPLICATES: u32 = if cfg!(debug_assertions) { 300 } else { 3_000 };
const TRIALS: usize = 5;
const PAIRS: usize = 25;
const MESSAGES: usize = 25;

/// Slow noise that both sides of a trial share.
struct Host {
    slow: bool,
}

impl Host {
    /// The level of the next slice.
    fn slice(&mut self, rng: &mut impl Rng) -> f64 {
        self.slow ^= rng.random::<f64>() < 1.0 / 12.0;
        if self.slow { 1.3 } else { 1.0 }
    }
}

fn gauss(rng: &mut impl Rng) -> f64 {
    // Box & Muller 1958.
    let u: f64 = 1.0 - rng.random::<f64>();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// Both sides of each trial: the new one is `factor` times as slow; in slices or one whole trial after the other.
fn trials(factor: f64, in_slices: bool, rng: &mut ChaCha8Rng) -> Vec<[TrialSamples; 2]> {
    let mut host = Host { slow: rng.random() };
    let slice = |host: &mut Host, level: f64, rng: &mut ChaCha8Rng| -> Vec<f64> {
        let level = level * host.slice(rng);
        let message = |_| 10_000.0 * level * (0.05 * gauss(rng)).exp();
        (0..MESSAGES).map(message).collect()
    };
    let mut trial = |_| {
        let levels = [factor, 1.0].map(|level: f64| level * (0.005 * gauss(rng)).exp());
        let mut sides = [Vec::new(), Vec::new()];
        match in_slices {
            true => {
                for _ in 0..PAIRS {
                    let first = usize::from(rng.random::<bool>());
                    for side in [first, 1 - first] {
                        sides[side].push(slice(&mut host, levels[side], rng));
                    }
                }
            }
            false => {
                for (side, level) in sides.iter_mut().zip(levels) {
                    side.extend((0..PAIRS).map(|_| slice(&mut host, level, rng)));
                }
            }
        }
        sides.map(|blocks| TrialSamples::from_values(&blocks, 0))
    };
    (0..TRIALS).map(&mut trial).collect()
}

/// Value and ends of the ratio at 95 %, and what is said of it without a margin.
fn judged(q: f64, pairs: &[(f64, f64)]) -> ([f64; 3], Verdict) {
    let (new, base): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let found = ratio(&new, &base, Pairing::Paired, 0.95).unwrap();
    let e = found.estimate;
    let ends = [e.lo, e.value, e.hi].map(|l| l.finite().unwrap_or(f64::INFINITY));
    assert!(ends[0] > 0.0, "{q}: {found:?}");
    (ends, verdict(&found, 0.0, 0.95))
}

fn by_slices(all: &[[TrialSamples; 2]], q: f64) -> ([f64; 3], Verdict) {
    let pairs = all
        .iter()
        .map(|[new, base]| slice_quantiles(new, base, q).unwrap());
    judged(q, &pairs.collect::<Vec<_>>())
}

fn by_windows(all: &[[TrialSamples; 2]], q: f64) -> ([f64; 3], Verdict) {
    let own = |side: &TrialSamples| {
        let one = trial_quantiles(std::slice::from_ref(side), q);
        one[0].finite().unwrap()
    };
    let pairs = all.iter().map(|[new, base]| (own(new), own(base)));
    judged(q, &pairs.collect::<Vec<_>>())
}

fn share(of: impl Fn(&mut ChaCha8Rng) -> bool) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(43);
    let hits = (0..REPLICATES).filter(|_| of(&mut rng)).count();
    hits as f64 / f64::from(REPLICATES)
}

#[test]
fn the_interval_holds_the_planted_ratio() {
    for (q, factor) in [(0.5, 1.0), (0.5, 1.05), (0.9, 1.05), (0.99, 1.1)] {
        let covered = share(|rng| {
            let ([lo, _, hi], _) = by_slices(&trials(factor, true, rng), q);
            (lo..=hi).contains(&factor)
        });
        // Of 300 replicates 95 % have a standard error of 1.3 %.
        assert!(covered >= 0.92, "p{q} of {factor}: {covered}");
    }
}

#[test]
fn equal_sides_are_seldom_called_different() {
    for q in [0.5, 0.99] {
        let false_alarms = share(|rng| {
            let (_, verdict) = by_slices(&trials(1.0, true, rng), q);
            !matches!(verdict, Verdict::Undecided { .. } | Verdict::Same)
        });
        assert!(false_alarms <= 0.08, "p{q}: {false_alarms}");
    }
}

#[test]
fn slices_find_a_small_difference_that_whole_trials_mostly_miss() {
    let found = |in_slices: bool| {
        share(|rng| {
            let all = trials(1.05, in_slices, rng);
            let (_, verdict) = match in_slices {
                true => by_slices(&all, 0.5),
                false => by_windows(&all, 0.5),
            };
            verdict == Verdict::Higher
        })
    };
    let (slices, whole) = (found(true), found(false));
    assert!(slices >= 0.95 && whole <= 0.5, "{slices} and {whole}");
}

#[test]
fn slices_that_are_slow_or_fast_on_one_side_alone_stay_as_they_are() {
    let of = |level: f64| {
        let slice = |i: u32| -> Vec<f64> {
            let level = if i.is_multiple_of(10) { level } else { 1.0 };
            let message = |m: u32| level * (1_000.0 + f64::from(m));
            (0..50).map(message).collect()
        };
        TrialSamples::from_values(&(0..50).map(slice).collect::<Vec<_>>(), 0)
    };
    for (level, ratio) in [(10.0, 10.0), (0.25, 1.0)] {
        let (new, base) = slice_quantiles(&of(level), &of(1.0), 0.99).unwrap();
        let off = new / base / ratio;
        assert!((off - 1.0).abs() < 0.02, "{level}: {new} and {base}");
    }
}

fn side() -> impl Strategy<Value = (Vec<Vec<f64>>, u64)> {
    let slice = prop::collection::vec(1.0f64..1e6, 0..8);
    (prop::collection::vec(slice, 1..6), 0u64..4)
}

proptest! {
    #[test]
    fn no_side_is_favoured(a in side(), b in side(), q in 0.01f64..0.999) {
        let [new, base] = [a, b].map(|(blocks, lost)| TrialSamples::from_values(&blocks, lost));
        let swapped = slice_quantiles(&base, &new, q).map(|(base, new)| (new, base));
        prop_assert_eq!(slice_quantiles(&new, &base, q), swapped);
    }

    #[test]
    fn more_that_is_lost_never_improves_a_side(a in side(), b in side(), more in 1u64..9, q in 0.01f64..0.999) {
        let of = |(blocks, lost): &(Vec<Vec<f64>>, u64), more| TrialSamples::from_values(blocks, lost + more);
        if let Some((new, base)) = slice_quantiles(&of(&a, 0), &of(&b, 0), q) {
            let worse = slice_quantiles(&of(&a, more), &of(&b, 0), q);
            let (lossy, same) = worse.expect("it has more");
            prop_assert!(lossy >= new && same == base, "{new} {base} became {lossy} {same}");
        }
    }

    #[test]
    fn what_both_sides_share_cancels_out(
        levels in prop::collection::vec(0.1f64..10.0, 2..9), factor in 0.5f64..2.0, q in 0.01f64..0.999,
    ) {
        let of = |factor: f64| {
            let slice = |level: &f64| (1..20).map(|i| factor * level * (100.0 + f64::from(i))).collect::<Vec<f64>>();
            TrialSamples::from_values(&levels.iter().map(slice).collect::<Vec<_>>(), 0)
        };
        let (new, base) = slice_quantiles(&of(factor), &of(1.0), q).unwrap();
        prop_assert!((new / base / factor - 1.0).abs() < 1e-9, "{}", new / base);
    }
}
