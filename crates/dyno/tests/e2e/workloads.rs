//! Every stack, workload, topology, placement and access on the real thing.

use crate::harness::{Place, count, experiments, on_stack};
use serde_json::Value;

#[track_caller]
fn assert_sound(e: &Value) {
    assert_eq!(e["failed_trials"], 0, "{e:#}");
    assert!(count(e, "received") > 0, "nothing received: {e:#}");
    if !gives_what_it_overwrites(e) {
        for bad in ["corrupted", "truncated", "duplicated"] {
            assert_eq!(count(e, bad), 0, "{bad}: {e:#}");
        }
    }
    assert_eq!(
        count(e, "lost"),
        count(e, "offered") - count(e, "received"),
        "{e:#}"
    );
}

#[track_caller]
fn assert_lossless(e: &Value) {
    assert_sound(e);
    assert_eq!(count(e, "received"), count(e, "offered"), "{e:#}");
}

/// Whether a stack's reader may be given a sample that its writer is overwriting: the newer one twice, or halves of
/// both. Fast DDS as it comes keeps one sample, in memory that writer and reader share (see its stack file).
fn gives_what_it_overwrites(e: &Value) -> bool {
    e["stack"] == "fastdds-defaults"
}

/// Whether a stack may lose messages although both sides live.
fn is_lossy(e: &Value) -> bool {
    let stack = e["stack"].as_str().unwrap_or_default();
    // As they come, all libraries but vsomeip lose what finds no room.
    let shipped = stack.ends_with("-defaults") && !stack.starts_with("vsomeip");
    // The broker keeps one value, the latest, for who subscribes over VISS or to targets, or who reads again and again.
    let latest = ["kuksa-viss", "kuksa-viss-set", "kuksa-get"];
    matches!(stack, "udp" | "zenoh-udp")
        || latest.contains(&stack)
        || stack.ends_with("-best-effort")
        || shipped
}

#[test]
fn every_stack_exchanges_real_messages_both_ways() {
    let place = Place::new();
    place.suite(
        "all",
        r#"
        title = "all"
        [defaults]
        trials = 1
        warmup = "20 ms"
        window = "100 ms"
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        stacks = "all"
        [[experiment]]
        name = "one-way"
        workload = "stream"
        rate = "500 Hz"
        stacks = "all"
        "#,
    );
    let shown = place.measure("all", &[]);
    let all = experiments(&shown);
    let stacks: std::collections::BTreeSet<_> =
        all.iter().map(|e| e["stack"].as_str().unwrap()).collect();
    assert!(stacks.len() >= 14, "{stacks:?}");
    // Set by `cargo xtask test`, which installs what every stack needs.
    if std::env::var_os("DYNO_REQUIRE_READERS").is_some() {
        for stack in [
            "cyclonedds-defaults",
            "dbus",
            "fastdds-defaults",
            "iceoryx-defaults",
            "iceoryx2-defaults",
            "grpc-unary",
            "mqtt-defaults",
            "nats-defaults",
            "vsomeip-daemon",
            "zenoh-defaults",
            "zenoh-router",
        ] {
            assert!(stacks.contains(stack), "{stack} is missing: {stacks:?}");
        }
    }
    for e in all {
        assert_sound(e);
        if !is_lossy(e) {
            assert_lossless(e);
        }
        let headline = if e["experiment"] == "round-trip" {
            "rtt_ns"
        } else {
            "response_ns"
        };
        assert!(e["metrics"][headline]["min"].as_f64() > Some(0.0), "{e:#}");
    }
}

#[test]
fn every_byte_arrives_for_small_odd_and_fragmented_payloads() {
    let place = Place::new();
    place.suite(
        "bytes",
        r#"
        title = "bytes"
        [defaults]
        trials = 1
        warmup_messages = 2
        round_trips = 10
        # A lossy stack waits so long for each that is lost.
        timeout = "3 s"
        access = "all"
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        stacks = "all"
        [experiment.matrix]
        payload = ["8 B", "33 B", "4097 B", "70001 B", "1 MiB"]
        "#,
    );
    for e in experiments(&place.measure("bytes", &[])) {
        if is_lossy(e) {
            // A receive buffer that holds no whole message of this size loses every one of them.
            assert_eq!(
                (count(e, "corrupted"), count(e, "truncated")),
                (0, 0),
                "{e:#}"
            );
        } else {
            assert_lossless(e);
        }
    }
}

#[test]
fn a_reply_after_its_timeout_is_lost_however_its_receiver_waits() {
    let place = Place::new();
    let slow = "description = \"each send takes 2 ms\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
                [options]\ninner = \"uds\"\ndelay_every = 1\ndelay_us = 2000\n";
    place.stack("slow", slow);
    place.suite(
        "late",
        r#"
        title = "late"
        [defaults]
        trials = 1
        warmup_messages = 2
        round_trips = 10
        [[experiment]]
        name = "impatient"
        workload = "ping-pong"
        stacks = ["slow"]
        timeout = "1 ms"
        [experiment.matrix]
        wait = ["block", "spin"]
        [[experiment]]
        name = "patient"
        workload = "ping-pong"
        stacks = ["slow"]
        timeout = "10 s"
        [experiment.matrix]
        wait = ["block", "spin"]
        "#,
    );
    let shown = place.measure("late", &[]);
    let rows = experiments(&shown).iter().filter(|e| e["stack"] == "slow");
    let mut lost: Vec<u64> = rows.map(|e| count(e, "lost")).collect();
    lost.sort_unstable();
    assert_eq!(lost, [0, 0, 10, 10], "{shown:#}");
}

#[test]
fn several_senders_and_receivers_each_get_all_messages() {
    let place = Place::new();
    place.suite(
        "many",
        r#"
        title = "many"
        [defaults]
        trials = 1
        warmup = "20 ms"
        window = "100 ms"
        wait = "natural"
        [[experiment]]
        name = "one-way"
        workload = "stream"
        rate = "200 Hz"
        stacks = ["floor-futex", "uds-seqpacket", "tcp", "iceoryx2", "zenoh-tcp"]
        [experiment.matrix]
        topology = ["1-3", "3-1", "2-2"]
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        stacks = ["floor-futex", "pipe", "posix-mq", "zenoh-tcp"]
        [experiment.matrix]
        topology = ["1-3", "3-1", "2-2"]
        "#,
    );
    for e in experiments(&place.measure("many", &[])) {
        assert_lossless(e);
        if e["experiment"] == "one-way" {
            // 20 messages of each sender, counted once for each receiver.
            let topology: Vec<u64> = e["topology"]
                .as_str()
                .unwrap()
                .split('-')
                .map(|n| n.parse().unwrap())
                .collect();
            assert_eq!(count(e, "offered"), 20 * topology[0] * topology[1], "{e:#}");
        }
    }
}

#[test]
fn threads_of_one_process_exchange_like_processes() {
    let place = Place::new();
    place.suite(
        "threads",
        r#"
        title = "threads"
        [defaults]
        trials = 1
        warmup = "10 ms"
        window = "50 ms"
        placement = "thread"
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        stacks = "all"
        "#,
    );
    for e in experiments(&place.measure("threads", &[])) {
        assert_sound(e);
        assert_eq!(e["placement"], "thread");
    }
}

#[test]
fn poisson_bursts_and_floods_count_up() {
    let place = Place::new();
    place.suite(
        "load",
        r#"
        title = "load"
        [defaults]
        trials = 1
        warmup = "20 ms"
        window = "200 ms"
        wait = "block"
        [[experiment]]
        stacks = ["uds-stream", "floor-futex"]
        name = "poisson"
        workload = "stream"
        rate = "1 kHz"
        arrivals = "poisson"
        [[experiment]]
        stacks = ["uds-stream", "floor-futex"]
        name = "burst"
        workload = "burst"
        group = 10
        period = "10 ms"
        [[experiment]]
        stacks = ["uds-stream", "floor-futex"]
        name = "flood"
        workload = "flood"
        "#,
    );
    let shown = place.measure("load", &[]);
    for e in experiments(&shown) {
        assert_lossless(e);
        match e["experiment"].as_str().unwrap() {
            "burst" => assert_eq!(count(e, "offered"), 200),
            // Poisson with mean 200: outside this range once in 10^8 runs.
            "poisson" => assert!((120..290).contains(&count(e, "offered"))),
            _ => assert!(count(e, "offered") > 200),
        }
    }
}

#[test]
fn every_row_stands_beside_the_floor() {
    let place = Place::new();
    place.suite(
        "one",
        r#"
        title = "one"
        [defaults]
        trials = 2
        warmup = "10 ms"
        window = "50 ms"
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        stacks = ["pipe"]
        "#,
    );
    let shown = place.measure("one", &[]);
    let stacks: Vec<_> = experiments(&shown)
        .iter()
        .map(|e| e["stack"].as_str().unwrap())
        .collect();
    assert!(
        stacks.contains(&"pipe") && stacks.contains(&"floor-futex"),
        "{stacks:?}"
    );
}

#[test]
fn what_stands_behind_the_warm_up_when_the_drain_ends_is_under_way() {
    let place = Place::new();
    place.suite(
        "queued",
        r#"
        title = "queued"
        [defaults]
        trials = 1
        warmup = "500 ms"
        window = "300 ms"
        drain = "200 ms"
        [[experiment]]
        name = "flood"
        workload = "flood"
        payload = "1 KiB"
        stacks = ["vsomeip"]
        "#,
    );
    let shown = place.measure("queued", &[]);
    let flood = on_stack(&shown, "vsomeip");
    // The library queues whatever it is given and loses none of it.
    assert!(count(flood, "under_way") > 0, "{flood:#}");
    assert_eq!(count(flood, "under_way"), count(flood, "lost"), "{flood:#}");
}

/// Agents, daemons and host are read before the first message of such a warm-up, so all of its messages share the cost.
#[test]
fn all_messages_of_a_counted_warm_up_share_the_cost() {
    let place = Place::new();
    place.suite(
        "counted",
        r#"
        title = "counted"
        [defaults]
        trials = 1
        wait = "block"
        [[experiment]]
        name = "stream"
        workload = "stream"
        rate = "1 kHz"
        messages = 200
        stacks = ["pipe"]
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        round_trips = 200
        stacks = ["pipe"]
        "#,
    );
    for warmup in [1_u32, 100] {
        let set = format!("warmup_messages={warmup}");
        place.measure("counted", &["--set", &set]);
        for name in place.trial_names("out") {
            let trial = place.json(&format!("out/trials/{name}.json"));
            assert_eq!(trial["flows"][0]["lead_in"], warmup, "{trial:#}");
            let received = trial["counts"]["received"].as_f64().unwrap();
            let cost = &trial["cost"];
            let shared = cost["cpu"].as_f64().unwrap() / (received + f64::from(warmup));
            let told = cost["cpu_ns_per_message"].as_f64().unwrap();
            assert!((told - shared).abs() < 1e-6 * shared, "{cost:#}");
        }
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
}

#[test]
fn a_pacer_that_only_sleeps_is_a_row_of_its_own() {
    let place = Place::new();
    let one = |pacer: &str| {
        format!(
            "[[experiment]]\nname = \"{pacer}\"\nworkload = \"stream\"\nstacks = [\"udp\"]\nrate = \"500 Hz\"\npacer = \"{pacer}\"\n"
        )
    };
    let suite = format!(
        "title = \"pacers\"\n[defaults]\nwait = \"block\"\ntrials = 2\nwarmup = \"20 ms\"\nwindow = \"300 ms\"\n{}{}",
        one("spin"),
        one("sleep")
    );
    place.suite("pacers", &suite);
    let shown = place.measure("pacers", &[]);
    let row = |name: &str| {
        let of = |e: &&Value| e["experiment"] == name && e["stack"] == "udp";
        experiments(&shown).iter().find(of).unwrap()
    };
    let (spin, sleep) = (row("spin"), row("sleep"));
    assert_lossless(sleep);
    assert_eq!(
        [&spin["headline"], &sleep["headline"]],
        ["response_ns", "response_ns"]
    );
    assert_eq!(
        (spin.get("pacer"), &sleep["pacer"]),
        (None, &"sleep".into())
    );
    // It sleeps, and burns no time.
    let pacing = |e: &Value| e["cost"]["pacing_ns"]["median"].as_f64().unwrap();
    assert!(pacing(sleep) < pacing(spin), "{sleep:#} {spin:#}");
    // Each has its floor, which waits in the same way.
    let floors = experiments(&shown).iter().filter(|e| e["is_floor"] == true);
    assert_eq!(floors.filter(|e| e["pacer"] == "sleep").count(), 1);
    place
        .run(&["show", "out"])
        .with_code(0)
        .says("pacer sleep")
        .says("the sender slept");
}
