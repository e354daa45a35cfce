//! Laws of growth, from figures whose law is known.

use dyno_stats::{Course, Doubt, Growth, Law, NoGrowth, growth};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SIZES: [u64; 6] = [2, 4, 8, 16, 32, 64];
const REPLICATES: u64 = 200;

/// Six trials of each n, with a normal error of the logarithm.
fn trials(sizes: &[u64], law: impl Fn(f64) -> f64, noise: f64, seed: u64) -> Vec<(u64, Vec<f64>)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = |n: u64| {
        // The sum of twelve uniform numbers has the variance of one.
        let error: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        law(n as f64) * (noise * error).exp()
    };
    let of = |n: &u64| (*n, (0..6).map(|_| draw(*n)).collect());
    sizes.iter().map(of).collect()
}

fn fitted(law: impl Fn(f64) -> f64, noise: f64, seed: u64) -> Growth {
    growth(&trials(&SIZES, law, noise, seed)).unwrap()
}

#[test]
fn intervals_hold_the_planted_exponent_and_what_is_extrapolated_from_it() {
    for (a, c) in [
        (0.0, 1.0),
        (0.0, 1.5),
        (0.0, 2.0),
        (5.0, 1.0),
        (20.0, 1.0),
        (30.0, 1.5),
        (50.0, 2.0),
    ] {
        for noise in [0.05, 0.1] {
            let law = |n: f64| a + 3.0 * n.powf(c);
            let (mut held, mut grows, mut held_far, mut held_reach) = (0, 0, 0, 0);
            for seed in 0..REPLICATES {
                let fit = fitted(law, noise, seed);
                let holds = |r: dyno_stats::Ranged, x: f64| u64::from(r.lo <= x && x <= r.hi);
                held += holds(fit.exponent, c);
                if fit.course == Course::Grows {
                    grows += 1;
                    held_far += holds(fit.at(512.0).unwrap(), law(512.0));
                    held_reach += holds(fit.reaches(law(300.0)).unwrap(), 300.0);
                }
            }
            let case =
                format!("{a} + 3 n^{c} with {noise}: {held} {grows} {held_far} {held_reach}");
            assert!(100 * held >= 93 * REPLICATES, "{case}");
            assert!(10 * held_far.min(held_reach) >= 9 * grows, "{case}");
            assert!(10 * grows >= 9 * REPLICATES, "{case}");
        }
    }
}

#[test]
fn every_law_that_fits_is_named() {
    for law in [
        Law::Log,
        Law::Linear,
        Law::LinearLog,
        Law::Square,
        Law::Cube,
    ] {
        let of = |n: f64| match law {
            Law::Log => n.ln(),
            Law::Linear => n,
            Law::LinearLog => n * n.ln(),
            Law::Square => n * n,
            _ => n * n * n,
        };
        let fits = (0..REPLICATES).map(|seed| fitted(of, 0.05, seed));
        let named = fits.filter(|fit| fit.laws.contains(&law)).count() as u64;
        assert!(
            100 * named >= 91 * REPLICATES,
            "{law} is named {named} times"
        );
    }
    // No curve a + b·n^c comes near enough; the law is found all the same.
    let exact = fitted(|n| n * n.ln(), 0.005, 1);
    assert_eq!(
        (exact.is_power, exact.laws.as_slice()),
        (false, &[Law::LinearLog][..])
    );
    let far = exact.at(512.0).unwrap();
    assert!(
        far.lo <= 512.0 * 512f64.ln() && 512.0 * 512f64.ln() <= far.hi,
        "{far:?}"
    );
    let sure = fitted(|n| n * n, 0.02, 1);
    assert_eq!((sure.laws, sure.course), (vec![Law::Square], Course::Grows));
}

#[test]
fn a_figure_that_does_not_grow_is_called_constant_or_falling() {
    let flat = (0..REPLICATES).map(|seed| fitted(|_| 7.0, 0.08, seed));
    let constant = flat.filter(|fit| fit.course == Course::Constant);
    let named = constant.filter(|fit| fit.laws == [Law::Constant] && fit.at(100.0).is_none());
    let named = named.count() as u64;
    assert!(100 * named >= 90 * REPLICATES, "{named}");
    let falling = fitted(|n| 100.0 / n, 0.05, 3);
    assert_eq!((falling.course, falling.at(100.0)), (Course::Falls, None));
    assert_eq!(falling.laws, []);
    assert!(falling.exponent.lo <= -1.0 && -1.0 <= falling.exponent.hi);
    // Scatter of a factor of three may hide anything.
    let lost = fitted(|_| 7.0, 1.0, 4);
    assert_eq!(lost.course, Course::Undecided(Doubt::Scatter), "{lost:?}");
    assert!(lost.laws.contains(&Law::Constant));
}

#[test]
fn a_slow_fall_has_no_growing_law() {
    let slow = |seed| fitted(|n| 100.0 * n.powf(-0.025), 0.05, seed);
    for fit in (0..REPLICATES).map(slow) {
        assert!(
            fit.laws.is_empty() || fit.laws == [Law::Constant],
            "{fit:?}"
        );
    }
    // A fall that is certain.
    let fit = growth(&trials(&SIZES, |n| 100.0 * n.powf(-0.2), 0.01, 1)).unwrap();
    assert_eq!((fit.course, fit.laws.is_empty()), (Course::Falls, true));
}

#[test]
fn an_exponent_beyond_the_bounds_is_undecided() {
    let step = |n: u64| if n == 32 { 14.0 } else { 7.0 };
    let exact: Vec<(u64, Vec<f64>)> = [2, 4, 8, 16, 32]
        .map(|n| (n, vec![step(n), 1.04 * step(n), step(n) / 1.04]))
        .into();
    let fit = growth(&exact).unwrap();
    assert_eq!(fit.course, Course::Undecided(Doubt::Unbounded), "{fit:?}");
    assert!(fit.at(256.0).is_none() && fit.reaches(100.0).is_none());
}

#[test]
fn what_no_curve_fits_is_undecided_and_not_extrapolated() {
    // It grows with n, and one n stands out.
    let law = |n: f64| if n == 16.0 { 2.0 * n } else { n };
    let fit = fitted(law, 0.01, 1);
    assert_eq!(fit.course, Course::Undecided(Doubt::NoCurve), "{fit:?}");
    assert!(fit.laws.is_empty() && fit.at(512.0).is_none());
}

#[test]
fn a_law_without_a_constant_part_is_rejected_in_one_of_twenty() {
    let all = 2_000;
    let fits = (0..all).map(|seed| fitted(|n| n, 0.05, 10_000 + seed));
    let rejected = fits.filter(|fit| !fit.laws.contains(&Law::Linear)).count();
    // 5 % of 2,000 is 100, with a standard deviation of 10.
    assert!((70..=125).contains(&rejected), "{rejected}");
}

#[test]
fn what_cannot_tell_n_from_its_square_is_undecided() {
    // Between four and sixteen participants, with a large constant part and much scatter.
    let fit = growth(&trials(&[4, 6, 10, 16], |n| 40.0 + n.powf(1.5), 0.2, 5)).unwrap();
    assert!(matches!(fit.course, Course::Undecided(_)), "{fit:?}");
    assert!(fit.at(100.0).is_none() && fit.reaches(1e3).is_none());
}

#[test]
fn too_little_data_is_refused_with_what_it_takes() {
    let of = |sizes: &[u64]| growth(&trials(sizes, |n| n, 0.05, 1));
    assert_eq!(of(&[2, 3, 4]), Err(NoGrowth::FewSizes { have: 3, need: 4 }));
    let narrow = NoGrowth::Narrow {
        least: 4,
        most: 8,
        need: 4.0,
    };
    assert_eq!(of(&[4, 5, 6, 8]), Err(narrow));
    assert_eq!(growth(&[]), Err(NoGrowth::FewSizes { have: 0, need: 4 }));
    let changed = |values: Vec<f64>| {
        let mut data = trials(&SIZES, |n| n, 0.05, 1);
        data[2].1 = values;
        growth(&data)
    };
    let few = NoGrowth::FewTrials {
        n: 8,
        have: 1,
        need: 2,
    };
    assert_eq!(changed(vec![8.0]), Err(few));
    assert_eq!(changed(vec![8.0, 0.0]), Err(NoGrowth::NotPositive { n: 8 }));
    assert_eq!(
        changed(vec![8.0, f64::NAN]),
        Err(NoGrowth::NotPositive { n: 8 })
    );
    let zeros: Vec<(u64, Vec<f64>)> = SIZES.map(|n| (n, vec![0.0; 6])).into();
    assert_eq!(growth(&zeros), Err(NoGrowth::Zero));
}

#[test]
fn equal_trials_have_a_law_too() {
    let exact: Vec<(u64, Vec<f64>)> = SIZES.map(|n| (n, vec![(3 + 2 * n) as f64; 6])).into();
    let fit = growth(&exact).unwrap();
    assert_eq!(
        (fit.course, fit.laws.as_slice()),
        (Course::Grows, &[Law::Linear][..])
    );
    assert!((fit.exponent.value - 1.0).abs() < 1e-3, "{fit:?}");
    assert!(
        (fit.a - 3.0).abs() < 0.01 && (fit.b - 2.0).abs() < 0.01,
        "{fit:?}"
    );
    let reached = fit.reaches(1_003.0).unwrap();
    assert!(reached.lo <= 500.0 && 500.0 <= reached.hi && (reached.value - 500.0).abs() < 2.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_order_of_trials_changes_nothing(seed in 0u64..1_000, c in 0.5f64..2.5) {
        let mut data = trials(&SIZES, |n| 10.0 + n.powf(c), 0.1, seed);
        let found = growth(&data);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        data.iter_mut().for_each(|(_, values)| values.shuffle(&mut random));
        data.shuffle(&mut random);
        prop_assert_eq!(growth(&data), found);
    }

    #[test]
    fn a_change_of_unit_changes_a_and_b_only(seed in 0u64..1_000, c in 0.5f64..2.5, unit in 1e-6f64..1e6) {
        let data = trials(&SIZES, |n| 10.0 + n.powf(c), 0.1, seed);
        let scaled: Vec<_> = data.iter().map(|(n, v)| (*n, v.iter().map(|v| v * unit).collect())).collect();
        let (one, other) = (growth(&data).unwrap(), growth(&scaled).unwrap());
        let near = |x: f64, y: f64| (x - y).abs() <= 1e-3 * x.abs().max(y.abs());
        prop_assert!((one.exponent.value - other.exponent.value).abs() < 1e-4);
        prop_assert!((one.exponent.lo - other.exponent.lo).abs() < 1e-4);
        prop_assert!((one.exponent.hi - other.exponent.hi).abs() < 1e-4);
        prop_assert_eq!(&one.laws, &other.laws);
        prop_assert_eq!(one.course, other.course);
        prop_assert!(near(one.a * unit, other.a) || other.a < 1e-3 * other.b, "{} {}", one.a, other.a);
        prop_assert!(near(one.b * unit, other.b), "{} {}", one.b, other.b);
    }

    #[test]
    fn nothing_panics_and_no_end_is_nan(
        data in prop::collection::vec((0u64..100, prop::collection::vec(0f64..1e9, 0..5)), 0..8)
    ) {
        if let Ok(fit) = growth(&data) {
            prop_assert!(fit.exponent.lo <= fit.exponent.value && fit.exponent.value <= fit.exponent.hi);
            for found in [fit.at(1e3), fit.reaches(1e3)].into_iter().flatten() {
                prop_assert!(found.lo <= found.value && found.value <= found.hi, "{:?}", found);
            }
        }
    }
}
