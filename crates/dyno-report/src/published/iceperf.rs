//! The figures that the README of iceoryx's example iceperf printed: averages of half a round trip, by
//! mechanism and payload size.

use super::source::{Flaw, PublishedError, Source};
use dyno_model::Wait;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use std::sync::LazyLock;

/// Bytes of what the page calls a kB.
const KB: u64 = 1024;

/// The page's tables, and what is known to be wrong with them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iceperf {
    /// Where the figures come from.
    pub source: Source,
    /// Known errors and open questions.
    #[serde(default, rename = "flaw")]
    pub flaws: Vec<Flaw>,
    /// All tables.
    pub round_trip: RoundTrips,
    // What `dyno audit` reads of the same file.
    #[serde(default, rename = "table")]
    _tables: IgnoredAny,
    #[serde(default, rename = "text")]
    _texts: IgnoredAny,
    #[serde(default, rename = "relation")]
    _relations: IgnoredAny,
    #[serde(default, rename = "nearest")]
    _nearest: IgnoredAny,
}

/// A table with a row per mechanism and a column per payload size.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundTrips {
    /// Round trips that each figure is the average of.
    pub round_trips: u64,
    /// The columns, in units of 1024 bytes.
    pub payloads_kib: Vec<u64>,
    /// The rows.
    #[serde(rename = "row")]
    pub rows: Vec<MechanismRow>,
}

/// The figures of one mechanism.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanismRow {
    /// As the page spells it.
    pub mechanism: String,
    /// The stack of Dyno that stands beside it.
    pub stack: String,
    /// How its readers wait, which the page does not say.
    pub wait: Wait,
    /// A figure for each column: the average of half a round trip in microseconds.
    pub average_us: Vec<Printed>,
}

/// A number as it was printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// Its text, such as `1e+02`.
    pub text: String,
    /// Its value.
    pub value: f64,
}

impl<'de> Deserialize<'de> for Printed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.parse() {
            Ok(value) if f64::is_finite(value) => Ok(Printed { text, value }),
            _ => Err(serde::de::Error::custom(format!(
                "{text:?} is not a figure; write a number as it was printed, in quotes"
            ))),
        }
    }
}

impl Iceperf {
    /// From the text of a file in `published/`.
    pub fn parse(text: &str) -> Result<Iceperf, PublishedError> {
        let page: Iceperf =
            toml::from_str(text).map_err(|e| PublishedError::Syntax(e.to_string()))?;
        let wanted = page.round_trip.payloads_kib.len();
        for row in &page.round_trip.rows {
            let found = row.average_us.len();
            if found != wanted {
                return Err(PublishedError::Length {
                    row: row.mechanism.clone(),
                    found,
                    wanted,
                });
            }
        }
        Ok(page)
    }

    /// The page as of August 2020.
    pub fn published() -> &'static Iceperf {
        static PAGE: LazyLock<Iceperf> = LazyLock::new(|| {
            Iceperf::parse(include_str!("../../../../published/iceperf-2020.toml"))
                .expect("the built-in file is parsed by a test")
        });
        &PAGE
    }

    /// The row and the figure of a stack that waits so, for messages of that many bytes.
    pub fn figure(&self, stack: &str, wait: Wait, bytes: u64) -> Option<(&MechanismRow, &Printed)> {
        let table = &self.round_trip;
        let column = table.payloads_kib.iter().position(|k| k * KB == bytes)?;
        let mut rows = table.rows.iter();
        let row = rows.find(|r| r.stack == stack && r.wait == wait)?;
        Some((row, row.average_us.get(column)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../../../published/iceperf-2020.toml");

    /// The tables of the page, word by word.
    const PAGE: &str = include_str!("../../tests/data/iceperf-2020.txt");

    /// Mechanism, kB and figure of every cell that the page prints.
    fn printed() -> Vec<(String, u64, String)> {
        let mut cells = Vec::new();
        let mut mechanism = "";
        for line in PAGE.lines() {
            if line.starts_with("******") {
                mechanism = line.trim_matches(['*', ' ']);
            }
            let cell: Vec<&str> = line.split('|').map(str::trim).collect();
            if let [_, size, figure, _] = cell[..]
                && let Ok(size) = size.parse()
            {
                cells.push((mechanism.to_owned(), size, figure.to_owned()));
            }
        }
        cells
    }

    #[test]
    fn every_cell_is_as_the_page_prints_it() {
        let page = Iceperf::parse(TEXT).unwrap();
        let table = &page.round_trip;
        let ours: Vec<(String, u64, String)> = table
            .rows
            .iter()
            .flat_map(|row| {
                let cells = table.payloads_kib.iter().zip(&row.average_us);
                cells.map(|(size, figure)| (row.mechanism.clone(), *size, figure.text.clone()))
            })
            .collect();
        assert_eq!(ours.len(), 3 * 13);
        assert_eq!(ours, printed());
        let rounds = format!("{} round trips for each payload.", table.round_trips);
        assert_eq!(PAGE.matches(&rounds).count(), 3);
    }

    #[test]
    fn what_is_known_to_be_wrong_is_said_of_every_trap() {
        let page = Iceperf::published();
        for about in ["latency", "waiting", "payload"] {
            assert!(page.flaws.iter().any(|f| f.about == about), "{about}");
        }
        assert_eq!(page.source.year, 2020);
    }

    #[test]
    fn a_figure_stands_beside_the_same_wait_and_size_only() {
        let page = Iceperf::published();
        let text = |stack, wait, bytes| {
            let found = page.figure(stack, wait, bytes);
            found.map(|(_, figure)| figure.text.as_str())
        };
        assert_eq!(text("posix-mq", Wait::Block, 2 << 10), Some("1e+02"));
        assert_eq!(text("iceoryx", Wait::Spin, 4 << 20), Some("62"));
        assert_eq!(text("iceoryx", Wait::Block, 4 << 20), None);
        assert_eq!(text("iceoryx", Wait::Spin, 4_000_000), None);
        assert_eq!(text("tcp", Wait::Block, 1 << 10), None);
    }

    #[test]
    fn files_with_mistakes_are_refused() {
        let cases = [
            ("\"75\", ", "", "has 12 figures for 13 columns"),
            ("\"75\"", "\"many\"", "\"many\" is not a figure"),
            ("wait = \"spin\"", "wait = \"poll\"", "poll"),
            ("mechanism", "means", "unknown field `means`"),
        ];
        super::super::source::refuse_mistakes(TEXT, Iceperf::parse, &cases);
    }
}
