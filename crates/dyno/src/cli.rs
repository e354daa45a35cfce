//! The command line as types.

mod address;
mod audit;
mod complete;
mod conformance;
mod gate;
mod init;
mod judge;
mod part;
mod report;
mod serve;
mod show;

pub(crate) use audit::{AuditArgs, AuditFormat, OutputArgs};
use conformance::key_value;
pub(crate) use conformance::{ConformanceArgs, NewAdapterArgs};
pub(crate) use gate::GateArgs;
pub(crate) use init::InitArgs;
pub(crate) use judge::{CheckArgs, CompareArgs, FailOn, JudgeFormat, TrendArgs};
pub(crate) use part::Part;
pub(crate) use report::ReportArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use show::{NotesArg, ShowArgs, ShowFormat};

use crate::files::FileArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use dyno_measure::ClockChoice;
use dyno_model::{Metric, Nanos, Raised};
use std::path::PathBuf;

/// Measure how vehicle software communicates.
///
/// Dyno puts a load on a communication stack and measures it: round trips, one-way response times
/// (counted from the time when each message is due), delivered throughput, loss, and the CPU time
/// and memory of all processes. Each number comes with its uncertainty and its ratio to the floor,
/// which is the cost of the same exchange on this hardware over bare shared memory.
///
/// A SUITE defines what to measure, a STACK is a configured library or kernel mechanism, and a TESTBED defines where
/// to measure. Every suite can run on every stack and testbed. If a stack cannot do an experiment, Dyno refuses the
/// experiment and gives the reason.
#[derive(Debug, Parser)]
#[command(name = "dyno", version, max_term_width = 100, after_long_help = AFTER)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER: &str = "\
Examples:
  dyno run quick                         every stack of this build, side by side: 2 to 7 min
  dyno run quick --stack pipe,tcp        only these two (and the floor)
  dyno run                               asks three questions, writes a suite and runs it
  dyno run iceperf --set round_trips=1000
  dyno show latest --format markdown     the last run's table again
  dyno report latest                     the same as an HTML report with plots
  dyno serve                             all runs in ./runs, in the browser (full builds only)
  dyno run quick --stack tcp --precision 5%         adds trials until each p50 is known to ±5 %
  dyno run quick --stack tcp --against uds-stream   interleaves both and says which is faster
  dyno gate uds-stream tcp               both sides in one minute, and an exit code for CI
  dyno run quick --live                  uses the whole terminal (full builds only)
  dyno run --like RUN                    repeats somebody else's run on this machine
  dyno run quick --shard 1/3 --out a     one of three parts; `dyno merge` joins them
  dyno audit published/sodev-2025.toml   finds published figures that cannot be true
  dyno conformance ./libdyno_mine.so     tests an adapter
  dyno doctor                            shows what disturbs measurements on this host

Exit codes:
  0    done                              3    the suite, stack or testbed is refused
  1    file or program error             4    done, but trials or cases failed
  2    wrong command line                5    a run directory cannot be written or read
  6    a limit is broken (check)         7    undecided (check, trend, compare, gate)
  8    something is slower (gate, --fail-on slower)
  9    a finding with the verdict of audit --fail-on, or a worse one
  130  interrupted; finished trials are stored";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a suite and store the run.
    Run(Box<RunArgs>),
    /// Write a suite file of your own, with comments.
    Init(InitArgs),
    /// Show a run in progress, live.
    Watch(WatchArgs),
    /// Print a stored run.
    Show(ShowArgs),
    /// Write an HTML report about one or more runs, with answers, plots and every trial.
    Report(ReportArgs),
    /// Show a folder of runs in the browser: list, reports, comparisons, runs in progress.
    Serve(ServeArgs),
    /// Merge the parts of a run.
    Merge(MergeArgs),
    /// Compare two runs, or the two sides of a run measured with --against.
    Compare(CompareArgs),
    /// Measure two stacks or builds in one run, and say which is faster: for CI.
    Gate(Box<GateArgs>),
    /// Check a run against limits.
    Check(CheckArgs),
    /// Find when the figures of stored runs changed.
    Trend(TrendArgs),
    /// Audit publications, outputs of other tools or runs for figures that cannot be true.
    Audit(AuditArgs),
    /// List the available suites, stacks, testbeds or adapters.
    List(ListArgs),
    /// Create a new adapter: working C code, the headers and a stack file.
    NewAdapter(NewAdapterArgs),
    /// Test whether an adapter does everything that Dyno relies on.
    Conformance(ConformanceArgs),
    /// Examine this host: clock, timers, core-to-core latency, limits, missing permissions.
    Doctor(DoctorArgs),
    /// Print a manual page (roff), or write the pages of all commands to a folder.
    #[command(after_long_help = "Examples:
  dyno man run | man -l -                 the page of one command
  dyno man -o ~/.local/share/man/man1     then `man dyno-run` finds it")]
    Man {
        /// The command [default: the page of dyno itself].
        #[arg(value_name = "COMMAND", conflicts_with = "out")]
        of: Option<String>,
        /// Write one page for each command to this folder.
        #[arg(long, short, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Print a completion script for a shell to standard output.
    #[command(after_long_help = "\
The script also completes the names of suites, stacks, testbeds and stored runs:
  source <(dyno completions bash)         in ~/.bashrc
  dyno completions fish > ~/.config/fish/completions/dyno.fish")]
    Completions {
        /// The shell.
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

/// `dyno run`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The run directory is ./runs/SUITE-DATE unless --out names another. Dyno stores each trial as soon \
as it ends, so an interruption or a full disk loses no finished trial. `dyno run --resume DIR` \
measures the rest.

--set changes one parameter of the suite (`dyno list suites` names them), or a default of all its \
experiments:
  --set window='1 s'    --set payload='4 KiB'    --set wait=spin    --set scheduling=fifo:50

--precision adds trials, round by round, until the interval of each experiment is as narrow as you asked, or until --max-trials or \
--max-time is reached. The table lists the intervals that are still wider. Before the run, Dyno \
measures how much the idle host disturbs a program. If the host disturbs a trial more than that, Dyno \
stores the trial, excludes it from all figures, and repeats it.

--search doubles one factor, starting from its value in the suite, until a limit is broken. It \
then bisects between the last two values. Dyno runs trials of each value until every limit is met \
or broken with confidence. Further trials then confirm the highest value that met all limits. \
Stacks are interleaved.
  dyno run stream --stack udp,tcp --set rate='1 kHz' --set arrivals=fixed --set payload='64 B' \\
           --search rate --until limits.toml
  dyno check RUN             prints the result again; also with --format json

--against measures each experiment and a base alternately, and prints which is faster:
  --against tcp              the base is the same experiment on another stack
  --against ./old/dyno       the same experiment with the agents of another build
  --against same             the same experiment twice: shows the differences that arise by chance
On a noisy host add --slices: both sides are open in one trial and take turns every few milliseconds, so that slow changes of the host \
affect both equally. This works for ping-pong and call on one machine:
  dyno run quick --experiment round-trip --stack uds-stream --against tcp --set wait=block --slices

--like repeats a run, even one from another machine. It needs only the run directory.
  dyno run --like RUN --out mine          the same suite, stacks, settings and testbed
  dyno compare RUN mine                   differences: builds, libraries, machines, figures
Dyno asks before it starts a program or contacts a host that does not occur in your own stacks and \
testbeds. --dry-run lists these programs and hosts, --trust permits them.

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
    /// Only these stacks, separated by commas; the floor is always measured with them.
    #[arg(long, value_name = "A,B", value_delimiter = ',', add = complete::stacks())]
    pub(crate) stack: Vec<String>,
    /// Only these experiments of the suite, separated by commas; * stands for any text, ? for any
    /// character.
    #[arg(long, value_name = "A,B*", value_delimiter = ',')]
    pub(crate) experiment: Vec<String>,
    /// Where to run: a name from `dyno list testbeds`, or the path of a .toml file [default: local].
    #[arg(long, value_name = "T", add = complete::testbeds())]
    pub(crate) testbed: Option<String>,
    /// Number of trials of each experiment; overrides the suite.
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<u32>,
    /// Fit the number of trials into this time, such as '5 min': every experiment gets the same number. Repeats
    /// of disturbed trials take additional time.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["trials", "precision", "search", "shard"])]
    pub(crate) budget: Option<Nanos>,
    /// Add trials until both ends of each 95 % interval are within this share of the value, such as 5%.
    #[arg(long, value_name = "SHARE", value_parser = share, group = "adds")]
    pub(crate) precision: Option<f64>,
    /// The figure for --precision: a quantile, or METRIC:QUANTILE, such as p99 or service:p99.
    #[arg(long, value_name = "Q", value_parser = aim, default_value = "p50", requires = "precision")]
    pub(crate) precision_of: Aim,
    /// With --precision or --until-decided: at most this many trials of one experiment.
    #[arg(long, value_name = "N", default_value_t = 100, requires = "adds")]
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
    /// An extra trial counts the system calls, wake-ups and copies of a round trip, and reports then
    /// show the parts of the round trip. This adds half a minute for each scheduling class and pair of CPUs, and
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
    /// With --against: open both sides in one trial, and let each run for this time in turn [default: 10 ms].
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "10 ms")]
    pub(crate) slices: Option<Nanos>,
    /// Repeat trials that the host disturbed, at most N times per experiment [default: 5].
    #[arg(long, value_name = "N")]
    pub(crate) repeats: Option<u32>,
    /// Change a parameter of the suite; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) settings: Vec<(String, String)>,
    /// The seed of all random choices: trial order, Poisson gaps. By default Dyno chooses and stores a seed; with
    /// --shard it derives the seed from the plan, so that all parts use the same one.
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
    /// Finish the interrupted run in this directory (or `latest`); with --more, also add trials to a finished run.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "stack", "experiment", "testbed", "trials", "budget", "settings", "seed", "shard", "precision", "precision_of",
        "search", "until", "against", "slices", "ground", "legs", "alone", "repeats",
    ], add = complete::runs())]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: also measure failed trials again, not only interrupted and missing ones.
    #[arg(long, requires = "resume")]
    pub(crate) retry_failed: bool,
    /// With --resume: measure N more trials of each experiment and its floor. This also works for a
    /// finished run.
    #[arg(long, value_name = "N", requires = "resume", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) more: Option<u32>,
    /// With --resume: add trials until each of these limits is decided, in at most five steps. The verdicts of
    /// all steps together have 95 % confidence.
    #[arg(
        long,
        value_name = "LIMITS.TOML",
        requires = "resume",
        group = "adds",
        conflicts_with = "dry_run"
    )]
    pub(crate) until_decided: Option<PathBuf>,
    /// Print the experiments, the refused combinations and the missing permissions, then exit.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The clock for time stamps [default: auto, or the clock of the run that is repeated or resumed].
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockArg>,
    /// The output format.
    #[arg(long, value_enum, default_value_t = FormatArg::Table)]
    pub(crate) format: FormatArg,
    /// Show the run live on the whole terminal: hosts, the current trial, running quantiles, loss, time
    /// left. q stops it as Ctrl-C does; h shows the keys.
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

/// `dyno watch`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Shows the view of `dyno run --live` for a run that another process writes, for example in another terminal or over ssh (`ssh -t HOST dyno \
watch RUN`). That run needs no --live. The command only reads the run directory, and ends when the run is complete. q stops watching; the \
run goes on.")]
pub(crate) struct WatchArgs {
    /// A run directory, or `latest` for the newest one in ./runs.
    #[arg(default_value = "latest", add = complete::runs())]
    pub(crate) run: PathBuf,
}

/// `dyno merge`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The directories must come from one plan, with the same suite, experiments, stacks, testbed and seed, like the parts of `dyno run SUITE \
--shard 1/3`, `2/3` and `3/3`. The result is an ordinary run, which show, compare, check, trend and `run --resume` can read. The parts are \
not changed. Machines, builds of Dyno and versions of adapters may differ: Dyno reports the differences and keeps the manifest of each \
part in the folder `parts/` of the result.

If two directories contain the same trial, its content must be identical. Dyno never leaves an incomplete result behind.")]
pub(crate) struct MergeArgs {
    /// The run directories of all parts, in any order.
    #[arg(value_name = "DIR", required = true, add = complete::runs())]
    pub(crate) directories: Vec<PathBuf>,
    /// The run directory to create.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Merge the given parts even if others are missing; `dyno run --resume` measures the rest.
    #[arg(long)]
    pub(crate) partial: bool,
}

/// `dyno list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list.
    #[arg(value_enum)]
    pub(crate) what: ListWhat,
    /// Print JSON instead of a table.
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
    /// The hosts on which a suite can run.
    Testbeds,
    /// The libraries and mechanisms, their versions, capabilities and options.
    Adapters,
}

/// `dyno doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON (docs/reference/host-noise.md) instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no progress on standard error.
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
        // Without either it asks.
        assert!(Cli::try_parse_from(["dyno", "run"]).is_ok());
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
            ("0/3", "numbered from 1"),
            ("4/3", "numbered from 1"),
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
