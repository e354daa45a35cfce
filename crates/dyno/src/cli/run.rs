//! `dyno run`

use super::complete;
use super::conformance::key_value;
use super::part::{self, Part};
use crate::files::FileArgs;
use clap::{Args, ValueEnum};
use dyno_measure::ClockChoice;
use dyno_model::{Metric, Nanos, Raised};
use std::path::PathBuf;

/// The trials of each experiment up to which `--precision` and `--until-decided` add some, as they come.
pub(crate) const MAX_TRIALS: u32 = 100;

/// `dyno run`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The run directory is ./runs/SUITE-DATE unless --out names another. Dyno stores each trial as soon \
as it ends, so an interruption or a full disk loses no finished trial. `dyno run --resume DIR` \
measures the rest.

--set changes a parameter of the suite or a setting of all its experiments, or chooses a preset of the suite \
(`dyno list suites` shows the presets):
  --set window='1 s'    --set payload='4 KiB'    --set wait=spin    --set scheduling=fifo:50

--precision adds trials, round by round, until the interval of each experiment is as narrow as you asked, or until --max-trials or \
--max-time is reached. The table lists the intervals that are still wider. Before the run, Dyno \
measures how much the idle host disturbs a program. If the host disturbs a trial more than that, Dyno \
stores the trial, excludes it from all figures, and repeats it.

--search doubles one factor, starting from its value in the suite, until a limit is broken. It \
then bisects between the last two values. Dyno runs trials at each value until every limit is met \
or broken with confidence. Further trials then confirm the highest value that met all limits. \
The stacks take turns.
  dyno run stream --stack udp,tcp --set rate='1 kHz' --set arrivals=fixed --set payload='64 B' \\
           --search rate --until limits.toml
  dyno check RUN             prints the result again; also with --format json

--against measures each experiment and a base alternately, and prints which is faster:
  --against tcp              the base is the same experiment on another stack
  --against ./old/dyno       the base is the same experiment with another build of `dyno`
  --against same             the same experiment twice: shows the differences that arise by chance
On a noisy host add --slices: both sides run in one trial and take turns every few milliseconds, so that slow changes of the host \
affect both equally. This works for the workloads `ping-pong` and `call` on one machine:
  dyno run quick --experiment round-trip --stack uds-stream --against tcp --set wait=block --slices

--like repeats a run, even one from another machine. It needs only the run directory.
  dyno run --like RUN --out mine          the same suite, stacks, settings and testbed
  dyno compare RUN mine                   differences: builds, libraries, machines, figures
Dyno asks before it starts a program, sets an option or contacts a host for such a run, unless a built-in stack or testbed, or one of \
yours, does the same. --dry-run lists all of these, and --trust permits them.

--shard divides the experiments into parts of about equal duration, for the scheduler of a cluster \
or a CI system:
  dyno run SUITE --shard 1/3 --out a      here; run 2/3 and 3/3 elsewhere at the same time
  dyno merge a b c -o all                 then joins the parts into one run")]
pub(crate) struct RunArgs {
    /// The suite: a name from `dyno list suites`, or the path of a .toml file. Without a suite,
    /// Dyno asks three questions on a terminal and writes a suite file.
    #[arg(conflicts_with = "resume", add = complete::suites())]
    pub(crate) suite: Option<String>,
    /// Without one, in a dry run: the text of the suite that the answers make.
    #[arg(skip)]
    pub(crate) answers: Option<String>,
    /// Whether `dyno gate` asks for the run.
    #[arg(skip)]
    pub(crate) gate: bool,
    /// Measure only these stacks, separated by commas. Dyno adds their floors, except with --search.
    #[arg(long, value_name = "A,B", value_delimiter = ',', add = complete::stacks())]
    pub(crate) stack: Vec<String>,
    /// Measure only these experiments of the suite, separated by commas; * stands for any text, ? for any
    /// character.
    #[arg(long, value_name = "A,B*", value_delimiter = ',')]
    pub(crate) experiment: Vec<String>,
    /// The testbed: a name from `dyno list testbeds`, or the path of a .toml file [default: local].
    #[arg(long, value_name = "T", add = complete::testbeds())]
    pub(crate) testbed: Option<String>,
    /// The number of trials of each experiment; overrides the suite.
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<u32>,
    /// Choose the number of trials so that they fit into this time, such as '5 min'. Every experiment gets the same number.
    /// Repeats of disturbed trials take additional time.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["trials", "precision", "search", "shard"])]
    pub(crate) budget: Option<Nanos>,
    /// Add trials until both ends of each 95 % interval are within this share of the value, such as 5%.
    #[arg(long, value_name = "SHARE", value_parser = share, group = "adds")]
    pub(crate) precision: Option<f64>,
    /// The figure for --precision: a quantile, or METRIC:QUANTILE, such as p99 or service:p99.
    #[arg(long, value_name = "Q", value_parser = aim, default_value = "p50", requires = "precision")]
    pub(crate) precision_of: Aim,
    /// With --precision or --until-decided: run at most this many trials of each experiment.
    #[arg(long, value_name = "N", default_value_t = MAX_TRIALS, requires = "adds")]
    pub(crate) max_trials: u32,
    /// With --precision or --until-decided: add no further trials after this time, such as '10 min'.
    #[arg(long, value_name = "TIME", requires = "adds")]
    pub(crate) max_time: Option<Nanos>,
    /// Find the highest value of this factor (rate, payload or clients) at which all limits of --until are met with confidence.
    #[arg(long, value_name = "FACTOR", value_parser = raised, requires = "until", conflicts_with_all = [
        "precision", "against", "slices", "ground", "legs", "shard",
    ])]
    pub(crate) search: Option<Raised>,
    /// With --search: the limits file, in the format of `dyno check`.
    #[arg(long, value_name = "LIMITS.TOML", requires = "search")]
    pub(crate) until: Option<PathBuf>,
    /// Also measure the cost of a system call, a wake-up and a copy on this machine (the ground).
    /// An extra trial counts the system calls, wake-ups and copies of a round trip, so that reports can estimate
    /// how much time each of them takes. This adds half a minute for each scheduling class and pair of CPUs, and
    /// one trial for each round trip.
    #[arg(long)]
    pub(crate) ground: bool,
    /// Also measure each leg of a chain alone, in the same rounds, so that reports can say how much the chain adds.
    #[arg(long, conflicts_with = "shard")]
    pub(crate) legs: bool,
    /// Also measure each flow alone, in the same rounds, so that reports can say how much the other flows slow it down.
    #[arg(long, conflicts_with = "shard")]
    pub(crate) alone: bool,
    /// Measure each experiment and a base alternately, and compare them. The base is another stack,
    /// the `dyno` program of another build, or `same`.
    #[arg(long, value_name = "BASE")]
    pub(crate) against: Option<String>,
    /// With --against: run both sides in one trial, in turns of this length [default: 10 ms].
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "10 ms")]
    pub(crate) slices: Option<Nanos>,
    /// Repeat trials that the host disturbed, at most N times per experiment [default: 5].
    #[arg(long, value_name = "N")]
    pub(crate) repeats: Option<u32>,
    /// Change a parameter of the suite; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) settings: Vec<(String, String)>,
    /// The seed of all random choices, such as the order of trials and Poisson gaps. By default Dyno chooses and stores a
    /// seed; with --shard it derives the seed from the plan, so that all parts use the same one.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run only part I of N, such as 1/3; `auto` reads the numbers from the job array or CI matrix that started this
    /// job. `dyno merge` joins the parts.
    #[arg(long, value_name = "I/N", value_parser = part::part)]
    pub(crate) shard: Option<Part>,
    /// Repeat this run (a directory, or `latest`) with its stored suite, stacks, settings and testbed, and a new
    /// seed. Further options override parts of it.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["suite", "resume"], add = complete::runs())]
    pub(crate) like: Option<PathBuf>,
    /// With --like or --resume of somebody else's run: do not ask before starting its programs, setting its options and contacting its hosts.
    #[arg(long)]
    pub(crate) trust: bool,
    /// The run directory to create.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Finish the interrupted run in this directory (or `latest`); with --more or --until-decided, also add trials to a finished run.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "stack", "experiment", "testbed", "trials", "budget", "settings", "seed", "shard", "precision", "precision_of",
        "search", "until", "against", "slices", "ground", "legs", "alone", "repeats",
    ], add = complete::runs())]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: also measure failed trials again, not only interrupted and missing ones.
    #[arg(long, requires = "resume")]
    pub(crate) retry_failed: bool,
    /// With --resume: measure N more trials of each experiment and its floor, also of a finished run. Use it where figures lack trials. If a
    /// limits file decides, use --until-decided, which chooses N.
    #[arg(long, value_name = "N", requires = "resume", conflicts_with = "until_decided", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) more: Option<u32>,
    /// With --resume: add trials until each of these limits is decided, in at most five steps. Dyno chooses the numbers, and the verdicts of
    /// all steps together have 95 % confidence; verdicts after --more have less.
    #[arg(
        long,
        value_name = "LIMITS.TOML",
        requires = "resume",
        group = "adds",
        conflicts_with = "dry_run"
    )]
    pub(crate) until_decided: Option<PathBuf>,
    /// Print the experiments, the combinations that a stack or testbed cannot do, and the missing permissions, then exit.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The clock for time stamps [default: auto, or the clock of the run that is repeated or resumed].
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockArg>,
    /// The output format.
    #[arg(long, value_enum, default_value_t = FormatArg::Table)]
    pub(crate) format: FormatArg,
    /// Show the run live on the whole terminal: hosts, the current trial, running quantiles, loss, time
    /// left. q stops the run, as Ctrl-C does; h shows the keys.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) live: bool,
    /// Print no progress on standard error.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// The clock for stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockArg {
    /// The processor's counter if the kernel trusts it, otherwise CLOCK_MONOTONIC.
    Auto,
    /// The processor's counter (invariant TSC; CNTVCT on arm64); an error if it cannot be used.
    Tsc,
    /// CLOCK_MONOTONIC.
    Monotonic,
}

impl ClockArg {
    pub(crate) fn choice(self) -> ClockChoice {
        match self {
            ClockArg::Auto => ClockChoice::Auto,
            ClockArg::Tsc => ClockChoice::Tsc,
            ClockArg::Monotonic => ClockChoice::Monotonic,
        }
    }
}

/// How to print a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// For the terminal.
    Table,
    /// A Markdown table.
    Markdown,
    /// For programs: documented and stable (docs/reference/show.schema.json).
    Json,
    /// For spreadsheets and data frames.
    Csv,
}

impl From<FormatArg> for dyno_report::Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Table => dyno_report::Format::Table,
            FormatArg::Markdown => dyno_report::Format::Markdown,
            FormatArg::Json => dyno_report::Format::Json,
            FormatArg::Csv => dyno_report::Format::Csv,
        }
    }
}

/// What `--search` raises.
fn raised(text: &str) -> Result<Raised, String> {
    text.parse()
        .map_err(|e: dyno_model::UnitError| e.to_string())
}

/// What `--precision` is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aim {
    /// The metric; `None`: the headline.
    pub(crate) metric: Option<Metric>,
    /// The quantile, 0 to 1.
    pub(crate) quantile: f64,
}

/// `5%` or `0.05`; above 0 and at most 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(n) if n > 0.0 && n * scale <= 1.0 => Ok(n * scale),
        _ => Err(format!(
            "write a share such as 5% or 0.05 instead of {text:?}"
        )),
    }
}

/// `p99`, `p99.9`, `rtt:p50`.
fn aim(text: &str) -> Result<Aim, String> {
    let wrong = || {
        let several = Metric::ALL.iter().filter(|m| !m.is_one_per_trial());
        let words: Vec<&str> = several.map(|m| m.word()).collect();
        format!(
            "write a quantile such as p99, or a metric and a quantile such as service:p99 \
             (metrics: {}), instead of {text:?}",
            words.join(", ")
        )
    };
    let (metric, quantile) = match text.split_once(':') {
        Some((metric, quantile)) => (Some(metric), quantile),
        None => (None, text),
    };
    let metric = match metric {
        None => None,
        Some(word) => Some(Metric::of_word(word).ok_or_else(wrong)?),
    };
    let percent: f64 = quantile
        .strip_prefix('p')
        .and_then(|n| n.parse().ok())
        .ok_or_else(wrong)?;
    if !(percent > 0.0 && percent < 100.0) {
        return Err(wrong());
    }
    let quantile = percent / 100.0;
    Ok(Aim { metric, quantile })
}
