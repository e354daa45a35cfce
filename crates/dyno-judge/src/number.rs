//! Numbers as people read them: three significant digits, no exponent, with their unit.

pub(crate) use dyno_model::unit::counted;
pub(crate) use dyno_report::sig3;
use serde::{Serialize, Serializer};

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Time,
    /// Messages per second.
    Rate,
    /// Bytes.
    Bytes,
    /// Nothing: a ratio.
    Times,
    /// A share of one.
    Share,
}

impl Unit {
    /// The name in JSON and CSV.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Unit::Time => "ns",
            Unit::Rate => "1/s",
            Unit::Bytes => "B",
            Unit::Times | Unit::Share => "1",
        }
    }

    /// `value` in the scale that suits it: `12.3 µs`, `45.0 k/s`, `1.20 MiB`, `3.10`, `0.100 %`.
    pub(crate) fn text(self, value: f64) -> String {
        const TIME: [(f64, &str); 4] = [(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")];
        const RATE: [(f64, &str); 4] = [(1e9, " G/s"), (1e6, " M/s"), (1e3, " k/s"), (1.0, " /s")];
        const BYTES: [(f64, &str); 4] = [
            (1_073_741_824.0, " GiB"),
            (1_048_576.0, " MiB"),
            (1_024.0, " KiB"),
            (1.0, " B"),
        ];
        let scales = match self {
            Unit::Time => TIME,
            Unit::Rate => RATE,
            Unit::Bytes => BYTES,
            Unit::Times => return sig3(value),
            Unit::Share if value.is_finite() => return format!("{} %", sig3(100.0 * value)),
            Unit::Share => return sig3(value),
        };
        if !value.is_finite() {
            return sig3(value);
        }
        let fits = scales.iter().find(|(scale, _)| value.abs() >= *scale);
        let (scale, unit) = *fits.unwrap_or(&scales[3]);
        format!("{}{unit}", sig3(value / scale))
    }
}

/// Equal but for what floating-point arithmetic rounds. An infinite number equals only itself, and what is not a
/// number equals nothing.
pub(crate) fn same_number(a: f64, b: f64) -> bool {
    a == b || (a.is_finite() && b.is_finite() && (a - b).abs() <= 1e-9 * a.abs().max(b.abs()))
}

/// A confidence or a margin as a percentage: `95 %`, `99.79 %`, never rounded up to the whole.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let mut text = format!("{percent:.4}");
    if share < 1.0 && text.starts_with("100") {
        text = format!("{percent:.8}");
    }
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} %")
}

/// A ratio and its interval: `×1.04 [1.02, 1.06]`.
pub(crate) fn ratio(value: f64, lo: f64, hi: f64) -> String {
    format!("×{} [{}, {}]", sig3(value), sig3(lo), sig3(hi))
}

/// Nine significant digits for exports: more than any figure bears, and the same on machines whose
/// mathematical libraries differ in the last place. `None` is infinite: JSON has no word for it.
pub(crate) fn exported(value: f64) -> Option<f64> {
    Some(dyno_report::exported(value)).filter(|v| v.is_finite())
}

/// Writes a number as [`exported`].
pub(crate) fn nine<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
    exported(*value).serialize(out)
}

/// For CSV: `inf` and `-inf`, which pandas reads; nothing for what is not a number.
pub(crate) fn csv_number(value: f64) -> String {
    match value.is_nan() {
        true => String::new(),
        false => exported(value).unwrap_or(value).to_string(),
    }
}

/// A finite value, or infinity.
pub(crate) fn latency(latency: dyno_stats::Latency) -> f64 {
    latency.finite().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_fitting_unit() {
        assert_eq!(Unit::Time.text(12_345.0), "12.3 µs");
        assert_eq!(Unit::Time.text(f64::INFINITY), "∞");
        assert_eq!(Unit::Rate.text(0.0), "0 /s");
        assert_eq!(Unit::Bytes.text(3_145_728.0), "3.00 MiB");
        assert_eq!(Unit::Share.text(0.000_3), "0.0300 %");
        assert_eq!(Unit::Share.text(f64::INFINITY), "∞");
        assert_eq!(Unit::Time.text(-12_345.0), "-12.3 µs");
        assert_eq!(Unit::Time.text(f64::NEG_INFINITY), "-∞");
        assert_eq!(Unit::Rate.text(f64::NAN), "–");
        assert_eq!(ratio(1.042, 1.02, f64::INFINITY), "×1.04 [1.02, ∞]");
    }

    #[test]
    fn an_infinite_number_equals_only_itself() {
        const INF: f64 = f64::INFINITY;
        for (a, b) in [
            (INF, 1.0),
            (1.0, INF),
            (INF, -INF),
            (-INF, 1.0),
            (f64::NAN, f64::NAN),
        ] {
            assert!(!same_number(a, b), "{a} {b}");
        }
        assert!(same_number(INF, INF) && same_number(0.0, -0.0));
        assert!(same_number(0.1 + 0.2, 0.3) && !same_number(1.0, 1.0 + 2e-9));
        assert!(same_number(-1.0, -1.0 - 5e-10) && !same_number(1.0, -1.0));
    }

    #[test]
    fn exports_have_a_word_for_what_is_infinite_and_none_for_what_is_unknown() {
        assert_eq!(csv_number(f64::INFINITY), "inf");
        assert_eq!(csv_number(f64::NEG_INFINITY), "-inf");
        assert_eq!(csv_number(f64::NAN), "");
        assert_eq!(csv_number(0.1 + 0.2), "0.3");
        assert_eq!((exported(f64::INFINITY), exported(2.0)), (None, Some(2.0)));
    }

    #[test]
    fn a_confidence_is_never_rounded_up_to_certainty() {
        assert_eq!(percent(0.95), "95 %");
        assert_eq!(percent(0.05), "5 %");
        assert_eq!(percent(1.0 - 0.05 / 24.0), "99.7917 %");
        assert_eq!(percent(0.999_999_9), "99.99999 %");
    }
}
