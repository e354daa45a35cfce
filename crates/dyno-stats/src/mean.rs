//! The mean of a figure that each trial has one of, which may be zero or less, such as a difference.

use crate::small::Spread;

/// A mean over trials, in the figure's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean itself.
    pub value: f64,
    /// Student's interval of the mean of all trials that could have been; `None` of a single trial.
    pub interval: Option<(f64, f64)>,
    /// Trials.
    pub n: usize,
}

impl Mean {
    /// Over these trials, with an interval of that `confidence` (0.95 for 95 %); `None` where there is none, or where a
    /// figure is not finite.
    pub fn of(values: &[f64], confidence: f64) -> Option<Mean> {
        let n = values.len();
        if n == 0 || values.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let tail = (1.0 - confidence.clamp(0.5, 0.999)) / 2.0;
        Some(Mean {
            value: values.iter().sum::<f64>() / n as f64,
            interval: Spread::of(values).map(|spread| spread.interval(tail)),
            n,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_differences_may_be_below_zero_and_a_single_trial_has_no_interval() {
        let mean = Mean::of(&[-2.0, 0.0, 2.0, -4.0], 0.95).unwrap();
        assert_eq!((mean.value, mean.n), (-1.0, 4));
        // Of a standard deviation of 2.58 over four trials: 3.182 of its errors on either side.
        let (lo, hi) = mean.interval.unwrap();
        assert!(
            (lo + 5.108).abs() < 1e-3 && (hi - 3.108).abs() < 1e-3,
            "{lo} {hi}"
        );
        assert_eq!(Mean::of(&[3.0], 0.95).unwrap().interval, None);
        assert_eq!(Mean::of(&[], 0.95), None);
        assert_eq!(Mean::of(&[1.0, f64::INFINITY], 0.95), None);
    }
}
