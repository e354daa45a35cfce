//! Hosts with a clock of their own. Here it is this machine's, told with a lie that is known, so that
//! the truth is known too: what a translated clock showed against what the run's clock showed.

use crate::harness::{Ended, Place, on_stack};
use dyno_model::cause::{Cause, Warning};
use serde_json::Value;

/// Two hosts, of which the second one's clock must be found out.
const TESTBED: &str = r#"
    description = "this machine twice"
    [[host]]
    name = "here"
    reach = "local"
    [[host]]
    name = "there"
    reach = "local"
    address = "127.0.0.2"
    own_clock = true
"#;

const SUITE: &str = r#"
    title = "from here to there"
    [defaults]
    wait = "block"
    placement = "host"
    warmup = "50 ms"
    window = "400 ms"
    trials = 3
    [[experiment]]
    name = "one-way"
    workload = "stream"
    stacks = ["udp"]
    rate = "500 Hz"
    [[experiment]]
    name = "round-trip"
    workload = "ping-pong"
    stacks = ["udp"]
"#;

fn place() -> Place {
    let place = Place::new();
    place.suite("apart", SUITE);
    place.file("testbeds/twice.toml", TESTBED);
    place
}

fn run(place: &Place, lie: &str, more: &[&str]) -> Ended {
    let mut arguments = vec![
        "run",
        "apart",
        "--testbed",
        "twice",
        "--out",
        "out",
        "--quiet",
    ];
    arguments.extend(more);
    let mut command = place.dyno(&arguments);
    command.env("DYNO_CLOCK_LIE", lie).output().unwrap().into()
}

/// The trials of an experiment, in the order in which they ran.
fn trials(place: &Place, experiment: u64) -> Vec<Value> {
    let mut all = place.trials("out");
    all.retain(|t| t["experiment"] == experiment);
    all.sort_by_key(|t| t["position"].as_u64());
    all
}

/// Two readings of a clock, each with the machine's counter.
struct Shown {
    nanos: [i128; 2],
    counter: [i128; 2],
}

/// What the clock of one kind showed, by the warning that a lying agent adds.
#[track_caller]
fn shown(trial: &Value, of_translated: bool) -> Shown {
    let warnings: Vec<Cause<Warning>> = serde_json::from_value(trial["warnings"].clone()).unwrap();
    let lie = warnings.iter().find_map(|warning| match warning.known()? {
        Warning::ClockLie {
            translated,
            first,
            last,
            ..
        } if *translated == of_translated => Some([*first, *last]),
        _ => None,
    });
    let lie = lie.unwrap_or_else(|| panic!("no clock lie in {trial:#}"));
    Shown {
        nanos: lie.map(|(_, shown)| shown.0.into()),
        counter: lie.map(|(counter, _)| counter.into()),
    }
}

/// By how much stamps of the host `there` were wrong before and after the window, in nanoseconds.
fn errors(trial: &Value) -> [f64; 2] {
    let (true_one, found) = (shown(trial, false), shown(trial, true));
    let [a, b] = true_one.counter;
    let rate = (true_one.nanos[1] - true_one.nanos[0]) as f64 / (b - a) as f64;
    [0, 1].map(|i| {
        let truth = (found.counter[i] - a) as f64 * rate;
        (found.nanos[i] - true_one.nanos[0]) as f64 - truth
    })
}

fn bound(trial: &Value) -> f64 {
    let clock = &trial["clocks"][0];
    assert_eq!(clock["host"], "there", "{trial:#}");
    assert!(clock["exchanges"].as_u64().unwrap() >= 8, "{clock:#}");
    let bound = clock["bound"].as_f64().unwrap();
    // The run's own host has the run's clock.
    assert_eq!(trial["one_way_bound"].as_f64(), Some(bound));
    bound
}

#[test]
fn an_offset_and_a_drift_are_found_out_within_the_bound() {
    let place = place();
    run(&place, "offset=100ms,drift=50ppm", &[]).with_code(0);
    let all = trials(&place, 0);
    assert_eq!(all.len(), 3);
    for trial in &all {
        let bound = bound(trial);
        for error in errors(trial) {
            assert!(error.abs() <= bound, "{error} ns of ±{bound}: {trial:#}");
        }
    }
    // Found from exchanges over some seconds.
    let drift = &all[2]["clocks"][0]["drift_ppm"];
    assert!((drift.as_f64().unwrap() - 50.0).abs() < 45.0, "{drift}");
    // What is left of the 100 ms is less than what a message takes on a busy machine.
    let p50 = crate::harness::quantile(on_stack(&place.show("out"), "udp"), "response_ns", "p50");
    assert!(p50 < 50e6, "{p50}");
}

#[test]
fn the_kernels_clock_is_translated_as_well() {
    let place = place();
    let lie = "offset=100ms,drift=-200ppm";
    run(&place, lie, &["--clock", "monotonic"]).with_code(0);
    for trial in &trials(&place, 0) {
        let bound = bound(trial);
        for error in errors(trial) {
            assert!(error.abs() <= bound, "{error} ns of ±{bound}: {trial:#}");
        }
    }
}

#[test]
fn a_delay_of_one_direction_is_inside_the_bound_and_too_much_for_one_way_times() {
    let place = place();
    run(&place, "delay=1ms", &[]).with_code(0);
    for trial in &trials(&place, 0) {
        let bound = bound(trial);
        assert!(bound >= 500_000.0, "{bound}");
        for error in errors(trial) {
            // Half of it is in the line, and nothing tells.
            assert!(error.abs() <= bound, "{error} ns of ±{bound}: {trial:#}");
        }
    }
    let shown = place.show("out");
    let of = |name: &str| {
        let all = shown["experiments"].as_array().unwrap().iter();
        all.clone().find(|e| e["experiment"] == name).unwrap()
    };
    assert!(of("one-way")["clock_bound_ns"].as_u64() >= Some(500_000));
    assert_eq!(of("one-way")["clocks"][0]["host"], "there");
    assert_eq!(of("round-trip")["clock_bound_ns"], Value::Null);
    // On a machine so busy that a message takes 5 ms, the clocks would do.
    if of("one-way")["one_way_resolvable"] == false {
        let table = place.run(&["show", "out"]).with_code(0);
        let table = table
            .says("unresolved")
            .says("one-way latency cannot be resolved here");
        // Where trials scatter too much, the round trip has no figure either.
        if of("round-trip")["metrics"]["rtt_ns"]["p50"].is_object() {
            table.says("round trip p50");
        }
    }
}

#[test]
fn a_host_that_never_answers_costs_the_trial_and_not_the_run() {
    let place = place();
    let short = SUITE.replace("trials = 3", "trials = 1\n    deadline = \"2 s\"");
    place.suite("apart", &short);
    let ended = run(&place, "delay=30s", &[]);
    ended.with_code(4).says("host there answered none of");
    for trial in [&trials(&place, 0)[0], &trials(&place, 1)[0]] {
        assert_eq!(
            (&trial["kind"], &trial["step"]),
            (&"hang".into(), &"clock".into())
        );
    }
}

#[test]
fn hosts_with_the_runs_clock_are_never_asked() {
    let place = place();
    place.file(
        "testbeds/twice.toml",
        "description = \"once\"\n[[host]]\nname = \"here\"\nreach = \"local\"\n",
    );
    let suite = SUITE.replace("placement = \"host\"", "placement = \"process\"");
    place.suite("apart", &suite);
    run(&place, "delay=30s", &[]).with_code(0);
    let trial = &trials(&place, 0)[0];
    assert_eq!(trial["clocks"], Value::Null);
    assert_eq!(trial["one_way_bound"], Value::Null);
    let e = place.show("out");
    assert_eq!(on_stack(&e, "udp")["clock_bound_ns"], Value::Null);
}
