//! Numbers of the page's data: as short as their accuracy allows, and `null` for infinity.

use serde::{Serialize, Serializer};

/// Whole numbers up to here are exact in the `f64` of JavaScript and of ours.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A number as JSON. Whole ones have no fraction; infinite ones are `null`, as in `dyno show`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Number(f64);

impl Number {
    /// Four significant digits: histograms resolve three.
    pub fn short(value: f64) -> Number {
        match value.is_finite() {
            true => Number(format!("{value:.3e}").parse().unwrap_or(value)),
            false => Number(value),
        }
    }

    /// A rank of the grid, to a hundred-millionth.
    pub fn rank(q: f64) -> Number {
        Number((q * 1e8).round() / 1e8)
    }

    /// One digit after the point, for seconds since a start.
    pub fn tenths(value: f64) -> Number {
        Number((value * 10.0).round() / 10.0)
    }

    /// The number; infinite for what was lost.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number(value as f64)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            v if !v.is_finite() => serializer.serialize_none(),
            // Without the point that a float would have.
            v if v.fract() == 0.0 && v.abs() < EXACT => serializer.serialize_i64(v as i64),
            v => serializer.serialize_f64(v),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(number: Number) -> String {
        serde_json::to_string(&number).unwrap()
    }

    #[test]
    fn numbers_are_as_short_as_they_are_accurate() {
        for (number, text) in [
            (Number::short(12_424.6), "12420"),
            (Number::short(0.123_456), "0.1235"),
            (Number::short(7.0), "7"),
            (Number::short(-0.0), "0"),
            (Number::short(1e15), "1000000000000000"),
            (Number::tenths(3_600.123), "3600.1"),
            (Number::from(u64::from(u32::MAX)), "4294967295"),
        ] {
            assert_eq!(json(number), text);
        }
    }

    #[test]
    fn what_is_not_finite_is_null() {
        assert_eq!(json(Number::short(f64::INFINITY)), "null");
        assert_eq!(json(Number::short(f64::NAN)), "null");
    }
}
