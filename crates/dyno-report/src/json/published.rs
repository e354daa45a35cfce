//! The JSON Schema of the document, made from the types that are written. `docs/reference/show.schema.json` is what comes of it; a
//! test of `dyno-judge`, whose capacities stand in the document, holds the file against it.

use super::document::Document;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// Where the schema is published.
const ID: &str = "https://github.com/dyno-bench/dyno/docs/reference/show.schema.json";

/// Fields that documents of older versions lack, by the list of the object that has them.
const LATER: &[(&str, &str)] = &[
    ("", "scaling"),
    (
        "/$defs/run",
        "shard more disturbed_by_stack against precision bare plan_warnings",
    ),
    ("/$defs/TrialCounts", "disturbed"),
    (
        "/$defs/experiment",
        "machine at_once is_leg is_base base disturbed_trials all_disturbed disturbances undercut_by with_disturbed \
         in_window_ratio load_outcome backlog_growth link_overload warmup_ns unsteady_trials modes drift host precision \
         clock_bound_ns one_way_resolvable clocks",
    ),
    ("/$defs/floor", "why_none undercut_by"),
    ("/$defs/throughput", "in_window_hz reads_hz"),
    ("/$defs/cost", "host_cpu_ns_per_message busy_cpus daemons"),
    ("/$defs/process", "cpu_share"),
    ("/$defs/chain", "residual_ns programs"),
    ("/$defs/capacity_cell", "workload paired broken_confirmed"),
    ("/$defs/capacity_point", "lossless lossy_below"),
];

/// The schema of what `dyno show --format json` prints. `others` are the definitions of what `dyno-judge` puts into it, made by a
/// [`schema_generator`]; `capacity` is among them.
pub fn json_schema(others: Map<String, Value>) -> Value {
    let mut schema = schema_generator()
        .into_root_schema_for::<Document<'_>>()
        .to_value();
    schema["$id"] = ID.into();
    if let Some(definitions) = schema["$defs"].as_object_mut() {
        definitions.extend(others);
    }
    for (object, later) in LATER {
        let required = schema.pointer_mut(&format!("{object}/required"));
        let required = required.and_then(Value::as_array_mut);
        let required = required.unwrap_or_else(|| panic!("the schema has no {object}"));
        for field in later.split_whitespace() {
            let before = required.len();
            required.retain(|name| name != field);
            assert!(required.len() < before, "{object} has no field {field}");
        }
    }
    schema
}

/// Makes schemas of what is written, in the draft of 2020-12: without the formats of numbers, which are Rust's own, and with JSON's
/// words in the descriptions, which are the types' documentation.
pub fn schema_generator() -> SchemaGenerator {
    let plain: fn(&mut Schema) = |schema| {
        schema.remove("format");
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace("`None`", "null").replace("[`", "`");
            *text = text.replace("`]", "`");
        }
    };
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(plain))
        .into_generator()
}
