//! `dyno show`

use super::audit::OutputArgs;
use super::complete;
use clap::{Args, ValueEnum};
use dyno_report::Columns;
use std::path::PathBuf;

/// `dyno show`
#[derive(Debug, Args)]
#[command(after_long_help = "\
docs/reference/exports.md describes each format. A file that -o names appears whole or not at all; a directory \
must not exist yet, or be empty.

  dyno show latest --format csv -o run.csv
  dyno show before --format gbench -o a.json    then: compare.py benchmarks a.json b.json
  dyno show latest --format parquet -o tables   tables/results.parquet, and tables/samples.parquet
                                                where raw samples were kept
  dyno show latest --format hdr -o histograms   two files for each experiment and metric")]
pub(crate) struct ShowArgs {
    /// A run directory, or `latest` for the newest one in ./runs. A file is read as the output of another tool and shown as
    /// far as it bears (docs/reference/importers.md).
    #[arg(add = complete::runs(), default_value = "latest")]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = ShowFormat::Table)]
    pub(crate) format: ShowFormat,
    /// Write to this file instead of standard output (`-`); parquet and hdr write several files into a
    /// new directory of this name.
    #[arg(long, short, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Show all columns of the table. A terminal has the most important ones by default; a pipe or a file has
    /// all.
    #[arg(long, conflicts_with = "columns")]
    pub(crate) wide: bool,
    /// Show these columns, with commas between them, such as p50,p90,cpu (table and markdown). An unknown one
    /// names all that there are.
    #[arg(long, value_name = "LIST")]
    pub(crate) columns: Option<Columns>,
    /// How many remarks stand below the table: `short` is the default on a terminal, `all` elsewhere.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) notes: Option<NotesArg>,
}

/// How many remarks stand below a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NotesArg {
    /// The most serious ones, in twelve lines.
    Short,
    /// Every remark.
    All,
}

/// How a stored run is printed or exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    /// For the terminal.
    Table,
    /// A GitHub table.
    Markdown,
    /// The documented stable interface (docs/reference/show.schema.json).
    Json,
    /// For spreadsheets and data frames: a row per experiment and metric.
    Csv,
    /// For DuckDB, pandas, Polars: a row per experiment, metric and trial, and raw samples apart.
    Parquet,
    /// Google Benchmark's JSON, for its compare.py.
    Gbench,
    /// HdrHistogram's interval logs and percentile files.
    Hdr,
    /// For CI servers: a test case per experiment.
    Junit,
    /// For Prometheus.
    Openmetrics,
}
