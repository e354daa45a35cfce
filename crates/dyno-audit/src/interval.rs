//! The interval of a rounded number, and arithmetic on such intervals.

use crate::statement::{Bound, Dimension, Figure};

/// All values from `lo` to `hi`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

/// Whether `KB`, `MB` and `GB` are powers of 1024, of sizes and of sizes per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Prefixes {
    pub(crate) binary_sizes: bool,
    pub(crate) binary_bandwidths: bool,
}

impl Prefixes {
    pub(crate) const ALL: [Prefixes; 4] = [
        Prefixes::of(false, false),
        Prefixes::of(true, false),
        Prefixes::of(true, true),
        Prefixes::of(false, true),
    ];

    const fn of(binary_sizes: bool, binary_bandwidths: bool) -> Prefixes {
        Prefixes {
            binary_sizes,
            binary_bandwidths,
        }
    }
}

impl Interval {
    pub(crate) fn exactly(value: f64) -> Interval {
        Interval {
            lo: value,
            hi: value,
        }
    }

    /// In base units. A printed digit may have been rounded or cut off, so that a whole step is left open on both
    /// sides; *about* leaves a tenth open at least, and of a bound's digits half a step where it has decimals.
    pub(crate) fn of(figure: &Figure, prefixes: Prefixes) -> Interval {
        let printed = &figure.printed;
        let factor = factor(figure, prefixes);
        let value = printed.value * factor;
        let step = 2.0 * printed.half_step * factor;
        // A limit that is a whole number was chosen, one with decimals may have been rounded.
        let limit = match printed.text.contains('.') {
            true => step / 2.0,
            false => 0.0,
        };
        let (lo, hi) = match printed.bound {
            Bound::Rounded => (value - step, value + step),
            Bound::About => {
                let open = step.max(value.abs() / 10.0);
                (value - open, value + open)
            }
            Bound::Below => (f64::NEG_INFINITY, value + limit),
            Bound::Above => (value - limit, f64::INFINITY),
        };
        Interval { lo, hi }
    }

    /// With decimal prefixes.
    pub(crate) fn plain(figure: &Figure) -> Interval {
        Interval::of(figure, Prefixes::default())
    }

    pub(crate) fn middle(self) -> f64 {
        (self.lo + self.hi) / 2.0
    }

    /// Whether some value lies in both, but for errors of floating point.
    pub(crate) fn meets(self, other: Interval) -> bool {
        let scale = [self.lo, self.hi, other.lo, other.hi]
            .into_iter()
            .filter(|x| x.is_finite())
            .fold(0.0, |a: f64, x| a.max(x.abs()));
        let slack = 1e-9 * scale;
        self.lo <= other.hi + slack && other.lo <= self.hi + slack
    }

    pub(crate) fn plus(self, other: Interval) -> Interval {
        Interval {
            lo: self.lo + other.lo,
            hi: self.hi + other.hi,
        }
    }

    pub(crate) fn minus(self, other: Interval) -> Interval {
        Interval {
            lo: self.lo - other.hi,
            hi: self.hi - other.lo,
        }
    }

    pub(crate) fn times(self, other: Interval) -> Interval {
        let all = [
            self.lo * other.lo,
            self.lo * other.hi,
            self.hi * other.lo,
            self.hi * other.hi,
        ];
        Interval::around(&all)
    }

    /// Everything where the divisor may be zero.
    pub(crate) fn by(self, other: Interval) -> Interval {
        if other.lo <= 0.0 && other.hi >= 0.0 {
            return Interval {
                lo: f64::NEG_INFINITY,
                hi: f64::INFINITY,
            };
        }
        let all = [
            self.lo / other.lo,
            self.lo / other.hi,
            self.hi / other.lo,
            self.hi / other.hi,
        ];
        Interval::around(&all)
    }

    fn around(all: &[f64]) -> Interval {
        // 0 × ∞ leaves everything open.
        if all.iter().any(|x| x.is_nan()) {
            return Interval {
                lo: f64::NEG_INFINITY,
                hi: f64::INFINITY,
            };
        }
        Interval {
            lo: all.iter().copied().fold(f64::INFINITY, f64::min),
            hi: all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Base units in one printed unit.
pub(crate) fn factor(figure: &Figure, prefixes: Prefixes) -> f64 {
    let unit = &figure.printed.unit;
    let binary = match unit.dimension {
        Dimension::Size => prefixes.binary_sizes,
        Dimension::Bandwidth => prefixes.binary_bandwidths,
        Dimension::TimePerSize => {
            let size = unit.text.rsplit('/').next().unwrap_or("");
            return match (prefixes.binary_sizes, size) {
                (true, "KB" | "kB") => unit.factor * 1e3 / 1024.0,
                (true, "MB") => unit.factor * 1e6 / 1048576.0,
                _ => unit.factor,
            };
        }
        _ => false,
    };
    match (binary && unit.is_ambiguous(), unit.text.chars().next()) {
        (true, Some('K' | 'k')) => unit.factor * 1.024,
        (true, Some('M')) => unit.factor * 1.024 * 1.024,
        (true, Some('G')) => unit.factor * 1.024 * 1.024 * 1.024,
        _ => unit.factor,
    }
}

/// A figure's value in base units.
pub(crate) fn value(figure: &Figure) -> f64 {
    figure.printed.value * figure.printed.unit.factor
}

/// A number for people, with up to five significant digits.
pub(crate) fn short(value: f64) -> String {
    to_digits(value, 5)
}

/// A number for people, with up to so many significant digits.
pub(crate) fn to_digits(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..9.0).contains(&magnitude) {
        return format!("{value:.*e}", digits as usize - 1);
    }
    let decimals =
        (f64::from(digits) - 1.0 - magnitude).clamp(0.0, f64::from(digits) + 4.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A figure in a unit for people, with all the digits that are printed.
pub(crate) fn all_digits(figure: &Figure) -> String {
    let (base, printed) = (value(figure), &figure.printed);
    let (factor, unit) = scale(base, printed.unit.dimension);
    let step = 2.0 * printed.half_step * printed.unit.factor * factor;
    match step > 0.0 {
        true => {
            let decimals = (-step.log10()).round().clamp(0.0, 12.0) as usize;
            format!("{:.decimals$}{unit}", base * factor)
        }
        false => with_unit(base, printed.unit.dimension),
    }
}

/// A value in base units of a dimension, for people.
pub(crate) fn with_unit(value: f64, dimension: Dimension) -> String {
    let (factor, unit) = scale(value, dimension);
    format!("{}{unit}", short(value * factor))
}

/// The unit in which a value in base units is easy to read, and how many of it are one base unit.
fn scale(value: f64, dimension: Dimension) -> (f64, &'static str) {
    match dimension {
        Dimension::Time => match value.abs() {
            v if v < 1e-6 => (1e9, " ns"),
            v if v < 1e-3 => (1e6, " µs"),
            v if v < 1.0 => (1e3, " ms"),
            _ => (1.0, " s"),
        },
        Dimension::Size => (1.0, " B"),
        Dimension::Rate => (1.0, " per s"),
        Dimension::Bandwidth => match value.abs() {
            v if v < 1e6 => (1e-3, " kB/s"),
            _ => (1e-6, " MB/s"),
        },
        Dimension::One => (1.0, ""),
        Dimension::Cycles => (1.0, " cycles"),
        Dimension::TimePerSize => (1e9, " ns/B"),
    }
}
