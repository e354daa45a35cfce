//! What must hold for any data.

use dyno_stats::{
    Bootstrap, ChangeOptions, Estimate, Latency, Pairing, Quantile, SteadyTest, TrialSamples,
    Verdict, change_points, drift, explained, is_wide, modes, needed, quantile, quantile_ratio,
    quantiles, ratio, separation, simultaneous, trial_quantiles, verdict, within,
};
use hdrhistogram::Histogram;
use proptest::prelude::*;

type Blocks = Vec<Vec<f64>>;

fn how() -> Bootstrap {
    Bootstrap {
        resamples: 200,
        ..Bootstrap::default()
    }
}

/// One to five trials of one to six blocks of up to forty latencies, some of them lost.
fn data() -> impl Strategy<Value = Vec<(Blocks, u64)>> {
    let value = (1.0f64..16.0).prop_map(|e| e.exp().round());
    let block = prop::collection::vec(value, 0..40);
    let trial = (prop::collection::vec(block, 1..6), 0u64..5);
    prop::collection::vec(trial, 1..5)
}

fn trials(data: &[(Blocks, u64)]) -> Vec<TrialSamples> {
    let one = |(blocks, lost): &(Blocks, u64)| TrialSamples::from_values(blocks, *lost);
    data.iter().map(one).collect()
}

fn value(of: &Quantile) -> Option<Latency> {
    of.interval().map(|e| e.value)
}

fn log_width(e: &Estimate) -> f64 {
    match (e.lo, e.hi) {
        (Latency::Finite(lo), Latency::Finite(hi)) => (hi / lo).ln(),
        (lo, hi) if lo == hi => 0.0,
        _ => f64::INFINITY,
    }
}

/// The definition itself, by sorting: each trial weighs the same, so that a sample of a trial with `n` of
/// them has the weight `1/n`; whole numbers by the least common multiple would do as well.
fn exact(data: &[(Blocks, u64)], q: f64) -> Latency {
    let sized = |d: &&(Blocks, u64)| size(d) > 0;
    let mut all: Vec<(f64, f64)> = data
        .iter()
        .filter(sized)
        .flat_map(|d| {
            let weight = 1.0 / size(d) as f64;
            let lost = std::iter::repeat_n(f64::INFINITY, d.1 as usize);
            let all = d.0.concat().into_iter().chain(lost);
            all.map(move |v| (v, weight)).collect::<Vec<_>>()
        })
        .collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let whole = data.iter().filter(sized).count() as f64;
    let mut seen = 0.0;
    let found = all.iter().find(|(_, weight)| {
        seen += weight;
        seen >= q * whole - 1e-9
    });
    match found {
        Some((v, _)) if v.is_finite() => Latency::Finite(*v),
        _ => Latency::Infinite,
    }
}

fn size(trial: &(Blocks, u64)) -> u64 {
    trial.0.iter().map(|b| b.len() as u64).sum::<u64>() + trial.1
}

/// The same trials, each `times` as fast a loop: every sample that often, and `factor` times as long.
fn repeated(data: &[(Blocks, u64)], times: &[u64], factor: &[f64]) -> Vec<(Blocks, u64)> {
    let one = |(i, (blocks, lost)): (usize, &(Blocks, u64))| {
        let (times, factor) = (times[i % times.len()], factor[i % factor.len()]);
        let block = |values: &Vec<f64>| {
            let each = values.iter();
            each.flat_map(|v| std::iter::repeat_n(v * factor, times as usize))
                .collect()
        };
        (blocks.iter().map(block).collect(), lost * times)
    };
    data.iter().enumerate().map(one).collect()
}

/// The pooled quantile, whatever its interval.
fn pooled(data: &[(Blocks, u64)], q: f64) -> Option<f64> {
    let found = quantile(&trials(data), q, &how());
    found.interval().and_then(|e| e.value.finite())
}

/// The ratio that a comparison of the trials' own quantiles finds, where each trial has one.
fn compared(base: &[(Blocks, u64)], new: &[(Blocks, u64)], q: f64) -> Option<f64> {
    let own = |data| -> Vec<f64> {
        let all = trial_quantiles(&trials(data), q);
        let each = all.into_iter();
        each.map(|v| v.finite().unwrap_or(f64::INFINITY)).collect()
    };
    let (new, base) = (own(new), own(base));
    if new.iter().chain(&base).any(|v| v.is_infinite()) {
        return None;
    }
    let found = ratio(&new, &base, Pairing::Paired, 0.95)?;
    found.estimate.value.finite()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_estimate_is_the_sorted_samples_quantile_and_lies_in_its_interval(data in data()) {
        for q in [0.5, 0.9] {
            if let Some(e) = quantile(&trials(&data), q, &how()).interval() {
                prop_assert_eq!(e.value, exact(&data, q));
                prop_assert!(e.lo <= e.value && e.value <= e.hi, "{:?}", e);
            }
        }
    }

    #[test]
    fn a_trial_with_more_samples_of_the_same_changes_no_pooled_quantile(
        data in data(),
        times in prop::collection::vec(1u64..20, 1..5),
    ) {
        for q in [0.5, 0.9] {
            let (before, after) = (pooled(&data, q), pooled(&repeated(&data, &times, &[1.0]), q));
            if let (Some(before), Some(after)) = (before, after) {
                prop_assert_eq!(before, after);
            }
        }
    }

    #[test]
    fn the_pooled_and_the_compared_quantile_agree_on_one_factor(
        data in data(),
        times in prop::collection::vec(1u64..20, 1..5),
        factor in 0.1f64..10.0,
    ) {
        let new = repeated(&data, &times, &[factor]);
        for q in [0.5, 0.9] {
            let both = (pooled(&data, q), pooled(&new, q), compared(&data, &new, q));
            if let (Some(base), Some(new), Some(found)) = both {
                prop_assert!((new / base / factor - 1.0).abs() < 1e-9, "{} {} {}", base, new, factor);
                prop_assert!((found / factor - 1.0).abs() < 1e-9, "{} {}", found, factor);
            }
        }
    }

    #[test]
    fn the_pooled_and_the_compared_quantile_agree_on_who_is_slower(
        data in data(),
        times in prop::collection::vec(1u64..20, 1..5),
        factors in prop::collection::vec(1.0f64..4.0, 1..5),
    ) {
        // Every trial is slower than its partner; how many samples it has must not turn that round, as it
        // does where samples are pooled by their number (Simpson, JRSS B 13, 1951).
        let new = repeated(&data, &times, &factors);
        for q in [0.5, 0.9] {
            if let (Some(base), Some(new)) = (pooled(&data, q), pooled(&new, q)) {
                prop_assert!(new >= base * (1.0 - 1e-12), "{} {}", base, new);
            }
            if let Some(found) = compared(&data, &new, q) {
                prop_assert!(found >= 1.0 - 1e-12, "{}", found);
            }
        }
    }

    #[test]
    fn no_figure_has_an_interval_wider_than_a_factor_of_ten(data in data(), q in 0.05f64..0.95) {
        match quantile(&trials(&data), q, &how()) {
            Quantile::Estimated(e) => prop_assert!(!is_wide(&e), "{:?}", e),
            Quantile::Wide { interval, trials, need } => {
                prop_assert!(is_wide(&interval), "{:?}", interval);
                prop_assert!(need.is_none_or(|need| need > trials));
            }
            Quantile::Refused { have, need } => prop_assert!(have < need),
        }
    }

    #[test]
    fn quantiles_rise_with_q(data in data()) {
        let found = quantiles(&trials(&data), &[0.1, 0.3, 0.5, 0.7, 0.9], &how());
        let values: Vec<Latency> = found.iter().filter_map(value).collect();
        prop_assert!(values.windows(2).all(|w| w[0] <= w[1]), "{:?}", values);
    }

    #[test]
    fn several_at_once_equal_one_by_one(data in data()) {
        let trials = trials(&data);
        let qs = [0.5, 0.9];
        let single: Vec<_> = qs.iter().map(|q| quantile(&trials, *q, &how())).collect();
        prop_assert_eq!(quantiles(&trials, &qs, &how()), single);
    }

    #[test]
    fn loss_never_lowers_a_quantile(data in data(), which in 0usize..5, more in 1u64..200) {
        let mut lossy = data.clone();
        let i = which % lossy.len();
        lossy[i].1 += more;
        for q in [0.5, 0.9, 0.99] {
            let (before, after) = (quantile(&trials(&data), q, &how()), quantile(&trials(&lossy), q, &how()));
            // Of trials without a sample there is one more now, which may be the fastest.
            if size(&data[i]) > 0 && let (Some(b), Some(a)) = (value(&before), value(&after)) {
                prop_assert!(a >= b, "{:?} {:?}", before, after);
            }
            let own = |d: &[(Blocks, u64)]| trial_quantiles(&trials(&d[i..=i]), q).first().copied();
            if let (Some(b), Some(a)) = (own(&data), own(&lossy)) {
                prop_assert!(a >= b);
            }
        }
    }

    #[test]
    fn a_change_of_unit_changes_the_unit_only(data in data(), power in 1i32..8) {
        // Powers of two, so that scaling is exact.
        let scale = f64::powi(2.0, power);
        let scaled: Vec<_> = data
            .iter()
            .map(|(b, lost)| {
                let block = |v: &Vec<f64>| v.iter().map(|x| x * scale).collect();
                (b.iter().map(block).collect::<Blocks>(), *lost)
            })
            .collect();
        if let (Quantile::Estimated(a), Quantile::Estimated(b)) =
            (quantile(&trials(&data), 0.5, &how()), quantile(&trials(&scaled), 0.5, &how()))
        {
            for (x, y) in [(a.value, b.value), (a.lo, b.lo), (a.hi, b.hi)] {
                match (x, y) {
                    (Latency::Finite(x), Latency::Finite(y)) => {
                        // Without a division: where too few samples bound a quantile from below, that end is 0.
                        prop_assert!((x * scale - y).abs() <= 1e-3 * y, "{} {}", x, y);
                    }
                    other => prop_assert_eq!(other.0, other.1),
                }
            }
        }
    }

    #[test]
    fn more_trials_of_the_same_data_do_not_widen_the_interval(data in data()) {
        // At least two trials: from one to several the question changes, see the crate's header.
        prop_assume!(data.len() > 1);
        let four_times: Vec<_> = data.iter().cycle().take(data.len() * 4).cloned().collect();
        if let (Quantile::Estimated(few), Quantile::Estimated(many)) =
            (quantile(&trials(&data), 0.5, &how()), quantile(&trials(&four_times), 0.5, &how()))
        {
            prop_assert!(log_width(&many) <= log_width(&few) + 0.02, "{:?} {:?}", few, many);
        }
    }

    #[test]
    fn too_few_samples_are_refused_with_the_number_it_takes(n in 0usize..40) {
        let one = [TrialSamples::from_values(&[vec![5.0; n]], 0)];
        match quantile(&one, 0.9, &how()) {
            Quantile::Refused { have, need } => {
                prop_assert!(n < 36);
                prop_assert_eq!((have, need), (n as u64, 36));
            }
            Quantile::Estimated(_) | Quantile::Wide { .. } => prop_assert!(n >= 36),
        }
    }

    #[test]
    fn a_histogram_agrees_with_the_exact_samples_to_three_digits(data in data()) {
        let binned: Vec<TrialSamples> = data
            .iter()
            .map(|(blocks, lost)| {
                let histogram = |values: &Vec<f64>| {
                    let mut h = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
                    values.iter().for_each(|v| h.record(*v as u64).unwrap());
                    h
                };
                TrialSamples::from_histograms(&blocks.iter().map(histogram).collect::<Vec<_>>(), *lost)
            })
            .collect();
        for q in [0.5, 0.9] {
            let (a, b) = (quantile(&trials(&data), q, &how()), quantile(&binned, q, &how()));
            match (value(&a), value(&b)) {
                (Some(Latency::Finite(x)), Some(Latency::Finite(y))) => {
                    prop_assert!((x - y).abs() <= x * 1e-3, "{} {}", x, y);
                }
                other => prop_assert_eq!(other.0, other.1),
            }
        }
    }

    #[test]
    fn nothing_panics_and_no_end_is_nan(data in data(), q in -0.5f64..1.5) {
        let trials = trials(&data);
        let mut estimates: Vec<Estimate> = quantile(&trials, q, &how()).interval().copied().into_iter().collect();
        estimates.extend(quantile_ratio(&trials, &trials, q, &how()));
        for e in estimates {
            prop_assert!(e.lo <= e.value && e.value <= e.hi, "{:?}", e);
        }
    }
}

/// Positive figures of trials, one of ten infinite.
fn figures() -> impl Strategy<Value = Vec<f64>> {
    let figure = prop_oneof![
        9 => (1.0f64..12.0).prop_map(f64::exp),
        1 => Just(f64::INFINITY),
    ];
    prop::collection::vec(figure, 2..14)
}

fn ends(e: &Estimate) -> [f64; 3] {
    [e.lo, e.value, e.hi].map(|l| l.finite().unwrap_or(f64::INFINITY))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn exchanged_sides_give_the_inverse_ratio(a in figures(), b in figures(), paired: bool) {
        let pairing = if paired { Pairing::Paired } else { Pairing::Independent };
        let (n, m) = if paired { (a.len().min(b.len()), a.len().min(b.len())) } else { (a.len(), b.len()) };
        let there = ratio(&a, &b, pairing, 0.95).unwrap();
        let back = ratio(&b, &a, pairing, 0.95).unwrap();
        prop_assert_eq!(there.n, (n, m));
        let (there_ends, back_ends) = (ends(&there.estimate), ends(&back.estimate));
        for (x, y) in there_ends.iter().zip(back_ends.iter().rev()) {
            let same = (*x == 0.0 && y.is_infinite()) || (*y == 0.0 && x.is_infinite())
                || (x * y - 1.0).abs() < 1e-6;
            prop_assert!(same, "{:?} {:?}", there_ends, back_ends);
        }
        let opposite = match verdict(&there, 0.05, 0.95) {
            Verdict::Lower => Verdict::Higher,
            Verdict::Higher => Verdict::Lower,
            Verdict::Same => Verdict::Same,
            Verdict::Undecided { .. } => {
                let back = verdict(&back, 0.05, 0.95);
                prop_assert!(matches!(back, Verdict::Undecided { .. }), "{:?}", back);
                return Ok(());
            }
        };
        prop_assert_eq!(verdict(&back, 0.05, 0.95), opposite);
    }

    #[test]
    fn a_ratio_lies_in_its_interval_which_grows_with_confidence(a in figures(), b in figures()) {
        for pairing in [Pairing::Paired, Pairing::Independent] {
            let narrow = ratio(&a, &b, pairing, 0.9).unwrap();
            let wide = ratio(&a, &b, pairing, simultaneous(0.9, 10)).unwrap();
            let (n, w) = (ends(&narrow.estimate), ends(&wide.estimate));
            prop_assert!(n[0] <= n[1] && n[1] <= n[2], "{:?}", n);
            prop_assert!(w[0] <= n[0] && n[2] <= w[2], "{:?} {:?}", n, w);
            prop_assert!(within(&narrow.estimate) <= within(&wide.estimate));
            prop_assert!(within(&narrow.estimate) >= 0.0);
        }
    }

    #[test]
    fn a_wider_margin_never_undoes_same(a in figures(), b in figures(), margin in 0.0f64..0.5) {
        let r = ratio(&a, &b, Pairing::Independent, 0.95).unwrap();
        if verdict(&r, margin, 0.95) == Verdict::Same {
            prop_assert_eq!(verdict(&r, margin + 0.1, 0.95), Verdict::Same);
        }
        if let Verdict::Undecided { more: Some(more) } = verdict(&r, margin, 0.95) {
            prop_assert!((1..=10_000).contains(&more));
        }
    }

    #[test]
    fn only_the_order_of_values_makes_a_series_steady(
        series in prop::collection::vec(-5.0f64..5.0, 2..40),
    ) {
        let stretched: Vec<f64> = series.iter().map(|v| v.exp() * 3.0).collect();
        let test = SteadyTest::new(series.len(), 0.05);
        prop_assert_eq!(test.is_steady(&series), test.is_steady(&stretched));
        let mut backwards = series.clone();
        backwards.reverse();
        prop_assert_eq!(test.is_steady(&series), test.is_steady(&backwards));
    }

    #[test]
    fn changes_ascend_and_leave_room(
        levels in prop::collection::vec((0.0f64..100.0, 3usize..15), 1..5),
    ) {
        // Levels with a little scatter around each.
        let series: Vec<f64> = levels
            .iter()
            .flat_map(|(level, n)| (0..*n).map(move |i| level + ((i * 7) % 5) as f64 / 10.0))
            .collect();
        let how = ChangeOptions { permutations: 199, ..ChangeOptions::default() };
        let found = change_points(&series, &how);
        let mut bounds = vec![0];
        bounds.extend(found.iter().map(|c| c.index));
        bounds.push(series.len());
        if !found.is_empty() {
            prop_assert!(bounds.windows(2).all(|w| w[1] >= w[0] + how.min_segment), "{:?}", bounds);
        }
        prop_assert!(found.windows(2).all(|w| w[0].after == w[1].before));
        prop_assert!(found.iter().all(|c| c.p <= how.level));
        prop_assert_eq!(&found, &change_points(&series, &how));
    }

    #[test]
    fn modes_and_drift_take_any_trials(data in data(), q in 0.0f64..1.0) {
        let trials = trials(&data);
        if let Some(found) = modes(&trials, q) {
            prop_assert!(found.low < found.high);
            prop_assert!(found.high_share > 0.0 && found.high_share < 1.0);
            prop_assert_eq!(found.upper.len(), trials.len());
        }
        if let Some(found) = drift(&trials, q) {
            let [lo, value, hi] = ends(&found.ratio);
            prop_assert!(lo <= value && value <= hi && (hi < 1.0 || lo > 1.0));
        }
    }

    #[test]
    fn a_separation_counts_every_element(of in prop::collection::vec((0u8..4, any::<bool>()), 0..40)) {
        let (labels, high): (Vec<u8>, Vec<bool>) = of.into_iter().unzip();
        if let Some(s) = separation(&labels, &high, 1) {
            let (low_sum, high_sum) = s.by_label.iter().fold((0, 0), |a, l| (a.0 + l.1, a.1 + l.2));
            prop_assert_eq!(high_sum as usize, high.iter().filter(|h| **h).count());
            prop_assert_eq!((low_sum + high_sum) as usize, high.len());
            prop_assert!((-1e-9..=1.0 + 1e-9).contains(&s.strength));
            prop_assert!(s.p > 0.0 && s.p <= 1.0);
        }
    }

    #[test]
    fn the_explained_share_is_a_share(median in 0.0f64..1e6, tail in 0.0f64..1e7, delay in 0.0f64..1e7) {
        match explained(median, tail, delay) {
            Some(share) => prop_assert!(tail > median && (0.0..=1.0).contains(&share)),
            None => prop_assert!(tail <= median),
        }
    }
}

#[test]
fn the_numbers_of_samples_needed_are_the_documented_ones() {
    let need = |q| needed(q, &Bootstrap::default());
    assert_eq!([0.5, 0.9, 0.99, 0.999].map(need), [6, 36, 368, 3_688]);
    assert_eq!(need(0.1), 36);
    assert_eq!([0.0, 1.0, f64::NAN].map(need), [u64::MAX; 3]);
}

#[test]
fn three_times_the_floor_is_three_times_the_floor() {
    let run = |level: f64, factors: &[f64]| -> Vec<TrialSamples> {
        let trial = |f: &f64| {
            let block = |b: usize| {
                let value = |i: usize| level * f * (1.0 + ((i * 31 + b) % 50) as f64 / 1_000.0);
                (0..50).map(value).collect()
            };
            TrialSamples::from_values(&(0..10).map(block).collect::<Blocks>(), 0)
        };
        factors.iter().map(trial).collect()
    };
    let floor = run(1_000.0, &[1.0, 1.01, 0.99, 1.005, 0.995]);
    let stack = run(3_000.0, &[1.02, 0.98, 1.0, 1.01, 0.99]);
    let ratio = quantile_ratio(&stack, &floor, 0.5, &how()).unwrap();
    let ends = [ratio.lo, ratio.value, ratio.hi].map(|l| l.finite().unwrap());
    assert!(ends[0] < 3.0 && 3.0 < ends[2], "{ends:?}");
    assert!(ends[0] > 2.9 && ends[2] < 3.1, "{ends:?}");
    let lost = [TrialSamples::from_values(&[], 1_000)];
    let infinite = quantile_ratio(&lost, &floor, 0.5, &how()).unwrap();
    assert_eq!(infinite.value, Latency::Infinite);
    assert!(quantile_ratio(&stack, &lost, 0.5, &how()).is_none());
    assert!(quantile_ratio(&stack, &[], 0.5, &how()).is_none());
}

#[test]
fn a_single_trials_ratio_has_an_interval_too() {
    let trial = |level: f64| {
        let values = |b: usize| {
            (0..100)
                .map(|i| level + ((i * 17 + b) % 20) as f64)
                .collect()
        };
        TrialSamples::from_values(&(0..8).map(values).collect::<Blocks>(), 0)
    };
    let ratio = quantile_ratio(&[trial(2_000.0)], &[trial(1_000.0)], 0.5, &how()).unwrap();
    assert!(
        ratio.lo < ratio.value && ratio.value < ratio.hi,
        "{ratio:?}"
    );
}
