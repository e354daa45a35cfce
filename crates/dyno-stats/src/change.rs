//! Changes of level in a series: one, for "is it steady yet", or several, for a history.

use crate::rank::{doubled_ranks, median};
use rand::SeedableRng;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

/// Permutations for the critical value of a [`SteadyTest`].
const PERMUTATIONS: u32 = 1_999;
/// The seed of these permutations.
const SEED: u64 = 0x7368_6966_7400;

/// Whether the level of a series changes, by Pettitt's rank test for one change (Applied Statistics 28,
/// 1979), for many series of one length: the critical value is found once, from random permutations, so
/// that a look costs a sort.
///
/// Only the order of the values counts, so they may be infinite, and single outliers do little. The
/// test takes the values as exchangeable where there is no change: slow waves are changes to it. It is
/// weak near the ends of a series.
#[derive(Debug, Clone, Copy)]
pub struct SteadyTest {
    length: usize,
    /// The least distance that is a change of level.
    critical: u64,
}

impl SteadyTest {
    /// For series of `length` values without equals among them; steady ones are taken for changing in
    /// at most a share `level` of looks.
    pub fn new(length: usize, level: f64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(SEED);
        let middle = length as i64 + 1;
        let mut centred: Vec<i64> = (1..=length as i64).map(|r| 2 * r - middle).collect();
        let mut distances: Vec<u64> = (0..PERMUTATIONS)
            .map(|_| {
                centred.shuffle(&mut generator);
                farthest(&centred).1
            })
            .collect();
        distances.sort_unstable();
        let allowed = (level * f64::from(PERMUTATIONS)) as usize;
        let critical = distances[distances.len() - 1 - allowed.min(distances.len() - 1)] + 1;
        SteadyTest { length, critical }
    }

    /// Whether `series` shows no change of level. One of another length cannot be judged and is
    /// steady; equal values make the test a little less sensitive, never more.
    pub fn is_steady(&self, series: &[f64]) -> bool {
        let middle = series.len() as i64 + 1;
        let ranks = doubled_ranks(series);
        let centred: Vec<i64> = ranks.iter().map(|r| *r as i64 - middle).collect();
        series.len() != self.length || farthest(&centred).1 < self.critical
    }
}

/// The split after which the sum of the centred ranks is farthest from zero (Pettitt's K, by ranks),
/// the earliest of equals, and that distance.
fn farthest(centred: &[i64]) -> (usize, u64) {
    let mut sum = 0;
    let mut best = (0, 0);
    for (i, rank) in centred.iter().enumerate() {
        sum += rank;
        if sum.unsigned_abs() > best.1 {
            best = (i + 1, sum.unsigned_abs());
        }
    }
    best
}

/// One of several changes of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first index of the later segment.
    pub index: usize,
    /// The chance that a series without a change shows one as large.
    pub p: f64,
    /// Median of the segment before.
    pub before: f64,
    /// Median of the segment from here on, to the next change.
    pub after: f64,
}

/// How [`change_points`] looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeOptions {
    /// The chance of a change found in a segment that has none.
    pub level: f64,
    /// The least number of values between changes; at least 2 are taken.
    pub min_segment: usize,
    /// Permutations per test; the least p is one over one more than these.
    pub permutations: u32,
    /// The seed of the permutations; equal seeds give equal results.
    pub seed: u64,
}

impl Default for ChangeOptions {
    /// 1 %, three values, 999 permutations, a fixed seed.
    fn default() -> Self {
        ChangeOptions {
            level: 0.01,
            min_segment: 3,
            permutations: 999,
            seed: 0x6368_616e_6765,
        }
    }
}

/// All changes of level in `series`, by ascending index.
///
/// E-divisive (Matteson & James, JASA 109, 2014; for nightly measurements: Daly et al., ICPE 2020):
/// the split with the largest energy distance between its two sides, with exponent 1, tested by
/// permutation, then the same within both sides. Other than in the paper each segment has a test of
/// its own at `how.level`, so that a loud part does not hide a change in a quiet one: a series without
/// any change gives a false one with that chance, and each true change adds two more tests.
///
/// Values that are not finite are left out of the tests and the medians; indices count them.
pub fn change_points(series: &[f64], how: &ChangeOptions) -> Vec<ChangePoint> {
    let places: Vec<usize> = (0..series.len())
        .filter(|i| series[*i].is_finite())
        .collect();
    let values: Vec<f64> = places.iter().map(|i| series[*i]).collect();
    let least = how.min_segment.max(2);
    let mut generator = ChaCha8Rng::seed_from_u64(how.seed);
    let mut found = Vec::new();
    let mut open = vec![(0, values.len())];
    while let Some((start, end)) = open.pop() {
        let Some((at, p)) = tested_split(&values[start..end], least, how, &mut generator) else {
            continue;
        };
        let at = start + at;
        found.push((at, p));
        open.push((at, end));
        open.push((start, at));
    }
    found.sort_unstable_by_key(|f| f.0);
    let start_of = |i: usize| found.get(i).map_or(values.len(), |f| f.0);
    let mut start = 0;
    let mut points = Vec::with_capacity(found.len());
    for (i, (at, p)) in found.iter().enumerate() {
        points.push(ChangePoint {
            index: places[*at],
            p: *p,
            before: median(&values[start..*at]),
            after: median(&values[*at..start_of(i + 1)]),
        });
        start = *at;
    }
    points
}

/// The best split of a segment and its p, where that is at most the level.
fn tested_split(
    values: &[f64],
    least: usize,
    how: &ChangeOptions,
    generator: &mut ChaCha8Rng,
) -> Option<(usize, f64)> {
    let (at, seen) = best_split(values, least)?;
    if seen <= 0.0 {
        return None;
    }
    let mut mixed = values.to_vec();
    let mut as_far = 0;
    let all = f64::from(how.permutations) + 1.0;
    for _ in 0..how.permutations {
        mixed.shuffle(generator);
        // Rounding must not make a permutation that equals the series look smaller.
        if best_split(&mixed, least).is_some_and(|(_, q)| q >= seen * (1.0 - 1e-9)) {
            as_far += 1;
        }
        // More permutations can only add to the count: not significant any more.
        if f64::from(1 + as_far) > how.level * all {
            return None;
        }
    }
    let p = f64::from(1 + as_far) / all;
    (p <= how.level).then_some((at, p))
}

/// The split with the largest scaled energy distance (equations 5 to 7 of the paper): the values
/// before it against those from it on to anywhere up to the segment's end, so that a passing episode
/// stands out too. Both sides have at least `least` values; `None` where the segment is too short.
fn best_split(values: &[f64], least: usize) -> Option<(usize, f64)> {
    let n = values.len();
    if n < 2 * least {
        return None;
    }
    // By value: the distances to all values before it, and to those before the split.
    let before: Vec<f64> = (0..n)
        .map(|k| values[..k].iter().map(|v| (values[k] - v).abs()).sum())
        .collect();
    let mut to_left = vec![0.0; n];
    let mut left = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for at in 1..=n - least {
        let x = values[at - 1];
        for (sum, value) in to_left[at..].iter_mut().zip(&values[at..]) {
            *sum += (value - x).abs();
        }
        left += before[at - 1];
        if at < least {
            continue;
        }
        let m = at as f64;
        let left_mean = left / pairs(m);
        let (mut across, mut right) = (0.0, 0.0);
        for end in at..n {
            across += to_left[end];
            right += before[end] - to_left[end];
            let k = (end + 1 - at) as f64;
            if k < least as f64 {
                continue;
            }
            let energy = 2.0 * across / (m * k) - left_mean - right / pairs(k);
            let scaled = energy * m * k / (m + k);
            if best.is_none_or(|b| scaled > b.1) {
                best = Some((at, scaled));
            }
        }
    }
    best
}

/// How many pairs so many values make.
fn pairs(values: f64) -> f64 {
    values * (values - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::gauss;

    fn steady(series: &[f64], level: f64) -> bool {
        SteadyTest::new(series.len(), level).is_steady(series)
    }

    fn noise(seed: u64, n: usize) -> Vec<f64> {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        (0..n).map(|_| gauss(&mut generator)).collect()
    }

    fn with_steps(seed: u64, n: usize, steps: &[(usize, f64)]) -> Vec<f64> {
        let mut series = noise(seed, n);
        for (at, size) in steps {
            series[*at..].iter_mut().for_each(|v| *v += size);
        }
        series
    }

    #[test]
    fn a_clear_step_in_twenty_values_is_sure() {
        for at in [6, 10, 14] {
            assert!(!steady(&with_steps(1, 20, &[(at, 20.0)]), 0.01), "{at}");
        }
    }

    #[test]
    fn a_series_that_only_scatters_is_steady() {
        let (twenty, many) = (SteadyTest::new(20, 0.05), SteadyTest::new(400, 0.05));
        let alarms = (0..1_000)
            .filter(|i| !twenty.is_steady(&noise(*i, 20)))
            .count();
        // 50 expected, standard deviation 7.
        assert!((20..75).contains(&alarms), "{alarms}");
        let long = (0..300)
            .filter(|i| !many.is_steady(&noise(*i, 400)))
            .count();
        assert!(long <= 28, "{long}");
    }

    #[test]
    fn coarse_values_do_not_raise_false_alarms() {
        let coarse = |i| noise(i, 30).iter().map(|v| v.round()).collect::<Vec<f64>>();
        let test = SteadyTest::new(30, 0.01);
        let alarms = (0..500).filter(|i| !test.is_steady(&coarse(*i))).count();
        assert!(alarms <= 15, "{alarms}");
    }

    #[test]
    fn nothing_to_compare_is_steady() {
        assert!(steady(&[2.0; 9], 0.05));
        assert!(SteadyTest::new(20, 0.05).is_steady(&[1.0, 9.0]));
        let lost = [[1.0; 10], [f64::INFINITY; 10]].concat();
        assert!(!steady(&lost, 0.01));
    }

    #[test]
    fn what_one_order_in_five_shows_is_no_change_at_five_percent() {
        // Of the 120 orders of five values 24 begin with both lowest or both highest: none lies farther apart.
        assert!(steady(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.05));
        assert!(!steady(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.5));
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let series = with_steps(7, 90, &[(30, 4.0), (60, -6.0)]);
        let found = change_points(&series, &ChangeOptions::default());
        let at: Vec<usize> = found.iter().map(|c| c.index).collect();
        assert_eq!(at.len(), 2, "{found:?}");
        assert!(at[0].abs_diff(30) <= 1 && at[1].abs_diff(60) <= 1, "{at:?}");
        assert!((found[0].before).abs() < 1.0 && (found[0].after - 4.0).abs() < 1.0);
        assert_eq!(found[0].after, found[1].before);
        assert!((found[1].after + 2.0).abs() < 1.0);
        assert!(found.iter().all(|c| c.p <= 0.01));
    }

    #[test]
    fn a_passing_episode_has_two_changes() {
        let series = with_steps(11, 60, &[(25, 8.0), (33, -8.0)]);
        let at: Vec<usize> = change_points(&series, &ChangeOptions::default())
            .iter()
            .map(|c| c.index)
            .collect();
        assert!(
            at.len() == 2 && at[0].abs_diff(25) <= 1 && at[1].abs_diff(33) <= 1,
            "{at:?}"
        );
    }

    #[test]
    fn single_outliers_are_no_change() {
        let mut series = noise(13, 60);
        series[20] = 15.0;
        series[41] = -12.0;
        assert!(change_points(&series, &ChangeOptions::default()).is_empty());
    }

    #[test]
    fn false_changes_are_as_rare_as_asked() {
        let how = ChangeOptions::default();
        let alarms = (0..400)
            .filter(|i| !change_points(&noise(*i, 30), &how).is_empty())
            .count();
        // 4 expected, standard deviation 2.
        assert!(alarms <= 11, "{alarms}");
    }

    #[test]
    fn values_that_are_not_finite_keep_their_place() {
        let mut series = with_steps(7, 40, &[(20, 10.0)]);
        series[3] = f64::INFINITY;
        series[9] = f64::NAN;
        let found = change_points(&series, &ChangeOptions::default());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].index, 20);
    }

    #[test]
    fn short_and_flat_series_have_no_change() {
        let how = ChangeOptions::default();
        assert!(change_points(&[1.0, 9.0, 9.0], &how).is_empty());
        assert!(change_points(&[5.0; 40], &how).is_empty());
        assert!(change_points(&[], &how).is_empty());
    }
}
