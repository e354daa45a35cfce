//! What a run will do, fully resolved: nothing is left to decide after planning.

pub(crate) mod experiment;
pub(crate) mod number;
mod refusal;
mod stack;
mod testbed;
mod warning;

pub use experiment::{Experiment, Extent, Scheduling, together};
pub use number::{ExperimentId, TrialId};
pub use refusal::{Refusal, RefusalReason};
pub use stack::{Stack, Timeout, TimeoutBy};
pub use testbed::{Host, Link, Reach, Testbed};
pub use warning::{Cells, Crowded, NoFloor, NoLegs, NoSlices, Overload, PlanWarning, Store};

use crate::cause::Cause;
use crate::metric::Metric;
use crate::search::{Ladder, Search};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

/// The table with a row for each experiment.
pub const STACKS: &str = "stacks";

/// The built-in studies, whose tables `dyno show` prints in its place: files of `studies/` without their ending.
pub const STUDIES: [&str; 6] = ["iceperf", "rwth", "l4re", "s-core", "signals", "sodev"];

/// The base of `dyno run --against`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Against {
    /// The same once more: what this host makes of no difference at all.
    Same,
    /// Another stack.
    Stack {
        /// Its name.
        name: String,
    },
    /// The same stacks in another build of Dyno.
    Build {
        /// Its program.
        program: PathBuf,
        /// What it says of itself.
        version: String,
    },
}

/// When a run has enough trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// The interval's ends are to be within this share of the value: 0.05 for ±5 %. With
    /// [`Plan::against`] the interval is that of the ratio.
    pub within: f64,
    /// The metric; `None`: the headline of each experiment.
    pub metric: Option<Metric>,
    /// The quantile, 0 to 1.
    pub quantile: f64,
    /// The most trials of one experiment, disturbed ones not counted.
    pub max_trials: u32,
    /// No trial begins later than this after the run's start.
    pub max_time: Option<Nanos>,
}

/// Everything that a run does.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The suite's name.
    pub suite: String,
    /// The question that the suite answers, in one line.
    pub title: String,
    /// The table that shows it best: [`STACKS`], or one of [`STUDIES`].
    pub table: String,
    /// The seed of every random choice: trial order, Poisson gaps.
    pub seed: u64,
    /// Where it runs.
    pub testbed: Testbed,
    /// The stacks by name.
    pub stacks: BTreeMap<String, Stack>,
    /// The cells; `experiments[i].id == i`.
    pub experiments: Vec<Experiment>,
    /// The cells that were left out.
    pub refused: Vec<Refusal>,
    /// Remarks to show before the run, such as more spinning roles than CPUs.
    pub warnings: Vec<Cause<PlanWarning>>,
    /// The base of the experiments with an [`Experiment::base`].
    pub against: Option<Against>,
    /// Trials beyond [`Experiment::trials`] follow until this is reached.
    pub precision: Option<Precision>,
    /// What is searched: the experiments are the rungs of ladders, and only some of them get trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// A trial that the host disturbed is repeated, at most so many of each experiment.
    #[serde(default)]
    pub repeats: u32,
    /// Only a part of the plan's trials is run here; the others are run elsewhere, from the same plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Trials that were asked for after the run was planned (`dyno run --resume RUN --more N`), in order of time. The
    /// experiments' `trials` have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<More>,
}

/// Further trials of a run that was measured already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct More {
    /// How many of each experiment, its floor included.
    pub trials: u32,
    /// When they were asked for, in milliseconds since the Unix epoch.
    pub asked_unix_ms: u64,
}

/// One of several parts of a run that take about equally long. A part holds whole experiments; those
/// that are compared with each other stay together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which one, from 1.
    pub index: u32,
    /// Of how many.
    pub count: u32,
    /// The experiments that are run here, in ascending order.
    pub experiments: Vec<ExperimentId>,
}

impl fmt::Display for Shard {
    /// `part 1 of 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of {}", self.index, self.count)
    }
}

impl Plan {
    /// How long a trial with faults waits before its warm-up at most; each draws a time up to that. It is the longest
    /// time that any stack of the experiment states, but never longer than the window, so that no stack gains by what
    /// its file leaves out. Where the stack's own longest time is shorter, the wait is a whole multiple of it: a fault
    /// then meets each of its phases alike.
    pub fn longest_phase(&self, experiment: &Experiment) -> Nanos {
        // Plans without faults have thousands of experiments, and none of them waits.
        if experiment.faults.is_empty() {
            return Nanos::ZERO;
        }
        let Extent::Duration(window) = experiment.window else {
            return Nanos::ZERO;
        };
        let longest = |e: &Experiment| {
            let times = self.stacks.get(&e.stack)?.timeouts.iter();
            times.map(|t| t.time).max()
        };
        let is_alike = |e: &&Experiment| e.name == experiment.name && !e.faults.is_empty();
        let all = self.experiments.iter().filter(is_alike);
        let most = all
            .filter_map(longest)
            .max()
            .unwrap_or_default()
            .min(window);
        let own = longest(experiment).unwrap_or_default();
        let rest = match own <= most {
            true => most.0.checked_rem(own.0).unwrap_or(0),
            false => 0,
        };
        Nanos(most.0 - rest)
    }

    /// The experiment of that number.
    pub fn experiment(&self, id: ExperimentId) -> Option<&Experiment> {
        self.experiments.get(id.0 as usize)
    }
    /// The same with `more` trials of each experiment.
    ///
    /// # Errors
    /// Why this plan can have no more, in a sentence that begins with a verb: it is a search, which finds out itself how many
    /// it needs; it is a part of a run, whose other parts would not have them; the sum passes [`Plan::MOST_TRIALS`].
    pub fn with_more(&self, more: More) -> Result<Plan, String> {
        if self.search.is_some() {
            return Err("is a search, which decides itself how many trials it needs".into());
        }
        if let Some(shard) = &self.shard {
            return Err(format!("is {shard}, and the other parts would have fewer"));
        }
        let most = self.experiments.iter().map(|e| e.trials).max().unwrap_or(0);
        if more.trials > Plan::MOST_TRIALS.saturating_sub(most) {
            let (had, limit) = (most, Plan::MOST_TRIALS);
            return Err(format!("has {had} trials, and may have at most {limit}"));
        }
        let mut plan = self.clone();
        for experiment in &mut plan.experiments {
            experiment.trials += more.trials;
        }
        plan.more.push(more);
        Ok(plan)
    }
    /// The most trials of an experiment.
    pub const MOST_TRIALS: u32 = 100_000;
    /// All experiments that are the base of another one; for who asks about many.
    pub fn bases(&self) -> BTreeSet<ExperimentId> {
        self.experiments.iter().filter_map(|e| e.base).collect()
    }
    /// All experiments that are a leg of a chain. One that was [`added`](Experiment::added) beside the chain says nothing of the stack
    /// that it is a leg of: its ends are where the chain's are.
    pub fn legs(&self) -> BTreeSet<ExperimentId> {
        let legs = self.experiments.iter().flat_map(|e| &e.legs);
        legs.copied().collect()
    }
    /// Whether the experiment is the base of another one.
    pub fn is_base(&self, id: ExperimentId) -> bool {
        self.experiments.iter().any(|e| e.base == Some(id))
    }
    /// Whether the experiment is run here: always, unless the run is a part and it is in another one.
    pub fn is_here(&self, id: ExperimentId) -> bool {
        let part = self.shard.as_ref();
        part.is_none_or(|part| part.experiments.contains(&id))
    }
    /// The experiments that are run here, in the plan's order.
    pub fn here(&self) -> impl Iterator<Item = &Experiment> + Clone {
        self.experiments.iter().filter(|e| self.is_here(e.id))
    }
    /// Number of trials of the experiments that are run here, without those that precision or repeats
    /// may add. Of a search none is known before.
    pub fn trial_count(&self) -> usize {
        let sure = self.here().filter(|_| self.search.is_none());
        sure.map(|e| e.trials as usize).sum()
    }
    /// The experiments that are measured in one trial with this one, itself among them, in the plan's order.
    pub fn together<'a>(&'a self, experiment: &'a Experiment) -> Vec<&'a Experiment> {
        together(&self.experiments, experiment)
    }
    /// The trials of the flows that run at the same time as that one, without itself.
    pub fn beside(&self, trial: TrialId) -> Vec<TrialId> {
        let lead = self.experiment(trial.experiment);
        let all = lead.map(|e| self.together(e)).unwrap_or_default();
        let beside = all.iter().filter(|e| e.id != trial.experiment);
        let of = |e: &&Experiment| TrialId {
            experiment: e.id,
            ..trial
        };
        beside.map(of).collect()
    }
    /// The ladders of a search, in the plan's order; none where nothing is searched.
    pub fn ladders(&self) -> Vec<Ladder> {
        let Some(search) = &self.search else {
            return Vec::new();
        };
        let mut all: Vec<Vec<&Experiment>> = Vec::new();
        for e in self.here() {
            let same = |of: &&mut Vec<&Experiment>| search.raise.is_all_between(of[0], e);
            match all.iter_mut().find(same) {
                Some(of) => of.push(e),
                None => all.push(vec![e]),
            }
        }
        let ladder = |mut of: Vec<&Experiment>| {
            of.sort_by(|a, b| search.raise.of(a).total_cmp(&search.raise.of(b)));
            Ladder {
                experiments: of.iter().map(|e| e.id).collect(),
                values: of.iter().map(|e| search.raise.of(e)).collect(),
            }
        };
        all.into_iter().map(ladder).collect()
    }
}
