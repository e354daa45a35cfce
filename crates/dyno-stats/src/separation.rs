//! Whether a label tells two modes apart: which CPU pair, which frequency goes with the slow one.

use rand::SeedableRng;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

/// Permutations for the p.
const PERMUTATIONS: u32 = 999;

/// How well a label tells the two modes apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Separation<L> {
    /// Each distinct label, ascending, with how often it occurs in (the low mode, the high mode).
    pub by_label: Vec<(L, u64, u64)>,
    /// The share, 0 to 1, of the modes' variance that the label explains: Goodman & Kruskal's tau
    /// (JASA 49, 1954); 1 where the label decides.
    pub strength: f64,
    /// The chance that labels dealt at random explain as much.
    pub p: f64,
}

/// How well `labels` tell apart whether `high` is true; `labels[i]` belongs to `high[i]`.
///
/// `p` comes from 999 random permutations drawn from `seed`; so a label that occurs only once each
/// explains everything and means nothing (p is 1). It takes the elements as independent: where whole
/// trials have one label and one mode, give each trial once, not its blocks.
///
/// `None` where the two slices differ in length, or with fewer than two labels or modes among them.
pub fn separation<L: Ord + Clone>(labels: &[L], high: &[bool], seed: u64) -> Option<Separation<L>> {
    let mut distinct = labels.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let highs = high.iter().filter(|h| **h).count();
    if labels.len() != high.len() || distinct.len() < 2 || highs == 0 || highs == high.len() {
        return None;
    }
    // `distinct` holds every label, in order: the place before which all are smaller is its own.
    let which: Vec<usize> = labels
        .iter()
        .map(|l| distinct.partition_point(|d| d < l))
        .collect();
    let seen = counts(&which, high, distinct.len());
    let strength = tau(&seen);
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut dealt = high.to_vec();
    let as_strong = (0..PERMUTATIONS)
        .filter(|_| {
            dealt.shuffle(&mut generator);
            tau(&counts(&which, &dealt, distinct.len())) >= strength - 1e-9
        })
        .count();
    let by_label = distinct.into_iter().zip(seen);
    Some(Separation {
        by_label: by_label
            .map(|(label, (low, high))| (label, low, high))
            .collect(),
        strength,
        p: (1 + as_strong) as f64 / f64::from(1 + PERMUTATIONS),
    })
}

/// By label: how often it is in the low and in the high mode.
fn counts(which: &[usize], high: &[bool], labels: usize) -> Vec<(u64, u64)> {
    let mut counts = vec![(0, 0); labels];
    for (label, high) in which.iter().zip(high) {
        if *high {
            counts[*label].1 += 1;
        } else {
            counts[*label].0 += 1;
        }
    }
    counts
}

/// 1 minus the variance within labels over the variance of all; both modes occur.
fn tau(counts: &[(u64, u64)]) -> f64 {
    let variance = |(low, high): (u64, u64)| low as f64 * high as f64 / (low + high).max(1) as f64;
    let all = counts.iter().fold((0, 0), |a, c| (a.0 + c.0, a.1 + c.1));
    let within: f64 = counts.iter().map(|c| variance(*c)).sum();
    1.0 - within / variance(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn a_label_that_decides_explains_everything() {
        let labels = [
            "same", "other", "same", "other", "same", "other", "same", "other",
        ];
        let high = labels.map(|l| l == "other");
        let s = separation(&labels, &high, 1).unwrap();
        assert_eq!(s.by_label, [("other", 0, 4), ("same", 4, 0)]);
        assert_eq!(s.strength, 1.0);
        assert!(s.p < 0.1, "{s:?}");
    }

    #[test]
    fn labels_dealt_at_random_are_rarely_significant() {
        let mut generator = ChaCha8Rng::seed_from_u64(5);
        let alarms = (0..300)
            .filter(|seed| {
                let labels: Vec<u8> = (0..40).map(|_| generator.random_range(0..4)).collect();
                let high: Vec<bool> = (0..40).map(|_| generator.random()).collect();
                separation(&labels, &high, *seed).is_some_and(|s| s.p <= 0.05)
            })
            .count();
        // 15 expected, standard deviation 4.
        assert!(alarms <= 28, "{alarms}");
    }

    #[test]
    fn labels_that_occur_once_mean_nothing() {
        let labels: Vec<usize> = (0..20).collect();
        let high: Vec<bool> = labels.iter().map(|l| l % 3 == 0).collect();
        let s = separation(&labels, &high, 1).unwrap();
        assert_eq!((s.strength, s.p), (1.0, 1.0));
    }

    #[test]
    fn a_partial_association_lies_between() {
        // 30 + 10 against 10 + 30: phi = 0.5, tau = 0.25.
        let labels: Vec<bool> = (0..80).map(|i| i < 40).collect();
        let high: Vec<bool> = (0..80)
            .map(|i| if i < 40 { i < 30 } else { i < 50 })
            .collect();
        let s = separation(&labels, &high, 1).unwrap();
        assert!((s.strength - 0.25).abs() < 1e-12 && s.p < 0.01, "{s:?}");
    }

    #[test]
    fn without_two_labels_or_two_modes_there_is_nothing_to_tell() {
        assert!(separation(&[1, 1], &[true, false], 0).is_none());
        assert!(separation(&[1, 2], &[true, true], 0).is_none());
        assert!(separation(&[1, 2, 3], &[true, false], 0).is_none());
        assert!(separation::<u8>(&[], &[], 0).is_none());
    }
}
