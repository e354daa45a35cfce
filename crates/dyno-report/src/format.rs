//! What a summary is rendered as, and how.

use crate::columns::Columns;
use std::fmt;
use std::str::FromStr;

/// What a summary is rendered as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// Text for a terminal.
    #[default]
    Table,
    /// GitHub's Markdown.
    Markdown,
    /// The documented interface for programs.
    Json,
    /// A row per experiment and metric.
    Csv,
}

impl Format {
    /// Every format, in the order of help texts.
    pub const ALL: &'static [Format] =
        &[Format::Table, Format::Markdown, Format::Json, Format::Csv];

    /// The name that `--format` takes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Markdown => "markdown",
            Format::Json => "json",
            Format::Csv => "csv",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text names no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no format {found:?}; write table, markdown, json or csv")]
pub struct UnknownFormat {
    /// The text that was found.
    pub found: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let found = Format::ALL.iter().find(|f| f.as_str() == text);
        found.copied().ok_or_else(|| UnknownFormat {
            found: text.to_owned(),
        })
    }
}

/// How much stands below a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Notes {
    /// Every remark.
    #[default]
    All,
    /// The most serious, in twelve lines, and how many more there are.
    Short,
}

/// How text for people is laid out. JSON and CSV take no notice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderOptions {
    /// The widest line in terminal cells; widths below 80 are not promised to be kept. `None`: each sentence
    /// is one line. A table of stacks then has at most 120 cells if its columns are [`Columns::Brief`].
    pub width: Option<usize>,
    /// Whether rows may be set off by colours.
    pub color: bool,
    /// Whether a line of bars may show the shape of a distribution, where a width leaves room for it.
    pub sparklines: bool,
    /// Which columns a table of stacks has.
    pub columns: Columns,
    /// How much stands below a table of stacks; [`Format::Markdown`] has all.
    pub notes: Notes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_round_trip_and_an_unknown_one_names_the_others() {
        for format in Format::ALL {
            assert_eq!(format.as_str().parse(), Ok(*format));
        }
        let e = "xml".parse::<Format>().unwrap_err().to_string();
        assert!(e.contains("\"xml\"") && e.contains("markdown"), "{e}");
    }
}
