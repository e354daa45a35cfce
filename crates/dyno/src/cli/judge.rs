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
    /// A GitHub table.
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
Cells of two runs belong together when they have the same factors. Where each run has one stack that \
the other has not, these two stacks are compared.

The heading says what differs between the two. If more than one thing does, no difference in the \
figures can be put down to one of them. Two runs at different times also differ by what the machine \
did in between: if the floor moved, nothing is called faster or slower. `dyno run SUITE --against …` \
measures both sides next to each other, and `dyno compare RUN` then compares pairs of trials.

All intervals of the table hold together with the confidence asked for. Messages that were lost and trials that failed have
rows of their own where there are any.

What failed, was lost or was left out never makes a verdict better: a side with failed or missing trials is not called faster
or the same, and a good verdict must also hold with the trials that the host disturbed, and without the lost messages.

Exit codes: 0 whatever is found. With --fail-on slower: 8 where the new side is slower, delivers less, loses more or fails more
often; 7 where nobody can tell that of a headline quantile, of the rate, of losses or of failures, unless --allow-undecided is
given; 0 otherwise.")]
pub(crate) struct CompareArgs {
    /// The run to compare with, or a run measured with --against: a directory, or `latest`. Two files are read as outputs of
    /// other tools and set beside each other; nothing is judged of them.
    #[arg(add = complete::runs(), value_name = "BASE")]
    pub(crate) base: PathBuf,
    /// The run to judge.
    #[arg(add = complete::runs(), value_name = "NEW")]
    pub(crate) new: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Ratios that differ from 1 by no more than this are the same.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_share)]
    pub(crate) margin: f64,
    /// Confidence that all intervals of the table hold together.
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = confidence)]
    pub(crate) confidence: f64,
    /// The quantiles of the headline metric to compare, separated by commas.
    #[arg(long, value_name = "P,P", value_delimiter = ',', default_value = "p50,p90,p99",
          value_parser = parse_quantile)]
    pub(crate) quantiles: Vec<f64>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = JudgeFormat::Table)]
    pub(crate) format: JudgeFormat,
    /// End with code 8 if a row says so, and with 7 if that is undecided. Without this the code is 0 whatever was found.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
    /// With --fail-on: end with code 0 where nothing is slower and something is undecided.
    #[arg(long, requires = "fail_on")]
    pub(crate) allow_undecided: bool,
}

/// `dyno check`
#[derive(Debug, Args)]
#[command(after_long_help = "\
A limits file (docs/reference/limits-files.md) holds requirements such as

  [[limit]]
  name = \"camera in time\"
  experiment = \"camera\"
  stack = \"zenoh-tcp\"
  metric = \"response\"
  quantile = \"p99\"
  at_most = \"2 ms\"

A limit is passed only if the bad end of the interval keeps it, and failed only if the good end breaks \
it. Everything between is undecided, which is not a pass.

Without a limits file, the runs before it say what is usual on its machine:

  dyno check --history runs/

compares the newest run in `runs/` with the others: p50 and p99, losses, throughput, processor time and \
memory of every experiment. Runs of other suites, machines, testbeds and formats are left out by name. Too \
few runs are undecided.

A run with --search keeps its limits; without others its capacity is shown, and the code is 6 where not even the first value \
surely keeps them, 7 where the search is not finished.

Exit codes: 0 all passed, 6 at least one failed, 7 none failed but at least one is undecided, 3 the \
limits file is wrong or a selector matches nothing.")]
pub(crate) struct CheckArgs {
    /// The run: a directory, or `latest`; or the output of another tool, of which every limit is undecided. With --history it may be left out: the newest run of the history.
    #[arg(add = complete::runs(), required_unless_present = "history")]
    pub(crate) run: Option<PathBuf>,
    /// The limits file; of a run with --search it may be left out.
    #[arg(value_name = "LIMITS.TOML", conflicts_with = "history")]
    pub(crate) limits: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Compare the run with earlier ones: run directories, or directories that hold run directories.
    #[arg(add = complete::runs(), long, value_name = "DIR", conflicts_with = "tool")]
    pub(crate) history: Vec<PathBuf>,
    /// The chance of a false alarm anywhere in the table of --history.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = level, requires = "history")]
    pub(crate) level: f64,
    /// What is worse than usual by no more than this is as usual.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_share, requires = "history")]
    pub(crate) margin: f64,
    /// The quantiles of the headline metric that --history watches, separated by commas.
    #[arg(long, value_name = "P,P", value_delimiter = ',', default_value = "p50,p99",
          value_parser = parse_quantile, requires = "history")]
    pub(crate) quantiles: Vec<f64>,
    /// Only the newest N runs of the history.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "history")]
    pub(crate) last: Option<u32>,
    /// Also write the result as JUnit XML into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Confidence of each interval.
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = confidence)]
    pub(crate) confidence: f64,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = JudgeFormat::Table)]
    pub(crate) format: JudgeFormat,
}

/// `dyno trend`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Each cell (suite, stack and factors) is a series over the runs, ordered by their start. A change is \
where its level changes (E-divisive), and stands with what else changed between the two runs there.

Exit codes: 0, or 8 with --fail-on; 7 where the newest run has a series with too few runs for a change to be \
seen, or no figure in it: that is undecided, not a pass; 5 where a run or a trial could not be read.")]
pub(crate) struct TrendArgs {
    /// Run directories, or directories that hold run directories, such as `runs`.
    #[arg(add = complete::runs(), value_name = "DIR", required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// The quantile of each trial.
    #[arg(long, value_name = "P", default_value = "p50", value_parser = parse_quantile)]
    pub(crate) quantile: f64,
    /// Only this metric, by its word in limits files, instead of each cell's headline, losses, throughput,
    /// processor time and memory.
    #[arg(long, value_name = "METRIC", value_parser = clap::builder::PossibleValuesParser::new(Measure::words()))]
    pub(crate) metric: Option<String>,
    /// The chance of a false change anywhere in the table.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = level)]
    pub(crate) level: f64,
    /// The least number of runs between two changes.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) min_segment: u16,
    /// Only the newest N runs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) last: Option<u32>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = JudgeFormat::Table)]
    pub(crate) format: JudgeFormat,
    /// End with code 8 if the newest change of a series is of this kind, or for the worse in any other way.
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
