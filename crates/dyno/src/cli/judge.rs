//! The commands that judge stored runs: `compare`, `check`, `trend`.

use super::audit::OutputArgs;
use super::complete;
use clap::{Args, ValueEnum};
use dyno_judge::{Measure, parse_quantile, parse_share};
use std::path::PathBuf;

/// How to print a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum JudgeFormat {
    /// For the terminal.
    Table,
    /// A Markdown table.
    Markdown,
    /// For programs (docs/reference/judge-json.md).
    Json,
    /// For spreadsheets and data frames.
    Csv,
}

impl From<JudgeFormat> for dyno_report::Format {
    fn from(format: JudgeFormat) -> Self {
        match format {
            JudgeFormat::Table => dyno_report::Format::Table,
            JudgeFormat::Markdown => dyno_report::Format::Markdown,
            JudgeFormat::Json => dyno_report::Format::Json,
            JudgeFormat::Csv => dyno_report::Format::Csv,
        }
    }
}

/// What a command ends with a code of its own for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A latency is higher than before, or less is delivered.
    Slower,
}

/// `dyno compare`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Dyno compares experiments that have the same stack and factors. If each run has exactly one stack that the other run lacks, Dyno compares \
these two stacks.

The heading lists the differences between the two runs. If there is more than one, Dyno cannot attribute a change in the figures to any of \
them. The machine itself may also have changed between the runs: if the floor changed, Dyno calls nothing faster or slower. `dyno run \
SUITE --against …` interleaves both sides, and `dyno compare RUN` then compares pairs of trials.

Two runs of the same build differ more than the trials within each run. `dyno compare BASE NEW --history runs/` therefore widens \
the interval of each ratio by the differences between earlier runs of one build on the same machine and testbed. It needs at least \
three such runs, or two runs of each of two builds. Without them, it calls nothing faster or the same, and a remark says that the \
interval of a slower figure covers only the scatter of the trials.

All intervals of the table hold at once with the given confidence. Lost messages and failed trials
have their own rows.

Failures, losses and omissions never improve a verdict. Dyno does not call a side \"faster\" or \
\"the same\" if it has failed or missing trials. A good verdict must also hold if the disturbed \
trials are included, and if the lost messages are left out.

Exit codes: 0, or 5 if a part of a run could not be read. With --fail-on slower also 8 if the new side is slower, \
delivers less, loses more or fails more often; 7 if this is undecided for a headline quantile, the rate, the \
losses or the failures, unless --allow-undecided is given and only scatter or too few messages leave it undecided. A sentence below the table gives the verdict, \
the figure that decides it, and the smallest slowdown that this comparison would have found with a chance of 80 %.")]
pub(crate) struct CompareArgs {
    /// The run to compare with, or a run measured with --against: a directory, or `latest`. Two files are read as
    /// outputs of other tools and shown side by side, without verdicts.
    #[arg(add = complete::runs(), value_name = "BASE")]
    pub(crate) base: PathBuf,
    /// The run to judge.
    #[arg(add = complete::runs(), value_name = "NEW")]
    pub(crate) new: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Ratios that differ from 1 by at most this share count as the same.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_share)]
    pub(crate) margin: f64,
    /// The confidence that all intervals of the table hold at once.
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = confidence)]
    pub(crate) confidence: f64,
    /// The quantiles of the headline metric (such as the round trip) to compare, separated by commas.
    #[arg(long, value_name = "P,P", value_delimiter = ',', default_value = "p50,p90,p99",
          value_parser = parse_quantile)]
    pub(crate) quantiles: Vec<f64>,
    /// Widen the intervals by the differences between earlier runs of one build. DIR is a run directory, or a directory that
    /// holds run directories; may be repeated.
    #[arg(add = complete::runs(), long, value_name = "DIR", requires = "new", conflicts_with = "tool")]
    pub(crate) history: Vec<PathBuf>,
    /// The output format.
    #[arg(long, value_enum, default_value_t = JudgeFormat::Table)]
    pub(crate) format: JudgeFormat,
    /// End with code 8 if a row has this verdict, and with code 7 if Dyno cannot decide whether a row has it. Without this option, the
    /// code does not depend on the verdicts.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
    /// With --fail-on: end with code 0 if nothing is slower but something is undecided.
    #[arg(long, requires = "fail_on")]
    pub(crate) allow_undecided: bool,
}

/// `dyno check`
#[derive(Debug, Args)]
#[command(after_long_help = "\
A limits file (docs/reference/limits-files.md) contains requirements such as

  [[limit]]
  name = \"camera in time\"
  experiment = \"camera\"
  stack = \"zenoh-tcp\"
  metric = \"response\"
  quantile = \"p99\"
  at_most = \"2 ms\"

A limit passes only if the whole interval of the figure is within it, and fails only if the whole \
interval is outside. Everything in between is undecided, and undecided is not a pass.

Instead of using a limits file, you can compare a run with earlier runs on the same machine:

  dyno check --history runs/

This compares the newest run in `runs/` with the others: p50 and p99, losses, throughput, processor time and \
memory of every experiment. Dyno leaves out runs that are not comparable, such as those of other suites, machines or \
testbeds, and lists them. With too few runs, the result is undecided.

A run measured with --search contains its own limits. Without a limits file, the command shows the capacity that the search found. It \
ends with code 6 if not even the first value meets the limits, and with code 7 if the search is \
not finished.

Exit codes: 0 all passed, 6 at least one failed, 7 none failed but at least one is undecided, 3 the \
limits file is wrong, or a limit or a name in it matches no experiment. To accept 7 as a warning in CI: \
dyno check RUN LIMITS.TOML || test $? = 7")]
pub(crate) struct CheckArgs {
    /// The run: a directory, or `latest`. It may also be the output of another tool, for which every limit is undecided. With --history the default is the newest run of the history.
    #[arg(add = complete::runs(), required_unless_present = "history")]
    pub(crate) run: Option<PathBuf>,
    /// The limits file. A run measured with --search does not need one.
    #[arg(value_name = "LIMITS.TOML", conflicts_with = "history")]
    pub(crate) limits: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Compare the run with earlier runs. DIR is a run directory, or a directory that holds run directories; may be repeated.
    #[arg(add = complete::runs(), long, value_name = "DIR", conflicts_with = "tool")]
    pub(crate) history: Vec<PathBuf>,
    /// The chance that --history reports a false alarm anywhere in its table.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = level, requires = "history")]
    pub(crate) level: f64,
    /// A figure that is worse than usual by at most this share still counts as usual.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_share, requires = "history")]
    pub(crate) margin: f64,
    /// The quantiles of the headline metric (such as the round trip) that --history compares, separated by commas.
    #[arg(long, value_name = "P,P", value_delimiter = ',', default_value = "p50,p99",
          value_parser = parse_quantile, requires = "history")]
    pub(crate) quantiles: Vec<f64>,
    /// Use only the newest N runs of the history.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "history")]
    pub(crate) last: Option<u32>,
    /// Not an option of this command: the error says what to do instead.
    #[arg(long, hide = true)]
    pub(crate) allow_undecided: bool,
    /// Also write the result as JUnit XML into this file. If the check ends with an error, the file has a test case with that error, unless it was another kind of file before.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// The confidence of each interval.
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = confidence)]
    pub(crate) confidence: f64,
    /// The output format.
    #[arg(long, value_enum, default_value_t = JudgeFormat::Table)]
    pub(crate) format: JudgeFormat,
}

/// `dyno trend`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Each cell (suite, stack and factors) is a series over the runs, ordered by start time. Dyno \
reports where the level of a series changes (algorithm E-divisive), and how the runs before and after \
the change differ.

Exit codes: 8 as --fail-on says; 7 (undecided) if a series has no figure in the newest run, or \
too few runs to show a change; 5 if a run or a trial could not be read; otherwise 0.")]
pub(crate) struct TrendArgs {
    /// Run directories, or directories that hold run directories, such as `runs`.
    #[arg(add = complete::runs(), value_name = "DIR", required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// The quantile to track. The value of a run is the median over its trials.
    #[arg(long, value_name = "P", default_value = "p50", value_parser = parse_quantile)]
    pub(crate) quantile: f64,
    /// Track only this metric (docs/reference/limits-files.md explains the names). By default, Dyno tracks the headline metric, such as
    /// the round trip, and losses, throughput, processor time and memory.
    #[arg(long, value_name = "METRIC", value_parser = clap::builder::PossibleValuesParser::new(Measure::words()))]
    pub(crate) metric: Option<String>,
    /// The chance that the table reports a false change.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = level)]
    pub(crate) level: f64,
    /// The minimum number of runs between two changes.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) min_segment: u16,
    /// Use only the newest N runs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) last: Option<u32>,
    /// The output format.
    #[arg(long, value_enum, default_value_t = JudgeFormat::Table)]
    pub(crate) format: JudgeFormat,
    /// End with code 8 if the newest change of a series makes it worse.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
}

/// A confidence from 50 % on: below, an interval says nothing.
fn confidence(text: &str) -> Result<f64, String> {
    let share = parse_share(text).map_err(|e| e.to_string())?;
    match share {
        0.5..=0.9999 => Ok(share),
        _ => Err(format!("write from 50% to 99.99% instead of {text:?}")),
    }
}

/// A level up to 50 %.
fn level(text: &str) -> Result<f64, String> {
    let share = parse_share(text).map_err(|e| e.to_string())?;
    match share {
        0.0001..=0.5 => Ok(share),
        _ => Err(format!("write from 0.01% to 50% instead of {text:?}")),
    }
}
