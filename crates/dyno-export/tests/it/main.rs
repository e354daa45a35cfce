//! Each format read back by a tool that it is for, and its figures held against `dyno show --format json`.
//! The tools are Python's; `dyno_kit::python` says what happens where they are missing.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod gbench;
mod hdr;
mod hostile;
mod imported;
mod junit;
mod machines;
mod openmetrics;
#[cfg(feature = "parquet")]
mod parquet;
mod runs;

mod common {
    pub(crate) use dyno_kit::runs::*;

    /// Few resamples: tests look at forms, `dyno-stats` looks at coverage.
    pub(crate) fn summary(run: &dyno_model::record::Run) -> dyno_report::Summary {
        let mut options = dyno_report::SummaryOptions::default();
        options.bootstrap.resamples = 200;
        dyno_report::summarise(run, &options)
    }
}
