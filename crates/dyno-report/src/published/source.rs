//! What every file of published figures says of itself, and why one is refused.

use serde::Deserialize;

/// Where figures come from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Title of the publication.
    pub title: String,
    /// Its authors.
    pub authors: Vec<String>,
    /// Where they work.
    pub institutions: String,
    /// Year of publication.
    pub year: u16,
    /// Where it can be found.
    #[serde(rename = "where")]
    pub place: String,
    /// What it was measured on.
    pub testbed: String,
}

/// Something to know before comparing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flaw {
    /// Which figures it concerns.
    pub about: String,
    /// In one sentence.
    pub says: String,
}

/// Why a file of published figures cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishedError {
    /// It is not TOML, or has keys or values that it must not have.
    #[error("these are no published figures: {0}")]
    Syntax(String),
    /// A row has not one figure for each column.
    #[error(
        "the row {row} has {found} figures for {wanted} columns; write \"-\" where there is none"
    )]
    Length {
        /// Middleware, reliability and message type.
        row: String,
        /// Figures that it has.
        found: usize,
        /// Columns of its table.
        wanted: usize,
    },
    /// What stands in a row is no figure, or names what is not there.
    #[error("{found:?} of {row} is not what can stand there; {wanted}")]
    Cell {
        /// The row.
        row: String,
        /// What was found.
        found: String,
        /// What should stand there.
        wanted: &'static str,
    },
}

/// Each file that has `to` in the place of `from` is refused with what the case says.
#[cfg(test)]
pub(super) fn refuse_mistakes<T: std::fmt::Debug>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, PublishedError>,
    cases: &[(&str, &str, &str)],
) {
    for (from, to, says) in cases {
        assert!(text.contains(from), "{from}");
        let error = parse(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}
