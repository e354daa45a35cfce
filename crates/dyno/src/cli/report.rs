//! `dyno report`

use super::audit::OutputArgs;
use super::complete;
use clap::Args;
use std::path::PathBuf;

/// `dyno report`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The page is one file that needs no network and opens from disk: the answers in words and in a table, plots of \
every figure, each trial with its environment, and the data itself. Several runs stand side by side, each \
compared with the first.

What cannot be read is named on standard error and in the page; the other runs are shown all the same, and the \
command ends with 5.

  dyno report                          the newest run in ./runs, as report.html
  dyno report a b -o compare.html      two runs and the verdicts of `dyno compare a b`
  dyno report latest --limits limits.toml    what was asked on top: pass, fail or undecided
  dyno report latest -o - | ssh HOST 'cat > report.html'")]
pub(crate) struct ReportArgs {
    /// Run directories, names of runs in ./runs, or `latest` for the newest one there; or files, all of them outputs of other
    /// tools: the page then has their results, marked by what `dyno audit` says of them.
    #[arg(add = complete::runs(), value_name = "RUN", default_value = "latest")]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Requirements to open the page with, as for `dyno check` (docs/reference/limits-files.md), with the
    /// verdict on each for every stack.
    #[arg(long, value_name = "LIMITS.TOML")]
    pub(crate) limits: Option<PathBuf>,
    /// The page to write; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// No progress on standard error.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
