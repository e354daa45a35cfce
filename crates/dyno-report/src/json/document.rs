//! The document of the JSON interface and its head.

use super::experiment::{Experiment, experiment};
use super::growth::{GrowthJson, growth};
use super::scaling::{Scaling, scaling};
use crate::flagged::FlagRates;
use crate::summary::{AnswersSummary, BareSummary, CarryOverSummary, Summary, TrialCounts};
use dyno_model::Against;
use dyno_model::plan::{More, PlanWarning, Refusal};
use dyno_model::record::ClockFacts;
use serde::Serialize;

/// The version of the interface, its field `format`.
pub const JSON_FORMAT: u32 = 1;

impl<'a> From<&'a Summary> for Document<'a> {
    fn from(summary: &'a Summary) -> Document<'a> {
        let one = |e| experiment(&summary.run, e);
        Document {
            format: JSON_FORMAT,
            answers: summary.answers.as_ref(),
            run: run(summary),
            experiments: summary.experiments.iter().map(one).collect(),
            scaling: summary.scaling.iter().map(scaling).collect(),
            growth: summary.growth.iter().map(growth).collect(),
            carry_over: summary.carry_over.as_ref(),
            capacity: summary.capacity.as_ref(),
        }
    }
}

/// Format 1. Times are nanoseconds, sizes bytes, rates per second. Fields may be added within a format; none is renamed, removed
/// or given another meaning.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "dyno show --format json"))]
pub(super) struct Document<'a> {
    /// Version of this interface.
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
    format: u32,
    /// Which stack is fastest, in sentences, as above the table. Absent where no stacks are compared, where a study has a table of
    /// its own, of searches, of runs with more than 1,000 experiments, and in documents of an older Dyno.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'a AnswersSummary>,
    run: Run<'a>,
    /// One per experiment of the plan, or of the part of it that was run, in its order, also those without a completed trial.
    experiments: Vec<Experiment<'a>>,
    /// How the median service time grows with the size of messages: one per group of streams that differ in their payload only
    /// and have three sizes or more. Absent in documents of an older Dyno.
    scaling: Vec<Scaling<'a>>,
    /// How the figures of idle participants change with their number: one per group of idle experiments that differ in it only. Absent
    /// where the run has no such group, and in documents of an older Dyno.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    growth: Vec<GrowthJson<'a>>,
    /// Whether what ran before a trial made a difference: a randomisation test over the random order of the run. Absent where
    /// the run had too few orders to choose from, and in documents of an older Dyno.
    #[serde(skip_serializing_if = "Option::is_none")]
    carry_over: Option<&'a CarryOverSummary>,
    /// What a search has found, as `dyno check RUN --format json` has it (docs/reference/judge-json.md). Absent where the run
    /// was no search, and in documents of an older Dyno.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::capacity"))]
    capacity: Option<&'a serde_json::Value>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "run"))]
struct Run<'a> {
    /// Unique name of the run.
    id: &'a str,
    suite: &'a str,
    /// What the suite answers.
    title: &'a str,
    testbed: &'a str,
    /// Start, in milliseconds since the Unix epoch.
    started_unix_ms: u64,
    /// The command line that started the run.
    command: &'a [String],
    /// Seed of trial order and random arrivals.
    seed: u64,
    /// Which part of the plan was run (dyno run --shard); experiments are then those of the part. Null: all of it.
    shard: Option<Shard>,
    /// Trials that were added after the run was planned (dyno run --resume RUN --more N), in order of time.
    more: &'a [More],
    /// Trials of all experiments. What is neither completed nor failed was not run.
    trials: TrialCounts,
    /// Disturbed trials of each stack, and the probability that chance spreads them so unevenly (Fisher's exact test of each
    /// stack against the others, corrected). Null: fewer than two stacks, or no disturbed trial.
    disturbed_by_stack: Option<FlagRates>,
    /// What experiments with a base are compared with: the same once more, another stack, or another build of Dyno. Null: there
    /// is no comparison.
    against: Option<&'a Against>,
    /// When an experiment has enough trials; null where none was asked for.
    precision: Option<Precision>,
    /// The idle host just before the first trial, when nothing of the run was active.
    bare: Option<BareSummary>,
    environment: Environment<'a>,
    adapters: Vec<Adapter<'a>>,
    /// Cells that the suite asks for and the stack cannot do.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<super::schema::Refused>"))]
    refused: &'a [Refusal],
    warnings: &'a [String],
    /// The remarks of the planner and of `dyno merge` with their values, the first 100 of them. `warnings` has the same as lines, each once.
    plan_warnings: Vec<PlanRemark<'a>>,
}

/// A remark of the plan.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PlanRemark<'a> {
    #[serde(flatten)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<super::schema::CauseFields>")
    )]
    cause: Option<&'a PlanWarning>,
    text: String,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Shard {
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    index: u32,
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    count: u32,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Precision {
    /// Both ends of the interval are to be within this share of the value.
    within: f64,
    /// Null: the headline of each experiment.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<super::schema::MetricName>")
    )]
    metric: Option<&'static str>,
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    quantile: f64,
    /// Of one experiment, disturbed ones not counted.
    max_trials: u32,
    max_time_ns: Option<u64>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Environment<'a> {
    dyno_version: &'a str,
    /// release or debug.
    build_profile: &'a str,
    /// The git commit that Dyno was built from; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    /// Whether the source differed from that commit; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<bool>,
    /// The distribution by os-release(5); absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    distribution: Option<&'a str>,
    host: &'a str,
    cpu_model: &'a str,
    cpus: &'a [u32],
    memory_bytes: u64,
    kernel: &'a str,
    hypervisor: Option<&'a str>,
    /// What of the testbed is emulated in software, in words; left out where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    emulated: Option<&'a str>,
    /// The clock that stamps were taken with.
    clock: &'a ClockFacts,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Adapter<'a> {
    name: &'a str,
    version: &'a str,
}

fn run(summary: &Summary) -> Run<'_> {
    let run = &summary.run;
    let e = &run.environment;
    Run {
        id: &run.id,
        suite: &run.suite,
        title: &run.title,
        testbed: &run.testbed,
        started_unix_ms: run.started_unix_ms,
        command: &run.command,
        seed: run.seed,
        shard: run.shard.as_ref().map(|part| Shard {
            index: part.index,
            count: part.count,
        }),
        more: &run.more,
        trials: run.trials,
        disturbed_by_stack: FlagRates::of(&summary.experiments),
        against: run.against.as_ref(),
        precision: run.precision.as_ref().map(|p| Precision {
            within: p.within,
            metric: p.metric.map(|m| m.as_str()),
            quantile: p.quantile,
            max_trials: p.max_trials,
            max_time_ns: p.max_time.map(|t| t.0),
        }),
        bare: run.bare,
        environment: Environment {
            dyno_version: &e.dyno_version,
            build_profile: &e.build_profile,
            commit: e.commit.as_deref(),
            modified: e.modified,
            distribution: e.distribution.as_deref(),
            host: &e.host,
            cpu_model: &e.cpu_model,
            cpus: &e.cpus,
            memory_bytes: e.memory_bytes,
            kernel: &e.kernel,
            hypervisor: e.hypervisor.as_deref(),
            emulated: e.emulated.as_deref(),
            clock: &e.clock,
        },
        adapters: run
            .adapters
            .iter()
            .map(|(name, version)| Adapter { name, version })
            .collect(),
        refused: &summary.refused,
        warnings: &summary.warnings,
        plan_warnings: summary
            .plan_warnings
            .iter()
            .map(|warning| PlanRemark {
                cause: warning.known(),
                text: warning.to_string(),
            })
            .collect(),
    }
}
