//! `dyno show`

use super::audit::OutputArgs;
use super::complete;
use clap::{Args, ValueEnum};
use dyno_report::Columns;
use std::path::PathBuf;

/// `dyno show`
#[derive(Debug, Args)]
#[command(after_long_help = "\
docs/reference/exports.md describes each format. Dyno never leaves an incomplete output file \
behind. An output directory must be new or empty.

  dyno show latest --format csv -o run.csv
  dyno show old --format gbench -o old.json
  dyno show new --format gbench -o new.json     then: compare.py benchmarks old.json new.json
  dyno show latest --format parquet -o tables   tables/results.parquet, and tables/samples.parquet
                                                if raw samples were kept
  dyno show latest --growth                     laws of growth, of a run of the suite `growth`
  dyno show latest --format hdr -o histograms   two files for each experiment and metric")]
pub(crate) struct ShowArgs {
    /// A run directory, or `latest` for the newest one in ./runs. If RUN is a file, Dyno reads it as the output of
    /// another tool (docs/reference/importers.md).
    #[arg(add = complete::runs(), default_value = "latest")]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The output format.
    #[arg(long, value_enum, default_value_t = ShowFormat::Table)]
    pub(crate) format: ShowFormat,
    /// Write to this file instead of standard output (`-`); parquet and hdr write several files into a
    /// new directory of this name.
    #[arg(long, short, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Show all columns of the table. By default, the table has the most important columns that fit
    /// into the width of the terminal. In a pipe or file the width is 120, or the value of the
    /// variable `COLUMNS`.
    #[arg(long, conflicts_with = "columns")]
    pub(crate) wide: bool,
    /// Show these columns, separated by commas, such as p50,p90,cpu (table and markdown). An unknown name prints the
    /// list of all columns.
    #[arg(long, value_name = "LIST")]
    pub(crate) columns: Option<Columns>,
    /// Show how CPU time, packets, memory and the other figures of `idle` participants change with their number: exponents with
    /// intervals, the laws that fit, and what they extrapolate to (table and markdown).
    #[arg(long, conflicts_with_all = ["wide", "columns", "notes"])]
    pub(crate) growth: bool,
    /// How many remarks to print below the table [default: `short` on a terminal, otherwise `all`].
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
    /// A Markdown table.
    Markdown,
    /// For programs: documented and stable (docs/reference/show.schema.json).
    Json,
    /// For spreadsheets and data frames: a row per experiment and metric.
    Csv,
    /// For DuckDB, pandas, Polars: a row per experiment, metric and trial; raw samples in a second file.
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
