//! A value that may be infinite, and a value with its interval.

/// A value of a metric, in the metric's unit (nanoseconds for latencies, none for ratios).
///
/// `Infinite` is what a lost message takes; it is greater than every finite value.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub enum Latency {
    /// A value that was measured.
    Finite(f64),
    /// Later than any wait.
    Infinite,
}

impl Latency {
    /// The value, or `None` where it is infinite.
    pub const fn finite(self) -> Option<f64> {
        match self {
            Latency::Finite(v) => Some(v),
            Latency::Infinite => None,
        }
    }

    /// Within this crate an infinite value is `f64::INFINITY`.
    pub(crate) fn from_f64(v: f64) -> Self {
        if v == f64::INFINITY {
            Latency::Infinite
        } else {
            Latency::Finite(v)
        }
    }

    pub(crate) fn as_f64(self) -> f64 {
        self.finite().unwrap_or(f64::INFINITY)
    }
}

/// A value and the interval that holds the true one with the confidence that was asked for;
/// `lo <= value <= hi`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate itself.
    pub value: Latency,
    /// The lower end of its interval.
    pub lo: Latency,
    /// The upper end of its interval.
    pub hi: Latency,
}

/// Few widely scattered trials extrapolate to ends of any size; beyond this factor from the estimate they
/// say no more than that the data does not bound it.
const FARTHEST: f64 = 1_000.0;

/// An interval under construction: starts at the estimate and only ever grows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    point: f64,
    lo: f64,
    hi: f64,
}

impl Interval {
    pub(crate) fn at(point: f64) -> Self {
        Interval {
            point,
            lo: point,
            hi: point,
        }
    }

    /// The union with another interval.
    pub(crate) fn widen(&mut self, (lo, hi): (f64, f64)) {
        self.lo = self.lo.min(lo);
        self.hi = self.hi.max(hi);
    }

    /// How far the farther end is from the estimate, on a logarithmic scale; infinite where an end
    /// is zero or infinite and the estimate is not.
    pub(crate) fn log_half_width(&self) -> f64 {
        let side = |a: f64, b: f64| if a == b { 0.0 } else { (b / a).ln() };
        side(self.point, self.hi).max(side(self.lo, self.point))
    }

    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// The estimate with its interval as it is, of a figure that may be negative: no factor says how far an
    /// end is from it.
    pub(crate) fn signed(&self) -> Estimate {
        Estimate {
            value: Latency::from_f64(self.point),
            lo: Latency::from_f64(self.lo),
            hi: Latency::from_f64(self.hi),
        }
    }

    /// The estimate of a figure that is not negative, with its interval. An end farther away than a factor of [`FARTHEST`] is no end:
    /// it becomes 0 or infinite, which only widens the interval. From an infinite figure and from 0 no factor tells a distance.
    pub(crate) fn estimate(&self) -> Estimate {
        let has_distance = self.point.is_finite() && self.point > 0.0;
        let lo = match has_distance && self.lo * FARTHEST < self.point {
            true => 0.0,
            false => self.lo,
        };
        let hi = match has_distance && self.hi > self.point * FARTHEST {
            true => f64::INFINITY,
            false => self.hi,
        };
        Estimate {
            value: Latency::from_f64(self.point),
            lo: Latency::from_f64(lo),
            hi: Latency::from_f64(hi),
        }
    }
}
