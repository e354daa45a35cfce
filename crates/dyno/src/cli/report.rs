//! `dyno report`

use super::audit::OutputArgs;
use super::complete;
use clap::Args;
use std::path::PathBuf;

/// `dyno report`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The report is one HTML file that works without a network. It says which stacks are fastest, in \
words and in a table, and has plots of every figure, each trial with its environment, and the data \
itself. Several runs are shown side by side, each compared with the first.

If a run cannot be read, Dyno says so on standard error and in the report, shows the other runs, and ends with code 5.

  dyno report                          the newest run in ./runs, as report.html
  dyno report a b -o compare.html      two runs and the verdicts of `dyno compare a b`
  dyno report latest --limits limits.toml    with verdicts on the limits
  dyno report latest -o - | ssh HOST 'cat > report.html'")]
pub(crate) struct ReportArgs {
    /// Run directories, names of runs in ./runs, or `latest` for the newest one there. If all of
    /// them are files, Dyno reads them as outputs of other tools, and the report shows their
    /// results with the findings of `dyno audit`.
    #[arg(add = complete::runs(), value_name = "RUN", default_value = "latest")]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Begin the report with the requirements in this file (docs/reference/limits-files.md), and say for every stack whether
    /// it meets them.
    #[arg(long, value_name = "LIMITS.TOML")]
    pub(crate) limits: Option<PathBuf>,
    /// The file to write; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Print no progress on standard error.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
