//! Quantities with their units in the type. Text forms are what suite files and flags accept.
//!
//! Sizes: `kB`/`MB` are powers of 1000, `KiB`/`MiB` powers of 1024 (IEC 80000-13). Durations:
//! `ns`, `us` (or `µs`), `ms`, `s`, `min`. Rates: `Hz`, `kHz`, `MHz`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Why a text is not the quantity it should be. The message says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is not a {what}: {reason}; write for example {example}")]
pub struct UnitError {
    /// The quantity that was expected, such as `duration`.
    pub what: &'static str,
    /// The text that was found.
    pub found: String,
    /// What is wrong with it.
    pub reason: String,
    /// A text that would be accepted.
    pub example: &'static str,
}

/// A duration in nanoseconds. Also used for points on the run's clock, which starts at an
/// arbitrary origin that all participants of a trial share.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than any time that is measured: where a quantile of one number has to say "never".
    pub const MAX: Nanos = Nanos(u64::MAX);
    /// From whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Nanos(us * 1_000)
    }
    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Nanos(ms * 1_000_000)
    }
    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Nanos(s * 1_000_000_000)
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// `self - earlier`, or zero where `earlier` is later.
    pub const fn saturating_sub(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
    /// `self + other`, or the largest representable duration.
    pub const fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

/// Beyond 584 years, the most that it can hold.
impl From<std::time::Duration> for Nanos {
    fn from(d: std::time::Duration) -> Self {
        Nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(n: Nanos) -> Self {
        std::time::Duration::from_nanos(n.0)
    }
}

impl fmt::Display for Nanos {
    /// The largest unit in which the value is at least one, with three significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (1e3, "µs"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let v = self.0 as f64 / scale;
        let digits = if v < 10.0 {
            2
        } else if v < 100.0 {
            1
        } else {
            0
        };
        write!(f, "{v:.digits$} {unit}")
    }
}

const DURATION_EXAMPLE: &str = "\"250 ms\", \"10 s\" or \"50 us\"";

impl FromStr for Nanos {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let err = |reason: String| UnitError {
            what: "duration",
            found: text.to_owned(),
            reason,
            example: DURATION_EXAMPLE,
        };
        let (number, unit) = split(text).map_err(err)?;
        let scale = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            "" => return Err(err("the unit is missing".into())),
            other => return Err(err(format!("unknown unit {other:?}"))),
        };
        let ns = number * scale;
        if ns >= u64::MAX as f64 {
            return Err(err("it does not fit into 64 bits of nanoseconds".into()));
        }
        Ok(Nanos(ns.round() as u64))
    }
}

/// The size of one message's payload in bytes: at least 1, at most 1 GiB.
///
/// Dyno writes an 8-byte tag into each message, so a plan refuses sizes below 8; the type itself
/// only excludes what no message can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct PayloadSize(u32);

impl PayloadSize {
    /// The largest payload, 1 GiB.
    pub const MAX: u32 = 1 << 30;

    /// A payload of `bytes` bytes; refused when zero or above [`PayloadSize::MAX`].
    pub fn new(bytes: u64) -> Result<Self, UnitError> {
        match u32::try_from(bytes) {
            Ok(b) if b > 0 && b <= Self::MAX => Ok(PayloadSize(b)),
            _ => Err(UnitError {
                what: "payload size",
                found: bytes.to_string(),
                reason: if bytes == 0 {
                    "a message has at least one byte".into()
                } else {
                    "the largest payload is 1 GiB".into()
                },
                example: SIZE_EXAMPLE,
            }),
        }
    }
    /// In bytes.
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }
}

impl TryFrom<u64> for PayloadSize {
    type Error = UnitError;
    fn try_from(bytes: u64) -> Result<Self, UnitError> {
        Self::new(bytes)
    }
}

impl From<PayloadSize> for u64 {
    fn from(p: PayloadSize) -> u64 {
        u64::from(p.0)
    }
}

const SIZE_EXAMPLE: &str = "\"64 B\", \"4 KiB\" or \"1 MB\"";

impl FromStr for PayloadSize {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let err = |reason: String| UnitError {
            what: "payload size",
            found: text.to_owned(),
            reason,
            example: SIZE_EXAMPLE,
        };
        let (number, unit) = split(text).map_err(err)?;
        let scale = match unit {
            "B" => 1.0,
            "kB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            "" => return Err(err("the unit is missing".into())),
            other => return Err(err(format!("unknown unit {other:?}"))),
        };
        let bytes = number * scale;
        if bytes.fract() != 0.0 {
            return Err(err("it is not a whole number of bytes".into()));
        }
        if bytes == 0.0 {
            return Err(err("a message has at least one byte".into()));
        }
        if bytes > f64::from(Self::MAX) {
            return Err(err("the largest payload is 1 GiB".into()));
        }
        PayloadSize::new(bytes as u64)
    }
}

impl fmt::Display for PayloadSize {
    /// Exact, in the largest unit (binary or decimal) that divides the size.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u32, &str); 4] = [
            (1 << 20, "MiB"),
            (1_000_000, "MB"),
            (1 << 10, "KiB"),
            (1_000, "kB"),
        ];
        for (scale, unit) in UNITS {
            if self.0.is_multiple_of(scale) {
                return write!(f, "{} {unit}", self.0 / scale);
            }
        }
        write!(f, "{} B", self.0)
    }
}

/// A rate in messages per second: positive, finite, and at most 100 MHz, which is the finest
/// schedule (10 ns) that a clock of this instrument can hold.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct RateHz(f64);

impl RateHz {
    /// The highest rate that can be asked for, in messages per second.
    pub const MAX: f64 = 1e8;

    /// `hz` messages per second; refused unless `0 < hz <= 1e8`.
    pub fn new(hz: f64) -> Result<Self, UnitError> {
        let reason = if !hz.is_finite() || hz <= 0.0 {
            "a rate must be positive and finite"
        } else if hz > Self::MAX {
            "no clock here can hold a schedule finer than 10 ns (100 MHz)"
        } else {
            return Ok(RateHz(hz));
        };
        Err(UnitError {
            what: "rate",
            found: hz.to_string(),
            reason: reason.into(),
            example: RATE_EXAMPLE,
        })
    }
    /// In messages per second.
    pub const fn hz(self) -> f64 {
        self.0
    }
    /// The mean time between two messages, in (fractional) nanoseconds.
    pub fn period_ns(self) -> f64 {
        1e9 / self.0
    }
}

impl TryFrom<f64> for RateHz {
    type Error = UnitError;
    fn try_from(hz: f64) -> Result<Self, UnitError> {
        Self::new(hz)
    }
}

impl From<RateHz> for f64 {
    fn from(r: RateHz) -> f64 {
        r.0
    }
}

const RATE_EXAMPLE: &str = "\"1 kHz\" or \"200 Hz\"; leave the rate out for a flood";

impl FromStr for RateHz {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let err = |reason: String| UnitError {
            what: "rate",
            found: text.to_owned(),
            reason,
            example: RATE_EXAMPLE,
        };
        let (number, unit) = split(text).map_err(err)?;
        let scale = match unit {
            "Hz" => 1.0,
            "kHz" => 1e3,
            "MHz" => 1e6,
            "" => return Err(err("the unit is missing".into())),
            other => return Err(err(format!("unknown unit {other:?}"))),
        };
        RateHz::new(number * scale).map_err(|e| err(e.reason))
    }
}

impl fmt::Display for RateHz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            hz if hz >= 1e6 => write!(f, "{} MHz", hz / 1e6),
            hz if hz >= 1e3 => write!(f, "{} kHz", hz / 1e3),
            hz => write!(f, "{hz} Hz"),
        }
    }
}

/// Splits `"12.5 ms"` into 12.5 and `"ms"`; the blank is optional.
fn split(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if number.is_empty() {
        return Err("it must start with a non-negative number".into());
    }
    let number: f64 = number
        .replace('_', "")
        .parse()
        .map_err(|_| format!("{number:?} is not a number"))?;
    Ok((number, unit.trim()))
}

/// Serialises a quantity through its text form; for fields of suite files.
macro_rules! text_form {
    ($name:ident, $ty:ty, $doc:literal) => {
        #[doc = $doc]
        pub mod $name {
            use super::*;
            /// Writes the text form.
            pub fn serialize<S: Serializer>(v: &$ty, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(v)
            }
            /// Reads the text form.
            pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<$ty, D::Error> {
                String::deserialize(d)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}
text_form!(
    nanos_text,
    Nanos,
    "`#[serde(with)]`: a duration as text with a unit."
);
text_form!(
    payload_text,
    PayloadSize,
    "`#[serde(with)]`: a payload size as text with a unit."
);
text_form!(
    rate_text,
    RateHz,
    "`#[serde(with)]`: a rate as text with a unit."
);

/// An HdrHistogram, V2 encoding with DEFLATE, base64 (the text of an HdrHistogram log line).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HdrText(pub String);

impl HdrText {
    /// The smallest latency that a histogram of a run tells apart from zero.
    pub const LOWEST: Nanos = Nanos(1);
    /// The largest: one hour.
    pub const HIGHEST: Nanos = Nanos::from_secs(3_600);
    /// Significant decimal digits.
    pub const DIGITS: u8 = 3;
}

/// `1 trial`, `2 trials`.
pub fn counted<N: fmt::Display + PartialEq + From<u8>>(n: N, what: &str) -> String {
    let plural = if n == N::from(1) { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// `31 %`, `5.2 %` or `0.43 %`.
pub fn percent(share: f64) -> String {
    let p = share * 100.0;
    match p {
        10.0.. => format!("{p:.0} %"),
        1.0.. => format!("{p:.1} %"),
        _ => format!("{p:.2} %"),
    }
}

/// Three significant digits without zeros at the end, and a decimal prefix.
pub fn with_prefix(value: f64) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let fits = PREFIXES.iter().find(|(scale, _)| value >= *scale);
    let (scale, prefix) = *fits.unwrap_or(&(1.0, ""));
    let value = value / scale;
    let places = match value {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.places$}");
    let short = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{short} {prefix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_with_and_without_a_blank() {
        assert_eq!("250 ms".parse(), Ok(Nanos::from_millis(250)));
        assert_eq!("1.5us".parse(), Ok(Nanos(1_500)));
        assert_eq!("4 KiB".parse::<PayloadSize>().unwrap().bytes(), 4096);
        assert_eq!("4MB".parse::<PayloadSize>().unwrap().bytes(), 4_000_000);
        assert_eq!("1 kHz".parse::<RateHz>().unwrap().hz(), 1000.0);
    }

    #[test]
    fn a_missing_or_unknown_unit_is_refused_with_an_example() {
        let e = "250".parse::<Nanos>().unwrap_err().to_string();
        assert!(e.contains("unit is missing") && e.contains("250 ms"), "{e}");
        let e = "4 kb".parse::<PayloadSize>().unwrap_err().to_string();
        assert!(e.contains("unknown unit \"kb\""), "{e}");
    }

    #[test]
    fn impossible_quantities_are_refused() {
        for bad in ["0 B", "2 GiB", "1.5 B", "-1 B", "", "B"] {
            assert!(bad.parse::<PayloadSize>().is_err(), "{bad}");
        }
        for bad in ["0 Hz", "101 MHz", "Hz", "1"] {
            assert!(bad.parse::<RateHz>().is_err(), "{bad}");
        }
        assert!(RateHz::new(f64::NAN).is_err());
    }

    #[test]
    fn display_is_exact_for_sizes_and_three_digits_for_times() {
        assert_eq!(PayloadSize::new(4096).unwrap().to_string(), "4 KiB");
        assert_eq!(PayloadSize::new(4_000_000).unwrap().to_string(), "4 MB");
        assert_eq!(PayloadSize::new(1001).unwrap().to_string(), "1001 B");
        assert_eq!(Nanos(12_345).to_string(), "12.3 µs");
        assert_eq!(Nanos(999).to_string(), "999 ns");
    }
}
