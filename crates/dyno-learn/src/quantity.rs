//! Numbers in files of others, and numbers as suite files have them.

/// A decimal number such as `-12.5` in units of `unit` nanoseconds, as whole nanoseconds. Numbers with an exponent have the precision of
/// a double.
pub(crate) fn nanos(text: &str, unit: i64) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.contains(['e', 'E']) {
        let value = text.parse::<f64>().ok()? * unit as f64;
        return (value.abs() < 9e18).then_some(value as i64);
    }
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let mut value = match whole {
        "" => 0,
        whole => whole.parse::<i64>().ok()?.checked_mul(unit)?,
    };
    let mut digit_unit = unit;
    for digit in part.bytes() {
        digit_unit /= 10;
        value = value.checked_add(digit_unit * i64::from(digit - b'0'))?;
    }
    Some(if negative { -value } else { value })
}

/// With three significant digits, without zeros at the end and without an exponent.
fn three(value: f64) -> String {
    let text = dyno_report::sig3(value);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A time as suite files have it, with three digits.
pub(crate) fn time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let fits = units.iter().find(|(unit, _)| ns >= unit * 0.9995);
    let (unit, name) = fits.copied().unwrap_or((1.0, "ns"));
    format!("{} {name}", three(ns / unit))
}

/// A number of messages per second for people, with three digits.
pub(crate) fn per_second(hz: f64) -> String {
    format!("{} messages/s", three(hz))
}

/// A rate as suite files have it, with three digits.
pub(crate) fn rate(hz: f64) -> String {
    format!("{} Hz", three(hz))
}

/// Bytes, or bits per second, with a prefix and three digits.
pub(crate) fn prefixed(value: f64, unit: &str) -> String {
    let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let fits = prefixes.iter().find(|(scale, _)| value >= scale * 0.9995);
    let (scale, prefix) = fits.copied().unwrap_or((1.0, ""));
    format!("{} {prefix}{unit}", three(value / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_exact() {
        let s = 1_000_000_000;
        assert_eq!(
            nanos("1436509052.249713", s),
            Some(1_436_509_052_249_713_000)
        );
        assert_eq!(nanos("-0.000000001", s), Some(-1));
        assert_eq!(nanos("17", 1), Some(17));
        assert_eq!(nanos(".5", 1000), Some(500));
        assert_eq!(nanos("1e3", 1000), Some(1_000_000));
        for wrong in [
            "",
            ".",
            "1.2.3",
            "0x1",
            "nan",
            "1e300",
            "99999999999999999999",
            "١",
        ] {
            assert_eq!(nanos(wrong, s), None, "{wrong}");
        }
    }

    #[test]
    fn times_and_rates_have_three_digits() {
        assert_eq!(time(9_999_900.0), "10 ms");
        assert_eq!(time(33_333_333.0), "33.3 ms");
        assert_eq!(time(1e9), "1 s");
        assert_eq!(time(250.0), "250 ns");
        assert_eq!(rate(1234.5), "1230 Hz");
        assert_eq!(rate(0.012_34), "0.0123 Hz");
        assert_eq!(prefixed(1.5e6, "bit/s"), "1.5 Mbit/s");
    }
}
