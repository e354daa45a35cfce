//! Studies as data: the tables of a published study, or of a user's own, from a file over this small engine.
//! `docs/reference/study-files.md` describes the files.
//!
//! [`Study::read`] finds every mistake of a file at its place; `render` makes text of a study and a run.

mod expr;
mod model;
mod names;
mod read;
mod rows;
mod scope;
mod show;

pub use model::Study;
pub(crate) use show::render;

use dyno_model::plan::TableKind;
use dyno_toml::Mistakes;
use std::sync::LazyLock;

/// The studies that are built in: the table that shows each, its file and its text.
const BUILT_IN: [(TableKind, &str, &str); 3] = [
    (
        TableKind::SCore,
        "studies/s-core.toml",
        include_str!("../../../studies/s-core.toml"),
    ),
    (
        TableKind::Signals,
        "studies/signals.toml",
        include_str!("../../../studies/signals.toml"),
    ),
    (
        TableKind::Sodev,
        "studies/sodev.toml",
        include_str!("../../../studies/sodev.toml"),
    ),
];

/// The study whose table it is, where that is data.
pub(crate) fn built_in(table: TableKind) -> Option<&'static Study> {
    static ALL: LazyLock<Vec<(TableKind, Study)>> = LazyLock::new(|| {
        let read = |(table, path, text): (TableKind, &str, &str)| {
            let study = of_text(path, text).expect("a test reads every built-in study");
            (table, study)
        };
        BUILT_IN.into_iter().map(read).collect()
    });
    let found = ALL.iter().find(|(known, _)| *known == table);
    found.map(|(_, study)| study)
}

/// A study from the text of a file; `path` stands in messages.
///
/// # Errors
/// The mistakes of the file, each at its place.
pub fn of_text(path: &str, text: &str) -> Result<Study, Mistakes> {
    Study::read(&dyno_toml::source(path, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_studies_have_no_mistake() {
        for (_, path, text) in BUILT_IN {
            if let Err(mistakes) = of_text(path, text) {
                let all: Vec<String> = mistakes
                    .problems()
                    .iter()
                    .map(|p| format!("{p} at {:?}: {}", &text[p.span()], p.advice().unwrap_or("")))
                    .collect();
                panic!("{path}: {}", all.join("\n"));
            }
        }
    }
}
