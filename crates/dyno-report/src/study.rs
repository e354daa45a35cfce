//! Studies as data: the tables of a published study, or of a user's own, from a file over this small engine.
//! `docs/reference/study-files.md` describes the files.
//!
//! [`Study::read`] finds every mistake of a file at its place; `render` makes text of a study and a run.

mod expr;
mod model;
mod names;
mod ranking;
mod read;
mod rows;
mod scope;
mod show;

pub use model::Study;
use show::figures;
pub(crate) use show::{render, shown};

use crate::published::PublishedFigure;
use crate::summary::Summary;
use dyno_model::plan::STUDIES;
use dyno_toml::Mistakes;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Texts of files of `studies/`.
macro_rules! built_in {
    ($($name:literal),+) => {
        [$((
            $name,
            concat!("studies/", $name, ".toml"),
            include_str!(concat!("../../../studies/", $name, ".toml")),
        )),+]
    };
}

/// The studies that are built in: the word of each, its file and its text.
const BUILT_IN: [(&str, &str, &str); STUDIES.len()] =
    built_in!["iceperf", "rwth", "l4re", "s-core", "signals", "sodev"];

/// The built-in studies by their words.
pub(crate) fn built_in() -> &'static BTreeMap<&'static str, Study> {
    static ALL: LazyLock<BTreeMap<&'static str, Study>> = LazyLock::new(|| {
        let read = |(word, path, text)| {
            let study = of_text(path, text).expect("a test reads every built-in study");
            (word, study)
        };
        BUILT_IN.into_iter().map(read).collect()
    });
    &ALL
}

/// The times that were published for what each experiment of the run measures; most have none. L4Re's page has ticks of counters
/// whose rates it does not say, and none of them is a time.
pub fn beside(summary: &Summary) -> Vec<Vec<PublishedFigure>> {
    let mut all = vec![Vec::new(); summary.experiments.len()];
    for study in built_in().values() {
        for (all, own) in all.iter_mut().zip(figures(study, summary)) {
            all.extend(own);
        }
    }
    all
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
        assert_eq!(BUILT_IN.map(|(word, ..)| word), STUDIES);
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
