//! The stable JSON interface: `docs/reference/show-json.md` describes it, and
//! `docs/reference/show.schema.json` is its schema. Fields are added, never renamed or removed,
//! without a new [`JSON_FORMAT`].

mod chain;
mod evidence;
mod experiment;
mod figures;
mod flow;
mod outage;
mod scaling;

use crate::carry::json_text;
use crate::flagged::FlagRates;
use crate::number::exported;
use crate::summary::{CarryOverSummary, Summary};
use dyno_model::Against;
use dyno_model::plan::{More, Refusal};
use dyno_model::record::ClockFacts;
use experiment::{Experiment, experiment};
use scaling::{Scaling, scaling};
use serde::Serialize;

/// The version of the interface, its field `format`.
pub const JSON_FORMAT: u32 = 1;

/// The summary as indented JSON, ended by a newline.
pub(crate) fn render(summary: &Summary) -> String {
    let document = Document {
        format: JSON_FORMAT,
        run: run(summary),
        experiments: summary
            .experiments
            .iter()
            .map(|e| experiment(&summary.run, e))
            .collect(),
        scaling: summary.scaling.iter().map(scaling).collect(),
        carry_over: summary.carry_over.as_ref(),
        capacity: summary.capacity.as_ref(),
    };
    json_text(&document)
}

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    run: Run<'a>,
    experiments: Vec<Experiment<'a>>,
    scaling: Vec<Scaling<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    carry_over: Option<&'a CarryOverSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<&'a serde_json::Value>,
}

#[derive(Serialize)]
struct Run<'a> {
    id: &'a str,
    suite: &'a str,
    title: &'a str,
    testbed: &'a str,
    started_unix_ms: u64,
    command: &'a [String],
    seed: u64,
    shard: Option<Shard>,
    more: &'a [More],
    trials: Trials,
    disturbed_by_stack: Option<FlagRates>,
    against: Option<AgainstJson<'a>>,
    precision: Option<Precision>,
    bare: Option<Bare>,
    environment: Environment<'a>,
    adapters: Vec<Adapter<'a>>,
    refused: &'a [Refusal],
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Shard {
    index: u32,
    count: u32,
}

#[derive(Serialize)]
struct Trials {
    planned: u64,
    completed: u64,
    failed: u64,
    disturbed: u64,
}

/// Fields of other kinds are left out.
#[derive(Serialize)]
struct AgainstJson<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
}

impl<'a> From<&'a Against> for AgainstJson<'a> {
    fn from(against: &'a Against) -> Self {
        let (kind, name, build) = match against {
            Against::Same => ("same", None, None),
            Against::Stack { name } => ("stack", Some(name.as_str()), None),
            Against::Build { program, version } => ("build", None, Some((program, version))),
        };
        AgainstJson {
            kind,
            name,
            program: build.map(|(program, _)| program.display().to_string()),
            version: build.map(|(_, version)| version.as_str()),
        }
    }
}

#[derive(Serialize)]
struct Precision {
    within: f64,
    metric: Option<&'static str>,
    quantile: f64,
    max_trials: u32,
    max_time_ns: Option<u64>,
}

#[derive(Serialize)]
struct Bare {
    foreign_share: f64,
    stolen_share: f64,
    gap_share: Option<f64>,
    longest_gap_ns: u64,
}

#[derive(Serialize)]
struct Environment<'a> {
    dyno_version: &'a str,
    build_profile: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distribution: Option<&'a str>,
    host: &'a str,
    cpu_model: &'a str,
    cpus: &'a [u32],
    memory_bytes: u64,
    kernel: &'a str,
    hypervisor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    emulated: Option<&'a str>,
    clock: Clock<'a>,
}

#[derive(Serialize)]
struct Clock<'a> {
    source: &'a str,
    cost_ns: f64,
    resolution_ns: f64,
    frequency_hz: Option<f64>,
}

#[derive(Serialize)]
struct Adapter<'a> {
    name: &'a str,
    version: &'a str,
}

fn run(summary: &Summary) -> Run<'_> {
    let run = &summary.run;
    let e = &run.environment;
    let ClockFacts {
        source,
        cost_ns,
        resolution_ns,
        frequency_hz,
    } = &e.clock;
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
        trials: Trials {
            planned: run.trials.planned,
            completed: run.trials.completed,
            failed: run.trials.failed,
            disturbed: run.trials.disturbed,
        },
        disturbed_by_stack: FlagRates::of(&summary.experiments),
        against: run.against.as_ref().map(Into::into),
        precision: run.precision.as_ref().map(|p| Precision {
            within: p.within,
            metric: p.metric.map(|m| m.as_str()),
            quantile: p.quantile,
            max_trials: p.max_trials,
            max_time_ns: p.max_time.map(|t| t.0),
        }),
        bare: run.bare.as_ref().map(|b| Bare {
            foreign_share: exported(b.foreign_share),
            stolen_share: exported(b.stolen_share),
            gap_share: b.gap_share.map(exported),
            longest_gap_ns: b.longest_gap_ns,
        }),
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
            clock: Clock {
                source,
                cost_ns: *cost_ns,
                resolution_ns: *resolution_ns,
                frequency_hz: *frequency_hz,
            },
        },
        adapters: run
            .adapters
            .iter()
            .map(|(name, version)| Adapter { name, version })
            .collect(),
        refused: &summary.refused,
        warnings: &summary.warnings,
    }
}
