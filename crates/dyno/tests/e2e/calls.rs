//! Calls: with a stack's own request-response and over a pair of channels, and told apart.

use crate::harness::{Place, count, experiments, on_stack, quantile};

const SUITE: &str = r#"
    title = "calls"
    [defaults]
    trials = 1
    warmup = "20 ms"
    window = "100 ms"
    timeout = "10 s"
    [[experiment]]
    name = "call"
    workload = "call"
    stacks = "all"
"#;

#[test]
fn every_stack_answers_calls_and_says_whether_it_has_two_channels_for_them() {
    let place = Place::new();
    place.suite("every", SUITE);
    let shown = place.measure("every", &[]);
    for e in experiments(&shown) {
        assert_eq!(e["workload"], "call", "{e:#}");
        assert_eq!(e["failed_trials"], 0, "{e:#}");
        assert!(count(e, "received") > 0, "{e:#}");
        for bad in ["corrupted", "truncated", "duplicated", "reordered"] {
            assert_eq!(count(e, bad), 0, "{bad}: {e:#}");
        }
        let stack = e["stack"].as_str().unwrap();
        if !matches!(stack, "udp" | "zenoh-udp") && !stack.ends_with("-best-effort") {
            assert_eq!(count(e, "lost"), 0, "{e:#}");
        }
        assert!(e["metrics"]["rtt_ns"]["min"].as_u64() > Some(0), "{e:#}");
    }
    for (stack, paired) in [
        ("uds-stream", false),
        ("uds-seqpacket", false),
        ("uds-dgram", false),
        ("tcp", false),
        ("iceoryx2", false),
        ("dbus", false),
        ("nats", false),
        ("grpc-stream", false),
        ("grpc-unary", false),
        ("mqtt-qos0", true),
        ("zenoh-tcp", false),
        ("zenoh-udp", false),
        ("zenoh-shm", false),
        ("pipe", true),
        ("posix-mq", true),
        ("udp", true),
        ("floor-futex", true),
    ] {
        assert_eq!(on_stack(&shown, stack)["paired"], paired, "{stack}");
    }
    place
        .run(&["show", "out"])
        .with_code(0)
        .says("call (pair)")
        .says("(pair): the stack has no request-response, so the call uses two channels.")
        .says("no second participant that could answer a call");
    let csv = place.run(&["show", "out", "--format", "csv"]).with_code(0);
    let mut lines = csv.stdout.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |head| heads.iter().position(|h| *h == head).unwrap();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[at("stack")] == "tcp" {
            assert_eq!(fields[at("paired")], "false");
        } else if fields[at("stack")] == "pipe" {
            assert_eq!(fields[at("paired")], "true");
        }
    }
}

#[test]
fn several_callers_have_one_provider() {
    let place = Place::new();
    place.suite(
        "many",
        r#"
        title = "many"
        [defaults]
        trials = 1
        warmup = "20 ms"
        window = "100 ms"
        access = "all"
        payload = "5000 B"
        [[experiment]]
        name = "call"
        workload = "call"
        stacks = ["uds-stream", "uds-dgram", "tcp", "iceoryx2", "zenoh-tcp", "pipe"]
        [experiment.matrix]
        topology = ["3-1", "1-2"]
        "#,
    );
    let shown = place.measure("many", &[]);
    let all = experiments(&shown);
    // With the floor's two.
    assert!(all.len() >= 6, "{}", all.len());
    for e in all {
        assert_eq!(e["topology"], "3-1", "{e:#}");
        assert_eq!(
            (e["failed_trials"].as_u64(), count(e, "lost")),
            (Some(0), 0)
        );
    }
    place
        .run(&["show", "out"])
        .says("a call has one provider: topology 1-1, not 1-2");
}

#[test]
fn a_dropped_response_is_a_lost_call() {
    let place = Place::new();
    place
        .suite(
            "faults",
            r#"
            title = "faults"
            [defaults]
            trials = 1
            warmup_messages = 5
            round_trips = 50
            wait = "block"
            timeout = "50 ms"
            [[experiment]]
            name = "call"
            workload = "call"
            stacks = ["liar"]
            "#,
        )
        .stack(
            "liar",
            "description = \"lies\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\n\
             inner = \"uds\"\ndrop_every = 5\n",
        );
    let shown = place.measure("faults", &[]);
    let e = on_stack(&shown, "liar");
    assert_eq!(count(e, "offered"), 50, "{e:#}");
    // Requests and responses are both dropped: one of five each.
    assert!((12..=26).contains(&count(e, "lost")), "{e:#}");
    assert_eq!(quantile(e, "rtt_ns", "p90"), f64::INFINITY, "{e:#}");
}

#[test]
fn a_call_has_no_rate() {
    let place = Place::new();
    place.suite(
        "rate",
        "title = \"t\"\n[[experiment]]\nname = \"x\"\nworkload = \"call\"\nrate = \"1 kHz\"\n",
    );
    place
        .run(&["run", "rate", "--dry-run"])
        .with_code(3)
        .says("a call has no `rate`")
        .says("the next request waits for the last response");
}
