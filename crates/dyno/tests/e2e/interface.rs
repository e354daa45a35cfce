//! What people and scripts see: lists, help, manual page, doctor, formats.

use crate::harness::Place;
use serde_json::Value;

#[test]
fn lists_name_everything_that_is_built_in() {
    let place = Place::new();
    place
        .run(&["list", "suites"])
        .with_code(0)
        .says("quick")
        .says("iceperf");
    place.run(&["list", "testbeds"]).with_code(0).says("local");
    let stacks = place.run(&["list", "stacks", "--json"]).with_code(0);
    let stacks: Value = serde_json::from_str(&stacks.stdout).unwrap();
    assert!(stacks.as_array().unwrap().len() >= 14);
    let adapters = place.run(&["list", "adapters", "--json"]).with_code(0);
    let adapters: Value = serde_json::from_str(&adapters.stdout).unwrap();
    for a in adapters.as_array().unwrap() {
        assert!(!a["version"].as_str().unwrap().is_empty(), "{a:#}");
    }
}

#[test]
fn the_doctor_finds_and_changes_nothing() {
    let place = Place::new();
    let found = place.run(&["doctor", "--json"]).with_code(0);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    assert!(found["limits"].as_array().unwrap().len() > 5, "{found:#}");
    assert!(found["clock"]["cost_ns"].as_f64().unwrap() > 0.0);
    place
        .run(&["doctor"])
        .with_code(0)
        .says("Core to core")
        .says("Limits");
}

#[test]
fn the_manual_page_and_completions_are_made() {
    let place = Place::new();
    place
        .run(&["man"])
        .with_code(0)
        .says("DYNO RUN")
        .says("round_trips");
    place
        .run(&["completions", "bash"])
        .with_code(0)
        .says("_dyno");
    place.run(&["run", "--help"]).with_code(0).says("--resume");
}

#[test]
fn a_dry_run_plans_and_writes_nothing() {
    let place = Place::new();
    place
        .run(&["run", "quick", "--dry-run"])
        .with_code(0)
        .says("round-trip")
        .says("floor-spin");
    assert!(!place.path("runs").exists());
}

#[test]
fn the_last_run_is_found_and_printed_in_every_format() {
    let place = Place::new();
    place.suite(
        "tiny",
        r#"
        title = "tiny"
        [defaults]
        trials = 2
        warmup_messages = 2
        round_trips = 50
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        stacks = ["pipe"]
        "#,
    );
    place
        .run(&["run", "tiny"])
        .with_code(0)
        .says("pipe")
        .says("stored in runs/tiny-");
    for format in ["table", "markdown", "csv"] {
        place
            .run(&["show", "latest", "--format", format])
            .with_code(0)
            .says("pipe");
    }
    let shown = place.show("latest");
    assert_eq!(shown["format"], 1);
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/show.schema.json"
    );
    let mut schemas = boon::Schemas::new();
    let schema = boon::Compiler::new().compile(path, &mut schemas).unwrap();
    if let Err(e) = schemas.validate(&shown, schema) {
        panic!("{e:#}");
    }
}
