//! The command line as types.

mod address;
mod audit;
mod complete;
mod conformance;
mod judge;
mod part;
mod report;
mod serve;
mod show;

pub(crate) use audit::{AuditArgs, AuditFormat};
pub(crate) use conformance::{ConformanceArgs, NewAdapterArgs};
pub(crate) use judge::{CheckArgs, CompareArgs, FailOn, TrendArgs};
pub(crate) use part::Part;
pub(crate) use report::ReportArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use show::{NotesArg, ShowArgs, ShowFormat};

use clap::{Args, Parser, Subcommand, ValueEnum};
use dyno_measure::ClockChoice;
use dyno_model::{Metric, Nanos, Raised};
use std::path::PathBuf;

/// Measure how pieces of vehicle software talk.
///
/// Dyno puts a load on a communication stack and measures it: round trips, one-way response times
/// from the due time of each message, delivered throughput, loss, and the cost of all processes.
/// Each number stands with its uncertainty and its distance to the floor: what the same exchange
/// costs on this hardware with nothing in between.
///
/// A SUITE says what to measure, a STACK is a configured library or kernel mechanism, a TESTBED is
/// where it runs. Any suite runs on any stack on any testbed; what a stack cannot do is refused
/// with the reason.
#[derive(Debug, Parser)]
#[command(name = "dyno", version, max_term_width = 100, after_long_help = AFTER)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER: &str = "\
Examples:
  dyno run quick                         every stack of this build, side by side: about 4 min
  dyno run quick --stack pipe,tcp        only these two (and the floor)
  dyno run iceperf --set round_trips=1000
  dyno show latest --format markdown     the last run's table again
  dyno report latest                     the same as a page with plots, report.html
  dyno serve                             all runs in ./runs, in the browser (not in a first build)
  dyno run quick --stack tcp --precision 5%         trials until each p50 is known to ±5 %
  dyno run quick --stack tcp --against uds-stream   both in turns, and which is faster
  dyno run quick --live                  on the whole terminal (not in a first build)
  dyno run --like RUN                    what somebody else measured, here
  dyno run quick --shard 1/3 --out a     one part of three; `dyno merge` puts them together
  dyno audit published/sodev-2025.toml   which published figures cannot be true
  dyno conformance ./libdyno_mine.so     whether an adapter keeps its promises
  dyno doctor                            what this host does to measurements

Exit codes:
  0    done                              3    the suite, stack or testbed is refused
  1    an error outside Dyno             4    done, but trials or cases failed
  2    wrong command line                5    a run directory cannot be written or read
  6    a limit is broken (check)         7    undecided (check, trend, compare)
  8    something is slower (--fail-on slower)
  9    an objection (audit --fail-on)
  130  interrupted; finished trials are stored";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a suite and store the run.
    Run(Box<RunArgs>),
    /// Show a run in progress, live.
    Watch(WatchArgs),
    /// Print a stored run.
    Show(ShowArgs),
    /// Write a page that shows runs: answers, plots, every trial.
    Report(ReportArgs),
    /// Show a folder of runs in the browser: list, reports, comparisons, runs in progress.
    Serve(ServeArgs),
    /// Put the parts of a run together.
    Merge(MergeArgs),
    /// Compare two runs, or the two sides of a run measured with --against.
    Compare(CompareArgs),
    /// Check a run against limits.
    Check(CheckArgs),
    /// Find when the figures of stored runs changed.
    Trend(TrendArgs),
    /// Say which figures cannot be true: published ones, the output of other tools, or a run's.
    Audit(AuditArgs),
    /// List what there is to choose from.
    List(ListArgs),
    /// Write an adapter to begin with: a working one in C, the headers, a stack file.
    NewAdapter(NewAdapterArgs),
    /// Examine an adapter: does it do all that Dyno relies on?
    Conformance(ConformanceArgs),
    /// Examine this host: clock, timers, core-to-core latency, limits, missing rights.
    Doctor(DoctorArgs),
    /// Print a manual page (roff), or write those of all commands to a folder.
    #[command(after_long_help = "\
  dyno man run | man -l -                 the page of one command
  dyno man -o ~/.local/share/man/man1     then `man dyno-run` finds it")]
    Man {
        /// The command; dyno's own page when left out.
        #[arg(value_name = "COMMAND", conflicts_with = "out")]
        of: Option<String>,
        /// Write one page for each command to this folder.
        #[arg(long, short, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Print a completion script for a shell to standard output.
    #[command(after_long_help = "\
The script asks dyno itself what there is, so that it completes the names of suites, stacks, testbeds and \
stored runs as well:
  source <(dyno completions bash)         in ~/.bashrc
  dyno completions fish > ~/.config/fish/completions/dyno.fish")]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Play participants of one trial; started by the runner.
    #[command(hide = true)]
    Agent(AgentArgs),
}

/// `dyno agent`
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct AgentArgs {
    /// Print what every adapter says of itself as JSON, and end.
    #[arg(long)]
    pub(crate) describe: bool,
    /// Load the adapter in this library, print what it says of itself as JSON, and end.
    #[arg(long, value_name = "FILE")]
    pub(crate) describe_library: Option<PathBuf>,
    /// Print the files that this program and the adapters in these libraries execute, with their hashes, as
    /// JSON, and end.
    #[arg(long, value_name = "ADAPTER=FILE", num_args = 0.., value_parser = adapter_file)]
    pub(crate) binaries: Option<Vec<(String, PathBuf)>>,
    /// Load the adapter in this library, print the files that it executes, and end.
    #[arg(long, value_name = "FILE")]
    pub(crate) binaries_of: Option<PathBuf>,
    /// Play the conformance case that this JSON orders, print how it went, and end.
    #[arg(long, value_name = "ORDER")]
    pub(crate) conformance: Option<String>,
    /// Hold the scratch directories of a runner on another host, until standard input ends.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Stand for the process that this JSON orders in a virtual machine, over an inherited socket, until it ends.
    #[arg(long, num_args = 2, value_names = ["SOCKET", "ORDER"])]
    pub(crate) relay: Option<Vec<String>>,
}

/// Options of every command that reads suites, stacks and testbeds.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// A folder with `suites/`, `stacks/` or `testbeds/` of your own. Its files stand beside the
    /// built-in ones and replace those of the same name. May be repeated; `DYNO_FILES` holds more,
    /// separated by colons.
    #[arg(long = "files", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
}

/// `dyno run`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The run directory is ./runs/SUITE-DATE unless --out names another. Each trial is stored as soon as \
it ends, so a run that was interrupted or that filled the disk loses nothing that it had finished: \
`dyno run --resume DIR` measures the rest.

--set changes one parameter of the suite (`dyno list suites` names them), or a default of all its \
experiments:
  --set window='1 s'    --set payload='4 KiB'    --set wait=spin    --set scheduling=fifo:50

--precision adds trials, round by round, until the interval of each experiment is as narrow as \
asked, or --max-trials or --max-time ends it; the table says what was not reached, and by how much. \
A trial that the host disturbed beyond what the bare machine does is stored, counted, left out of \
all figures, and repeated.

--search raises one factor, from the value that the suite has, until a limit breaks: it doubles, then halves the gap, with \
fresh trials of each value until its limits are decided, and confirms the highest value that seemed kept. Stacks take turns.
  dyno run stream --stack udp,tcp --set rate='1 kHz' --set arrivals=fixed --set payload='64 B' \\
           --search rate --until limits.toml
  dyno check RUN             what was found, again; also with --format json

--against measures each experiment side by side with its base, in turns, and prints which is faster:
  --against tcp              the same with another stack
  --against ./old/dyno       the same with the agents of another build
  --against same             the same once more: what this host makes of no difference at all

--like repeats a run, also one from another machine: nothing but its directory is needed.
  dyno run --like RUN --out mine          the same suite, stacks, settings and testbed
  dyno compare RUN mine                   what differs: builds, libraries, machines, figures
Dyno asks before it starts a program or reaches a host that the run names and none of your stacks and testbeds does; \
--dry-run shows these, --trust permits them.

--shard deals the experiments out to parts that take about equally long, for a cluster's or CI's own \
scheduler. Every part makes the whole plan and runs its own experiments of it:
  dyno run SUITE --shard 1/3 --out a      here, with 2/3 and 3/3 elsewhere at the same time
  dyno merge a b c -o all                 then: one run, as if measured by one command")]
pub(crate) struct RunArgs {
    /// The suite: a name from `dyno list suites`, or the path of a .toml file.
    #[arg(required_unless_present_any = ["resume", "like"], conflicts_with = "resume", add = complete::suites())]
    pub(crate) suite: Option<String>,
    /// Only these stacks, separated by commas; the floor is always measured with them.
    #[arg(long, value_name = "A,B", value_delimiter = ',', add = complete::stacks())]
    pub(crate) stack: Vec<String>,
    /// Only these experiments of the suite, separated by commas; * stands for any text, ? for any
    /// character.
    #[arg(long, value_name = "A,B*", value_delimiter = ',')]
    pub(crate) experiment: Vec<String>,
    /// Where to run: a name from `dyno list testbeds`, or the path of a .toml file; `local` when left out.
    #[arg(long, value_name = "T", add = complete::testbeds())]
    pub(crate) testbed: Option<String>,
    /// Number of trials of each experiment, instead of the suite's.
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<u32>,
    /// Add trials until the interval's ends are within this share of the value, such as 5%.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) precision: Option<f64>,
    /// What --precision is about: a quantile, or METRIC:QUANTILE, such as p99 or service:p99.
    #[arg(long, value_name = "Q", value_parser = aim, default_value = "p50", requires = "precision")]
    pub(crate) precision_of: Aim,
    /// With --precision: the most trials of one experiment.
    #[arg(long, value_name = "N", default_value_t = 100, requires = "precision")]
    pub(crate) max_trials: u32,
    /// With --precision: no trial beyond the suite's own begins later than this, such as '10 min'.
    #[arg(long, value_name = "TIME", requires = "precision")]
    pub(crate) max_time: Option<Nanos>,
    /// Find the highest value of this factor that surely keeps the limits of --until: rate, payload or clients.
    #[arg(long, value_name = "FACTOR", value_parser = raised, requires = "until", conflicts_with_all = [
        "precision", "against", "ground", "legs", "shard",
    ])]
    pub(crate) search: Option<Raised>,
    /// With --search: the limits that a value must keep, as `dyno check` reads them.
    #[arg(long, value_name = "LIMITS.TOML", requires = "search")]
    pub(crate) until: Option<PathBuf>,
    /// Probe the ground as well: what a system call, a wake-up and a copy cost here, and count in a trial of its own how many a
    /// round trip takes, so that reports say what it is made of. Half a minute more for each scheduling class and pair of CPUs
    /// of the suite, and a trial for each round trip.
    #[arg(long)]
    pub(crate) ground: bool,
    /// Measure each leg of a chain alone as well, in the same rounds, so that reports have what the chain adds to them.
    #[arg(long, conflicts_with = "shard")]
    pub(crate) legs: bool,
    /// Measure each flow by itself as well, in the same rounds, so that reports have what the others cost it.
    #[arg(long, conflicts_with = "shard")]
    pub(crate) alone: bool,
    /// Measure each experiment in turns with its base: a stack, the program of another build, or
    /// `same`.
    #[arg(long, value_name = "BASE")]
    pub(crate) against: Option<String>,
    /// Repeat trials that the host disturbed, at most so many of each experiment; 5 when left out.
    #[arg(long, value_name = "N")]
    pub(crate) repeats: Option<u32>,
    /// Change a parameter of the suite; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) settings: Vec<(String, String)>,
    /// The seed of every random choice: trial order, Poisson gaps. Chosen and stored when left out;
    /// with --shard it then follows from the plan, so that all parts have the same.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run only part I of N, such as 1/3; `auto` takes it from the job array or CI matrix that started this job.
    /// `dyno merge` puts the parts together.
    #[arg(long, value_name = "I/N", value_parser = part::part)]
    pub(crate) shard: Option<Part>,
    /// Repeat this run (a directory, or `latest`): its suite, stacks, settings and testbed as it keeps their
    /// texts, with a new seed. Further options change what they name.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["suite", "resume"], add = complete::runs())]
    pub(crate) like: Option<PathBuf>,
    /// With --like or --resume of a stranger's run: start the programs, set the options and reach the hosts that it names, without a question.
    #[arg(long)]
    pub(crate) trust: bool,
    /// The run directory to create.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Finish the interrupted run in this directory (or `latest`); with --more, go on with a finished one.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "stack", "experiment", "testbed", "trials", "settings", "seed", "shard", "precision", "precision_of",
        "max_trials", "max_time", "search", "until", "against", "ground", "legs", "alone", "repeats",
    ], add = complete::runs())]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: measure failed trials again too, not only interrupted and missing ones.
    #[arg(long, requires = "resume")]
    pub(crate) retry_failed: bool,
    /// With --resume: measure N more trials of each experiment and its floor, in rounds as before. Finished runs
    /// can have more, too.
    #[arg(long, value_name = "N", requires = "resume", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) more: Option<u32>,
    /// Show what would be measured, and what would be refused, and end.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The clock for stamps: auto, or that of the run that is repeated or resumed.
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockArg>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t = FormatArg::Table)]
    pub(crate) format: FormatArg,
    /// Show the run live on the whole terminal: hosts, the current trial, running quantiles, loss, time
    /// left. q stops it as Ctrl-C does; h shows the keys.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) live: bool,
    /// No progress on standard error.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// The clock for stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockArg {
    /// The processor's counter where the kernel trusts it, else CLOCK_MONOTONIC.
    Auto,
    /// The processor's counter (the invariant TSC, on arm64 CNTVCT), or an error.
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
    /// A GitHub table.
    Markdown,
    /// The documented stable interface (docs/reference/show.schema.json).
    Json,
    /// For spreadsheets and data frames.
    Csv,
}

/// `dyno watch`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Shows what `dyno run --live` shows, for a run that another process writes, even one that was started \
without --live, in another terminal, or over ssh (`ssh -t HOST dyno watch RUN`). It reads the run directory \
and nothing else, changes nothing, and ends when the run is complete. q stops watching, not the run.")]
pub(crate) struct WatchArgs {
    /// A run directory, or `latest` for the newest one in ./runs.
    #[arg(default_value = "latest", add = complete::runs())]
    pub(crate) run: PathBuf,
}

/// `dyno merge`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The directories must be of one plan: the same suite, experiments, stacks, testbed and seed, as the parts of \
`dyno run SUITE --shard 1/3`, `2/3` and `3/3` are. The result is a run like any other, which show, compare, \
check, trend and `run --resume` read; the parts stay as they are. Machines, builds of Dyno and versions of \
adapters may differ: what differs is said, and each part's own manifest is kept in the result's `parts/`.

A trial that two directories have must be the same in both. The result appears whole or not at all.")]
pub(crate) struct MergeArgs {
    /// The run directories of all parts, in any order.
    #[arg(value_name = "DIR", required = true, add = complete::runs())]
    pub(crate) directories: Vec<PathBuf>,
    /// The run directory to create.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Merge what there is, though parts are missing; `dyno run --resume` measures the rest.
    #[arg(long)]
    pub(crate) partial: bool,
}

/// `dyno list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list.
    #[arg(value_enum)]
    pub(crate) what: ListWhat,
    /// As JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListWhat {
    /// What can be measured.
    Suites,
    /// The configured libraries and mechanisms, and whether they can be used here.
    Stacks,
    /// Where it can run.
    Testbeds,
    /// The libraries and mechanisms, their versions, capabilities and options.
    Adapters,
}

/// `dyno doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// As JSON (docs/reference/host-noise.md) instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on standard error.
    #[arg(long, short)]
    pub(crate) quiet: bool,
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

fn adapter_file(text: &str) -> Result<(String, PathBuf), String> {
    key_value(text).map(|(adapter, file)| (adapter, file.into()))
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!(
            "write KEY=VALUE, such as `trials=10`, instead of {text:?}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_resumed_run_takes_its_plan_from_its_directory() {
        assert!(Cli::try_parse_from(["dyno", "run", "--resume", "runs/x"]).is_ok());
        assert!(Cli::try_parse_from(["dyno", "run", "quick", "--resume", "runs/x"]).is_err());
        assert!(Cli::try_parse_from(["dyno", "run"]).is_err());
    }

    #[test]
    fn a_precision_is_a_share_of_a_quantile() {
        let run = |extra: &[&str]| {
            let all = ["dyno", "run", "quick"].iter().chain(extra);
            match Cli::try_parse_from(all).map(|cli| cli.command) {
                Ok(Command::Run(args)) => Ok((args.precision, args.precision_of)),
                Ok(_) => unreachable!("it is a run"),
                Err(e) => Err(e.to_string()),
            }
        };
        let (share, aim) = run(&["--precision", "5%", "--precision-of", "service:p99.9"]).unwrap();
        assert_eq!(share, Some(0.05));
        assert_eq!(aim.metric, Some(Metric::Service));
        assert!((aim.quantile - 0.999).abs() < 1e-12);
        for wrong in ["0", "0%", "101%", "five"] {
            let e = run(&["--precision", wrong]).unwrap_err();
            assert!(e.contains("such as 5%"), "{e}");
        }
        let e = run(&["--precision", "5%", "--precision-of", "p100"]).unwrap_err();
        assert!(e.contains("such as p99"), "{e}");
        assert!(
            run(&["--max-trials", "9"])
                .unwrap_err()
                .contains("--precision")
        );
    }

    #[test]
    fn a_part_is_one_of_several() {
        let run = |shard: &str| Cli::try_parse_from(["dyno", "run", "quick", "--shard", shard]);
        match run("2/3").unwrap().command {
            Command::Run(args) => {
                let (index, count) = (2, 3);
                assert_eq!(args.shard, Some(Part { index, count }));
            }
            _ => unreachable!("it is a run"),
        }
        for (wrong, advice) in [
            ("0/3", "count from 1"),
            ("4/3", "count from 1"),
            ("0/0", "such as 1/3"),
            ("2", "such as 1/3"),
            ("1/-3", "such as 1/3"),
            ("a/b", "such as 1/3"),
        ] {
            let e = run(wrong).unwrap_err().to_string();
            assert!(e.contains(advice), "{e}");
        }
    }

    #[test]
    fn a_setting_needs_its_equals_sign() {
        let e = Cli::try_parse_from(["dyno", "run", "quick", "--set", "trials"]).unwrap_err();
        assert!(e.to_string().contains("KEY=VALUE"), "{e}");
    }
}
