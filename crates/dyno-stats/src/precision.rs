//! How precise an estimate is: the figure by which a run decides whether to go on.

use crate::value::{Estimate, Interval};

/// By which share the farther end of the interval is from the value: 0.05 for ±5 %; infinite where
/// an end is infinite or zero.
///
/// "Farther" is meant as a ratio, because figures that are positive scatter by factors: the larger of
/// `hi / value - 1` and `value / lo - 1`.
pub fn within(estimate: &Estimate) -> f64 {
    let ends = (estimate.lo.as_f64(), estimate.hi.as_f64());
    if ends.0 <= 0.0 || ends.1.is_infinite() {
        return f64::INFINITY;
    }
    let mut interval = Interval::at(estimate.value.as_f64());
    interval.widen(ends);
    interval.log_half_width().exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Latency;

    fn estimate(lo: f64, value: f64, hi: f64) -> Estimate {
        Estimate {
            value: Latency::from_f64(value),
            lo: Latency::from_f64(lo),
            hi: Latency::from_f64(hi),
        }
    }

    #[test]
    fn the_farther_end_counts() {
        assert!((within(&estimate(99.0, 100.0, 105.0)) - 0.05).abs() < 1e-12);
        assert!((within(&estimate(80.0, 100.0, 105.0)) - 0.25).abs() < 1e-12);
        assert_eq!(within(&estimate(7.0, 7.0, 7.0)), 0.0);
    }

    #[test]
    fn an_end_without_a_bound_is_infinitely_far() {
        assert!(within(&estimate(0.0, 1.0, 1.0)).is_infinite());
        assert!(within(&estimate(1.0, 1.0, f64::INFINITY)).is_infinite());
        assert!(within(&estimate(f64::INFINITY, f64::INFINITY, f64::INFINITY)).is_infinite());
    }
}
