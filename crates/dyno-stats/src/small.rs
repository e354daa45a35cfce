//! Intervals from few values: Student's t over trials, order statistics and autocorrelation within
//! a single trial.

use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// The upper `tail` quantile of Student's t with `freedom` degrees of freedom. Infinite where there
/// is no freedom.
pub(crate) fn student(tail: f64, freedom: f64) -> f64 {
    if freedom > 1e6 {
        return normal(tail);
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - tail))
}

/// The upper `tail` quantile of the standard normal distribution.
pub(crate) fn normal(tail: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - tail)
}

/// Mean and standard error of few values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    /// Standard error of the mean.
    pub(crate) error: f64,
    /// Degrees of freedom of the error.
    pub(crate) freedom: f64,
}

impl Spread {
    /// `None` for fewer than two values or where one is not finite.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let k = values.len() as f64;
        if values.len() < 2 || values.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let mean = values.iter().sum::<f64>() / k;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Some(Spread {
            mean,
            error: (squares / (k - 1.0) / k).sqrt(),
            freedom: k - 1.0,
        })
    }

    /// Student's interval of the mean.
    pub(crate) fn interval(&self, tail: f64) -> (f64, f64) {
        let half = if self.error == 0.0 {
            0.0
        } else {
            student(tail, self.freedom) * self.error
        };
        (self.mean - half, self.mean + half)
    }
}

/// The variance of a number of samples from which on it is taken as normal.
const MUCH: f64 = (1 << 19) as f64;

/// Ranks, from 1, of the two order statistics that enclose quantile `q` of `n` independent samples:
/// the number of samples below the quantile is binomial (Hahn & Meeker, *Statistical Intervals*,
/// section 5.2; Hoefler & Belli, SC 2015, rule 8).
///
/// Where that number varies much it is taken as normal, but for its skewness (Cornish & Fisher, *Revue de l'Institut
/// International de Statistique* 5, 1938): the inverse of the binomial is searched for, and with rounding its distribution
/// function does not always ascend, which was seen from a variance of 2.7 million on.
pub(crate) fn order_ranks(q: f64, n: u64, tail: f64) -> (u64, u64) {
    let variance = n as f64 * q * (1.0 - q);
    if variance > MUCH {
        let z = normal(tail);
        let middle = q * n as f64 + (z * z - 1.0) * (1.0 - 2.0 * q) / 6.0;
        let half = z * variance.sqrt();
        let rank = |at: f64| (at.round() as u64).clamp(1, n);
        return (rank(middle - half), rank(middle + half + 1.0));
    }
    let Ok(below) = Binomial::new(q, n) else {
        return (1, n);
    };
    // P(rank-th smallest > quantile) = P(X <= rank - 1), to be at most `tail`; and likewise above.
    (
        below.inverse_cdf(tail).clamp(1, n),
        (below.inverse_cdf(1.0 - tail) + 1).clamp(1, n),
    )
}

/// How much wider than a percentile interval over `blocks` of one trial an honest one is: Student's
/// t in place of the normal quantile, the bootstrap's missing `n/(n-1)`, and for neighbouring blocks
/// that resemble each other the variance of an AR(1) mean, `(1+ρ)/(1-ρ)` (Bayley & Hammersley,
/// JRSS Suppl. 8, 1946). `values` are one figure per block in order of time.
pub(crate) fn stretch(values: &[f64], tail: f64) -> f64 {
    let blocks = values.len() as f64;
    if values.len() < 2 {
        return 1.0;
    }
    let rho = lag1(values).clamp(0.0, 0.9);
    student(tail, blocks - 1.0) / normal(tail)
        * (blocks / (blocks - 1.0)).sqrt()
        * ((1.0 + rho) / (1.0 - rho)).sqrt()
}

/// How many samples of one trial are worth one independent sample: the variance of the blocks'
/// shares above the quantile, over what it would be for independent samples (Kish, *Survey
/// Sampling*, 1965, section 5.4), times [`stretch`]'s factor for neighbouring blocks. `shares` and
/// `sizes` are the share above and the number of samples per block, in order of time. At least 1.
pub(crate) fn design_effect(shares: &[f64], sizes: &[f64]) -> f64 {
    let rho = lag1(shares).clamp(0.0, 0.9);
    (dispersion(shares, sizes) * (1.0 + rho) / (1.0 - rho)).max(1.0)
}

/// [`design_effect`] where the blocks differ more than independent samples would let them in 95 of
/// 100 cases (the index of dispersion: Fisher, *Statistical Methods for Research Workers*, section
/// 19), else 1.
pub(crate) fn clustering(shares: &[f64], sizes: &[f64]) -> f64 {
    let freedom = shares.len() as f64 - 1.0;
    let beyond_chance = ChiSquared::new(freedom)
        .is_ok_and(|d| dispersion(shares, sizes) * freedom > d.inverse_cdf(0.95));
    if beyond_chance {
        design_effect(shares, sizes)
    } else {
        1.0
    }
}

/// The variance of the blocks' shares over that of independent samples; 1 where that is unknown.
fn dispersion(shares: &[f64], sizes: &[f64]) -> f64 {
    let n: f64 = sizes.iter().sum();
    if shares.len() < 2 || n <= 0.0 {
        return 1.0;
    }
    let above: f64 = shares.iter().zip(sizes).map(|(p, n)| p * n).sum();
    let p = above / n;
    if p <= 0.0 || p >= 1.0 {
        return 1.0;
    }
    let squares: f64 = shares
        .iter()
        .zip(sizes)
        .map(|(s, n)| n * (s - p).powi(2))
        .sum();
    squares / (shares.len() as f64 - 1.0) / (p * (1.0 - p))
}

/// Lag-1 autocorrelation, with the first-order correction of its bias, `(1 + 3ρ)/n` (Marriott &
/// Pope, Biometrika 41, 1954); 0 where the values do not vary.
fn lag1(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    let products: f64 = values
        .windows(2)
        .map(|w| (w[0] - mean) * (w[1] - mean))
        .sum();
    let raw = products / squares;
    raw + (1.0 + 3.0 * raw) / n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_quantiles_agree_with_the_printed_table() {
        for (freedom, expected) in [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (9.0, 2.262)] {
            assert!((student(0.025, freedom) - expected).abs() < 1e-3);
        }
        assert!((normal(0.025) - 1.95996).abs() < 1e-4);
        assert!((student(0.025, f64::INFINITY) - 1.95996).abs() < 1e-4);
    }

    #[test]
    fn order_ranks_agree_with_the_printed_table() {
        // Median of 20 samples, 95 %: the 6th and the 15th (Conover, table A3).
        assert_eq!(order_ranks(0.5, 20, 0.025), (6, 15));
        let (lo, hi) = order_ranks(0.99, 10_000, 0.025);
        assert!(lo < 9_900 && hi > 9_900 && hi - lo < 45, "{lo} {hi}");
    }

    #[test]
    fn order_ranks_of_very_many_samples_go_on_as_those_of_fewer() {
        for q in [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999] {
            for tail in [0.025, 1e-4, 1e-6] {
                let n = (MUCH / q / (1.0 - q)) as u64;
                let ranks = |n| order_ranks(q, n, tail);
                let (exact, normal) = (ranks(n - 1), ranks(n + 1));
                let differ = (exact.0.abs_diff(normal.0), exact.1.abs_diff(normal.1));
                assert!(
                    differ.0.max(differ.1) <= 3,
                    "{q} {tail} {exact:?} {normal:?}"
                );
                for n in (0..64).map(|bits| u64::MAX >> bits) {
                    let (lo, hi) = ranks(n);
                    assert!(1 <= lo && lo <= hi && hi <= n, "{q} {n} {lo} {hi}");
                }
            }
        }
    }

    #[test]
    fn the_interval_of_a_mean_is_students() {
        let (lo, hi) = Spread::of(&[1.0, 2.0, 3.0, 4.0, 5.0])
            .unwrap()
            .interval(0.025);
        assert!((lo - 1.0368).abs() < 1e-3 && (hi - 4.9632).abs() < 1e-3);
        assert!(Spread::of(&[1.0]).is_none());
        assert!(Spread::of(&[1.0, f64::INFINITY]).is_none());
    }

    #[test]
    fn clusters_count_only_beyond_chance() {
        let sizes = [100.0; 10];
        let even = [0.1, 0.12, 0.08, 0.1, 0.11, 0.09, 0.1, 0.13, 0.07, 0.1];
        assert_eq!(clustering(&even, &sizes), 1.0);
        let mut one = [0.0; 10];
        one[3] = 1.0;
        // Everything above in one block: 100 samples are worth about one.
        assert!(clustering(&one, &sizes) > 90.0);
        assert_eq!(clustering(&[0.1], &[100.0]), 1.0);
        assert_eq!(clustering(&[0.0; 4], &[100.0; 4]), 1.0);
    }

    #[test]
    fn resembling_neighbours_stretch_the_interval() {
        let alternating: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        let slow: Vec<f64> = (0..40).map(|i| f64::from(i / 10)).collect();
        assert!(stretch(&alternating, 0.025) < 1.1);
        assert!(stretch(&slow, 0.025) > 2.0);
        assert_eq!(stretch(&[3.0], 0.025), 1.0);
    }
}
