//! What one more value of a series may be, by the values before it.
//!
//! The values are taken to be normal around one level, but for a few: a night on which the machine was
//! busy must not hide what comes after it. So level and scatter are the mean and the standard deviation of
//! the series with its outermost fifth on either side moved inwards (Winsorised: Dixon & Tukey,
//! Technometrics 10, 1968). How far beyond the level the next value of an undisturbed series may lie is not
//! looked up in a table of Student's t, which knows neither, but found for each length of a series by
//! drawing: given level and scatter of a series of standard normal values, the chance that the next value
//! is above `level + factor · scatter` is exact, and the mean over many such series is the chance that is
//! asked for. Fewer values, or more of them moved, thus make the factor larger, never the false alarms more.

use crate::population::gauss;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{Beta, ContinuousCDF, DiscreteCDF, Hypergeometric, Normal};

/// One value in so many is moved inwards on each side.
const MOVED: usize = 5;
/// Series that the factor is found from; its error is then some percent at a chance of 1 in 10,000.
const SERIES: usize = 20_000;
/// The seed of these series.
const SEED: u64 = 0x6578_7065_6374;
/// Shorter series say nothing of their scatter that bears a factor.
const LEAST: usize = 4;
/// No factor is larger.
const FARTHEST: f64 = 1e6;

/// Level and scatter of a series, neither moved by its few outermost values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usual {
    /// The mean of the Winsorised values.
    pub level: f64,
    /// Their standard deviation, over n - 1. It is smaller than that of the values.
    pub scatter: f64,
}

impl Usual {
    /// `None` for fewer than four values, or where more of them are infinite than are moved.
    pub fn of(values: &[f64]) -> Option<Usual> {
        if values.len() < LEAST {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (n, moved) = (sorted.len(), sorted.len() / MOVED);
        let (lowest, highest) = (sorted[moved], sorted[n - 1 - moved]);
        if !lowest.is_finite() || !highest.is_finite() {
            return None;
        }
        sorted[..moved].fill(lowest);
        sorted[n - moved..].fill(highest);
        let level = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|v| (v - level).powi(2)).sum();
        Some(Usual {
            level,
            scatter: (squares / (n as f64 - 1.0)).sqrt(),
        })
    }
}

/// How far from its level the next value of a series of one length may lie.
#[derive(Debug, Clone)]
pub struct Expectation {
    series: Vec<Usual>,
}

impl Expectation {
    /// For series of `length` values, four or more.
    pub fn new(length: usize) -> Option<Expectation> {
        if length < LEAST {
            return None;
        }
        let mut generator = ChaCha8Rng::seed_from_u64(SEED);
        let mut values = vec![0.0; length];
        let mut series = Vec::with_capacity(SERIES);
        for _ in 0..SERIES {
            values.fill_with(|| gauss(&mut generator));
            series.extend(Usual::of(&values));
        }
        Some(Expectation { series })
    }

    /// The factor by which the scatter is multiplied so that the next value lies above
    /// `level + factor · scatter` with the chance `chance`, which is below one half.
    pub fn factor(&self, chance: f64) -> f64 {
        // Halved on a logarithmic scale from 0.001 to the farthest: 60 halvings reach twelve digits.
        let (mut low, mut high) = (-3.0, FARTHEST.log10());
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            match self.chance(10f64.powf(middle)) > chance {
                true => low = middle,
                false => high = middle,
            }
        }
        10f64.powf(high)
    }

    /// The chance that the next value lies above `level + factor · scatter`.
    pub fn chance(&self, factor: f64) -> f64 {
        let normal = Normal::standard();
        let all = self.series.iter();
        let above = all.map(|s| normal.sf(s.level + factor * s.scatter));
        above.sum::<f64>() / self.series.len() as f64
    }
}

/// The largest share of all that may be marked where `hits` of `drawn` are: shares above it are excluded at that one-sided
/// confidence (Clopper & Pearson, Biometrika 26, 1934). 1 where every one is marked, or nothing was drawn.
pub fn most_marked(hits: u64, drawn: u64, confidence: f64) -> f64 {
    let unmarked = drawn.saturating_sub(hits);
    match Beta::new(hits as f64 + 1.0, unmarked as f64) {
        Ok(share) => share.inverse_cdf(confidence),
        Err(_) => 1.0,
    }
}

/// The chance that of `drawn` out of `all`, `marked` of which are marked, `hits` or more are marked: whether
/// something is found in one group more often than chance deals it (Fisher's exact test, one-sided).
pub fn chance_of_hits(all: u64, marked: u64, drawn: u64, hits: u64) -> f64 {
    match (hits, Hypergeometric::new(all, marked, drawn)) {
        (0, _) => 1.0,
        (_, Err(_)) => 1.0,
        (hits, Ok(dealt)) => dealt.sf(hits - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::small::student;

    #[test]
    fn three_lossless_trials_exclude_little() {
        let most = |hits, drawn| most_marked(hits, drawn, 0.95);
        // None of n: 1 - 0.05^(1/n). One of ten: table of Clopper and Pearson.
        assert!((most(0, 3) - 0.6316).abs() < 1e-4);
        assert!((most(0, 59) - 0.0495).abs() < 1e-4);
        assert!((most(1, 10) - 0.3942).abs() < 1e-4);
        assert_eq!((most(3, 3), most(0, 0)), (1.0, 1.0));
    }

    #[test]
    fn outermost_values_move_neither_level_nor_scatter_far() {
        let calm = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let mut wild = calm;
        (wild[8], wild[9]) = (f64::INFINITY, 1e9);
        let (a, b) = (Usual::of(&calm).unwrap(), Usual::of(&wild).unwrap());
        assert_eq!(a, b);
        // 3, 3, 3, 4, 5, 6, 7, 8, 8, 8
        assert!((a.level - 5.5).abs() < 1e-12);
        assert!((a.scatter - (42.5f64 / 9.0).sqrt()).abs() < 1e-12, "{a:?}");
        // Three of ten are more than what is moved.
        (wild[7], wild[9]) = (f64::INFINITY, f64::INFINITY);
        assert_eq!(Usual::of(&wild), None);
        assert_eq!(Usual::of(&[1.0, 2.0, 3.0]), None);
        assert!(Usual::of(&[1.0, 2.0, 3.0, 4.0]).is_some());
        assert_eq!(Usual::of(&[f64::NEG_INFINITY, 2.0, 3.0, 4.0]), None);
    }

    #[test]
    fn without_moved_values_the_factor_is_students() {
        // The prediction interval: t with n - 1 degrees of freedom, times sqrt(1 + 1/n).
        let four = Expectation::new(4).unwrap();
        for (chance, near) in [(0.05, 0.01), (0.005, 0.05)] {
            let expected = student(chance, 3.0) * (1.25f64).sqrt();
            let factor = four.factor(chance);
            assert!(
                (factor / expected - 1.0).abs() < near,
                "{factor} {expected}"
            );
        }
        assert!(Expectation::new(3).is_none());
    }

    #[test]
    fn the_next_value_is_above_as_often_as_asked() {
        for (length, chance) in [(6, 0.02), (10, 0.01), (16, 0.005), (30, 0.002)] {
            let factor = Expectation::new(length).unwrap().factor(chance);
            let mut generator = ChaCha8Rng::seed_from_u64(length as u64);
            let tries = 40_000;
            let above = (0..tries)
                .filter(|_| {
                    let values: Vec<f64> = (0..length).map(|_| gauss(&mut generator)).collect();
                    let usual = Usual::of(&values).unwrap();
                    gauss(&mut generator) > usual.level + factor * usual.scatter
                })
                .count() as f64;
            let expected = chance * f64::from(tries);
            // Four standard deviations.
            assert!(
                (above - expected).abs() < 4.0 * expected.sqrt(),
                "{length}: {above}, {expected}"
            );
        }
    }

    #[test]
    fn rarer_alarms_and_shorter_series_take_larger_factors() {
        let factor = |n, chance| Expectation::new(n).unwrap().factor(chance);
        assert!(factor(16, 1e-4) > factor(16, 1e-3));
        assert!(factor(8, 1e-3) > factor(16, 1e-3));
        assert!(factor(16, 1e-3) > factor(60, 1e-3));
        let sixteen = Expectation::new(16).unwrap();
        let chance = sixteen.chance(sixteen.factor(1e-4));
        assert!((chance / 1e-4 - 1.0).abs() < 1e-3, "{chance}");
    }

    #[test]
    fn hits_are_as_rare_as_the_deals_say() {
        // 5 of 85 marked, all five drawn: 1 of C(85, 5).
        assert!((chance_of_hits(85, 5, 5, 5) * 32_801_517.0 - 1.0).abs() < 1e-6);
        // One of them drawn or more: 1 - C(80, 5) / C(85, 5).
        assert!((chance_of_hits(85, 5, 5, 1) - (1.0 - 24_040_016.0 / 32_801_517.0)).abs() < 1e-9);
        assert_eq!(chance_of_hits(85, 5, 5, 0), 1.0);
        assert_eq!(chance_of_hits(3, 9, 5, 1), 1.0);
    }
}
