//! Figures that stand in plain tables: of S-CORE's study of its gateway, and of AGL SoDeV's document. Rows are those that
//! `dyno audit` reads as well.

use super::source::{Flaw, PublishedError};
use dyno_toml::suggest;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The study's tables, and what is known to be wrong with them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PrintedTables {
    /// Its title.
    pub title: String,
    /// Which version of it.
    pub place: String,
    /// Known errors and open questions.
    pub flaws: Vec<Flaw>,
    /// The rows of each table by its name in the file, as cells without marks of emphasis.
    tables: BTreeMap<String, Vec<Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: SourceFile,
    #[serde(rename = "flaw")]
    flaws: Vec<Flaw>,
    #[serde(rename = "table")]
    tables: Vec<TableFile>,
    // What `dyno audit` reads of the same file.
    #[serde(default, rename = "text")]
    _texts: IgnoredAny,
    #[serde(default, rename = "relation")]
    _relations: IgnoredAny,
    #[serde(default, rename = "nearest")]
    _nearest: IgnoredAny,
    #[serde(default, rename = "requirement")]
    _requirements: IgnoredAny,
    #[serde(default, rename = "log")]
    _logs: IgnoredAny,
}

#[derive(Deserialize)]
struct SourceFile {
    title: String,
    #[serde(rename = "where")]
    place: String,
}

#[derive(Deserialize)]
struct TableFile {
    id: String,
    #[serde(default)]
    rows: String,
}

impl PrintedTables {
    /// The names of those that are built in.
    pub(crate) const BUILT_IN: [&'static str; 2] = ["s-core-2025", "sodev-2025"];

    /// Those of that name, which are built in.
    pub(crate) fn built_in(name: &str) -> Option<&'static PrintedTables> {
        static ALL: LazyLock<[PrintedTables; 2]> = LazyLock::new(|| {
            [
                include_str!("../../../../published/s-core-2025.toml"),
                include_str!("../../../../published/sodev-2025.toml"),
            ]
            .map(|text| {
                PrintedTables::read(text).expect("the files are built in, and a test reads them")
            })
        });
        let at = Self::BUILT_IN.iter().position(|known| *known == name)?;
        ALL.get(at)
    }

    fn read(text: &str) -> Result<PrintedTables, PublishedError> {
        let file: File = toml::from_str(text).map_err(|e| PublishedError::Syntax(e.to_string()))?;
        let cells = |line: &str| -> Vec<String> {
            let line = line.trim().trim_matches('|');
            let cells = line.split('|');
            cells
                .map(|cell| cell.replace("**", "").trim().to_owned())
                .collect()
        };
        let rows = |rows: &str| {
            rows.lines()
                .filter(|l| !l.trim().is_empty())
                .map(cells)
                .collect()
        };
        Ok(PrintedTables {
            title: file.source.title,
            place: file.source.place,
            flaws: file.flaws,
            tables: file
                .tables
                .into_iter()
                .map(|t| (t.id, rows(&t.rows)))
                .collect(),
        })
    }

    /// What it printed in a row of a table, behind its label; `None` where it has no such row.
    pub fn row(&self, table: &str, label: &str) -> Option<&[String]> {
        let rows = self.tables.get(table)?;
        let row = rows
            .iter()
            .find(|row| row.first().is_some_and(|l| l == label))?;
        row.get(1..)
    }

    /// Labels and cells of a table, in its order.
    pub fn rows(&self, table: &str) -> &[Vec<String>] {
        self.tables.get(table).map_or(&[], Vec::as_slice)
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
            Given::Own(own) => Ok(PrintedTables {
                title: own.title,
                place: own.place,
                flaws: own.flaws,
                tables: own.table,
            }),
            Given::Named(name) => PrintedTables::built_in(&name).cloned().ok_or_else(|| {
                let known = suggest::instead(&name, "built-in figures", PrintedTables::BUILT_IN);
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
        let study = PrintedTables::built_in("s-core-2025").unwrap();
        let row = study.row("latency", "Tiny (8B)").unwrap();
        assert_eq!(row[..3], ["50.29 ms", "50.29 ms", "21.1 µs"]);
        let row = study.row("someip-quantiles", "p99").unwrap();
        assert_eq!(row[0], "100.249 ms");
        assert_eq!(study.rows("gw-stage").len(), 5);
        assert!(!study.flaws.is_empty());
        let study = PrintedTables::built_in("sodev-2025").unwrap();
        let row = study.row("vss-rate", "Messages/second (write)").unwrap();
        assert_eq!(row[0], "12,000");
        assert!(!study.flaws.is_empty());
    }
}
