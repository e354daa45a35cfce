//! Behaviour of recorders: exact where they say so, within three digits elsewhere.

use super::*;
use proptest::prelude::*;

fn recorded(blocks: usize, block: u64, samples: &[(u64, u64)]) -> Recorder {
    let mut r = Recorder::by_time(blocks, Nanos(block));
    r.begin(Nanos(1_000));
    for (at, v) in samples {
        r.record(Nanos(1_000 + at), Nanos(*v));
    }
    r
}

/// The smallest sample that at least a share `q` of all do not exceed.
fn exact_quantile(sorted: &[u64], q: f64) -> u64 {
    let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted[rank - 1]
}

/// Latencies over all magnitudes from 0 to the upper bound.
fn latencies() -> impl Strategy<Value = u64> {
    (0u32..42, any::<u64>()).prop_map(|(bits, x)| (x % (2u64 << bits)).min(HIGHEST.0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn quantiles_are_exact_to_three_digits(mut v in prop::collection::vec(latencies(), 1..600)) {
        let samples: Vec<_> = v.iter().map(|v| (0, *v)).collect();
        let d = recorded(1, 10, &samples).finish(0).unwrap();
        let h = decode(&d.total).unwrap();
        v.sort_unstable();
        for q in [0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let (got, exact) = (h.value_at_quantile(q), exact_quantile(&v, q));
            prop_assert!(got.abs_diff(exact) as f64 <= exact as f64 / 1_000.0, "{}: {} {}", q, got, exact);
        }
    }

    #[test]
    fn sum_bounds_and_counts_are_exact(v in prop::collection::vec(any::<u64>(), 0..300), lost: u32) {
        let samples: Vec<_> = v.iter().map(|v| (0, *v)).collect();
        let d = recorded(3, 10, &samples).finish(u64::from(lost)).unwrap();
        prop_assert_eq!(d.n, v.len() as u64);
        prop_assert_eq!(d.infinite, u64::from(lost));
        prop_assert_eq!(d.min, v.iter().copied().min().unwrap_or(0));
        prop_assert_eq!(d.max, v.iter().copied().max().unwrap_or(0));
        prop_assert_eq!(d.sum, v.iter().map(|v| u128::from(*v)).sum::<u128>() as f64);
        prop_assert_eq!(d.saturated, v.iter().filter(|v| **v > HIGHEST.0).count() as u64);
        let h = decode(&d.total).unwrap();
        prop_assert_eq!(h.len(), d.n);
        prop_assert!(h.max() <= h.highest_equivalent(HIGHEST.0));
    }

    #[test]
    fn merging_equals_recording_together(
        a in prop::collection::vec((0u64..400, latencies()), 0..200),
        b in prop::collection::vec((0u64..400, latencies()), 0..200),
        blocks_b in 1usize..5,
    ) {
        let apart = merge(
            recorded(4, 100, &a).finish(2).unwrap(),
            recorded(4, 100, &b).finish(3).unwrap(),
        ).unwrap();
        let both: Vec<_> = a.iter().chain(&b).copied().collect();
        let together = recorded(4, 100, &both).finish(5).unwrap();
        prop_assert_eq!(&apart.total, &together.total);
        prop_assert_eq!(&apart.blocks, &together.blocks);
        prop_assert!((apart.sum - together.sum).abs() <= together.sum * 1e-15);
        prop_assert_eq!(
            (apart.n, apart.infinite, apart.saturated, apart.min, apart.max),
            (together.n, together.infinite, together.saturated, together.min, together.max)
        );
        // Another number of blocks loses nothing.
        let uneven = merge(
            recorded(4, 100, &a).finish(0).unwrap(),
            recorded(blocks_b, 100, &b).finish(0).unwrap(),
        ).unwrap();
        prop_assert_eq!(uneven.blocks.len(), 4);
        let n: u64 = uneven.blocks.iter().map(|t| decode(t).unwrap().len()).sum();
        prop_assert_eq!(n, uneven.n);
    }

    #[test]
    fn samples_go_to_the_block_of_their_time(
        blocks in 1usize..8, block in 1u64..1_000, at in prop::collection::vec(0u64..10_000, 1..200)
    ) {
        let samples: Vec<_> = at.iter().map(|t| (*t, 5)).collect();
        let d = recorded(blocks, block, &samples).finish(0).unwrap();
        let mut expected = vec![0u64; blocks];
        for t in at {
            expected[((t / block) as usize).min(blocks - 1)] += 1;
        }
        let got: Vec<_> = d.blocks.iter().map(|t| decode(t).unwrap().len()).collect();
        prop_assert_eq!(got, expected);
    }
}

proptest! {
    #[test]
    fn a_rehearsal_leaves_nothing_behind(
        blocks in 1usize..5, block in 1u64..40,
        rehearsed in prop::collection::vec((0u64..200, any::<u64>()), 0..100),
        samples in prop::collection::vec((0u64..200, latencies()), 0..100),
    ) {
        let recorders = || [Recorder::by_time(blocks, Nanos(block)), Recorder::by_count(blocks, block)];
        for (mut fresh, mut used) in recorders().into_iter().zip(recorders()) {
            for (at, value) in &rehearsed {
                used.record_if(false, Nanos(*at), Nanos(*value));
            }
            for recorder in [&mut fresh, &mut used] {
                recorder.begin(Nanos(1_000));
                for (at, value) in &samples {
                    recorder.record(Nanos(1_000 + at), Nanos(*value));
                }
            }
            prop_assert_eq!(used.len(), samples.len() as u64);
            prop_assert_eq!(used.finish(1).unwrap(), fresh.finish(1).unwrap());
        }
    }
}

fn lengths(d: &Distribution) -> Vec<u64> {
    d.blocks.iter().map(|t| decode(t).unwrap().len()).collect()
}

#[test]
fn what_precedes_the_window_belongs_to_the_first_block() {
    let mut r = Recorder::by_time(3, Nanos(10));
    r.begin(Nanos(100));
    for at in [125, 99, 0, 119, 1_000] {
        r.record(Nanos(at), Nanos(1));
    }
    assert_eq!(lengths(&r.finish(0).unwrap()), [2, 1, 2]);
}

#[test]
fn blocks_by_count_fill_one_after_the_other_and_the_last_takes_the_rest() {
    let mut r = Recorder::by_count(3, 2);
    for i in 0..9 {
        r.record(Nanos(0), Nanos(i));
    }
    assert_eq!(lengths(&r.finish(0).unwrap()), [2, 2, 5]);
}

#[test]
fn an_hour_and_more_is_recorded_as_an_hour_and_counted() {
    let d = recorded(1, 10, &[(0, HIGHEST.0), (0, HIGHEST.0 + 1), (0, u64::MAX)])
        .finish(0)
        .unwrap();
    assert_eq!(d.saturated, 2);
    assert_eq!(d.max, u64::MAX);
    assert_eq!(decode(&d.total).unwrap().len(), 3);
}

#[test]
fn an_empty_record_is_neutral() {
    let d = recorded(2, 10, &[(0, 7), (15, 9)]).finish(1).unwrap();
    for empty in [
        Distribution::default(),
        recorded(2, 10, &[]).finish(0).unwrap(),
    ] {
        assert_eq!(merge(d.clone(), empty.clone()).unwrap(), d);
        assert_eq!(merge(empty, d.clone()).unwrap(), d);
    }
}

#[test]
fn a_damaged_text_is_refused() {
    for bad in ["%", "AAAA", "HISTFAAA"] {
        let d = Distribution {
            total: HdrText(bad.into()),
            ..Distribution::default()
        };
        let e = merge(d, Distribution::default()).unwrap_err().to_string();
        assert!(e.contains("damaged"), "{e}");
    }
}
