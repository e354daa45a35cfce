//! How many further trials decide.
//!
//! After `m` further trials the value is the mean of all `n + m`. Its distance from the present one is that of Student's prediction:
//! the present standard error times `sqrt(m / (n + m))`, because neither the true value nor the scatter is known (Geisser, *Predictive
//! Inference*, 1993, section 2.2; Spiegelhalter & Freedman, Statistics in Medicine 5, 1986, on the expected power of a trial). A number
//! that took the present value for the true one would decide in far fewer cases than it says, since undecided values lie by chance
//! nearer to their line or farther from it. The widths of the intervals shrink as those of Student's do.
//!
//! How often the numbers decide is measured in `tests/it/false_alarms.rs`.

use crate::small::student;
use crate::value::Estimate;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The chance with which the numbers of further trials decide, unless the true value lies on the line itself.
pub const POWER: f64 = 0.8;

/// No larger number is named.
const MOST: u64 = 10_000;

/// The mean of some trials, on a logarithmic scale.
pub(crate) struct Known {
    /// Trials.
    pub(crate) n: f64,
    /// The standard error of the mean, and its degrees of freedom.
    pub(crate) error: f64,
    pub(crate) freedom: f64,
    /// The chance of each end of an interval to miss the truth.
    pub(crate) tail: f64,
}

impl Known {
    /// The least number of further trials for which `chance` is at least [`POWER`], of at most [`MOST`]. `chance` gets the
    /// distribution function of the distance that the mean moves, and the factor by which intervals shrink.
    pub(crate) fn further(&self, chance: impl Fn(&dyn Fn(f64) -> f64, f64) -> f64) -> Option<u64> {
        let moved = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        if !(self.error.is_finite() && self.error > 0.0) {
            return None;
        }
        let now = student(self.tail, self.freedom);
        let decides = |more: u64| {
            let grown = 1.0 + more as f64 / self.n;
            let freedom = (self.freedom + 1.0) * grown - 1.0;
            let moves = self.error * (1.0 - 1.0 / grown).sqrt();
            let below = |distance: f64| moved.cdf(distance / moves);
            chance(&below, student(self.tail, freedom) / now / grown.sqrt()) >= POWER
        };
        if !decides(MOST) {
            return None;
        }
        let (mut lo, mut hi) = (0, MOST);
        while hi - lo > 1 {
            let middle = u64::midpoint(lo, hi);
            match decides(middle) {
                true => hi = middle,
                false => lo = middle,
            }
        }
        Some(hi)
    }
}

/// About how many trials beyond these bring the interval of a positive figure to one side of `line` with a chance of [`POWER`]. The
/// interval has that `confidence`. `None`: there are fewer than two trials, an end that must come nearer is not finite and positive, or
/// it takes more than 10,000.
pub fn further_trials(e: &Estimate, line: f64, trials: usize, confidence: f64) -> Option<u64> {
    let (value, lo, hi) = (e.value.as_f64(), e.lo.as_f64(), e.hi.as_f64());
    let to_line = (line / value).ln();
    let (below, above) = ((value / lo).ln(), (hi / value).ln());
    let nearer = if to_line > 0.0 { above } else { below };
    if trials < 2 || !to_line.is_finite() || !nearer.is_finite() {
        return None;
    }
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let freedom = trials as f64 - 1.0;
    let known = Known {
        n: trials as f64,
        error: nearer / student(tail, freedom),
        freedom,
        tail,
    };
    known.further(|moved, shrunk| {
        moved(to_line - above * shrunk) + 1.0 - moved(to_line + below * shrunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Latency;

    fn estimate(value: f64, lo: f64, hi: f64) -> Estimate {
        let [value, lo, hi] = [value, lo, hi].map(Latency::from_f64);
        Estimate { value, lo, hi }
    }

    #[test]
    fn a_nearer_line_takes_more_trials() {
        let e = estimate(100.0, 90.0, 110.0);
        let numbers = [109.0, 105.0, 102.0].map(|line| further_trials(&e, line, 5, 0.95).unwrap());
        assert!(
            numbers.is_sorted() && numbers[0] < numbers[2],
            "{numbers:?}"
        );
        let numbers = [91.0, 95.0, 98.0].map(|line| further_trials(&e, line, 5, 0.95).unwrap());
        assert!(
            numbers.is_sorted() && numbers[0] < numbers[2],
            "{numbers:?}"
        );
    }

    #[test]
    fn nothing_is_named_where_nothing_is_known() {
        let inf = f64::INFINITY;
        for (e, trials) in [
            (estimate(100.0, 90.0, 110.0), 1),
            (estimate(100.0, 90.0, inf), 5),
            (estimate(inf, 90.0, inf), 5),
            (estimate(0.0, 0.0, 110.0), 5),
            (estimate(100.0, 100.0, 100.0), 5),
        ] {
            assert_eq!(further_trials(&e, 105.0, trials, 0.95), None, "{e:?}");
        }
    }
}
