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
mod run;
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
pub(crate) use run::{ClockArg, FormatArg, MAX_TRIALS, RunArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use show::{NotesArg, ShowArgs, ShowFormat};

use crate::files::FileArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Measure how vehicle software communicates.
///
/// Dyno puts a load on a communication stack and measures it: round trips, one-way response times
/// (counted from the time when each message is due), delivered throughput, loss, and the CPU time
/// and memory of all processes. Times come with a 95 % interval and, where a floor exists, with their ratio to it. The floor is
/// the time of the same exchange on the same hardware over bare shared memory or, between hosts, over bare UDP.
///
/// A SUITE defines what to measure, a STACK is a configured library or kernel mechanism, and a TESTBED defines where
/// to measure. You can combine any of them. If a stack or testbed cannot do an experiment, Dyno leaves it out and gives the reason.
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
  dyno serve                             all runs in ./runs, in the browser
  dyno run quick --stack tcp --precision 5%         adds trials until each p50 is known to ±5 %
  dyno run quick --stack tcp --against uds-stream   interleaves both and says which is faster
  dyno gate uds-stream tcp               both sides in one minute, and an exit code for CI
  dyno run quick --live                  uses the whole terminal
  dyno run --like RUN                    repeats somebody else's run on this machine
  dyno run quick --shard 1/3 --out a     one of three parts; `dyno merge` joins them
  dyno audit published/sodev-2025.toml   finds published figures that cannot be true
  dyno conformance ./libdyno_mine.so     tests an adapter
  dyno doctor                            shows what disturbs measurements on this host

Exit codes:
  0    done                              3    the suite, stack or testbed cannot be used
  1    file or program error             4    done, but trials or cases failed
  2    wrong command line                5    a run directory cannot be written or read
  6    a limit is broken or a figure is worse than usual (check, run --search)
  7    undecided (check, trend, compare, gate, run --search)
  8    something is slower (gate, --fail-on slower)
  9    audit --fail-on: a finding has this verdict or a worse one
  130  interrupted; finished trials are stored";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a suite and store the run.
    Run(Box<RunArgs>),
    /// Write a suite file with comments, for you to change.
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
    /// Measure two stacks or builds in one run, and say which is faster (for CI).
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

/// `dyno watch`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Shows the same view as `dyno run --live`, but for a run in another process, such as in another terminal or on another host (`ssh -t HOST \
dyno watch RUN`). That run does not need --live. The command only reads the run directory, and ends when the run is complete. q closes the \
view; the run continues.")]
pub(crate) struct WatchArgs {
    /// A run directory, or `latest` for the newest one in ./runs.
    #[arg(default_value = "latest", add = complete::runs())]
    pub(crate) run: PathBuf,
}

/// `dyno merge`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The directories must come from one plan, with the same suite, experiments, stacks, testbed and seed, like the parts of `dyno run SUITE \
--shard 1/3`, `2/3` and `3/3`. The result is an ordinary run: `dyno show`, `compare`, `check`, `trend` and `run --resume` can read it. Dyno \
does not change the parts. Machines, builds of Dyno and versions of adapters may differ: Dyno reports the differences and keeps the \
`run.json` of each part in the folder `parts/` of the result.

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
    /// The sets of experiments that can be measured.
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

fn adapter_file(text: &str) -> Result<(String, PathBuf), String> {
    key_value(text).map(|(adapter, file)| (adapter, file.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use dyno_model::Metric;

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
