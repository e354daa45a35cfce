//! Whole exchanges that stand side by side.

use crate::harness::{Place, count, experiments};
use serde_json::Value;

fn several(e: &Value) -> &Vec<Value> {
    e["copies"].as_array().unwrap()
}

#[test]
fn every_exchange_has_cpus_and_figures_of_its_own() {
    if dyno_measure::allowed_cpus() != [0, 1] {
        return;
    }
    let place = Place::new();
    place.suite(
        "pairs",
        r#"
        title = "pairs"
        [defaults]
        trials = 2
        warmup = "20 ms"
        settle = "0 s"
        window = "100 ms"
        wait = "block"
        cpus = [1, 1]
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        stacks = ["pipe", "tcp"]
        [experiment.matrix]
        parallel = [1, "each-cpu"]
        placement = ["thread", "process"]
        [[experiment]]
        name = "one-way"
        workload = "stream"
        stacks = ["pipe", "tcp"]
        rate = "500 Hz"
        parallel = 2
        [[experiment]]
        name = "start"
        workload = "first-message"
        stacks = ["pipe", "tcp"]
        parallel = 2
        "#,
    );
    let shown = place.measure("pairs", &[]);
    for e in experiments(&shown) {
        assert_eq!(e["failed_trials"], 0, "{e:#}");
        assert_eq!(count(e, "received"), count(e, "offered"), "{e:#}");
        if e["topology"] == "1-1" {
            assert!(e["copies"].is_null(), "{e:#}");
            continue;
        }
        assert_eq!(e["topology"], "1-1x2");
        assert_eq!(e["cpus"], serde_json::json!([1, 1, 0, 0]));
        let cpus: Vec<&Value> = several(e).iter().map(|c| &c["cpus"]).collect();
        assert_eq!(cpus, [&serde_json::json!([0]), &serde_json::json!([1])]);
        for copy in several(e) {
            assert!(copy["p50_ns"]["median"].as_f64().unwrap() > 0.0, "{copy:#}");
        }
    }
    let several = |e: &&Value| e["topology"] == "1-1x2";
    // Two placements of two round trips, streams and starts, each with its floor.
    assert!(experiments(&shown).iter().filter(several).count() >= 8);
    place.run(&["show", "out"]).says("p50 of each copy");
}
