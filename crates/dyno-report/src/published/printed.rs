//! Figures that others published, in plain tables. Rows are those that `dyno audit` reads as well.

use super::cell;
use super::source::{Flaw, Source};
use super::statement::{ColumnFile, Line, StatementError, StatementFile, TableFile, Text};
use dyno_toml::suggest;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The tables of a publication, and what is known to be wrong with them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PrintedTables {
    /// The name of its file; empty where it has none.
    pub key: String,
    /// Where they come from.
    pub source: Source,
    /// Known errors and open questions.
    pub flaws: Vec<Flaw>,
    /// By their names in the file.
    tables: BTreeMap<String, Printed>,
    /// The figures of sentences as printed, by `SENTENCE/FIGURE`.
    said: BTreeMap<String, String>,
}

/// A table as it is printed.
#[derive(Debug, Clone, Default, PartialEq)]
struct Printed {
    /// The titles of its columns; empty where they have none.
    titles: Vec<String>,
    rows: Vec<PrintedRow>,
}

/// A row of a published table.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedRow {
    /// What it may be called: its first cell, all of its labels, and its `id` in the file, as far as it has them.
    pub names: Vec<String>,
    /// Its cells without marks of emphasis and references to notes; the first is its label.
    pub cells: Vec<String>,
}

impl From<&TableFile> for Printed {
    fn from(file: &TableFile) -> Printed {
        let row = |line: Line| {
            let cells: Vec<String> = line.cells.iter().map(|text| cell::label(text)).collect();
            let first = cells.first().cloned();
            let id = line.particular.and_then(|i| file.particular[i].id.clone());
            let names = first.into_iter().chain([line.labels.join(" ")]).chain(id);
            PrintedRow {
                names: names.collect(),
                cells,
            }
        };
        Printed {
            titles: file.columns.iter().map(ColumnFile::heading).collect(),
            rows: file.lines().into_iter().map(row).collect(),
        }
    }
}

/// How far the ratio of two figures may move within a row before they come from two runs.
const APART: f64 = 1.25;

/// A file that is built in: its name, and its text.
macro_rules! built_in {
    ($($name:literal),+) => {
        [$(($name, include_str!(concat!("../../../../published/", $name, ".toml")))),+]
    };
}

/// Those that are built in.
const BUILT_IN: [(&str, &str); 5] = built_in![
    "iceperf-2020",
    "l4re-2025",
    "rwth-2025",
    "s-core-2025",
    "sodev-2025"
];

impl PrintedTables {
    /// Those that are built in, with their names.
    pub fn built_in() -> &'static BTreeMap<&'static str, PrintedTables> {
        static ALL: LazyLock<BTreeMap<&'static str, PrintedTables>> = LazyLock::new(|| {
            let read = |(name, text)| {
                let tables = PrintedTables::read(name, text);
                (
                    name,
                    tables.expect("the files are built in, and a test reads them"),
                )
            };
            BUILT_IN.into_iter().map(read).collect()
        });
        &ALL
    }

    fn read(key: &str, text: &str) -> Result<PrintedTables, StatementError> {
        let file = StatementFile::read(text, key)?;
        let tables = file.tables.iter();
        let tables = tables.map(|table| (table.id.get_ref().clone(), table.into()));
        let at = Text { name: key, text };
        let mut said = BTreeMap::new();
        for sentence in &file.texts {
            let numbers = sentence.numbers(&at)?.into_iter();
            let figures = numbers.filter(|(figure, _)| !figure.skip);
            let id = sentence.id.get_ref();
            said.extend(
                figures.map(|(figure, number)| (format!("{id}/{}", figure.id), number.text)),
            );
        }
        Ok(PrintedTables {
            key: key.to_owned(),
            tables: tables.collect(),
            said,
            source: file.source,
            flaws: file.flaws,
        })
    }

    /// What it printed in a row of a table, behind its label; `None` where it has no such row.
    pub fn row(&self, table: &str, name: &str) -> Option<&[String]> {
        let mut rows = self.rows(table).iter();
        let row = rows.find(|row| row.names.iter().any(|known| known == name))?;
        row.cells.get(1..)
    }

    /// The figure of a sentence as printed, with its sign, by `SENTENCE/FIGURE`.
    pub fn said(&self, name: &str) -> Option<&str> {
        self.said.get(name).map(String::as_str)
    }

    /// Whether the figures of that cell come from another run than those of every other cell of the row: the ratio of the first to the
    /// second differs by more than a quarter. Cells with one figure cannot tell.
    pub fn has_another_ratio(&self, table: &str, row: &str, column: &str) -> Option<bool> {
        let (cells, at) = (self.row(table, row)?, self.column(table, column)?);
        let ratio = |text: &String| Some(cell::part(text, 0)? / cell::part(text, 1)?);
        let own = ratio(cells.get(at)?)?;
        let others = cells.iter().enumerate().filter(|(i, _)| *i != at);
        let others: Vec<f64> = others.filter_map(|(_, cell)| ratio(cell)).collect();
        let is_apart = |other: &f64| !(1.0 / APART..=APART).contains(&(own / other));
        // Of two figures that differ nobody can tell which one is of the other run.
        (others.len() >= 2).then(|| others.iter().all(is_apart))
    }

    /// The rows of a table, in its order.
    pub fn rows(&self, table: &str) -> &[PrintedRow] {
        self.tables.get(table).map_or(&[], |t| t.rows.as_slice())
    }

    /// The place of a column behind the labels that [`row`](Self::row) leaves out.
    pub fn column(&self, table: &str, title: &str) -> Option<usize> {
        let titles = &self.tables.get(table)?.titles;
        titles.iter().skip(1).position(|known| known == title)
    }
}

/// In a study file: the name of those that are built in, or a study's own.
impl<'de> Deserialize<'de> for PrintedTables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Own {
            title: String,
            #[serde(default, rename = "where")]
            place: String,
            #[serde(default)]
            flaws: Vec<Flaw>,
            table: BTreeMap<String, Vec<Vec<String>>>,
        }
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "write the name of built-in figures, or a table of `title`, `where`, `flaws` and `table`"
        )]
        enum Given {
            Named(String),
            Own(Own),
        }
        match Given::deserialize(deserializer)? {
            Given::Own(own) => {
                let row = |cells: Vec<String>| PrintedRow {
                    names: cells.first().cloned().into_iter().collect(),
                    cells,
                };
                let table = |rows: Vec<Vec<String>>| Printed {
                    titles: Vec::new(),
                    rows: rows.into_iter().map(row).collect(),
                };
                let tables = own.table.into_iter();
                Ok(PrintedTables {
                    key: String::new(),
                    source: Source {
                        title: own.title,
                        place: own.place,
                        ..Source::default()
                    },
                    flaws: own.flaws,
                    said: BTreeMap::new(),
                    tables: tables.map(|(name, rows)| (name, table(rows))).collect(),
                })
            }
            Given::Named(name) => PrintedTables::built_in()
                .get(name.as_str())
                .cloned()
                .ok_or_else(|| {
                    let names = PrintedTables::built_in().keys().copied();
                    let known = suggest::instead(&name, "built-in figures", names);
                    serde::de::Error::custom(format!(
                        "there are no published figures {name:?}; {known}"
                    ))
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_as_printed() {
        let study = &PrintedTables::built_in()["s-core-2025"];
        let row = study.row("latency", "Tiny (8B)").unwrap();
        assert_eq!(row[..3], ["50.29 ms", "50.29 ms", "21.1 µs"]);
        let row = study.row("someip-quantiles", "p99").unwrap();
        assert_eq!(row[0], "100.249 ms");
        assert_eq!(study.rows("gw-stage").len(), 5);
        assert!(!study.flaws.is_empty());
        let study = &PrintedTables::built_in()["sodev-2025"];
        let row = study.row("vss-rate", "Messages/second (write)").unwrap();
        assert_eq!(row[0], "12,000");
        assert!(!study.flaws.is_empty());
        let page = &PrintedTables::built_in()["l4re-2025"];
        assert_eq!(page.rows("arm").len() + page.rows("x86").len(), 11);
        let row = page.row("x86", "n100").unwrap();
        assert_eq!(row[..2], ["Intel N100", "173/622/557"]);
        assert_eq!(page.column("x86", "syscall"), Some(3));
        let row = page.row("arm", "rpi4-el2").unwrap();
        assert_eq!(row[1], "1388");
    }

    /// The tables of iceperf's page, word by word.
    const ICEPERF: &str = include_str!("../../tests/data/iceperf-2020.txt");

    #[test]
    fn every_cell_of_iceperf_is_as_the_page_prints_it() {
        let page = &PrintedTables::built_in()["iceperf-2020"];
        let mut mechanism = "";
        let mut cells = 0;
        for line in ICEPERF.lines() {
            if line.starts_with("******") {
                mechanism = line.trim_matches(['*', ' ']);
            }
            let cell: Vec<&str> = line.split('|').map(str::trim).collect();
            if let [_, size, figure, _] = cell[..]
                && size.parse::<u64>().is_ok()
            {
                let column = page.column("latency", &format!("average_us {size}"));
                let row = page.row("latency", mechanism).unwrap();
                assert_eq!(row[column.unwrap()], figure, "{mechanism} {size}");
                cells += 1;
            }
        }
        assert_eq!(cells, 3 * 13);
    }
}
