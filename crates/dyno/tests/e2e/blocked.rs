//! How long senders were blocked is measured around the send, by one definition for all stacks.

use crate::harness::{Place, experiments, on_stack};
use serde_json::Value;

fn place(stacks: &str) -> Place {
    let place = Place::new();
    place.stack(
        "slow",
        r#"
        description = "each tenth send takes 2 ms"
        adapter = "faulty"
        waits = ["block"]
        [options]
        inner = "uds"
        delay_every = 10
        delay_us = 2000
        "#,
    );
    place.stack(
        "later",
        r#"
        description = "the same, of a library that would send from a queue"
        adapter = "faulty"
        waits = ["block"]
        sends_later = true
        [options]
        inner = "uds"
        delay_every = 10
        delay_us = 2000
        "#,
    );
    place.suite(
        "blocked",
        &r#"
        title = "blocked"
        [defaults]
        trials = 1
        warmup = "50 ms"
        window = "400 ms"
        wait = "natural"
        [[experiment]]
        stacks = STACKS
        name = "stream"
        workload = "stream"
        arrivals = "fixed"
        rate = "1 kHz"
        [[experiment]]
        stacks = STACKS
        name = "round-trip"
        workload = "ping-pong"
        "#
        .replace("STACKS", stacks),
    );
    place
}

fn blocked<'a>(shown: &'a Value, stack: &str, experiment: &str) -> &'a Value {
    let all = experiments(shown);
    let e = all
        .iter()
        .find(|e| e["stack"] == stack && e["experiment"] == experiment)
        .unwrap_or_else(|| panic!("no {experiment} of {stack}: {all:#?}"));
    &e["throughput"]["blocked_share"]
}

#[test]
fn sends_that_take_long_are_blocked_whatever_the_adapter_says() {
    let shown = place(r#"["slow"]"#).measure("blocked", &[]);
    let share = &blocked(&shown, "slow", "stream")["median"];
    // Of 400 sends 40 take 2 ms of 400 ms, and others what the host takes of them.
    let share = share.as_f64().unwrap();
    assert!(share > 0.15, "{share}");
    assert!(on_stack(&shown, "slow")["failed_trials"] == 0);
}

#[test]
fn it_is_not_known_where_a_stack_sends_later_and_in_closed_loops() {
    let shown = place(r#"["slow", "later", "zenoh-tcp"]"#).measure("blocked", &[]);
    for (stack, experiment) in [
        ("later", "stream"),
        ("zenoh-tcp", "stream"),
        ("slow", "round-trip"),
    ] {
        let share = blocked(&shown, stack, experiment);
        assert!(share.is_null(), "{stack} {experiment}: {share}");
    }
    assert!(blocked(&shown, "slow", "stream")["median"].is_number());
}
