//! Instants for people: UTC, to the minute.

use jiff::Timestamp;

/// `2026-11-21 03:26 UTC`.
pub fn utc(unix_ms: u64) -> String {
    written(unix_ms, "%Y-%m-%d %H:%M UTC")
}

/// `2026-11-21T03:26:00Z` (ISO 8601), as JUnit wants it.
pub(crate) fn iso(unix_ms: u64) -> String {
    written(unix_ms, "%Y-%m-%dT%H:%M:%SZ")
}

/// The number itself for an instant that no calendar has.
fn written(unix_ms: u64, form: &str) -> String {
    i64::try_from(unix_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .map_or_else(|| format!("{unix_ms} ms"), |t| t.strftime(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_utc() {
        assert_eq!(utc(1_795_231_560_000), "2026-11-21 03:26 UTC");
        assert_eq!(iso(1_795_231_560_000), "2026-11-21T03:26:00Z");
        assert_eq!(utc(u64::MAX), format!("{} ms", u64::MAX));
    }
}
