//! `dyno gate`

use super::complete;
use super::conformance::key_value;
use super::run::RunArgs;
use crate::files::FileArgs;
use clap::{Args, FromArgMatches as _};
use dyno_judge::{parse_quantile, parse_share};
use dyno_model::{Nanos, Slices};
use std::path::PathBuf;

/// The suite unless somebody names one, and what of it is compared then.
const USUAL: (&str, &str) = ("quick", "round-trip");

/// `dyno gate`
#[derive(Debug, Args)]
#[command(after_long_help = "\
`dyno gate` is a preset for CI jobs. It measures both sides in one run and then judges them, as these two commands do:
  dyno run SUITE --stack NEW --against BASE --slices --budget TIME
  dyno compare RUN --margin SHARE --quantiles p50 --fail-on slower
It measures no floors. With --slices, both sides run in one trial and take turns every few milliseconds. Where this is impossible \
(streams, several hosts, two sides that need the same exclusive daemon, …), Dyno gives the reason and interleaves whole trials.

  dyno gate uds-stream tcp                  two stacks
  dyno gate ./base/dyno tcp                 one stack, by another build of `dyno` and by this one
  dyno gate same tcp                        one stack twice: shows the differences due to chance
  dyno gate uds-stream mine --suite load.toml --smallest 2% --budget '3 min'

Each `dyno` program looks for adapters in the folder `adapters` next to it. To compare two builds of your adapter, put a copy of \
`dyno` into another folder, and the old library into `adapters` there. Do not set DYNO_ADAPTER_PATH, because it gives both sides the \
same library.

The last line gives the verdict, the ratio NEW/BASE with its 95 % interval, and the smallest slowdown that this comparison would have \
found with a chance of 80 %. If that slowdown is too large for you, allow more time with --budget.

Exit codes: 8 slower; 7 undecided, unless --allow-undecided is given and only scatter leaves it undecided; 4 neither of these, but trials failed; otherwise 0. Dyno stores the \
run, so `dyno compare`, `dyno report` and `dyno run --resume RUN --more N` can use it.")]
pub(crate) struct GateArgs {
    /// The base: a stack, the path of the `dyno` program of another build, or `same` for NEW itself.
    #[arg(add = complete::stacks())]
    pub(crate) base: String,
    /// The stack to judge, measured with this build.
    #[arg(add = complete::stacks())]
    pub(crate) new: String,
    /// The suite: a name from `dyno list suites`, or the path of a .toml file [default: `quick`, only its round trips].
    #[arg(long, value_name = "S", add = complete::suites())]
    suite: Option<String>,
    /// Measure only these experiments of the suite, separated by commas; * stands for any text, ? for any character.
    #[arg(long, value_name = "A,B*", value_delimiter = ',')]
    experiment: Vec<String>,
    /// Choose the number of trials so that they fit into this time. Repeats of disturbed trials take additional time.
    #[arg(long, value_name = "TIME", default_value = "60 s")]
    budget: Nanos,
    /// Ratios that differ from 1 by at most this share count as the same.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_share)]
    pub(crate) smallest: f64,
    /// The quantiles of the headline metric (such as the round trip) to compare, separated by commas. Each gets its own
    /// verdict; p99 needs more time than p50.
    #[arg(long, value_name = "P,P", value_delimiter = ',', default_value = "p50", value_parser = parse_quantile)]
    pub(crate) quantiles: Vec<f64>,
    /// End with code 0 if nothing is slower but something is undecided.
    #[arg(long)]
    pub(crate) allow_undecided: bool,
    /// Change a parameter of the suite; may be repeated. If the stacks have different wait strategies, use --set wait=block.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    settings: Vec<(String, String)>,
    /// The run directory to create.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the experiments, and why some cannot be measured in slices, then exit.
    #[arg(long)]
    dry_run: bool,
    /// Print no progress on standard error.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    files: FileArgs,
}

impl GateArgs {
    /// The run that measures both sides, and what judges it: the smallest difference, the quantiles, whether undecided is a pass.
    pub(crate) fn run(self) -> RunArgs {
        let mut experiment = self.experiment;
        if self.suite.is_none() && experiment.is_empty() {
            experiment.push(USUAL.1.to_owned());
        }
        RunArgs {
            suite: Some(self.suite.unwrap_or_else(|| USUAL.0.to_owned())),
            stack: vec![self.new],
            experiment,
            budget: Some(self.budget),
            against: Some(self.base),
            slices: Some(Slices::USUAL),
            gate: true,
            settings: self.settings,
            out: self.out,
            dry_run: self.dry_run,
            quiet: self.quiet,
            files: self.files,
            ..RunArgs::usual()
        }
    }
}

impl RunArgs {
    /// `dyno run` without arguments.
    fn usual() -> Self {
        let matches = RunArgs::augment_args(clap::Command::new("run")).get_matches_from(["run"]);
        RunArgs::from_arg_matches(&matches).unwrap_or_else(|e| e.exit())
    }
}
