//! What an interval is made of: cases in which one part of it decides alone.

use dyno_stats::{
    Bootstrap, Estimate, Latency, Quantile, Ratio, TrialSamples, Verdict, is_wide, quantile,
    quantile_ratio, trial_quantiles, verdict,
};

const NEVER: f64 = f64::INFINITY;

fn finite(latency: Latency) -> f64 {
    latency.finite().unwrap_or(NEVER)
}

fn ends(e: &Estimate) -> (f64, f64) {
    (finite(e.lo), finite(e.hi))
}

fn log_width(e: &Estimate) -> f64 {
    let (lo, hi) = ends(e);
    (hi / lo).ln()
}

/// The interval of a quantile, whether it makes a figure or not.
fn interval(trials: &[TrialSamples], q: f64) -> Estimate {
    let found = quantile(trials, q, &Bootstrap::default());
    *found.interval().expect("there are enough samples")
}

/// Ten blocks of fifty values within 5 % above that level.
fn trial(level: f64) -> TrialSamples {
    let value = |b: usize, i: usize| level * (1.0 + ((i * 31 + b) % 50) as f64 / 1_000.0);
    let block = |b: usize| (0..50).map(|i| value(b, i)).collect();
    TrialSamples::from_values(&(0..10).map(block).collect::<Vec<_>>(), 0)
}

fn run(levels: &[f64]) -> Vec<TrialSamples> {
    levels.iter().map(|l| trial(*l)).collect()
}

/// Trials of two blocks of one sample, which differ by a factor of two.
fn two_samples_each(trials: usize) -> Vec<TrialSamples> {
    vec![TrialSamples::from_values(&[vec![10.0], vec![20.0]], 0); trials]
}

#[test]
fn of_equal_trials_the_blocks_within_them_make_the_interval() {
    // No trial differs from another one: neither Student's interval nor that of all trials has a width.
    assert_eq!(ends(&interval(&two_samples_each(5), 0.5)), (10.0, 20.0));
}

#[test]
fn exactly_as_many_samples_as_it_takes_are_enough_for_every_part_of_the_interval() {
    // p50 takes six.
    assert_eq!(ends(&interval(&two_samples_each(3), 0.5)), (10.0, 20.0));
}

#[test]
fn independent_samples_of_one_trial_have_the_interval_of_the_printed_table() {
    // Median of 20 samples, 95 %: the 6th and the 15th (Conover, table A3).
    let values: Vec<f64> = (1..=20).map(f64::from).collect();
    let e = interval(&[TrialSamples::from_values(&[values], 0)], 0.5);
    assert_eq!((finite(e.value), ends(&e)), (10.0, (6.0, 15.0)));
}

#[test]
fn the_interval_holds_all_of_students() {
    for levels in [
        [1_000.0, 1_300.0, 850.0, 1_150.0, 950.0],
        [1_000.0, 1_010.0, 990.0, 1_020.0, 1_005.0],
        [1_000.0, 2_000.0, 1_500.0, 1_700.0, 1_200.0],
    ] {
        let trials = run(&levels);
        let own = trial_quantiles(&trials, 0.5);
        let logs: Vec<f64> = own.iter().map(|v| finite(*v).ln()).collect();
        let mean = logs.iter().sum::<f64>() / 5.0;
        let squares: f64 = logs.iter().map(|l| (l - mean).powi(2)).sum();
        // The printed table has 2.776 for four degrees of freedom.
        let half = 2.776 * (squares / 4.0 / 5.0).sqrt();
        let e = interval(&trials, 0.5);
        assert!(ends(&e).0 <= (mean - half).exp(), "{levels:?} {e:?}");
        assert!(ends(&e).1 >= (mean + half).exp(), "{levels:?} {e:?}");
    }
}

#[test]
fn below_five_trials_intervals_beyond_p90_leave_half_as_much_outside() {
    let levels = [1_000.0, 1_300.0, 850.0, 1_150.0, 950.0];
    // The quantile itself is all but the same on both sides of p90.
    let grows = |trials: usize| {
        let trials = run(&levels[..trials]);
        log_width(&interval(&trials, 0.900_01)) / log_width(&interval(&trials, 0.9))
    };
    assert!(grows(3) > 1.2, "{}", grows(3));
    assert!(grows(4) > 1.1, "{}", grows(4));
    assert!((grows(5) - 1.0).abs() < 0.01, "{}", grows(5));
}

#[test]
fn one_trial_of_ten_that_lost_everything_leaves_the_interval_open() {
    // A resample of ten trials takes it five times once in a thousand times.
    let mut trials = run(&[1_000.0; 9]);
    trials.push(TrialSamples::from_values(&[], 500));
    let e = interval(&trials, 0.5);
    assert!(finite(e.value) < 1_050.0, "{e:?}");
    assert_eq!(e.hi, Latency::Infinite);
}

#[test]
fn a_quantile_that_is_surely_lost_in_most_trials_is_a_figure() {
    let lost = |lost: u64| TrialSamples::from_values(&[vec![1_000.0; 100 - lost as usize]], lost);
    let trials = [60, 60, 60, 45, 45].map(lost);
    let found = quantile(&trials, 0.5, &Bootstrap::default());
    let Quantile::Estimated(e) = found else {
        panic!("that so many were lost is known: {found:?}");
    };
    assert_eq!(e.value, Latency::Infinite);
}

#[test]
fn ends_below_a_nanosecond_count_as_one_in_the_width() {
    let of = |lo: f64, hi: f64| Estimate {
        value: Latency::Finite(hi / 2.0),
        lo: Latency::Finite(lo),
        hi: Latency::Finite(hi),
    };
    assert!(!is_wide(&of(0.0, 9.0)) && !is_wide(&of(0.5, 9.0)));
    assert!(is_wide(&of(0.0, 11.0)) && is_wide(&of(2.0, 21.0)));
}

#[test]
fn clusters_further_in_leave_the_interval_of_an_extreme_quantile_open() {
    // Of 20 blocks one has slow samples: they are 1 % of all. The four slowest of all are in four other blocks.
    let block = |b: usize| -> Vec<f64> {
        let value = |i: usize| match (b, i) {
            (0, i) if i < 60 => 2_000.0 + i as f64,
            (4 | 8 | 12 | 16, 0) => 3_000.0 + b as f64,
            (b, i) => 1_000.0 + ((i * 37 + b) % 200) as f64,
        };
        (0..200).map(value).collect()
    };
    let blocks: Vec<Vec<f64>> = (0..20).map(block).collect();
    let e = interval(&[TrialSamples::from_values(&blocks, 0)], 0.999);
    assert_eq!(e.hi, Latency::Infinite, "{e:?}");
}

#[test]
fn the_two_sides_of_a_ratio_are_drawn_independently() {
    let trials = run(&[1_000.0, 1_050.0, 970.0, 1_020.0, 990.0]);
    let how = Bootstrap::default();
    let to_itself = quantile_ratio(&trials, &trials, 0.5, &how).unwrap();
    assert_eq!(to_itself.value, Latency::Finite(1.0));
    // The difference of two equal sides scatters more than either.
    let one_side = log_width(&interval(&trials, 0.5));
    assert!(log_width(&to_itself) > 1.2 * one_side, "{to_itself:?}");
}

#[test]
fn a_ratio_with_a_trial_of_zeros_is_as_wide_as_the_two_intervals_allow() {
    let mut above = run(&[3_000.0, 3_300.0, 2_900.0, 3_100.0]);
    above.push(TrialSamples::from_values(&vec![vec![0.0; 50]; 10], 0));
    let below = run(&[1_000.0, 1_200.0, 900.0, 1_100.0, 950.0]);
    let found = quantile_ratio(&above, &below, 0.5, &Bootstrap::default()).unwrap();
    let (a, b) = (ends(&interval(&above, 0.5)), ends(&interval(&below, 0.5)));
    // The intervals of the two sides are drawn, and so differ by little from those of the sides alone.
    assert!(ends(&found).0 <= 1.02 * a.0 / b.1, "{found:?}");
    assert!(ends(&found).1 >= 0.98 * a.1 / b.0, "{found:?}");
}

#[test]
fn a_ratio_to_a_quantile_of_zero_is_none() {
    let zeros = vec![TrialSamples::from_values(&vec![vec![0.0; 50]; 10], 0); 5];
    let above = run(&[1_000.0; 5]);
    assert_eq!(
        quantile_ratio(&above, &zeros, 0.5, &Bootstrap::default()),
        None
    );
}

#[test]
fn the_margin_is_as_wide_below_one_as_above() {
    let of = |lo: f64, hi: f64| Ratio {
        estimate: Estimate {
            value: Latency::Finite((lo * hi).sqrt()),
            lo: Latency::Finite(lo),
            hi: Latency::Finite(hi),
        },
        error: 0.01,
        freedom: 4.0,
        n: (5, 5),
    };
    // 0.951 is farther from 1 than 5 %: 1 / 0.951 is 1.0515.
    assert_eq!(verdict(&of(0.951, 0.99), 0.05, 0.95), Verdict::Lower);
    let (lo, hi) = (1.0 / 0.99, 1.0 / 0.951);
    assert_eq!(verdict(&of(lo, hi), 0.05, 0.95), Verdict::Higher);
    assert_eq!(verdict(&of(0.953, 1.049), 0.05, 0.95), Verdict::Same);
}

#[test]
fn a_quantile_that_is_lost_keeps_what_bounds_it_from_below() {
    // Of 100 samples each, 60 are lost in three trials and 45 in two: the median is infinite, and it may be 1,000 ns.
    let trials: Vec<TrialSamples> = [60, 60, 60, 45, 45]
        .map(|lost| TrialSamples::from_values(&[vec![1_000.0; 100 - lost as usize]], lost))
        .into();
    let e = interval(&trials, 0.5);
    assert_eq!((e.value, e.hi), (Latency::Infinite, Latency::Infinite));
    assert!((990.0..=1_000.0).contains(&finite(e.lo)), "{e:?}");
}

#[test]
fn a_median_of_zero_has_the_end_that_its_samples_have() {
    // The clock's step is larger than what most of the exchanges take.
    let blocks = [vec![0.0; 50], vec![2.0; 50]];
    let trials = vec![TrialSamples::from_values(&blocks, 0); 5];
    let e = interval(&trials, 0.5);
    assert_eq!(finite(e.value), 0.0);
    assert!(finite(e.hi) <= 2.1, "{e:?}");
    assert!(matches!(
        quantile(&trials, 0.5, &Bootstrap::default()),
        Quantile::Estimated(_)
    ));
}

#[test]
fn how_many_further_trials_give_a_figure_follows_from_those_that_there_are() {
    let refused = |have, need| Quantile::Refused { have, need };
    // 5 trials of 100 samples; 1,001 take 11 of them.
    assert_eq!(refused(500, 1_000).further_trials(5), Some(5));
    assert_eq!(refused(500, 1_001).further_trials(5), Some(6));
    assert_eq!(refused(0, 1_000).further_trials(5), None);
    assert_eq!(refused(5, 1_000_000).further_trials(5), None);
    let interval = Estimate {
        value: Latency::Finite(10.0),
        lo: Latency::Finite(1.0),
        hi: Latency::Finite(100.0),
    };
    let wide = |need| Quantile::Wide {
        interval,
        trials: 5,
        need,
    };
    assert_eq!(wide(Some(43)).further_trials(5), Some(38));
    assert_eq!(wide(None).further_trials(5), None);
    assert_eq!(Quantile::Estimated(interval).further_trials(5), None);
}
