//! Ranks: what can be said where only the order of values means something, as with infinite ones.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// Up to this many values of both sides the Mann-Whitney distribution is counted out.
const EXACT: usize = 60;

/// The result of a two-sided test of two sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rank {
    /// The chance of such a difference between equal sides.
    pub(crate) value: f64,
    /// Whether the first side is the higher one.
    pub(crate) first_is_higher: bool,
}

/// Middle ranks, from 1, doubled so that they are whole numbers; equal values share theirs. NaN
/// counts as the highest value.
pub(crate) fn doubled_ranks(values: &[f64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    for run in order.chunk_by(|a, b| values[*a].total_cmp(&values[*b]).is_eq()) {
        let shared = (2 * first + run.len() + 1) as u64;
        for i in run {
            ranks[*i] = shared;
        }
        first += run.len();
    }
    ranks
}

/// The middle value, or the mean of the two in the middle; of an empty slice NaN.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 {
        f64::NAN
    } else if n % 2 == 1 {
        sorted[n / 2]
    } else {
        // Half of each, because two infinities have no difference to halve.
        sorted[n / 2 - 1] / 2.0 + sorted[n / 2] / 2.0
    }
}

/// The sign test of pairs; equal pairs say nothing and are left out (Conover, *Practical
/// Nonparametric Statistics*, section 3.4).
pub(crate) fn sign_test(a: &[f64], b: &[f64]) -> Rank {
    let higher = a.iter().zip(b).filter(|(x, y)| x > y).count() as u64;
    let lower = a.iter().zip(b).filter(|(x, y)| x < y).count() as u64;
    let fewer = higher.min(lower);
    let one_side = Binomial::new(0.5, higher + lower).map_or(1.0, |d| d.cdf(fewer));
    Rank {
        value: (2.0 * one_side).min(1.0),
        first_is_higher: higher > lower,
    }
}

/// The Mann-Whitney test with ties: exact over all ways to deal the ranks seen to the two sides, or,
/// for more than 60 values, the normal approximation with the correction for ties (Conover, section
/// 5.1).
pub(crate) fn mann_whitney(a: &[f64], b: &[f64]) -> Rank {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = doubled_ranks(&all);
    let seen: u64 = ranks[..a.len()].iter().sum();
    let expected = a.len() as f64 * (all.len() as f64 + 1.0);
    let one_side = if all.len() <= EXACT {
        exact_tail(&ranks, a.len(), seen)
    } else {
        let middle = all.len() as f64 + 1.0;
        let squares: f64 = ranks.iter().map(|r| (*r as f64 - middle).powi(2)).sum();
        let (n, m, k) = (all.len() as f64, a.len() as f64, b.len() as f64);
        let variance = m * k / (n * (n - 1.0)) * squares;
        // One step of the doubled sum is at least 1.
        let distance = ((seen as f64 - expected).abs() - 1.0).max(0.0);
        if variance > 0.0 {
            Normal::standard().cdf(-distance / variance.sqrt())
        } else {
            1.0
        }
    };
    Rank {
        value: (2.0 * one_side).min(1.0),
        first_is_higher: seen as f64 > expected,
    }
}

/// The interval of the shift between two sides that Mann & Whitney's test does not refute at `level`
/// (Conover, section 5.4; Hodges & Lehmann, Annals of Mathematical Statistics 34, 1963); `None` where
/// so few values can refute nothing, or for more than 60, where Student's interval needs no support.
pub(crate) fn shift_interval(a: &[f64], b: &[f64], level: f64) -> Option<(f64, f64)> {
    let n = a.len() + b.len();
    if n > EXACT {
        return None;
    }
    let ranks: Vec<u64> = (1..=n as u64).collect();
    let differences = a.iter().flat_map(|x| b.iter().map(move |y| x - y));
    let least = (a.len() * (a.len() + 1) / 2) as u64;
    inner(
        differences.collect(),
        &ways(&ranks, a.len())[a.len()],
        least,
        level,
    )
}

/// The interval of the centre of symmetric values that Wilcoxon's signed-rank test does not refute at
/// `level` (Conover, section 5.7); `None` as for [`shift_interval`].
pub(crate) fn centre_interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    let n = values.len();
    if n > EXACT {
        return None;
    }
    let averages = (0..n).flat_map(|i| (i..n).map(move |j| f64::midpoint(values[i], values[j])));
    // Each rank is on the positive side or not: subsets of any size.
    let ranks: Vec<u64> = (1..=n as u64).collect();
    let mut all = ways(&ranks, n);
    let mut sums = all.pop()?;
    for of_size in all {
        for (sum, more) in sums.iter_mut().zip(of_size) {
            *sum += more;
        }
    }
    inner(averages.collect(), &sums, 0, level)
}

/// The values that remain when from both ends as many are cut off as the statistic, which counts them
/// and whose `ways` begin at `least`, allows at `level`.
fn inner(mut values: Vec<f64>, ways: &[f64], least: u64, level: f64) -> Option<(f64, f64)> {
    values.sort_unstable_by(f64::total_cmp);
    let total: f64 = ways.iter().sum();
    let mut below = 0.0;
    let cut = ways[least as usize..]
        .iter()
        .take_while(|w| {
            below += *w;
            2.0 * below / total <= level
        })
        .count();
    let last = values.len().checked_sub(cut)?;
    (cut > 0 && cut <= last).then(|| (values[cut - 1], values[last]))
}

/// The smaller of the chances that `take` of `ranks`, dealt at random, sum to at most or at least
/// `seen`.
fn exact_tail(ranks: &[u64], take: usize, seen: u64) -> f64 {
    let ways = &ways(ranks, take)[take];
    let total: f64 = ways.iter().sum();
    let at_most: f64 = ways[..=seen as usize].iter().sum();
    let at_least: f64 = ways[seen as usize..].iter().sum();
    at_most.min(at_least) / total
}

/// By number and by sum: in how many ways so many of `ranks`, up to `take`, have that sum. At most
/// 2^60 in total: exact enough.
fn ways(ranks: &[u64], take: usize) -> Vec<Vec<f64>> {
    let most: u64 = ranks.iter().sum();
    let mut ways = vec![vec![0.0f64; most as usize + 1]; take + 1];
    ways[0][0] = 1.0;
    for rank in ranks {
        let rank = *rank as usize;
        for j in (1..=take).rev() {
            let (before, after) = ways.split_at_mut(j);
            for (to, from) in after[0][rank..].iter_mut().zip(&before[j - 1]) {
                *to += from;
            }
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_middle_rank() {
        assert_eq!(doubled_ranks(&[5.0, 1.0, 5.0, f64::INFINITY]), [5, 2, 5, 8]);
    }

    #[test]
    fn medians_may_be_infinite() {
        assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), 2.5);
        assert_eq!(
            median(&[1.0, f64::INFINITY, f64::INFINITY, f64::INFINITY]),
            f64::INFINITY
        );
        assert_eq!(median(&[1.0, 2.0, f64::INFINITY]), 2.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn mann_whitney_agrees_with_the_count_of_all_deals() {
        // Complete separation of 5 and 5: 2 of 252 deals.
        let p = mann_whitney(&[6.0, 7.0, 8.0, 9.0, 10.0], &[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((p.value - 2.0 / 252.0).abs() < 1e-12 && p.first_is_higher);
        // U = 2 for 4 and 4 has P(U <= 2) = 4/70 (Conover, table A7).
        let p = mann_whitney(&[1.0, 2.0, 3.0, 6.0], &[4.0, 5.0, 7.0, 8.0]);
        assert!(
            (p.value - 8.0 / 70.0).abs() < 1e-12 && !p.first_is_higher,
            "{p:?}"
        );
        assert_eq!(mann_whitney(&[1.0; 4], &[1.0; 4]).value, 1.0);
    }

    #[test]
    fn the_approximation_agrees_with_the_exact_test_where_they_meet() {
        let a: Vec<f64> = (0..30).map(|i| f64::from(i) + 8.0).collect();
        let b: Vec<f64> = (0..30).map(f64::from).collect();
        let exact = mann_whitney(&a, &b).value;
        let more: Vec<f64> = (0..31).map(|i| f64::from(i) + 8.0).collect();
        let rough = mann_whitney(&more, &b).value;
        assert!((exact / rough).ln().abs() < 0.5, "{exact} {rough}");
    }

    #[test]
    fn rank_intervals_agree_with_the_printed_tables() {
        // Five and five at 95 %: two differences are cut off at each end (P(U <= 2) = 4/252).
        let (a, b) = ([10.0, 20.0, 30.0, 40.0, 50.0], [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(shift_interval(&a, &b, 0.05), Some((8.0, 48.0)));
        // At 99.5 % the extremes would have a chance of 2/252.
        assert_eq!(shift_interval(&a, &b, 0.005), None);
        // Ten values at 95 %: 8 Walsh averages at each end (Conover, table A12: w = 9).
        let values: Vec<f64> = (0..10).map(|i| f64::from(1 << i)).collect();
        let mut averages: Vec<f64> = (0..10)
            .flat_map(|i| (i..10).map(move |j| (i, j)))
            .map(|(i, j)| f64::midpoint(values[i], values[j]))
            .collect();
        averages.sort_unstable_by(f64::total_cmp);
        assert_eq!(
            centre_interval(&values, 0.05),
            Some((averages[8], averages[55 - 9]))
        );
        assert_eq!(centre_interval(&values[..5], 0.05), None);
    }

    #[test]
    fn the_sign_test_counts_pairs_that_differ() {
        let p = sign_test(&[2.0, 2.0, 2.0, 2.0, 2.0, 1.0], &[1.0; 6]);
        assert!((p.value - 2.0 / 32.0).abs() < 1e-12 && p.first_is_higher);
        assert_eq!(sign_test(&[1.0], &[1.0]).value, 1.0);
    }
}
