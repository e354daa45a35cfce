//! Quantities as limits files and flags write them.

use super::limits::Bound;
use dyno_model::unit::UnitError;
use dyno_model::{Nanos, RateHz};

/// Reads `p50`, `p99.9`: above 0 and below 100 %.
///
/// # Errors
/// What else it must look like.
pub fn parse_quantile(text: &str) -> Result<f64, UnitError> {
    let number = text
        .trim()
        .strip_prefix('p')
        .and_then(|t| t.parse::<f64>().ok());
    match number {
        // Divided, so that p99.9 is the same number as 0.999.
        Some(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err(UnitError {
            what: "quantile",
            found: text.to_owned(),
            reason: "it must be from above p0 to below p100".into(),
            example: "\"p50\", \"p99\" or \"p99.9\"",
        }),
    }
}

/// Reads a share such as `5%`, `5 %` or `0.05`, up to but not including the whole.
///
/// # Errors
/// What else it must look like.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let trimmed = text.trim();
    let share = match trimmed.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
        None => trimmed.parse::<f64>(),
    };
    match share {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err(UnitError {
            what: "share",
            found: text.to_owned(),
            reason: "it must be from 0 % to below 100 %".into(),
            example: "\"5%\" or \"0.05\"",
        }),
    }
}

pub(super) fn parse_time(text: &str) -> Result<Bound, UnitError> {
    let time: Nanos = text.parse()?;
    Ok(Bound::AtMost(time.0 as f64))
}

pub(super) fn parse_loss(text: &str) -> Result<Bound, UnitError> {
    if let Ok(count) = text.trim().parse::<u64>() {
        return Ok(Bound::AtMostCount(count));
    }
    match text.trim().ends_with('%').then(|| parse_share(text)) {
        Some(Ok(share)) => Ok(match share {
            0.0 => Bound::AtMostCount(0),
            share => Bound::AtMost(share),
        }),
        _ => Err(UnitError {
            what: "limit on losses",
            found: text.to_owned(),
            reason: "it must be a whole number of messages, or a share in percent".into(),
            example: "0, \"12\" or \"0.1 %\"",
        }),
    }
}

/// `10 %`, above zero.
pub(super) fn parse_part(text: &str) -> Result<Bound, UnitError> {
    match text.trim().ends_with('%').then(|| parse_share(text)) {
        Some(Ok(share)) if share > 0.0 => Ok(Bound::AtMost(share)),
        _ => Err(UnitError {
            what: "share",
            found: text.to_owned(),
            reason: "it must be a number above zero in percent".into(),
            example: "\"10 %\"",
        }),
    }
}

pub(super) fn parse_bytes(text: &str) -> Result<f64, UnitError> {
    const UNITS: [(&str, f64); 7] = [
        ("KiB", 1_024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("B", 1.0),
    ];
    quantity(text, &UNITS).ok_or_else(|| UnitError {
        what: "size",
        found: text.to_owned(),
        reason: "it must be a positive number with a unit of bytes".into(),
        example: "\"64 MiB\" or \"500 kB\"",
    })
}

/// Messages per second: `10000 /s`, `10 k/s`, or as a rate.
pub(super) fn parse_rate(text: &str) -> Result<f64, UnitError> {
    const UNITS: [(&str, f64); 3] = [("k/s", 1e3), ("M/s", 1e6), ("/s", 1.0)];
    if let Some(rate) = quantity(text, &UNITS) {
        return Ok(rate);
    }
    text.parse::<RateHz>()
        .map(RateHz::hz)
        .map_err(|e| UnitError {
            example: "\"10000 /s\" or \"10 kHz\"",
            ..e
        })
}

fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let (number, scale) = units.iter().find_map(|(unit, scale)| {
        let number = text.strip_suffix(unit)?.trim();
        Some((number.replace('_', "").parse::<f64>().ok()?, *scale))
    })?;
    let value = number * scale;
    (value.is_finite() && value > 0.0).then_some(value)
}
