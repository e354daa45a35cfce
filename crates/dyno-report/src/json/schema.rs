//! Parts of the schema that Rust types do not express: from the tables of words, factors and figures.

use super::factors::{Factors, Load, columns, load_columns};
use super::metric::{MetricJson, Quantiles, RefusedQuantile};
use crate::estimates::EstimateJson;
use crate::summary::{QUANTILES, Spread};
use dyno_model::factors::{self, Factor, Of};
use dyno_model::figure::Group;
use dyno_model::probe::ProbeKind;
use dyno_model::{
    Access, Arrivals, Metric, Pacing, Placement, Start, TrialFigure, Wait, WorkloadKind,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The factors of an experiment, each as in tables of text; none is required.
pub struct FactorColumns;
pub(super) struct MetricName;
pub(super) struct WorkloadName;
pub(super) struct Throughput;
pub(super) struct CostFigures;
pub(super) struct IdleFigures;
pub(super) struct ProbeOptions;
pub(super) struct CauseFields;

/// Types of the document whose schema is not that of a field of Rust's.
macro_rules! written {
    ($($name:ty = $title:literal, $schema:expr;)+) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let schema: fn(&mut SchemaGenerator) -> Schema = $schema;
                schema(generator)
            }
        }
    )+};
}

written! {
    MetricName = "metric_name", |_| words(Metric::ALL.iter().map(|m| m.as_str()));
    WorkloadName = "workload_name", |_| words(WorkloadKind::ALL.iter().map(|w| w.as_str()));
    Load<'_> = "load", |_| object(load_columns().map(|(name, of)| (name, column(name, of))), &[]);
    Factors<'_> = "factors", |_| plain_factors();
    FactorColumns = "factor_columns", |_| {
        let told = factors::all().filter(|f| !["workload", "window"].contains(&f.title));
        object(told.flat_map(Factor::plain).map(|(name, of)| (*name, column(name, of))), &[])
    };
    Throughput = "throughput", |generator| figures(generator, Group::Throughput);
    CostFigures = "cost_figures", |generator| figures(generator, Group::Cost);
    IdleFigures = "idle_figures", |generator| figures(generator, Group::Idle);
    Quantiles<'_> = "quantiles", quantiles;
    ProbeOptions = "probe_options", |_| json_schema!({
        "type": "object",
        "required": ["kind"],
        "properties": {
            "kind": words(ProbeKind::ALL.iter().map(|kind| kind.as_str())),
            "by": {"type": "string"},
            "batch": {"type": "integer", "minimum": 1},
            "sides": {"type": "string"},
            "period": {"description": "In ns.", "type": "integer", "minimum": 0},
            "slack": {"description": "In ns; null: the kernel's.", "type": ["integer", "null"]},
            "rest": {"type": "string"},
            "bytes": {"type": "integer", "minimum": 1},
            "threads": {"type": "integer", "minimum": 1},
        },
    });
    CauseFields = "cause", |_| json_schema!({
        "type": "object",
        "properties": {
            "cause": {
                "description": "The cause, as a stable word. Absent for causes that are left out or that this Dyno does not know, \
                    and where the run has only the text, as before format 4.",
                "type": "string",
            },
            "values": {
                "description": "What the text shows: numbers, CPUs and names, as the run directory has them. Absent where \
                    there are none.",
                "type": "object",
                "additionalProperties": true,
            },
        },
    });
}

/// A cell that the stack cannot do.
#[derive(JsonSchema)]
#[schemars(rename = "refused")]
#[allow(dead_code, reason = "its schema is all that is used of it")]
pub(super) struct Refused {
    experiment: String,
    stack: String,
    factors: String,
    /// A sentence, made from the cause and its values; its wording may change.
    reason: String,
    #[schemars(flatten, with = "CauseFields")]
    cause: (),
}

/// The capacities have their definition from `dyno-judge`.
pub(super) fn capacity(_: &mut SchemaGenerator) -> Schema {
    Schema::new_ref("#/$defs/capacity".into())
}

/// Each metric by its name.
pub(super) fn metrics(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": generator.subschema_for::<MetricName>(),
        "additionalProperties": generator.subschema_for::<MetricJson<'_>>(),
    })
}

fn words<'a>(all: impl Iterator<Item = &'a str>) -> Schema {
    json_schema!({"enum": all.collect::<Vec<_>>()})
}

fn object<'a>(properties: impl Iterator<Item = (&'a str, Value)>, required: &[&str]) -> Schema {
    let properties: Map<String, Value> = properties.map(|(k, v)| (k.to_owned(), v)).collect();
    json_schema!({"type": "object", "properties": properties, "required": required})
}

/// What columns of factors are whose name does not say it.
const DESCRIBED: &str = "\
topology: Senders-receivers, and xN for N exchanges at the same time.
cpus: CPU of each participant's own thread, senders first; empty: not pinned.
library_cpus: The CPUs for the threads that each participant's library creates; absent: they share the CPU of the participant's own thread.
daemon_cpus: Where the stack's daemons run; absent: wherever the kernel puts them.
echo_poll_ns: How long the echo sleeps after each answer. Absent where it does not.
sink_pause_ns: How long the sink sleeps after each message. Absent where it does not.
sink_cycle_ns: The period at which the sink takes all messages that are there. Absent if it takes each message at once.
pacer: How senders wait until a message is due. Absent where they spin.
on_host: The number of the testbed's host on which participants run that share a host, counted from 1. Absent for the first host.
start: How participants are started, if their start is measured. Absent otherwise.
reboot: Whether the testbed's virtual machines are booted before each trial. Absent where they are not.
slices_ns: How long each slice is where both sides of a comparison take turns within a trial. Absent where trials are whole.
fault: What was broken within each trial, in order of time, such as `receiver without a link for 1.00 s`; `outage` has it as values. Absent where nothing was.
";

/// The value of a column of a factor.
fn column(name: &str, of: &Of) -> Value {
    let mut schema = match name {
        "wait" => words(Wait::ALL.iter().map(|w| w.as_str())),
        "access" => words(Access::ALL.iter().map(|a| a.as_str())),
        "placement" => words(Placement::ALL.iter().map(|p| p.as_str())),
        "arrivals" => words(Arrivals::ALL.iter().map(|a| a.as_str())),
        "start" => words(Start::ALL.iter().map(|s| s.as_str())),
        "pacer" => words([Pacing::Sleep.as_str()].into_iter()),
        _ => match of {
            Of::Text(_) => json_schema!({"type": "string"}),
            Of::Count(_) | Of::Detail(_) => json_schema!({"type": "integer", "minimum": 0}),
            Of::Number(_) => json_schema!({"type": "number"}),
            Of::Flag(_) => json_schema!({"type": "boolean"}),
        },
    };
    describe(name, &mut schema);
    schema.to_value()
}

fn describe(name: &str, schema: &mut Schema) {
    let all = DESCRIBED.lines().filter_map(|line| line.split_once(": "));
    if let Some((_, text)) = all.into_iter().find(|(key, _)| *key == name) {
        schema.insert("description".into(), text.into());
    }
}

/// The factors that are no objects of their own, as values.
fn plain_factors() -> Schema {
    let cpus = json!({"type": "array", "items": {"type": "integer", "minimum": 0}});
    let own = [
        ("cpus", cpus.clone()),
        ("library_cpus", json!({"type": "array", "items": cpus})),
        ("daemon_cpus", cpus.clone()),
        ("scheduling", json!({"enum": ["other", "fifo", "deadline"]})),
        (
            "fifo_priority",
            json!({"type": ["integer", "null"], "minimum": 1, "maximum": 99}),
        ),
    ];
    let own = own.map(|(name, schema)| {
        let mut schema = Schema::try_from(schema).expect("an object is a schema");
        describe(name, &mut schema);
        (name, schema.to_value())
    });
    let others = columns().filter(|(name, _)| !["cpus", "scheduling"].contains(name));
    let others = others.map(|(name, of)| (*name, column(name, of)));
    let required =
        "payload_bytes wait access placement topology cpus scheduling fifo_priority mlock";
    let required: Vec<&str> = required.split_whitespace().collect();
    object(others.chain(own), &required)
}

/// The rates or the costs of an experiment, each a spread or `null`.
fn figures(generator: &mut SchemaGenerator, group: Group) -> Schema {
    let all = || TrialFigure::all_of(group).map(TrialFigure::info);
    let mut shown = |meaning: &str| {
        let mut schema = generator.subschema_for::<Option<Spread>>();
        schema.insert("description".into(), meaning.into());
        schema.to_value()
    };
    let required: Vec<&str> = all().map(|f| f.name).collect();
    object(all().map(|f| (f.name, shown(f.meaning))), &required)
}

/// The quantiles of a metric: an estimate, or `null` and the reason beside it.
fn quantiles(generator: &mut SchemaGenerator) -> Schema {
    let mut properties = Map::new();
    let mut conditions = Vec::new();
    for (name, title, _) in QUANTILES {
        let mut estimate = generator.subschema_for::<Option<EstimateJson>>();
        let text = format!("{title} with its interval; null if it is withheld.");
        estimate.insert("description".into(), text.into());
        let refused = format!("{name}_refused");
        let mut why = generator.subschema_for::<RefusedQuantile>();
        let text = format!("Why {name} is null; absent where it is not.");
        why.insert("description".into(), text.into());
        conditions.push(json!({
            "if": {"properties": {name: {"type": "null"}}},
            "then": {"required": [refused]},
            "else": {"not": {"required": [refused]}},
        }));
        properties.insert(name.to_owned(), estimate.to_value());
        properties.insert(refused, why.to_value());
    }
    json_schema!({
        "type": "object",
        "properties": properties,
        "required": QUANTILES.map(|(name, _, _)| name),
        "allOf": conditions,
    })
}
