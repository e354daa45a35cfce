//! The page's data and the page itself, of synthetic runs and of stored ones.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod answers;
mod brief;
mod data;
mod golden;
mod hostile;
mod html;
mod law;
mod made_up;

mod common {
    pub(crate) use dyno_kit::runs::*;

    /// Few resamples: tests look at forms, `dyno-stats` looks at coverage.
    pub(crate) fn summary(run: &dyno_model::record::Run) -> dyno_report::Summary {
        let mut options = dyno_report::SummaryOptions::default();
        options.bootstrap.resamples = 200;
        dyno_report::summarise(run, &options)
    }
}

use dyno_model::record::Run;
use dyno_page::{Document, Options, Source};
use dyno_report::SummaryOptions;
use dyno_stats::Bootstrap;
use serde_json::Value;
use std::sync::LazyLock;

/// Few resamples: tests look at forms, `dyno-stats` looks at coverage.
fn options() -> Options {
    let bootstrap = Bootstrap {
        resamples: 200,
        ..Bootstrap::default()
    };
    Options {
        made_unix_ms: 1_795_300_000_000,
        summary: SummaryOptions { bootstrap },
        ..Options::default()
    }
}

fn source(run: &Run) -> Source<'_> {
    Source::Run {
        run,
        problems: Vec::new(),
        running: false,
        check: None,
    }
}

/// The document of complete runs.
fn document(runs: &[&Run]) -> Document {
    let sources: Vec<Source<'_>> = runs.iter().map(|run| source(run)).collect();
    Document::of(&sources, &options())
}

/// Every fixture by name, with its document: intervals take their time, so they are made once.
fn fixtures() -> &'static [(&'static str, Run, Document)] {
    static ALL: LazyLock<Vec<(&str, Run, Document)>> = LazyLock::new(|| {
        let all = common::all().into_iter();
        all.map(|(name, run)| {
            let document = document(&[&run]);
            (name, run, document)
        })
        .collect()
    });
    &ALL
}

/// The document of one fixture.
fn fixture(wanted: &str) -> &'static Document {
    let found = fixtures().iter().find(|(name, ..)| *name == wanted);
    &found.unwrap_or_else(|| panic!("no fixture {wanted}")).2
}

/// As a program reads it.
fn data(document: &Document) -> Value {
    serde_json::from_str(&document.to_json()).unwrap()
}
