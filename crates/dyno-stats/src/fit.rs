//! The scaling factor: a straight line through time over payload size.

use crate::bootstrap::Bootstrap;
use crate::small::student;
use crate::value::{Estimate, Interval};
use rand::Rng;

/// The line `time = intercept + slope · size`, fitted by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Time of a message without payload, as the line has it, in nanoseconds.
    pub intercept: f64,
    /// Nanoseconds per byte. The same number is the scaling factor S in ms per MB (10^6 bytes).
    /// It and the ends of its interval may be negative where the points say little.
    pub slope: Estimate,
}

/// Fits `points` of (payload size in bytes, time in nanoseconds). `None` for fewer than three
/// points, for less than two different sizes, or where a point is not finite.
///
/// The slope's interval unites the percentile interval of a bootstrap over points (Efron &
/// Tibshirani 1993, section 9.5: pairs, which needs no equal scatter at all sizes) with Student's
/// with `n - 2` degrees of freedom, because there are few points.
pub fn fit_line(points: &[(f64, f64)], how: &Bootstrap) -> Option<Fit> {
    let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    if points.len() < 3 || !points.iter().all(finite) {
        return None;
    }
    let line = least_squares(points)?;
    let mut slope = Interval::at(line.slope);
    let residuals: f64 = points
        .iter()
        .map(|(x, y)| (y - line.intercept - line.slope * x).powi(2))
        .sum();
    let freedom = points.len() as f64 - 2.0;
    let half = student(how.tail(), freedom) * (residuals / freedom / line.squares).sqrt();
    slope.widen((line.slope - half, line.slope + half));
    let mut generator = how.generator(0);
    let mut drawn = Vec::with_capacity(how.resamples as usize);
    let mut sample = points.to_vec();
    for _ in 0..how.resamples.max(1) {
        sample.fill_with(|| points[generator.random_range(0..points.len())]);
        // A resample of one size only has no slope; it is as if it had not been drawn.
        drawn.extend(least_squares(&sample).map(|l| l.slope));
    }
    if let Some(ends) = how.percentiles(drawn) {
        slope.widen(ends);
    }
    Some(Fit {
        intercept: line.intercept,
        slope: slope.signed(),
    })
}

struct Line {
    intercept: f64,
    slope: f64,
    /// Sum of the squared distances of the sizes from their mean.
    squares: f64,
}

fn least_squares(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let x_mean = points.iter().map(|p| p.0).sum::<f64>() / n;
    let y_mean = points.iter().map(|p| p.1).sum::<f64>() / n;
    let squares: f64 = points.iter().map(|p| (p.0 - x_mean).powi(2)).sum();
    if squares <= 0.0 {
        return None;
    }
    let products: f64 = points.iter().map(|p| (p.0 - x_mean) * (p.1 - y_mean)).sum();
    let slope = products / squares;
    Some(Line {
        intercept: y_mean - slope * x_mean,
        slope,
        squares,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Latency;

    #[test]
    fn a_quarter_nanosecond_per_byte_is_a_quarter_millisecond_per_megabyte() {
        let points: Vec<(f64, f64)> = (0..13)
            .map(|i| {
                let size = f64::from(1 << i) * 1_000.0;
                (size, 2_000.0 + 0.25 * size)
            })
            .collect();
        let fit = fit_line(&points, &Bootstrap::default()).unwrap();
        assert!((fit.slope.value.as_f64() - 0.25).abs() < 1e-9);
        assert!((fit.intercept - 2_000.0).abs() < 1e-3);
        assert!(fit.slope.hi.as_f64() - fit.slope.lo.as_f64() < 1e-9);
    }

    #[test]
    fn scattered_points_widen_the_interval_around_the_true_slope() {
        let points: Vec<(f64, f64)> = (1..=12)
            .map(|i| {
                let noise = if i % 2 == 0 { 1.05 } else { 0.95 };
                let size = f64::from(i) * 1e5;
                (size, (1_000.0 + 0.5 * size) * noise)
            })
            .collect();
        let slope = fit_line(&points, &Bootstrap::default()).unwrap().slope;
        assert!(slope.lo.as_f64() < 0.5 && 0.5 < slope.hi.as_f64());
    }

    #[test]
    fn a_slope_lies_in_its_interval_also_where_it_is_negative_or_nothing() {
        let scattered = |slope: f64| -> Vec<(f64, f64)> {
            (1..=12)
                .map(|i| {
                    let size = f64::from(i) * 1e5;
                    (
                        size,
                        9_000.0 + slope * size + if i % 2 == 0 { 40.0 } else { -40.0 },
                    )
                })
                .collect()
        };
        for true_slope in [-0.001, -1e-5, 0.0, 1e-9, 0.002] {
            let slope = fit_line(&scattered(true_slope), &Bootstrap::default())
                .unwrap()
                .slope;
            let [lo, value, hi] = [slope.lo, slope.value, slope.hi].map(Latency::as_f64);
            assert!(lo <= value && value <= hi && hi.is_finite(), "{slope:?}");
            assert!(
                lo <= true_slope && true_slope <= hi,
                "{true_slope}: {slope:?}"
            );
        }
    }

    #[test]
    fn points_without_a_line_are_refused() {
        let how = Bootstrap::default();
        assert!(fit_line(&[(1.0, 1.0), (2.0, 2.0)], &how).is_none());
        assert!(fit_line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], &how).is_none());
        assert!(fit_line(&[(1.0, 1.0), (2.0, f64::INFINITY), (3.0, 3.0)], &how).is_none());
    }
}
