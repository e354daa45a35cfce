//! Numbers as people read them: three significant digits, never an exponent, and one unit for
//! everything that is compared.

use crate::text::cell;
use dyno_stats::{Estimate, Latency, Quantile};
use serde::{Serialize, Serializer};

/// At most so many significant digits stand in an interval.
const MOST_DIGITS: usize = 7;

/// `value` with three significant digits and without an exponent: `0.0312`, `12.3`, `12300`; `∞`, and a dash for what is not a
/// number.
pub fn sig3(value: f64) -> String {
    significant(value, 3)
}

/// `value` with that many significant digits, at least one, and without an exponent.
fn significant(value: f64, digits: usize) -> String {
    match value {
        f64::INFINITY => return "∞".into(),
        f64::NEG_INFINITY => return "-∞".into(),
        0.0 => return "0".into(),
        v if v.is_nan() => return "–".into(),
        _ => {}
    }
    // The exponent is read from the rounded text, so that 9.995 counts as 10.0.
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i32 = match rounded.split_once('e') {
        Some((_, exponent)) => exponent.parse().unwrap_or(0),
        None => 0,
    };
    let value: f64 = rounded.parse().unwrap_or(value);
    format!("{value:.*}", decimals(exponent, digits))
}

/// Digits after the point that leave `digits` significant ones at that power of ten.
fn decimals(exponent: i32, digits: usize) -> usize {
    usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0)
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Nano,
    Micro,
    Milli,
    Second,
}

impl TimeUnit {
    const ALL: [TimeUnit; 4] = [
        TimeUnit::Nano,
        TimeUnit::Micro,
        TimeUnit::Milli,
        TimeUnit::Second,
    ];

    /// In nanoseconds.
    pub(crate) const fn ns(self) -> f64 {
        match self {
            TimeUnit::Nano => 1.0,
            TimeUnit::Micro => 1e3,
            TimeUnit::Milli => 1e6,
            TimeUnit::Second => 1e9,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            TimeUnit::Nano => "ns",
            TimeUnit::Micro => "µs",
            TimeUnit::Milli => "ms",
            TimeUnit::Second => "s",
        }
    }

    /// The largest unit in which `ns` is at least one.
    pub(crate) fn of(ns: f64) -> TimeUnit {
        let fits = TimeUnit::ALL.iter().rev().find(|u| ns >= u.ns());
        *fits.unwrap_or(&TimeUnit::Nano)
    }

    /// One unit for all of these values: that of their median. Microseconds for none.
    pub(crate) fn for_column(ns: impl IntoIterator<Item = f64>) -> TimeUnit {
        let mut v: Vec<f64> = ns.into_iter().filter(|x| x.is_finite()).collect();
        v.sort_by(f64::total_cmp);
        v.get(v.len() / 2)
            .map_or(TimeUnit::Micro, |&m| TimeUnit::of(m))
    }
}

/// A number of things, of which the median may lie between two: `12`, `12.5`.
pub(crate) fn whole(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.1}"),
    }
}

/// A duration with its unit: `12.3 µs`.
pub fn duration(ns: f64) -> String {
    let unit = TimeUnit::of(ns);
    format!("{} {}", sig3(ns / unit.ns()), unit.as_str())
}

/// Nine significant digits for exports: more than any figure bears, and the same on machines whose
/// mathematical libraries differ in the last place.
pub fn exported(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// Writes a number with nine significant digits; in JSON an infinite one is `null`.
pub(crate) fn nine<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(exported(*value))
}

/// Writes a number that may be unknown, with nine significant digits.
pub(crate) fn nine_if_known<S: Serializer>(value: &Option<f64>, out: S) -> Result<S::Ok, S::Error> {
    value.map(exported).serialize(out)
}

/// The finite value of a latency in nanoseconds, or infinity.
pub(crate) fn latency_ns(latency: &Latency) -> f64 {
    match latency {
        Latency::Finite(ns) => *ns,
        Latency::Infinite => f64::INFINITY,
    }
}

/// A number and what is known of its accuracy, in the two shapes that tables have room for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Measured {
    /// The number, or what stands for it.
    pub(crate) value: String,
    /// Beside the number, in its unit: `[12.0, 12.9]`.
    pub(crate) beside: String,
    /// Below the number, relative to it: `-2+15%`.
    pub(crate) below: String,
}

impl Measured {
    /// A text without an accuracy.
    pub(crate) fn bare(value: impl Into<String>) -> Measured {
        Measured {
            value: cell(&value.into()),
            ..Measured::default()
        }
    }

    /// An estimate in units of `scale`; an infinite one is `∞` with its finite bound.
    pub(crate) fn estimate(e: &Estimate, scale: f64) -> Measured {
        Measured::estimate_or(e, scale, "lost")
    }

    /// The same; `why` says what it means that it is infinite.
    fn estimate_or(e: &Estimate, scale: f64, why: &str) -> Measured {
        let (value, lo, hi) = (
            latency_ns(&e.value) / scale,
            latency_ns(&e.lo) / scale,
            latency_ns(&e.hi) / scale,
        );
        if value.is_infinite() {
            let (beside, below) = match lo.is_finite() {
                true => (
                    format!("({why}) [{}, ∞]", sig3(lo)),
                    format!("≥ {}", sig3(lo)),
                ),
                false => (format!("({why})"), why.to_owned()),
            };
            return Measured {
                value: "∞".into(),
                beside,
                below,
            };
        }
        Measured {
            value: sig3(value),
            beside: absolute_interval(value, lo, hi),
            below: relative_interval(value, lo, hi),
        }
    }

    /// A ratio of two latencies.
    pub(crate) fn ratio(ratio: &Estimate) -> Measured {
        match ratio.value {
            Latency::Infinite => Measured::bare("∞"),
            Latency::Finite(_) => Measured::estimate(ratio, 1.0),
        }
    }

    /// A quantile in units of `scale` nanoseconds; a refused one shows the samples that it has
    /// and those that it would need.
    pub(crate) fn quantile(q: &Quantile, scale: f64) -> Measured {
        Measured::quantile_or(q, scale, "lost")
    }

    /// The same; `why` says what it means that it is infinite.
    pub(crate) fn quantile_or(q: &Quantile, scale: f64, why: &str) -> Measured {
        match q {
            Quantile::Estimated(e) => Measured::estimate_or(e, scale, why),
            Quantile::Refused { have, need } => Measured {
                value: "–".into(),
                beside: format!("(n {have}/{need})"),
                below: format!("n<{need}"),
            },
            Quantile::Wide {
                interval,
                trials,
                need,
            } => {
                let end = |l: &Latency| match l {
                    Latency::Finite(ns) => sig3(ns / scale),
                    Latency::Infinite => "∞".into(),
                };
                let takes =
                    need.map_or_else(String::new, |need| format!(" (trials {trials}/{need})"));
                let (lo, hi) = (end(&interval.lo), end(&interval.hi));
                Measured {
                    value: "–".into(),
                    beside: format!("[{lo}, {hi}]{takes}"),
                    below: match need {
                        Some(need) => format!("t<{need}"),
                        None => "wide".into(),
                    },
                }
            }
        }
    }

    /// Number and accuracy in one line.
    pub(crate) fn line(&self) -> String {
        match self.beside.as_str() {
            "" => self.value.clone(),
            beside => format!("{} {beside}", self.value),
        }
    }

    /// Number and accuracy in two lines.
    pub(crate) fn stacked(&self) -> String {
        match self.below.as_str() {
            "" => self.value.clone(),
            below => format!("{}\n{below}", self.value),
        }
    }
}

/// With as many digits, from three on, as tell the ends from the number.
fn absolute_interval(value: f64, lo: f64, hi: f64) -> String {
    let (lo, hi) = without_rounding(value, lo, hi);
    let is_told = |end: f64, digits: usize| {
        end == value || significant(end, digits) != significant(value, digits)
    };
    let mut digits = 3..MOST_DIGITS;
    let digits = digits.find(|n| is_told(lo, *n) && is_told(hi, *n));
    let end = |end| significant(end, digits.unwrap_or(MOST_DIGITS));
    format!("[{}, {}]", end(lo), end(hi))
}

/// Short, because it stands where there is little room: whole percents, rounded outwards, above
/// one, thousands as `k`.
fn relative_interval(value: f64, lo: f64, hi: f64) -> String {
    let (lo, hi) = without_rounding(value, lo, hi);
    if value == 0.0 {
        return absolute_interval(value, lo, hi);
    }
    let (below, above) = (100.0 * (value - lo) / value, 100.0 * (hi - value) / value);
    let percent = |p: f64| match p.ceil() {
        p if p >= 1e6 => ">999k".to_owned(),
        p if p >= 1e3 => format!("{:.0}k", p / 1e3),
        p => format!("{p:.0}"),
    };
    if above.is_infinite() {
        return format!("-{}+∞%", percent(below));
    }
    if below < 1.0 && above < 1.0 {
        return format!("-{}+{}%", significant(below, 1), significant(above, 1));
    }
    format!("-{}+{}%", percent(below), percent(above))
}

/// Ends that differ from the value only by what floating-point arithmetic rounds are the value.
fn without_rounding(value: f64, lo: f64, hi: f64) -> (f64, f64) {
    let end = |e: f64| {
        if (e - value).abs() <= 1e-9 * value.abs() {
            value
        } else {
            e
        }
    };
    (end(lo), end(hi))
}

/// A large number with an SI prefix and its unit: `1.23 M`, `45.0 kB`.
pub fn with_prefix(value: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let fits = PREFIXES.iter().find(|(scale, _)| value >= *scale);
    let (scale, prefix) = *fits.unwrap_or(&(1.0, ""));
    let text = format!("{} {prefix}{unit}", sig3(value / scale));
    text.trim_end().to_owned()
}

/// A share of one as a percentage that says `100 %` only of the whole: 0.999999 is `>99.999 %`.
pub fn share(part: f64) -> String {
    let percent = 100.0 * part;
    if part >= 1.0 {
        format!("{percent:.0} %")
    } else if percent > 99.999 {
        ">99.999 %".into()
    } else if percent >= 99.0 {
        // Cut, not rounded: what is lost must show.
        let cut = (percent * 1e3).floor() / 1e3;
        format!("{} %", cut)
    } else {
        format!("{} %", sig3(percent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finite(value: f64, lo: f64, hi: f64) -> Estimate {
        Estimate {
            value: Latency::Finite(value),
            lo: Latency::Finite(lo),
            hi: Latency::Finite(hi),
        }
    }

    #[test]
    fn three_digits_without_an_exponent() {
        for (value, text) in [
            (0.0, "0"),
            (0.031_24, "0.0312"),
            (1.0, "1.00"),
            (9.995, "9.99"),
            (9.996, "10.0"),
            (99.96, "100"),
            (123.4, "123"),
            (12_345.0, "12300"),
            (1.3e6, "1300000"),
            (-0.0, "0"),
            (f64::INFINITY, "∞"),
            (f64::NEG_INFINITY, "-∞"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(sig3(value), text);
        }
    }

    #[test]
    fn exported_numbers_have_nine_digits() {
        assert_eq!(exported(6_944.609_447_874_765), 6_944.609_45);
        assert_eq!(exported(4_194_304.0), 4_194_304.0);
        assert_eq!(exported(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn a_unit_is_the_largest_in_which_the_value_is_at_least_one() {
        assert_eq!(duration(999.0), "999 ns");
        assert_eq!(duration(12_345.0), "12.3 µs");
        assert_eq!(duration(2e9), "2.00 s");
        assert_eq!(duration(0.4), "0.400 ns");
    }

    #[test]
    fn a_column_takes_the_unit_of_its_median() {
        assert_eq!(TimeUnit::for_column([30.0, 8e3, 4e4]), TimeUnit::Micro);
        assert_eq!(TimeUnit::for_column([f64::INFINITY]), TimeUnit::Micro);
        assert_eq!(TimeUnit::for_column([5e6]), TimeUnit::Milli);
    }

    #[test]
    fn an_interval_is_a_range_and_where_there_is_little_room_relative() {
        let even = Measured::estimate(&finite(12_300.0, 11_900.0, 12_700.0), 1e3);
        assert_eq!(even.line(), "12.3 [11.9, 12.7]");
        assert_eq!(even.stacked(), "12.3\n-4+4%");
        let uneven = Measured::estimate(&finite(12_300.0, 12_000.0, 15_900.0), 1e3);
        assert_eq!(uneven.line(), "12.3 [12.0, 15.9]");
        assert_eq!(uneven.stacked(), "12.3\n-3+30%");
        let wild = Measured::estimate(&finite(10.0, 1.0, 8_400.0), 1.0);
        assert_eq!(wild.stacked(), "10.0\n-90+84k%");
        let fine = Measured::estimate(&finite(10.0, 9.98, 10.09), 1.0);
        assert_eq!(fine.stacked(), "10.0\n-0.2+0.9%");
    }

    #[test]
    fn an_interval_too_narrow_for_the_digits_still_shows() {
        let narrow = Measured::estimate(&finite(12_300.0, 12_290.0, 12_310.0), 1e3);
        assert_eq!(narrow.line(), "12.3 [12.29, 12.31]");
        let none = Measured::estimate(&finite(12_300.0, 12_300.0, 12_300.0), 1e3);
        assert_eq!(none.line(), "12.3 [12.3, 12.3]");
        assert_eq!(none.stacked(), "12.3\n-0+0%");
        let rounded = finite(12_300.0, 12_300.0 - 1e-9, 12_300.0 + 2e-9);
        assert_eq!(Measured::estimate(&rounded, 1e3).line(), none.line());
        assert_eq!(Measured::estimate(&rounded, 1e3).stacked(), none.stacked());
    }

    #[test]
    fn lost_messages_make_a_bound_or_the_value_infinite() {
        let open = Estimate {
            hi: Latency::Infinite,
            ..finite(2e6, 1e6, 0.0)
        };
        assert_eq!(Measured::estimate(&open, 1e3).line(), "2000 [1000, ∞]");
        assert_eq!(Measured::estimate(&open, 1e3).stacked(), "2000\n-50+∞%");
        let lost = Estimate {
            value: Latency::Infinite,
            ..open
        };
        assert_eq!(Measured::estimate(&lost, 1e3).line(), "∞ (lost) [1000, ∞]");
        assert_eq!(Measured::estimate(&lost, 1e3).stacked(), "∞\n≥ 1000");
    }

    #[test]
    fn a_refused_quantile_shows_what_it_would_need() {
        let q = Quantile::Refused {
            have: 1500,
            need: 3688,
        };
        let refused = Measured::quantile(&q, 1e3);
        assert_eq!(refused.line(), "– (n 1500/3688)");
        assert_eq!(refused.stacked(), "–\nn<3688");
    }

    #[test]
    fn only_the_whole_is_a_hundred_percent() {
        assert_eq!(share(1.0), "100 %");
        assert_eq!(share(0.999_999_9), ">99.999 %");
        assert_eq!(share(0.999_96), "99.996 %");
        assert_eq!(share(0.5), "50.0 %");
        assert_eq!(share(0.0), "0 %");
    }
}
