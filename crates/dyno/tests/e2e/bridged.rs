//! Chains that a program of somebody else's bridges, with the real one: a mosquitto between two others.

use crate::brokers::turn;
use crate::harness::{Place, all_children, count, experiments, on_stack, send, wait_for};
use serde_json::{Value, json};
use std::path::PathBuf;

const STREAM: &str = r#"
    title = "bridged"
    [defaults]
    trials = 2
    warmup = "20 ms"
    settle = "0 s"
    window = "300 ms"
    drain = "5 s"
    cpus = "none"
    [[experiment]]
    name = "one-way"
    workload = "stream"
    rate = "100 Hz"
"#;

const CLOSED: &str = r#"
    [[experiment]]
    name = "round-trip"
    workload = "ping-pong"
    [[experiment]]
    name = "call"
    workload = "call"
"#;

/// The built-in stack with `from` written as `to`, under the name `mine`.
fn changed(place: &Place, from: &str, to: &str) {
    let text = include_str!("../../../../stacks/mqtt-bridge.toml");
    assert!(text.contains(from), "{from:?} is not in {text}");
    place.stack("mine", &text.replace(from, to));
}

/// Runs the stream on the stack `mine`, whose every trial fails.
fn failing(place: &Place) -> crate::harness::Ended {
    let suite = STREAM.replace("trials = 2", "trials = 1\n    deadline = \"15 s\"");
    place.suite("bridged", &suite);
    place
        .run(&[
            "run", "bridged", "--stack", "mine", "--out", "out", "--quiet",
        ])
        .with_code(4);
    place.run(&["show", "out"])
}

#[test]
fn what_a_bridge_takes_is_the_chain_less_its_legs() {
    let _turn = turn("mosquitto");
    let place = Place::new();
    place.suite("bridged", &format!("{STREAM}{CLOSED}"));
    let shown = place.measure("bridged", &["--stack", "mqtt-bridge", "--legs"]);
    let is_ours = |e: &&Value| e["stack"] == "mqtt-bridge" || e["stack"] == "mqtt-qos1";
    let all: Vec<&Value> = experiments(&shown).iter().filter(is_ours).collect();
    assert_eq!(
        all.len(),
        6,
        "each workload on the chain and on what both legs are"
    );
    for e in all.iter().copied() {
        assert_eq!(e["failed_trials"], 0, "{e:#}");
        assert!(count(e, "received") > 0, "{e:#}");
        assert_eq!(count(e, "received"), count(e, "offered"), "{e:#}");
        for bad in ["lost", "corrupted", "duplicated", "reordered"] {
            assert_eq!(count(e, bad), 0, "{bad}: {e:#}");
        }
        assert_eq!(e["is_leg"], e["stack"] == "mqtt-qos1", "{e:#}");
    }
    let mean = |e: &Value, metric: &Value| {
        e["metrics"][metric.as_str().unwrap()]["mean"]
            .as_f64()
            .unwrap()
    };
    let mut told = false;
    for e in all.iter().copied().filter(|e| e["stack"] == "mqtt-bridge") {
        let chain = &e["chain"];
        assert_eq!(chain["programs"], json!(["bridge"]), "{e:#}");
        assert_eq!(chain["parts"], json!([]), "nobody looks into it: {e:#}");
        // Both brokers are one name.
        let daemons = e["cost"]["daemons"].as_array().unwrap();
        let names: Vec<&Value> = daemons.iter().map(|d| &d["name"]).collect();
        assert_eq!(names, ["mosquitto", "bridge"], "{e:#}");
        assert!(
            daemons[1]["cpu_ns"]["median"].as_f64().unwrap() > 0.0,
            "{e:#}"
        );
        assert_eq!(e["paired"], e["workload"] == "call", "{e:#}");
        let is_leg = |leg: &&Value| leg["stack"] == "mqtt-qos1" && leg["workload"] == e["workload"];
        let leg = all.iter().copied().find(is_leg).unwrap();
        // Of trials that the host disturbed nothing is said.
        if [e, leg]
            .iter()
            .any(|e| e["all_disturbed"] == true || e["trials"] != 2)
        {
            continue;
        }
        told = true;
        let added = &chain["added"];
        let found = added["mean_ns"]["value"].as_f64().unwrap();
        let expected = mean(e, &added["metric"]) - 2.0 * mean(leg, &added["metric"]);
        assert!(
            (found - expected).abs() < 1.0,
            "{found} {expected}: {added:#}"
        );
    }
    let said = place
        .run(&["show", "out"])
        .with_code(0)
        .says("bridged by bridge, which nobody looks into")
        .says("leg 2 of mqtt-bridge is measured alone as mqtt-qos1 has it in its own file, without port = 18884");
    if told {
        said.says("residence, from outside (the chain less the sum of its legs alone)");
    }
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_bridge_fails_its_trial_by_name() {
    let _turn = turn("mosquitto");
    let place = Place::new();
    let long = STREAM
        .replace("trials = 2", "trials = 1")
        .replace("300 ms", "10 s");
    place.suite("bridged", &long);
    let arguments = [
        "run",
        "bridged",
        "--stack",
        "mqtt-bridge",
        "--out",
        "out",
        "--quiet",
    ];
    let run = place.start(&arguments);
    run.agents(2);
    let is_bridge = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|c| c.contains("bridge.conf"))
    };
    let bridge = wait_for("the bridge", || {
        all_children(run.pid()).into_iter().find(is_bridge)
    });
    send(bridge, libc::SIGKILL);
    run.end().with_code(4);
    place
        .run(&["show", "out"])
        .says("daemon bridge ended with signal 9");
    assert_eq!(
        on_stack(&place.show("out"), "mqtt-bridge")["failed_trials"],
        1
    );
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_bridge_that_is_missing_is_an_error_before_anything_runs() {
    let _turn = turn("mosquitto");
    let place = Place::new();
    changed(
        &place,
        "command = [\"mosquitto\"",
        "command = [\"no-such-bridge\"",
    );
    place.suite("bridged", STREAM);
    place
        .run(&[
            "run", "bridged", "--stack", "mine", "--out", "out", "--quiet",
        ])
        .with_code(3)
        .says("the program no-such-bridge of its daemon");
    assert!(!place.path("out").exists());
}

#[test]
fn a_bridge_that_is_never_ready_fails_its_trial_by_name() {
    let _turn = turn("mosquitto");
    let place = Place::new();
    changed(
        &place,
        "connect = \"tcp:{address}:18885\"",
        "output = \"never said\"",
    );
    failing(&place)
        .says("daemon bridge was not ready within")
        .says("it has not printed \"never said\"");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_bridge_that_ends_at_once_fails_its_trial_with_what_it_said() {
    let _turn = turn("mosquitto");
    let place = Place::new();
    changed(&place, "listener 18885 {address}", "no-such-setting");
    let shown = failing(&place);
    shown
        .says("daemon bridge ended with exit code")
        .says("Unknown configuration variable");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_bridge_that_reaches_one_side_only_is_named() {
    let _turn = turn("mosquitto");
    let place = Place::new();
    changed(&place, "address {address}:18884", "address {address}:18886");
    failing(&place).says("messages go through daemon bridge: does it reach both legs?");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}
