//! Sources held to arithmetic: the five seeds, planted faults, honest tables, importers.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod beside;
mod import;
mod planted;
mod published;
mod seeds;

mod slow {
    mod simulated;
}

mod common {
    pub(crate) use dyno_kit::runs::*;

    /// Few resamples: tests look at forms, `dyno-stats` looks at coverage.
    pub(crate) fn summary(run: &dyno_model::record::Run) -> dyno_report::Summary {
        let mut options = dyno_report::SummaryOptions::default();
        options.bootstrap.resamples = 200;
        dyno_report::summarise(run, &options)
    }
}
