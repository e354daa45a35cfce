//! A stall of either side shows in the response time, and loss never flatters it.

use crate::harness::{Place, count, on_stack, quantile, send};
use serde_json::Value;
use std::time::Duration;

const SUITE: &str = r#"
    title = "freeze"
    [defaults]
    trials = 1
    settle = "0 s"
    warmup = "100 ms"
    window = "3 s"
    wait = "block"
    cpus = "none"
    drain = "3 s"
    [[experiment]]
    name = "one-way"
    workload = "stream"
    rate = "500 Hz"
    stacks = "all"
"#;

/// Runs the stream and stops one of its agents for 0.9 s of the 3 s.
#[track_caller]
fn frozen(stack: &str, side: usize) -> Value {
    let place = Place::new();
    place.suite("freeze", SUITE);
    // The yardstick of the same wait comes first or last; only the stack in question is frozen.
    let run = place.start(&["run", "freeze", "--stack", stack, "--out", "out", "--quiet"]);
    loop {
        let agents = run.agents(2);
        if !is_of(agents[side], stack, &place) {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        }
        // From here the window begins within 1.7 s, also where other tests make all that comes before it slow, and it
        // lasts 3 s.
        std::thread::sleep(Duration::from_millis(1_800));
        send(agents[side], libc::SIGSTOP);
        std::thread::sleep(Duration::from_millis(900));
        send(agents[side], libc::SIGCONT);
        break;
    }
    run.end().with_code(0);
    let shown = place.show("out");
    on_stack(&shown, stack).clone()
}

/// Whether the agent's trial is one of the stack: the plan's order is found in the run directory,
/// the trial's position in the name of its scratch directory.
fn is_of(agent: i32, stack: &str, place: &Place) -> bool {
    let wanted = if stack.starts_with("floor") { 0 } else { 1 };
    let _ = (agent, wanted);
    let Ok(manifest) = std::fs::read_to_string(place.path("out/run.json")) else {
        return false;
    };
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let order = dyno_runner::order(&serde_json::from_value(manifest["plan"].clone()).unwrap());
    let Some(position) = place.leftovers().iter().find_map(|p| {
        let name = p.file_name()?.to_str()?;
        (name.matches('-').count() == 3).then(|| name.rsplit('-').next()?.parse::<usize>().ok())?
    }) else {
        return false;
    };
    let experiment = order[position].experiment.0 as usize;
    manifest["plan"]["experiments"][experiment]["stack"] == stack
}

#[track_caller]
fn assert_the_freeze_shows(e: &Value) {
    // 0.9 s of 3 s: 30 % of the messages wait up to 0.9 s, evenly spread.
    assert!(quantile(e, "response_ns", "p90") >= 0.4e9, "{e:#}");
    assert!(quantile(e, "response_ns", "p99") >= 0.7e9, "{e:#}");
    assert_eq!(count(e, "offered"), 1_500, "no message is skipped");
}

macro_rules! freezes {
    ($($name:ident: $stack:literal, $side:literal;)+) => {
        $(#[test] fn $name() { assert_the_freeze_shows(&frozen($stack, $side)); })+
    };
}

freezes! {
    a_frozen_source_shows_on_uds_stream: "uds-stream", 0;
    a_frozen_sink_shows_on_uds_stream: "uds-stream", 1;
    a_frozen_source_shows_on_floor_futex: "floor-futex", 0;
    a_frozen_sink_shows_on_floor_futex: "floor-futex", 1;
    a_frozen_source_shows_on_iceoryx2: "iceoryx2", 0;
    a_frozen_sink_shows_on_iceoryx2: "iceoryx2", 1;
    a_frozen_source_shows_on_udp: "udp", 0;
    a_frozen_sink_shows_on_udp: "udp", 1;
}

#[test]
fn a_small_receive_buffer_does_not_flatter_udp() {
    let place = Place::new();
    place
        .stack(
            "udp-small",
            "description = \"udp with 4 KiB\"\nadapter = \"udp\"\nwaits = [\"block\"]\n[options]\nrcvbuf = 4096\n",
        )
        .suite(
            "loss",
            r#"
            title = "loss"
            [defaults]
            trials = 2
            warmup = "50 ms"
            window = "500 ms"
            wait = "block"
            drain = "200 ms"
            [[experiment]]
            name = "burst"
            workload = "burst"
            group = 64
            period = "20 ms"
            payload = "1 KiB"
            stacks = ["udp", "udp-small"]
            "#,
        );
    let shown = place.measure("loss", &[]);
    let (large, small) = (on_stack(&shown, "udp"), on_stack(&shown, "udp-small"));
    assert!(
        count(small, "lost") > 0,
        "the rate must be one that 4 KiB cannot hold: {small:#}"
    );
    assert!(
        quantile(small, "response_ns", "p90") >= quantile(large, "response_ns", "p90"),
        "loss improved a percentile: {small:#} {large:#}"
    );
}
