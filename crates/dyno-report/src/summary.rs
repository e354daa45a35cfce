//! The summary of a run, as data: one [`ExperimentSummary`] per experiment of its plan, also for those
//! without a completed trial. Every table and export is a rendering of this and computes nothing.

mod answers;
mod carry_over;
mod chain;
mod clock;
mod copy;
mod daemon;
mod evidence;
mod flow;
mod growth;
mod made_of;
mod metric;
mod network;
mod outage;
mod spread;

pub use answers::{AnswerSummary, AnswersSummary, more_answers};
pub use carry_over::{CarryOverFinding, CarryOverSummary};
pub use chain::{AddedSummary, ChainSummary, GatewaySummary, LegSummary, PartSummary};
pub use clock::HostClockSummary;
pub use copy::CopySummary;
pub(crate) use daemon::{DaemonCost, MemorySummary};
pub use evidence::{
    BareSummary, Covariate, CovariateSummary, HostSummary, HostTail, ModeGroup, ModesSummary,
    PrecisionSummary, WarmupSummary,
};
pub use flow::{AGAINST_ALONE, AloneRatio};
pub use growth::{EXTRAPOLATED, FigureGrowth, GrowthSummary, Lacking, NoFit, Reach};
pub use made_of::{Further, MadeOf};
pub use metric::{MetricSummary, QUANTILES};
pub use network::NetworkSummary;
pub use outage::{DeafEnd, OutageSummary, Relapse, TOLD_BY};
pub use spread::Spread;

use crate::counts::missing_messages;
use dyno_model::asked::AskedPerMessage;
use dyno_model::cause::{Cause, Disturbance, FailureCause, Warning};
use dyno_model::plan::{More, PlanWarning, Refusal, STUDIES};
use dyno_model::record::{Environment, FailureKind};
use dyno_model::{
    Against, Counts, Experiment, ExperimentId, Metric, Nanos, Precision, Shard, TrialFigure,
};
use dyno_stats::{Estimate, Fit, Stability};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// A run, summarised.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The suite, the testbed and the progress of the run.
    pub run: RunSummary,
    /// One per experiment of the plan, in the plan's order; of a part, one for each of its own.
    pub experiments: Vec<ExperimentSummary>,
    /// The cells that the plan left out, with the reasons.
    pub refused: Vec<Refusal>,
    /// How latency grows with size, for each group of streams that differ in their payload only.
    pub scaling: Vec<ScalingSummary>,
    /// How the figures of idle participants change with their number, for each group of idle experiments that differ in it only.
    pub growth: Vec<GrowthSummary>,
    /// Remarks about the whole run.
    pub warnings: Vec<String>,
    /// Those of them that the planner or a merge made, as values: the first 100.
    pub plan_warnings: Vec<Cause<PlanWarning>>,
    /// Whether what ran before a trial made a difference; `None` where the run cannot tell.
    pub carry_over: Option<CarryOverSummary>,
    /// Results of the requirements of the run's study. Whoever renders the study's table has them judged before; else
    /// there are none.
    pub requirements: Vec<Requirement>,
    /// The result of a search, in the form of `dyno check RUN --format json`. Whoever shows a search has it judged before; else
    /// there is none.
    pub capacity: Option<serde_json::Value>,
    /// The answers to the questions of the run. Whoever renders it for readers has them made before; else there are none.
    pub answers: Option<AnswersSummary>,
}

/// A requirement of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// What it is called.
    pub name: String,
    /// The requirement, such as `p50 round trip ≤ 2.00 ms`.
    pub required: String,
    /// Where it comes from; `None` where whoever states it names nothing.
    pub source: Option<String>,
    /// Experiment by experiment; empty where the run has none that it is put on.
    pub held: Vec<HeldRequirement>,
}

/// A requirement held against one experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRequirement {
    /// Which.
    pub experiment: ExperimentId,
    /// `pass`, `fail` or `undecided`.
    pub verdict: &'static str,
    /// The figure with its interval, or a dash.
    pub found: String,
    /// Why the verdict is this one.
    pub reason: String,
}

/// The scaling factor of streams that differ in their payload only.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalingSummary {
    /// The experiments, one for each size.
    pub experiments: Vec<ExperimentId>,
    /// The first of them, for the factors that all have in common.
    pub first: Experiment,
    /// Different sizes.
    pub sizes: u64,
    /// Messages offered, all sizes together.
    pub offered: u64,
    /// Messages that arrived intact.
    pub received: u64,
    /// The line through the median service times of all trials.
    pub fit: Option<Fit>,
    /// Why there is none.
    pub reason: Option<String>,
}

/// The head of a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Unique name of the run.
    pub id: String,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// The command line that started it.
    pub command: Vec<String>,
    /// The suite's name.
    pub suite: String,
    /// What the suite answers, in one line.
    pub title: String,
    /// The testbed's name.
    pub testbed: String,
    /// A host of the testbed has a link whose rate is known.
    pub has_rated_links: bool,
    /// The table that shows the suite best.
    pub table: String,
    /// The study that shows it, where the suite has one of its own.
    pub study: Option<dyno_model::origin::Text>,
    /// The hosts of the testbed by their names.
    pub hosts: Vec<String>,
    /// The virtual machines of the testbed: what each booted, and what joins it to the others.
    pub guests: Vec<String>,
    /// Those of `hosts` whose processor is emulated in software.
    pub emulated_hosts: Vec<String>,
    /// The seed of the run's random choices.
    pub seed: u64,
    /// The part of the plan that was run, if it was not all of it.
    pub shard: Option<Shard>,
    /// Trials that were added after the run was planned.
    pub more: Vec<More>,
    /// The machine and the build; of a merged run, those of its first part.
    pub environment: Environment,
    /// Of a run that was merged from those of several machines: each by its name.
    pub machines: BTreeMap<String, Environment>,
    /// Name and version of each adapter used.
    pub adapters: Vec<(String, String)>,
    /// The defaults of options, by adapter.
    pub option_defaults: BTreeMap<String, dyno_model::Options>,
    /// The stacks by name, as they were configured.
    pub stacks: BTreeMap<String, dyno_model::Stack>,
    /// The base of experiments that have one.
    pub against: Option<Against>,
    /// When an experiment has enough trials, where that was asked for.
    pub precision: Option<Precision>,
    /// What the machine did before the first trial; `None` in runs of format 1.
    pub bare: Option<BareSummary>,
    /// Trials of all experiments.
    pub trials: TrialCounts,
}

impl RunSummary {
    /// Whether the table of stacks shows the run: its suite names no study, or one that this version does not know.
    pub fn is_of_stacks(&self) -> bool {
        self.study.is_none() && !STUDIES.contains(&self.table.as_str())
    }

    /// The machine's name, or the names of all, separated by commas.
    pub fn host_names(&self) -> String {
        match self.machines.is_empty() {
            true => self.environment.host.clone(),
            false => self.machines.keys().cloned().collect::<Vec<_>>().join(", "),
        }
    }

    /// The name of the machine that measured an experiment.
    pub fn machine_of<'a>(&'a self, e: &'a Experiment) -> &'a str {
        e.machine.as_deref().unwrap_or(&self.environment.host)
    }

    /// The machine and the build that measured an experiment.
    pub fn environment_of(&self, e: &Experiment) -> &Environment {
        let own = e.machine.as_ref().and_then(|m| self.machines.get(m));
        own.unwrap_or(&self.environment)
    }
}

/// How many trials there should be and how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialCounts {
    /// Asked for by the plan; precision and repeats may have added more.
    pub planned: u64,
    /// With a measurement, whether it counts or not.
    pub completed: u64,
    /// Without one.
    pub failed: u64,
    /// Completed, but disturbed by the host.
    pub disturbed: u64,
    /// Completed trials that the figures use: those that were not disturbed, or all of an
    /// experiment of which every one was. See [`crate::counted_trials`].
    #[serde(skip)]
    pub counted: u64,
    /// Those without what precision and repeats added.
    #[serde(skip)]
    pub of_plan: OfPlan,
}

/// The trials among them that the plan asks for: how many there are of these does not depend on what was disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OfPlan {
    /// With a measurement.
    pub completed: u64,
    /// Completed, but disturbed by the host.
    pub disturbed: u64,
}

impl TrialCounts {
    /// How many there are of each kind, such as `5 of 6 trials completed, 1 failed`.
    pub fn progress(&self) -> String {
        let (completed, planned) = (self.completed, self.planned);
        let mut text = match completed > planned {
            // Precision or repeats added some.
            true => format!("{completed} trials completed, {planned} planned"),
            false => format!("{completed} of {planned} trials completed"),
        };
        for (n, what) in [(self.disturbed, "disturbed"), (self.failed, "failed")] {
            if n > 0 {
                text.push_str(&format!(", {n} {what}"));
            }
        }
        text
    }

    /// Planned and neither completed nor failed: the run was interrupted before them.
    pub const fn missing(&self) -> u64 {
        self.planned.saturating_sub(self.completed + self.failed)
    }

    /// Of one experiment: every completed trial was disturbed, so that they count nevertheless.
    pub const fn all_disturbed(&self) -> bool {
        self.completed > 0 && self.disturbed == self.completed
    }
}

/// One experiment, over all its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentSummary {
    /// The cell of the plan: its name, stack and factors.
    pub experiment: Experiment,
    /// Its stack is a yardstick.
    pub is_floor: bool,
    /// It was added for a chain, one of whose legs it is alone.
    pub is_leg: bool,
    /// Its stack gives each message back to its sender: no second participant takes part.
    pub is_loopback: bool,
    /// Other experiments are compared with it; see [`Experiment::base`].
    pub is_base: bool,
    /// How many trials ended how.
    pub trials: TrialCounts,
    /// The failed trials, equal failures together.
    pub failures: Vec<FailureGroup>,
    /// Trials that are missing by the law of verdicts; see [`crate::Shortfall`].
    pub missing: u64,
    /// Why trials were disturbed, each reason with the number of trials.
    pub disturbances: Vec<(Cause<Disturbance>, u64)>,
    /// Latencies over all counted trials.
    pub metrics: BTreeMap<Metric, MetricSummary>,
    /// The metrics that a trial has one sample of, over the counted trials.
    pub medians: BTreeMap<Metric, Spread>,
    /// The headline metric with the disturbed trials, which do not count; `None` where none was left out.
    pub with_disturbed: Option<WithDisturbed>,
    /// The effect of the other flows, if the flow was also measured alone.
    pub alone: Option<AloneRatio>,
    /// p50 of the headline metric against that of the floor's experiment.
    pub floor: Option<FloorRatio>,
    /// p50 of the headline metric over that of one copy of the payload by a CPU here, after another one has written it; `None`
    /// where the run does not hold that probe, or one of the two sides is not good enough for a ratio.
    pub in_copies: Option<Estimate>,
    /// The same with a payload that the copying CPU has in its own caches as far as it fits.
    pub in_cached_copies: Option<Estimate>,
    /// Of a floor: stacks that are faster in this run with 95 % confidence.
    pub undercut_by: Vec<String>,
    /// Counts of all counted trials added up.
    pub counts: Counts,
    /// Rates and costs, each a spread over the counted trials that have it; empty where none counts.
    pub figures: BTreeMap<TrialFigure, Spread>,
    /// What each copy found: of a probe, and of exchanges that are several at once.
    pub copies: Vec<CopySummary>,
    /// Wake-ups of one round trip: voluntary context switches of all processes for each message, the median over the
    /// trials. `None` where none were counted.
    pub wake_ups: Option<f64>,
    /// Parts of a round trip, estimated from the probes; `None` where the run does not hold the probe for it.
    pub made_of: Option<MadeOf>,
    /// The parts of the way through a chain, its losses and costs; `None` where the stack is none.
    pub chain: Option<ChainSummary>,
    /// Results of its faults; `None` where it has none.
    pub outage: Option<OutageSummary>,
    /// System calls of its agents for each message, if they were counted.
    pub asked: Option<AskedPerMessage>,
    /// The part of the cost that the stack's daemons have, each by itself.
    pub daemons: Vec<DaemonCost>,
    /// The part that agents have, by what they do.
    pub agents: Vec<DaemonCost>,
    /// The processes of virtual machines on the runner's machine, which are not part of any cost.
    pub machines: Vec<DaemonCost>,
    /// The memory of virtual machines and of what they are made of, at rest and in use.
    pub memory: Vec<MemorySummary>,
    /// From go until endpoints existed, in nanoseconds.
    pub open_ns: Option<Spread>,
    /// From endpoints existing until matched, in nanoseconds.
    pub matching_ns: Option<Spread>,
    /// Remarks of its trials, each with the number of trials that made it.
    pub warnings: Vec<(Cause<Warning>, u64)>,
    /// Whether a repeat of the run would show the same p50 of the headline metric; `None` where
    /// that p50 is not known.
    pub stability: Option<Stability>,
    /// The warm-up; `None` where it was not recorded.
    pub warmup: Option<WarmupSummary>,
    /// The blocks of the window fall into two modes, and what tells them apart. `None`: they do not,
    /// or the run is of format 1.
    pub modes: Option<ModesSummary>,
    /// The p50 of the headline metric in the last half of the window over that in its first half,
    /// with a 99 % interval; `None` where it does not drift, or the run is of format 1.
    pub drift: Option<Estimate>,
    /// The host's part; `None` where nothing was recorded of it.
    pub host: Option<HostSummary>,
    /// The precision asked for; `None` where none was, and for bases, which are as precise as what
    /// is compared with them.
    pub precision: Option<PrecisionSummary>,
    /// The most by which its one-way times are wrong because they begin and end on hosts with
    /// different clocks; `None` where they do not.
    pub clock_bound: Option<Nanos>,
    /// The link that is offered more than it carries, as the plan says.
    pub overload: Option<String>,
    /// The backlog still grew when the window ended: its growth in the second half of the window, as a share of what was due then.
    pub saturated: Option<f64>,
    /// What is known of the hosts' clocks that are not the run's.
    pub clocks: Vec<HostClockSummary>,
    /// Counters of the kernels of its hosts over the counted trials.
    pub networks: Vec<NetworkSummary>,
}

impl Summary {
    /// For each p50 and p99 of a headline that is withheld: how many further trials it takes, where that is known. Of experiments with
    /// one value for each trial the p50 alone; yardsticks have none, nor has silence, of which tables show the median trial.
    pub fn withheld(&self) -> Vec<Option<u64>> {
        let own = |e: &&ExperimentSummary| !e.is_floor && !e.is_loopback && e.trials.counted > 0;
        let of = |e: &ExperimentSummary| -> Vec<Option<u64>> {
            let ranks: &[usize] = match e.headline().info().one_per_trial {
                _ if e.headline().info().of_idle => &[],
                true => &[0],
                false => &[0, 2],
            };
            let quantiles = e.headline_metric().map(|m| &m.quantiles);
            let quantiles = quantiles
                .into_iter()
                .flat_map(|all| ranks.iter().map(|i| all[*i]));
            let withheld = quantiles.filter(|q| q.estimate().is_none());
            withheld
                .map(|q| q.further_trials(e.trials.counted))
                .collect()
        };
        self.experiments.iter().filter(own).flat_map(of).collect()
    }
}

impl ExperimentSummary {
    /// The metric that stands for this experiment: the round trip of a closed loop, the response
    /// time of an open one, and the service time only where no response time was recorded; with faults the recovery.
    pub fn headline(&self) -> Metric {
        let candidates = self.experiment.headline();
        let recorded = candidates.iter().find(|m| self.metrics.contains_key(m));
        *recorded.unwrap_or(&candidates[0])
    }

    /// The summary of the headline metric, if any trial recorded it.
    pub fn headline_metric(&self) -> Option<&MetricSummary> {
        self.metrics.get(&self.headline())
    }

    /// A rate or a cost, where it is known.
    pub fn figure(&self, figure: TrialFigure) -> Option<Spread> {
        self.figures.get(&figure).copied()
    }

    /// Its median over the counted trials.
    pub fn median(&self, figure: TrialFigure) -> Option<f64> {
        self.figure(figure).map(|s| s.median)
    }

    /// Whether its row must be marked: a repeat of the run may show another p50.
    pub fn is_unstable(&self) -> bool {
        self.stability.as_ref().is_some_and(Stability::is_unstable)
    }

    /// Messages that arrived intact per message offered, 0 to 1; `None` where none was offered.
    pub fn delivered_ratio(&self) -> Option<f64> {
        (self.counts.offered > 0).then(|| self.counts.received as f64 / self.counts.offered as f64)
    }

    /// What did not arrive, in words: lost, and still under way when the drain ended; `None` where all arrived.
    pub fn missing_messages(&self) -> Option<String> {
        missing_messages(&self.counts)
    }

    /// Of the messages offered, those that had arrived intact when the window ended, 0 to 1; `None`
    /// where that is not known.
    pub fn in_window_ratio(&self) -> Option<f64> {
        let arrived = self.counts.in_window? as f64;
        (self.counts.offered > 0).then(|| arrived / self.counts.offered as f64)
    }

    /// Whether what was offered on a schedule went through; `None` where there is no schedule, where
    /// nothing was offered, and where faults kept messages from arriving.
    pub fn load(&self) -> Option<LoadOutcome> {
        self.experiment.paced_window()?;
        if self.outage.is_some() {
            return None;
        }
        Some(match (self.saturated, self.delivered_ratio()?) {
            (Some(_), _) => LoadOutcome::Saturated,
            (None, share) if share < 1.0 => LoadOutcome::Loses,
            (None, _) => LoadOutcome::Fits,
        })
    }
}

/// The outcome of an offered load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadOutcome {
    /// Everything arrived, and nothing piled up.
    Fits,
    /// Nothing piled up, but some of it never arrived.
    Loses,
    /// The backlog still grew when the window ended.
    Saturated,
}

impl LoadOutcome {
    /// The word in tables and exports.
    pub const fn as_str(self) -> &'static str {
        match self {
            LoadOutcome::Fits => "fits",
            LoadOutcome::Loses => "loses",
            LoadOutcome::Saturated => "saturated",
        }
    }
}

/// × floor: how many times the floor's p50 an experiment's p50 is.
#[derive(Debug, Clone, PartialEq)]
pub struct FloorRatio {
    /// The floor's experiment.
    pub id: ExperimentId,
    /// Its stack.
    pub stack: String,
    /// The ratio with its interval; `None` where one of the two sides is not good enough for one.
    pub p50_ratio: Option<Estimate>,
    /// Why there is none.
    pub without: Option<NoRatio>,
    /// The stacks that are surely faster than it in this run, each with its ratio: then it is a reference and
    /// no floor.
    pub undercut_by: Vec<(String, Estimate)>,
}

impl FloorRatio {
    /// Whether no other stack is faster with confidence.
    pub const fn holds(&self) -> bool {
        self.undercut_by.is_empty()
    }
}

/// Why two experiments make no ratio. It takes two good sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoRatio {
    /// The host disturbed every trial of the experiment.
    Disturbed,
    /// The host disturbed every trial of its floor.
    FloorDisturbed,
    /// Trials of the experiment failed: the others are survivors.
    Failed,
    /// Trials of its floor did.
    FloorFailed,
    /// Its floor lost messages, which would make the ratio better.
    FloorLossy,
    /// The experiment has fewer than [`LEAST_TRIALS`] trials.
    Few,
    /// Its floor has.
    FloorFew,
    /// The floor waits otherwise; so it is in runs made before callbacks had a floor of their own.
    OtherWait,
    /// One of the two has no p50.
    Unknown,
    /// The interval of the ratio is wider than a factor of ten.
    Wide,
}

/// A single trial does not show how much trials differ; a ratio takes this many on each side.
pub const LEAST_TRIALS: usize = 2;

impl NoRatio {
    /// In words that follow "because".
    pub const fn as_str(self) -> &'static str {
        match self {
            NoRatio::Disturbed => "the host disturbed every trial",
            NoRatio::FloorDisturbed => "the host disturbed every trial of the floor",
            NoRatio::Failed => "trials failed",
            NoRatio::FloorFailed => "trials of the floor failed",
            NoRatio::FloorLossy => "the floor lost messages",
            NoRatio::Few => "there is one trial only",
            NoRatio::FloorFew => "there is one trial of the floor only",
            NoRatio::OtherWait => "the floor has another wait strategy",
            NoRatio::Unknown => "one of the two p50 is not known",
            NoRatio::Wide => "its interval would be wider than a factor of ten",
        }
    }
}

/// The headline of all completed trials together, those that the host disturbed among them.
#[derive(Debug, Clone, PartialEq)]
pub struct WithDisturbed {
    /// How many trials that are.
    pub trials: u64,
    /// What they say.
    pub metric: MetricSummary,
    /// Their counts added up.
    pub counts: Counts,
    /// So many of them have a receiver that never got a newer message after the faults.
    pub deaf: u64,
}

/// Failed trials of one experiment that failed alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    /// What kind of failure.
    pub kind: FailedAs,
    /// The step of the trial, such as `open` or `window`.
    pub step: String,
    /// What happened and to whom.
    pub cause: Cause<FailureCause>,
    /// The last lines of the agents' standard error, from the first of these trials.
    pub stderr: Vec<String>,
    /// How many trials.
    pub count: u64,
}

/// Why a trial has no measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedAs {
    /// The trial itself failed.
    Trial(FailureKind),
    /// It completed, but a stored histogram cannot be decoded.
    Unreadable,
}

impl fmt::Display for FailedAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailedAs::Trial(kind) => kind.fmt(f),
            FailedAs::Unreadable => f.pad("unreadable"),
        }
    }
}
