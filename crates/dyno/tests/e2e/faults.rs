//! Every lie that a stack can tell is reported as what it is, and costs its own trial only.

use crate::harness::{Place, count, experiments, on_stack, quantile};
use serde_json::{Value, json};

const SUITE: &str = r#"
    title = "faults"
    [defaults]
    trials = 1
    warmup_messages = 5
    messages = 200
    wait = "block"
    drain = "300 ms"
    deadline = "2 s"
    timeout = "200 ms"
    [[experiment]]
    name = "one-way"
    workload = "stream"
    rate = "1 kHz"
    stacks = ["liar"]
"#;

fn place_with(options: &str) -> Place {
    let place = Place::new();
    let stack = format!(
        "description = \"lies\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\ninner = \"uds\"\n{options}\n"
    );
    place.suite("faults", SUITE).stack("liar", &stack);
    place
}

#[track_caller]
fn liar(options: &str) -> Value {
    let place = place_with(options);
    let shown = place.measure("faults", &[]);
    on_stack(&shown, "liar").clone()
}

#[test]
fn dropped_messages_are_lost_and_infinitely_late() {
    let e = liar("drop_every = 5");
    let lost = count(&e, "lost");
    assert!((30..=50).contains(&lost), "one of five of 200: {e:#}");
    assert_eq!(count(&e, "received") + lost, 200);
    assert_eq!(quantile(&e, "response_ns", "p90"), f64::INFINITY, "{e:#}");
}

#[test]
fn a_lost_message_makes_the_gap_between_arrivals_longer() {
    let e = liar("drop_every = 5");
    let gaps = &e["metrics"]["gap_ns"];
    let n = gaps["n"].as_u64().unwrap();
    // One less than arrivals, and where the last message was lost, one until the window ended.
    let received = count(&e, "received");
    assert!((received - 1..=received).contains(&n), "{e:#}");
    assert_eq!(gaps["infinite"], 0);
    // One message is due each millisecond; of five, one is missing.
    assert!(gaps["max"].as_f64().unwrap() > 1.5e6, "{e:#}");
    let mean = gaps["mean"].as_f64().unwrap();
    assert!(mean > 1.1e6, "{e:#}");
}

#[test]
fn duplicates_are_counted_and_not_received_twice() {
    let e = liar("duplicate_every = 5");
    assert!(count(&e, "duplicated") >= 30, "{e:#}");
    assert_eq!((count(&e, "received"), count(&e, "lost")), (200, 0));
}

#[test]
fn reordering_is_counted_without_loss() {
    let e = liar("reorder_every = 5");
    assert!(count(&e, "reordered") >= 30, "{e:#}");
    assert!(
        count(&e, "lost") <= 1,
        "the last one may still be held back: {e:#}"
    );
}

#[test]
fn a_flipped_byte_is_corruption_and_not_received() {
    // The suite's 64 bytes under access `stamp`: the flip must be within the header.
    let e = liar("corrupt_every = 5\ncorrupt_byte = 9");
    assert!(count(&e, "corrupted") >= 30, "{e:#}");
    assert_eq!(count(&e, "lost"), 200 - count(&e, "received"));
    assert!(count(&e, "received") <= 170, "{e:#}");
}

#[test]
fn a_shortened_message_is_truncation() {
    let e = liar("truncate_every = 5");
    assert!(count(&e, "truncated") >= 30, "{e:#}");
    assert_eq!(count(&e, "corrupted"), 0, "{e:#}");
}

#[test]
fn a_delay_shows_in_response_and_service_time() {
    let e = liar("delay_every = 1\ndelay_us = 3000");
    // 3 ms for each message that is due every 1 ms: the backlog grows to hundreds of milliseconds.
    // One trial that never settles bears no quantile, but a mean.
    let mean = |metric: &str| e["metrics"][metric]["mean"].as_f64().unwrap();
    assert!(mean("response_ns") > 50e6, "{e:#}");
    assert!(mean("service_ns") >= 3e6, "{e:#}");
    assert!(mean("response_ns") > mean("service_ns"));
}

#[test]
fn a_slow_open_is_waited_for() {
    let e = liar("slow_open_ms = 300");
    assert_eq!(count(&e, "received"), 200);
}

/// Runs the liar beside an honest stack; returns the liar's failure and checks the honest one.
#[track_caller]
fn failure(options: &str) -> Value {
    let place = place_with(options);
    place.suite(
        "faults",
        &SUITE.replace("[\"liar\"]", "[\"liar\", \"uds-stream\"]"),
    );
    place
        .run(&["run", "faults", "--out", "out", "--quiet"])
        .with_code(4);
    let shown = place.show("out");
    for e in experiments(&shown).iter().filter(|e| e["stack"] != "liar") {
        assert_eq!(e["failed_trials"], 0, "the other trials go on: {e:#}");
        assert_eq!(count(e, "received"), 200);
    }
    let liar = on_stack(&shown, "liar");
    assert_eq!(liar["failed_trials"], 1, "{liar:#}");
    place.json(&format!("out/trials/e{:04}-t000.json", index_of(&place)))
}

fn index_of(place: &Place) -> usize {
    let manifest = place.json("out/run.json");
    let all = manifest["plan"]["experiments"].as_array().unwrap();
    all.iter().position(|e| e["stack"] == "liar").unwrap()
}

#[test]
fn a_hang_in_any_call_ends_at_its_deadline_and_is_named() {
    for (call, after) in [
        ("open", 0),
        ("sender", 0),
        ("receiver", 0),
        ("matched", 0),
        ("send", 50),
        ("take", 50),
        ("drop", 0),
    ] {
        let trial = failure(&format!("hang_in = \"{call}\"\nhang_after = {after}"));
        assert_eq!(trial["kind"], "hang", "{call}: {trial:#}");
        let message = crate::harness::failure(&trial);
        assert!(
            message.contains(&format!("does not return from `{call}`")),
            "{call}: {message}"
        );
    }
}

#[test]
fn a_crash_shows_its_signal_and_the_last_words() {
    for (how, words) in [
        ("segv", "SIGSEGV"),
        ("abort", "SIGABRT"),
        ("panic", "SIGABRT"),
        ("exit", "exit code"),
    ] {
        let trial = failure(&format!(
            "crash_in = \"send\"\ncrash = \"{how}\"\ncrash_after = 50"
        ));
        assert_eq!(trial["kind"], "crash", "{how}: {trial:#}");
        assert!(
            crate::harness::failure(&trial).contains(words),
            "{how}: {trial:#}"
        );
        assert!(
            !trial["stderr"].as_array().unwrap().is_empty(),
            "{how}: {trial:#}"
        );
    }
}

#[test]
fn a_crash_at_exit_shows_after_a_result_and_hides_no_error() {
    let trial = failure("crash_at_exit = true");
    assert_eq!(
        (&trial["kind"], &trial["step"]),
        (&json!("crash"), &json!("exit")),
        "{trial:#}"
    );
    for place in ["open", "send"] {
        let trial = failure(&format!("crash_at_exit = true\nerror_in = \"{place}\""));
        assert_eq!(trial["kind"], "error", "{place}: {trial:#}");
        let message = crate::harness::failure(&trial);
        assert!(message.contains("faulty fails here"), "{place}: {message}");
    }
}

#[test]
fn a_thread_that_hangs_at_its_end_costs_no_result() {
    // Nor is a crash at exit met then: its handlers are not run beside the thread.
    let e = liar("hang_at_thread_end = true\ncrash_at_exit = true");
    assert_eq!(count(&e, "received"), 200, "{e:#}");
}

#[test]
fn an_error_of_the_library_is_told_in_its_words() {
    let trial = failure("error_in = \"send\"");
    assert_eq!(trial["kind"], "error", "{trial:#}");
    assert!(
        crate::harness::failure(&trial).contains("participant"),
        "{trial:#}"
    );
}
