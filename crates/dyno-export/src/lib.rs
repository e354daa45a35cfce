//! A stored run in the formats of other tools. Each module is a function of a [`Run`] and its
//! [`Summary`]: it computes no statistics of its own, reads no files and prints nothing.
//!
//! | module | for | form |
//! |---|---|---|
//! | [`gbench`] | Google Benchmark's `compare.py` and what reads its JSON | one JSON document |
//! | [`hdr`] | HdrHistogram's tools in every language | interval logs and percentile files |
//! | [`junit`] | CI servers | one XML document |
//! | [`openmetrics`] | Prometheus and what reads its format | one text |
//! | [`parquet`] | DuckDB, pandas, Polars, Spark | tables of trials and of raw samples |
//!
//! CSV, JSON and Markdown are `dyno-report`'s own. `docs/reference/exports.md` describes every field;
//! the tests read each format back with a tool that it is for.
//!
//! What a format cannot hold is left out, never made up: a lost message is infinitely late, and where
//! there is no infinity there is no figure.
//!
//! [`Run`]: dyno_model::record::Run
//! [`Summary`]: dyno_report::Summary

#![warn(clippy::too_many_lines)]

mod factors;
pub mod gbench;
pub mod hdr;
pub mod junit;
mod names;
pub mod openmetrics;
#[cfg(feature = "parquet")]
pub mod parquet;
mod trials;

use std::io;

/// Why an export cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// What was written to did not take it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A Parquet file could not be written.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// A stored histogram is damaged.
    #[error(
        "the histogram of trial {trial}, {metric}, is damaged: {reason}; delete the trial's file and \
         measure it again with --resume"
    )]
    Histogram {
        /// The trial.
        trial: dyno_model::plan::TrialId,
        /// The metric.
        metric: dyno_model::Metric,
        /// What the decoder said.
        reason: String,
    },
}
