//! The JSON interface against its published schema.

use crate::common::summary;
use boon::{Compiler, SchemaIndex, Schemas};
use dyno_model::{Nanos, Start};
use dyno_report::{Format, RenderOptions, render};
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../../../../docs/reference/show.schema.json");

type Spoil = fn(&mut Value);

struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    fn new(schema: Value) -> Validator {
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.add_resource("show.schema.json", schema).unwrap();
        let index = compiler.compile("show.schema.json", &mut schemas).unwrap();
        Validator { schemas, index }
    }

    fn check(&self, document: &Value) -> Result<(), String> {
        self.schemas
            .validate(document, self.index)
            .map_err(|e| format!("{e:#}"))
    }
}

fn published() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// The schema with every object closed, so that a field that it does not describe is an error.
fn strict(mut schema: Value) -> Value {
    fn close(v: &mut Value) {
        match v {
            Value::Object(map) => {
                map.values_mut().for_each(close);
                // Conditions (`if`, `then`) name properties too, but state no type.
                if map.get("type") == Some(&json!("object"))
                    && !map.contains_key("additionalProperties")
                {
                    map.insert("additionalProperties".into(), json!(false));
                }
            }
            Value::Array(all) => all.iter_mut().for_each(close),
            _ => {}
        }
    }
    close(&mut schema);
    schema
}

fn document(run: &dyno_model::record::Run) -> Value {
    let text = render(&summary(run), Format::Json, &RenderOptions::default());
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_run_follows_the_published_schema() {
    let validator = Validator::new(published());
    for (name, run) in crate::common::all() {
        validator
            .check(&document(&run))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn the_schema_describes_every_field() {
    let validator = Validator::new(strict(published()));
    for (name, run) in crate::common::all() {
        validator
            .check(&document(&run))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn factors_that_are_not_as_usual_are_described() {
    let mut run = crate::common::small();
    let e = &mut run.manifest.plan.experiments[0];
    (e.start, e.reboot, e.on_host) = (Some(Start::Container), true, 1);
    let pause = Some(Nanos::from_millis(50));
    (e.echo_poll, e.sink_pause, e.sink_cycle) = (pause, pause, pause);
    let document = document(&run);
    let shown = &document["experiments"][0];
    assert_eq!(
        (&shown["start"], &shown["on_host"]),
        (&json!("container"), &json!(2))
    );
    assert_eq!(
        (&shown["reboot"], &shown["sink_pause_ns"]),
        (&json!(true), &json!(50_000_000))
    );
    Validator::new(strict(published()))
        .check(&document)
        .unwrap();
}

#[test]
fn later_fields_do_not_break_a_reader_that_checks() {
    let mut document = document(&crate::common::small());
    document["experiments"][0]["invented_later"] = json!(1);
    Validator::new(published()).check(&document).unwrap();
}

#[test]
fn the_schema_refuses_what_the_interface_excludes() {
    let validator = Validator::new(published());
    let good = document(&crate::common::quick());
    let breakages: [(&str, Spoil); 11] = [
        ("another format", |d| d["format"] = json!(2)),
        ("no experiments", |d| {
            d.as_object_mut().unwrap().remove("experiments");
        }),
        ("an experiment without its wait strategy", |d| {
            d["experiments"][0].as_object_mut().unwrap().remove("wait");
        }),
        ("an unknown metric", |d| {
            d["experiments"][0]["metrics"]["rtt_us"] = json!({});
        }),
        ("a quantile that is neither estimated nor refused", |d| {
            d["experiments"][0]["metrics"]["rtt_ns"]["p50"] = Value::Null;
        }),
        ("an estimate without an interval", |d| {
            d["experiments"][0]["metrics"]["rtt_ns"]["p50"] = json!({"value": 1.0});
        }),
        ("a missing value that is not infinite", |d| {
            d["experiments"][0]["metrics"]["rtt_ns"]["p50"]["value"] = Value::Null;
        }),
        ("modes without what was looked at", |d| {
            d["experiments"][0]["modes"] =
                json!({"low_ns": 1.0, "high_ns": 2.0, "high_share": 0.5});
        }),
        ("a host that explains more than all", |d| {
            let tail = json!({"own_ns": 1.0, "explained": 1.5});
            d["experiments"][0]["host"] = json!({
                "foreign_share": null, "kernel_share": null, "stolen_share": null, "gap_share": null,
                "tail": {"p90": tail, "p99": null, "p999": null},
            });
        }),
        ("an unknown kind of comparison", |d| {
            d["run"]["against"] = json!({"kind": "other"});
        }),
        ("a payload as text", |d| {
            d["experiments"][0]["payload_bytes"] = json!("64 B");
        }),
    ];
    validator.check(&good).unwrap();
    for (what, spoil) in breakages {
        let mut bad = good.clone();
        spoil(&mut bad);
        assert!(validator.check(&bad).is_err(), "accepted {what}");
    }
}

#[test]
fn the_fields_of_the_design_are_where_it_says() {
    let document = document(&crate::common::quick());
    let udp = document["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .find(|e| e["stack"] == "udp")
        .unwrap();
    for field in [
        "suite",
        "experiment",
        "stack",
        "testbed",
        "workload",
        "payload_bytes",
        "wait",
        "access",
        "placement",
        "topology",
        "trials",
        "failed_trials",
        "metrics",
        "counts",
        "cost",
    ] {
        assert!(!udp[field].is_null(), "{field}");
    }
    let rtt = &udp["metrics"]["rtt_ns"];
    assert!(rtt["p50"]["lo"].as_f64() <= rtt["p50"]["value"].as_f64());
    assert_eq!(rtt["p90"]["value"], Value::Null);
    assert_eq!(rtt["p90"]["infinite"], true);
    assert_eq!(udp["counts"]["lost"], 600);
    let zenoh = &document["experiments"][7]["metrics"]["rtt_ns"];
    assert_eq!(zenoh["p999"], Value::Null);
    assert_eq!(zenoh["p999_refused"], json!({"have": 30, "need": 3688}));
}

fn by_stack<'a>(document: &'a Value, stack: &str) -> &'a Value {
    let all = document["experiments"].as_array().unwrap();
    all.iter().find(|e| e["stack"] == stack).unwrap()
}

#[test]
fn what_bears_on_trust_is_where_the_document_says() {
    let document = document(&crate::common::held::held());
    let run = &document["run"];
    assert_eq!(run["trials"]["disturbed"], 8);
    assert_eq!(run["precision"]["within"], 0.05);
    assert_eq!(run["bare"]["longest_gap_ns"], 45_000);
    let disturbed = by_stack(&document, "uds-stream");
    assert_eq!(disturbed["trials"], 5);
    assert_eq!(disturbed["disturbed_trials"], 2);
    assert_eq!(disturbed["all_disturbed"], false);
    assert_eq!(disturbed["disturbances"][0]["trials"], 2);
    assert_eq!(by_stack(&document, "tcp")["all_disturbed"], true);
    assert_eq!(by_stack(&document, "pipe")["unsteady_trials"], 1);
    let tail = &by_stack(&document, "pipe")["host"]["tail"]["p999"];
    assert!(tail["own_ns"].as_f64().unwrap() > 0.0, "{tail}");
    let explained = tail["explained"].as_f64().unwrap();
    assert!(explained > 0.5 && explained < 1.0, "{tail}");
    let modes = &by_stack(&document, "udp")["modes"];
    assert_eq!(modes["cause"], "cpu-sharing");
    assert_eq!(modes["covariates"][0]["groups"][1]["label"], "same CPU");
    assert_eq!(
        by_stack(&document, "zenoh-tcp")["modes"]["cause"],
        Value::Null
    );
    assert!(by_stack(&document, "uds-dgram")["drift"]["lo"].as_f64() > Some(1.0));
    let precision = &by_stack(&document, "zenoh-shm")["precision"];
    assert_eq!(precision["reached"], false);
    assert_eq!(precision["of"], "quantile");
}

#[test]
fn a_comparison_names_both_sides() {
    let document = document(&crate::common::held::against());
    assert_eq!(document["run"]["against"]["version"], "0.0.9");
    let sides = document["experiments"].as_array().unwrap();
    assert_eq!(
        (&sides[0]["is_base"], &sides[0]["base"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(
        (&sides[1]["is_base"], &sides[1]["base"]),
        (&json!(false), &json!(0))
    );
    assert_eq!(sides[0]["precision"], Value::Null);
    assert_eq!(sides[1]["precision"]["of"], "ratio-to-base");
}

/// One row of the CSV by column.
fn csv_row(
    run: &dyno_model::record::Run,
    stack: &str,
) -> std::collections::BTreeMap<String, String> {
    let text = render(&summary(run), Format::Csv, &RenderOptions::default());
    let mut lines = text.lines();
    let names: Vec<String> = lines
        .next()
        .unwrap()
        .split(',')
        .map(str::to_owned)
        .collect();
    let at = names.iter().position(|name| name == "stack").unwrap();
    let row = lines.find(|l| l.split(',').nth(at) == Some(stack)).unwrap();
    names
        .into_iter()
        .zip(row.split(',').map(str::to_owned))
        .collect()
}

#[test]
fn csv_has_it_too() {
    let held = crate::common::held::held();
    let udp = csv_row(&held, "udp");
    assert_eq!(udp["mode_cause"], "cpu-sharing");
    assert_eq!(udp["precision_reached"], "true");
    let pipe = csv_row(&held, "pipe");
    assert_eq!(pipe["unsteady_trials"], "1");
    let number = |column: &str| pipe[column].parse::<f64>().unwrap();
    assert!(number("host_explains_p999") > 0.5 && number("host_p999") > 0.0);
    assert!(pipe["mode_low"].is_empty());
    let stream = csv_row(&held, "uds-stream");
    let trials = ["trials", "disturbed_trials", "all_disturbed"].map(|c| stream[c].as_str());
    assert_eq!(trials, ["5", "2", "false"]);
    assert!(csv_row(&held, "uds-dgram")["drift"].parse::<f64>().unwrap() > 1.0);
}
