//! Reports of stored runs, over made-up ones.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod carry_over;
mod causes;
mod clocks;
mod daemons;
mod evidence;
mod flows;
mod formats;
mod growth;
mod idle;
mod in_copies;
mod light;
mod load;
mod outages;
mod published;
mod rwth;
mod schema;
mod settings;
mod sides;
mod signals;
mod slow;
mod sodev;
mod starts;
mod studies;
mod study_files;
mod summary;
mod width;

mod common {
    pub(crate) use dyno_kit::runs::*;

    /// Few resamples: tests look at forms, `dyno-stats` looks at coverage.
    pub(crate) fn summary(run: &dyno_model::record::Run) -> dyno_report::Summary {
        let mut options = dyno_report::SummaryOptions::default();
        options.bootstrap.resamples = 200;
        dyno_report::summarise(run, &options)
    }
}
