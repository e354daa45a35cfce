//! Numbers as tools print them: digits with a point, perhaps an exponent. A comma is another locale's decimal point.

use crate::statement::{Bound, Printed, Unit};

/// Longer texts are no numbers of a tool.
const LONGEST: usize = 64;

/// A number with its granularity.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    pub(super) text: String,
    pub(super) value: f64,
    /// Half of the last digit's step.
    pub(super) half_step: f64,
}

impl Number {
    /// `text` must be a number and nothing else.
    pub(super) fn parse(text: &str) -> Result<Number, String> {
        if text.is_empty() {
            return Err("the line ends where a number belongs".to_owned());
        }
        let shown: String = text.chars().take(LONGEST).collect();
        if text.len() > LONGEST {
            return Err(format!("`{shown}…` is not a number"));
        }
        if text.contains(',') && text.replace(',', ".").parse::<f64>().is_ok() {
            return Err(format!(
                "`{shown}` has a comma where a point belongs; run the tool with LC_ALL=C, commas are not interpreted"
            ));
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let begins = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let value = text.parse::<f64>().ok().filter(|v| v.is_finite() && begins);
        let value = value.ok_or_else(|| format!("`{shown}` is not a number"))?;
        let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().unwrap_or(0)),
            None => (unsigned, 0),
        };
        let decimals = digits.split_once('.').map_or(0, |(_, d)| d.len());
        let step = exponent.saturating_sub(i32::try_from(decimals).unwrap_or(i32::MAX));
        Ok(Number {
            text: text.to_owned(),
            value,
            half_step: 0.5 * 10f64.powi(step),
        })
    }

    /// A whole number that is no measurement: it is exact.
    pub(super) fn count(text: &str) -> Result<u64, String> {
        text.parse().map_err(|_| match Number::parse(text) {
            Err(reason) => reason,
            Ok(_) => format!("`{text}` is not a whole number"),
        })
    }

    /// One that was rounded to so many significant digits, though zeros at their end are not printed.
    pub(super) fn significant(mut self, digits: i32) -> Number {
        if self.value != 0.0 {
            let last = self.value.abs().log10().floor() as i32 + 1 - digits;
            self.half_step = self.half_step.max(0.5 * 10f64.powi(last));
        }
        self
    }

    /// One that the tool cut off rather than rounded: the true value may be a whole step above.
    pub(super) fn cut(mut self) -> Number {
        self.half_step *= 2.0;
        self
    }

    /// One that is not rounded.
    pub(super) fn exact(mut self) -> Number {
        self.half_step = 0.0;
        self
    }

    /// Of a value that the tool stores and does not print, with what it may be wrong by.
    pub(super) fn of(value: f64, half_step: f64) -> Number {
        Number {
            text: value.to_string(),
            value,
            half_step,
        }
    }

    pub(super) fn printed(self, unit: Unit) -> Printed {
        Printed {
            text: self.text,
            value: self.value,
            half_step: self.half_step,
            bound: Bound::Rounded,
            unit,
        }
    }
}

/// A number and the unit that is written at its end, such as `12.50ms` or `1.04k`.
pub(super) fn with_suffix(text: &str) -> Result<(Number, &str), String> {
    let end = text
        .char_indices()
        .rev()
        .take_while(|(_, c)| !c.is_ascii_digit() && *c != '.' && *c != ',')
        .last()
        .map_or(text.len(), |(i, _)| i);
    let (digits, suffix) = text.split_at(end);
    Ok((Number::parse(digits)?, suffix))
}
