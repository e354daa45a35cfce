//! The numbers of a cell or a sentence, with their units, bounds and granularity.

/// A number with the unit that stands behind it, if any.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// Its sign and digits as they stand there: `12,050`, `+0.17`, `1e+02`.
    pub text: String,
    /// Its value in its unit.
    pub value: f64,
    /// Half of the last printed digit's step in its unit: 0.005 of `50.29`.
    pub half_step: f64,
    /// What a sign before it says of it.
    pub bound: Bound,
    /// `None` where nothing behind it is a unit.
    pub unit: Option<Unit>,
}

/// What a printed number says of the true one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bound {
    /// It is this, rounded.
    #[default]
    Rounded,
    /// It is about this (`~50 ms`).
    About,
    /// It is at most this.
    Below,
    /// It is at least this.
    Above,
}

/// A unit: `factor` of the base unit of its dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// As printed.
    pub text: String,
    /// What it measures.
    pub dimension: Dimension,
    /// Base units in one of it.
    pub factor: f64,
}

/// What a unit measures, with its base unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Seconds.
    Time,
    /// Bytes.
    Size,
    /// Events per second.
    Rate,
    /// Bytes per second.
    Bandwidth,
    /// A share, a ratio, a count: one.
    One,
    /// Processor cycles.
    Cycles,
    /// Seconds per byte.
    TimePerSize,
}

/// Why a text cannot be read for its numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} has a comma that does not separate thousands; write decimals with a point, as the source means them"
)]
pub struct CommaError {
    text: String,
}

const UNITS: &[(&str, Dimension, f64)] = &[
    ("ns", Dimension::Time, 1e-9),
    ("us", Dimension::Time, 1e-6),
    ("µs", Dimension::Time, 1e-6),
    ("μs", Dimension::Time, 1e-6),
    ("ms", Dimension::Time, 1e-3),
    ("milliseconds", Dimension::Time, 1e-3),
    ("microseconds", Dimension::Time, 1e-6),
    ("s", Dimension::Time, 1.0),
    ("second", Dimension::Time, 1.0),
    ("seconds", Dimension::Time, 1.0),
    ("min", Dimension::Time, 60.0),
    ("h", Dimension::Time, 3600.0),
    ("B", Dimension::Size, 1.0),
    ("bytes", Dimension::Size, 1.0),
    ("kB", Dimension::Size, 1e3),
    ("KB", Dimension::Size, 1e3),
    ("MB", Dimension::Size, 1e6),
    ("GB", Dimension::Size, 1e9),
    ("KiB", Dimension::Size, 1024.0),
    ("MiB", Dimension::Size, 1048576.0),
    ("GiB", Dimension::Size, 1073741824.0),
    ("bit/s", Dimension::Bandwidth, 0.125),
    ("kbit/s", Dimension::Bandwidth, 125.0),
    ("Mbit/s", Dimension::Bandwidth, 125e3),
    ("Gbit/s", Dimension::Bandwidth, 125e6),
    ("Kbps", Dimension::Bandwidth, 125.0),
    ("Mbps", Dimension::Bandwidth, 125e3),
    ("Gbps", Dimension::Bandwidth, 125e6),
    ("msg/s", Dimension::Rate, 1.0),
    ("messages/s", Dimension::Rate, 1.0),
    ("writes/sec", Dimension::Rate, 1.0),
    ("writes/s", Dimension::Rate, 1.0),
    ("messages/second", Dimension::Rate, 1.0),
    ("messages/sec", Dimension::Rate, 1.0),
    ("msgs/s", Dimension::Rate, 1.0),
    ("msg/sec", Dimension::Rate, 1.0),
    ("samples/s", Dimension::Rate, 1.0),
    ("requests/s", Dimension::Rate, 1.0),
    ("1/s", Dimension::Rate, 1.0),
    ("/s", Dimension::Rate, 1.0),
    ("k/s", Dimension::Rate, 1e3),
    ("M/s", Dimension::Rate, 1e6),
    ("Hz", Dimension::Rate, 1.0),
    ("kHz", Dimension::Rate, 1e3),
    ("MHz", Dimension::Rate, 1e6),
    ("GHz", Dimension::Rate, 1e9),
    ("FPS", Dimension::Rate, 1.0),
    ("%", Dimension::One, 0.01),
    ("×", Dimension::One, 1.0),
    ("x", Dimension::One, 1.0),
    ("1", Dimension::One, 1.0),
    ("k", Dimension::One, 1e3),
    ("M", Dimension::One, 1e6),
    ("cycles", Dimension::Cycles, 1.0),
];

impl Unit {
    /// A unit of the table in `docs/reference/statements.md`, or a quotient of two.
    pub fn parse(text: &str) -> Option<Unit> {
        let text = text.trim();
        let known = |word: &str| UNITS.iter().find(|(name, ..)| *name == word);
        let unit = |dimension, factor| {
            Some(Unit {
                text: text.to_owned(),
                dimension,
                factor,
            })
        };
        if let Some((_, dimension, factor)) = known(text) {
            return unit(*dimension, *factor);
        }
        let (above, below) = text.split_once('/')?;
        let (_, above, a) = known(above)?;
        let below = if below == "sec" { "s" } else { below };
        let (_, below, b) = known(below)?;
        let dimension = match (above, below) {
            (Dimension::Size, Dimension::Time) => Dimension::Bandwidth,
            (Dimension::One, Dimension::Time) => Dimension::Rate,
            (Dimension::Time, Dimension::Size) => Dimension::TimePerSize,
            (same, other) if same == other => Dimension::One,
            _ => return None,
        };
        unit(dimension, a / b)
    }

    /// A number without a unit.
    pub fn one() -> Unit {
        Unit {
            text: String::new(),
            dimension: Dimension::One,
            factor: 1.0,
        }
    }

    /// Whether its prefix may mean 1000 or 1024.
    pub fn is_ambiguous(&self) -> bool {
        matches!(self.dimension, Dimension::Size | Dimension::Bandwidth)
            && ["KB", "kB", "MB", "GB"]
                .iter()
                .any(|u| self.text.starts_with(u))
    }
}

/// The numbers of a text in its order. Digits within words, as in `p99` and `7260U`, are none.
///
/// # Errors
/// A comma that may be a decimal point.
pub fn numbers(text: &str) -> Result<Vec<Number>, CommaError> {
    let chars: Vec<char> = without_marks(text).chars().collect();
    let mut found: Vec<Number> = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        if c.is_alphabetic() || c == '_' {
            while i < chars.len() && (chars[i].is_alphanumeric() || chars[i] == '_') {
                i += 1;
            }
        } else if c.is_ascii_digit() {
            let (number, end) = number(&chars, i)?;
            found.extend(number);
            i = end;
        } else {
            i += 1;
        }
    }
    // `50.25-50.39 ms`: a number without a unit has that of the next.
    let mut unit = None;
    for number in found.iter_mut().rev() {
        if number.unit.is_none() {
            number.unit.clone_from(&unit);
        } else {
            unit.clone_from(&number.unit);
        }
    }
    Ok(found)
}

/// The number that a text begins with, or its part `n` between slashes, from 0, in the unit that stands behind it.
pub(crate) fn part(text: &str, n: usize) -> Option<f64> {
    let part = text.split('/').nth(n)?.trim();
    let first = numbers(part).ok()?.into_iter().next()?;
    let begins = part.starts_with(&first.text) && first.value.is_finite();
    begins.then_some(first.value)
}

/// The number that begins at `start`, `None` where letters make it a word (`1080p`); and where the next begins.
fn number(chars: &[char], start: usize) -> Result<(Option<Number>, usize), CommaError> {
    let digit = |i: usize| chars.get(i).is_some_and(char::is_ascii_digit);
    let mut end = start;
    let mut digits = String::new();
    while digit(end) || (chars.get(end) == Some(&',') && digit(end + 1)) {
        if chars[end] == ',' {
            let group = (1..=3).all(|k| digit(end + k)) && !digit(end + 4);
            if !group {
                let text: String = chars[start..].iter().take(12).collect();
                return Err(CommaError { text });
            }
        } else {
            digits.push(chars[end]);
        }
        end += 1;
    }
    let mut decimals = 0;
    if chars.get(end) == Some(&'.') && digit(end + 1) {
        digits.push('.');
        end += 1;
        while digit(end) {
            digits.push(chars[end]);
            decimals += 1;
            end += 1;
        }
    }
    let mut exponent = 0;
    if matches!(chars.get(end), Some('e' | 'E')) {
        let signed = matches!(chars.get(end + 1), Some('+' | '-'));
        let first = end + 1 + usize::from(signed);
        let mut last = first;
        while digit(last) && last < first + 3 {
            last += 1;
        }
        let text: String = chars[end + 1..last].iter().collect();
        if last > first
            && let Ok(power) = text.parse::<i32>()
        {
            exponent = power;
            end = last;
        }
    }
    let before = |k: usize| start.checked_sub(k).map(|i| chars[i]);
    let after_number =
        before(2).is_some_and(|c| c.is_alphanumeric() || matches!(c, '%' | ')' | '.'));
    let negative = matches!(before(1), Some('-' | '−')) && !after_number;
    let signed = matches!(before(1), Some('-' | '−' | '+')) && !after_number;
    let first = start - usize::from(signed);
    let value: f64 = digits.parse().unwrap_or(f64::NAN);
    let scale = 10f64.powi(exponent);
    let text: String = chars[first..end].iter().collect();
    let number = Number {
        half_step: half_step(&digits, decimals) * scale,
        value: if negative { -value } else { value } * scale,
        bound: bound(&chars[..first]),
        text,
        unit: None,
    };
    match unit(chars, end) {
        Behind::Unit(unit, end) => Ok((
            Some(Number {
                unit: Some(unit),
                ..number
            }),
            end,
        )),
        Behind::Nothing => Ok((Some(number), end)),
        Behind::Word(end) => Ok((None, end)),
    }
}

/// Half of the last digit's step. Two or more zeros at the end of a number from a thousand up may be rounding.
fn half_step(digits: &str, decimals: i32) -> f64 {
    let zeros = digits.chars().rev().take_while(|c| *c == '0').count();
    if decimals == 0 && zeros >= 2 && digits.len() >= 4 {
        return 0.5 * 10f64.powi(i32::try_from(zeros).unwrap_or(0));
    }
    0.5 * 10f64.powi(-decimals)
}

enum Behind {
    Unit(Unit, usize),
    Nothing,
    /// The digits belong to a word that ends there.
    Word(usize),
}

fn unit(chars: &[char], end: usize) -> Behind {
    let attached = chars.get(end).is_some_and(|c| c.is_alphabetic());
    let from = end + usize::from(chars.get(end) == Some(&' '));
    let mut to = from;
    while chars
        .get(to)
        .is_some_and(|c| c.is_alphabetic() || matches!(c, '%' | '×' | '/'))
    {
        to += 1;
    }
    let mut last = to;
    while last > from {
        let text: String = chars[from..last].iter().collect();
        // `173/622` is not a unit of `173`, and `40 k` of words no thousand.
        let word = from == end || !matches!(text.as_str(), "k" | "M" | "x");
        if let Some(unit) = Unit::parse(&text).filter(|_| word) {
            return Behind::Unit(unit, last);
        }
        // Only whole words are units; a quotient may lose what stands below it.
        match text.rfind('/') {
            Some(_) => {
                while last > from && chars[last - 1] != '/' {
                    last -= 1;
                }
                last = last.saturating_sub(1);
            }
            None => break,
        }
    }
    if attached {
        Behind::Word(to)
    } else {
        Behind::Nothing
    }
}

/// What a sign before a number says of it.
fn bound(before: &[char]) -> Bound {
    match before.iter().rev().find(|c| **c != ' ') {
        Some('~' | '≈' | '±') => Bound::About,
        Some('<' | '≤') => Bound::Below,
        Some('>' | '≥') => Bound::Above,
        _ => Bound::Rounded,
    }
}

/// Without asterisks, backquotes and references to notes.
fn without_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '['
            && let Some(end) = rest.find(']')
            && rest[1..end].chars().all(|c| c.is_ascii_digit() || c == '#')
        {
            rest = &rest[end + 1..];
            rest = rest.strip_prefix('_').unwrap_or(rest);
            continue;
        }
        if !matches!(c, '*' | '`') {
            out.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Whether a cell says that there is no figure.
pub fn is_empty(cell: &str) -> bool {
    matches!(
        without_marks(cell).trim(),
        "" | "-" | "–" | "—" | "n/a" | "N/A"
    )
}

/// A label as printed, without marks.
pub fn label(cell: &str) -> String {
    without_marks(cell).trim().to_owned()
}

/// A label as a part of a name: letters, digits and points in lower case, all else one `-`.
pub fn slug(label: &str) -> String {
    let mut out = String::new();
    for c in label.chars() {
        if c.is_alphanumeric() || c == '.' {
            out.extend(c.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, f64, String)> {
        numbers(text)
            .unwrap()
            .into_iter()
            .map(|n| {
                let unit = n.unit.map(|u| u.text).unwrap_or_default();
                (n.text, n.value, unit)
            })
            .collect()
    }

    #[test]
    fn cells_of_published_tables_are_read() {
        let one = |text: &str, value: f64, unit: &str| {
            let found = read(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(
                (found[0].1 - value).abs() < 1e-9 * value.abs().max(1.0),
                "{text}: {found:?}"
            );
            assert_eq!(found[0].2, unit, "{text}");
        };
        one("50.29 ms", 50.29, "ms");
        one("**2912 MB**", 2912.0, "MB");
        one("21,287 msg/s", 21287.0, "msg/s");
        one("1388 [#2]_", 1388.0, "");
        one("-43% slower", -43.0, "%");
        one("+16.7%", 16.7, "%");
        one("1e+02", 100.0, "");
        one("~4,700 µs", 4700.0, "µs");
        one("p99 is 50.4 ms", 50.4, "ms");
        one("13.1 µs/KB", 13.1, "µs/KB");
        one("8.2 Gbps", 8.2, "Gbps");
        one("1080p at 60 FPS", 60.0, "FPS");
        one("(2× slower)", 2.0, "×");
    }

    #[test]
    fn a_cell_with_several_figures_has_them_in_order() {
        let texts = |text: &str| -> Vec<String> {
            read(text)
                .into_iter()
                .map(|n| format!("{} {}", n.0, n.2))
                .collect()
        };
        assert_eq!(texts("50.25-50.39 ms"), ["50.25 ms", "50.39 ms"]);
        assert_eq!(texts("78 µs (+0.15%)"), ["78 µs", "+0.15 %"]);
        assert_eq!(texts("173/622/557 [#1]_"), ["173 ", "622 ", "557 "]);
        assert_eq!(texts("240 µs (CPU: 83 µs)"), ["240 µs", "83 µs"]);
        assert_eq!(texts("~5-10 ms"), ["5 ms", "10 ms"]);
    }

    #[test]
    fn parts_between_slashes_begin_with_their_numbers() {
        assert_eq!(part("12,000 msg/s", 0), Some(12_000.0));
        assert_eq!(part("173/622/557", 1), Some(622.0));
        assert_eq!(part("−43 %", 0), Some(-43.0));
        for none in ["Intel i7-6700", "-", "", "173"] {
            assert_eq!(part(none, 1), None, "{none}");
        }
        assert_eq!(part("Intel i7-6700", 0), None);
    }

    #[test]
    fn granularity_is_that_of_the_last_digit() {
        let half = |text: &str| numbers(text).unwrap()[0].half_step;
        assert!((half("50.29") - 0.005).abs() < 1e-12);
        assert!((half("49.400") - 0.0005).abs() < 1e-12);
        assert!((half("75") - 0.5).abs() < 1e-12);
        assert!((half("1e+02") - 50.0).abs() < 1e-12);
        assert!((half("1.1e+02") - 5.0).abs() < 1e-12);
        assert!((half("12,000") - 500.0).abs() < 1e-12);
        assert!((half("12,050") - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_comma_as_decimal_point_is_refused() {
        assert!(numbers("1,8 ms").is_err());
        assert!(numbers("12,0500").is_err());
        assert_eq!(numbers("8, 16").unwrap().len(), 2);
    }

    #[test]
    fn labels_become_names() {
        assert_eq!(slug("Tiny (8B)"), "tiny-8b");
        assert_eq!(slug("**Total (all components)**"), "total-all-components");
        assert_eq!(slug("p99.9"), "p99.9");
    }
}
