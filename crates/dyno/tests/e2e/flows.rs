//! Flows that run at the same time, on real transports.

use crate::harness::{Place, count, experiments, on_stack, quantile, send};
use serde_json::Value;

/// Three kinds of flows, 300 ms of all at once.
const SUITE: &str = r#"
    title = "flows"
    [defaults]
    trials = 2
    warmup = "20 ms"
    settle = "0 s"
    window = "300 ms"
    drain = "500 ms"
    cpus = "none"
    wait = "block"
    deadline = "20 s"
    [[experiment]]
    name = "drive"
    stacks = ["tcp"]
    [[experiment.flow]]
    name = "control"
    workload = "stream"
    payload = "64 B"
    cycle = "2 ms"
    [[experiment.flow]]
    name = "camera"
    workload = "stream"
    payload = "60 kB"
    rate = "50 Hz"
    [[experiment.flow]]
    name = "body"
    workload = "stream"
    payload = "32 B"
    cycle = "50 ms"
    jitter = "5 ms"
    phase = "spread"
    count = 4
    [[experiment.flow]]
    name = "diag"
    workload = "ping-pong"
    payload = "64 B"
    gap = "10 ms"
"#;

#[track_caller]
fn flow<'a>(shown: &'a Value, stack: &str, name: &str) -> &'a Value {
    let is_it = |e: &&Value| {
        e["stack"] == stack && e["flow"]["name"] == name && e["flow"]["by_itself"] == false
    };
    let found = experiments(shown).iter().find(is_it);
    found.unwrap_or_else(|| panic!("no flow {name} on {stack} in {shown:#}"))
}

#[test]
fn every_flow_has_its_own_figures_and_the_cost_is_of_all() {
    let place = Place::new();
    let stacks = r#"["tcp", "udp", "iceoryx2", "pipe"]"#;
    place.suite("flows", &SUITE.replace(r#"["tcp"]"#, stacks));
    let shown = place.measure("flows", &[]);
    assert_eq!(experiments(&shown).len(), 16);
    for stack in ["tcp", "udp", "iceoryx2", "pipe"] {
        let of = |name| flow(&shown, stack, name);
        // Due in 300 ms of each trial that counts; one may be due at the window's very end.
        for (name, due) in [("control", 150), ("camera", 15), ("body", 4 * 6)] {
            let offered = count(of(name), "offered");
            let trials = of(name)["trials"].as_u64().unwrap();
            assert!(trials > 0);
            // Also what the last send of the window took is known.
            let least = of(name)["metrics"]["send_ns"]["min"].as_f64().unwrap();
            assert!(least > 0.0, "{stack} {name}");
            assert!(
                offered.abs_diff(trials * due) <= 4 * trials,
                "{stack} {name}: {offered}"
            );
            if stack != "udp" {
                assert_eq!(count(of(name), "received"), offered, "{stack} {name}");
            }
        }
        assert!(count(of("diag"), "received") >= 10, "{stack}");
        assert_eq!(of("body")["topology"], "1-1x4");
        assert_eq!(of("body")["copies"].as_array().unwrap().len(), 4, "{stack}");
        let costs: Vec<&Value> = ["control", "camera", "body", "diag"]
            .iter()
            .map(|name| &of(name)["cost"]["cpu_ns_per_message"])
            .collect();
        assert!(
            costs[0].is_object() && costs.iter().all(|c| *c == costs[0]),
            "{costs:?}"
        );
    }
    let said = place.run(&["show", "out"]).with_code(0);
    let said = said.says("drive on iceoryx2, block: 7 flows at once, together");
    assert!(said.stdout.contains("control"), "{}", said.stdout);
    let csv = place.run(&["show", "out", "--format", "csv"]).stdout;
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert!(header.contains(&"flow"), "{header:?}");
}

/// The reader takes 200 messages a second of 1,000, and the sender is blocked from the first tenth of the window on.
#[test]
fn a_sender_that_is_blocked_until_the_drain_is_over_fails_no_trial() {
    const BLOCKED: &str = r#"
        title = "blocked"
        [defaults]
        trials = 2
        warmup = "10 ms"
        settle = "0 s"
        window = "400 ms"
        drain = "300 ms"
        cpus = "none"
        wait = "block"
        payload = "30 kB"
        sink_pause = "5 ms"
        [[experiment]]
        name = "alone"
        workload = "stream"
        rate = "1 kHz"
        stacks = ["pipe", "tcp"]
        [[experiment]]
        name = "beside"
        stacks = ["pipe"]
        [[experiment.flow]]
        name = "much"
        workload = "stream"
        rate = "1 kHz"
        [[experiment.flow]]
        name = "little"
        workload = "stream"
        rate = "20 Hz"
    "#;
    let place = Place::new();
    place.suite("blocked", BLOCKED);
    let shown = place.measure("blocked", &["--experiment", "alone,beside"]);
    let mut blocked = 0;
    for e in experiments(&shown) {
        let (offered, sent) = (count(e, "offered"), count(e, "sent"));
        let trials = e["trials"].as_u64().unwrap();
        let name = format!("{} {}", e["stack"], e["flow"]["name"]);
        match e["flow"]["name"] == "little" {
            true => assert_eq!(count(e, "received"), offered, "{name}"),
            false => {
                // Every message that was due is counted, sent or not.
                assert!(
                    offered.abs_diff(400 * trials) <= trials,
                    "{name}: {offered}"
                );
                assert!(count(e, "late") >= offered - sent, "{name}");
                assert_eq!(count(e, "lost"), offered - count(e, "received"), "{name}");
                blocked += offered - sent;
            }
        }
    }
    assert!(blocked > 0);
    place
        .run(&["show", "out"])
        .with_code(0)
        .says("never sent, because");
}

/// A message waits for the next look: on average half a cycle, and at most about a whole one.
#[test]
fn a_sink_with_a_cycle_takes_what_is_there_when_it_looks() {
    const CYCLIC: &str = r#"
        title = "cyclic"
        [defaults]
        trials = 2
        warmup = "20 ms"
        settle = "0 s"
        window = "400 ms"
        drain = "1 s"
        cpus = "none"
        wait = "spin"
        rate = "1 kHz"
        [[experiment]]
        name = "cyclic"
        workload = "stream"
        stacks = ["iceoryx2", "uds-seqpacket"]
        sink_cycle = "20 ms"
    "#;
    let place = Place::new();
    place.suite("cyclic", CYCLIC);
    let shown = place.measure("cyclic", &["--experiment", "cyclic"]);
    for stack in ["iceoryx2", "uds-seqpacket"] {
        let e = on_stack(&shown, stack);
        assert_eq!(e["sink_cycle_ns"], 20_000_000, "{stack}");
        assert_eq!(count(e, "received"), count(e, "offered"), "{stack}");
        let p50 = quantile(e, "response_ns", "p50");
        assert!(p50 > 3e6, "{stack}: {p50}");
        // Several come at each look.
        assert!(quantile(e, "gap_ns", "p50") < 1e6, "{stack}");
    }
    place
        .run(&["show", "out"])
        .with_code(0)
        .says("takes all messages every 20.0 ms");
    place
        .run(&["run", "cyclic", "--set", "wait=block", "--dry-run"])
        .says("`sink_cycle` is for a sink that polls");
}

/// One sender, whose messages a reader takes at once and another one slowly.
const TWO_READERS: &str = r#"
    title = "one slow reader"
    [defaults]
    trials = 2
    warmup = "20 ms"
    settle = "0 s"
    window = "300 ms"
    drain = "3 s"
    cpus = "none"
    wait = "block"
    deadline = "20 s"
    [[experiment]]
    name = "both"
    stacks = ["iceoryx2", "uds-seqpacket", "tcp", "zenoh-tcp"]
    [[experiment.flow]]
    name = "fast"
    workload = "stream"
    rate = "500 Hz"
    [[experiment.flow]]
    name = "slow"
    reads = "fast"
    readers = 2
    sink_pause = "4 ms"
"#;

#[test]
fn a_slow_reader_of_a_flow_has_figures_of_its_own() {
    let place = Place::new();
    place.suite("readers", TWO_READERS);
    let shown = place.measure("readers", &["--alone"]);
    for stack in ["iceoryx2", "uds-seqpacket", "tcp", "zenoh-tcp"] {
        let [fast, slow] = ["fast", "slow"].map(|name| flow(&shown, stack, name));
        assert_eq!(slow["flow"]["reads"], "fast", "{stack}");
        assert!(fast["flow"].get("reads").is_none());
        assert_eq!(slow["topology"], "1-2");
        // The same messages, to two readers.
        assert_eq!(
            count(slow, "offered"),
            2 * count(fast, "offered"),
            "{stack}"
        );
        assert_eq!(count(fast, "received"), count(fast, "offered"), "{stack}");
        assert!(count(slow, "received") > 0, "{stack}");
        // Half of the messages that are due in the window wait for it behind others, the longest for 300 ms.
        let p90 = |e| quantile(e, "response_ns", "p90");
        assert!(p90(slow) > 100e6, "{stack}: {}", p90(slow));
        assert!(quantile(fast, "send_ns", "p50") > 0.0, "{stack}");
        // By itself it has a sender.
        let alone = experiments(&shown).iter().filter(|e| {
            e["stack"] == stack && e["flow"]["name"] == "slow" && e["flow"]["by_itself"] == true
        });
        let alone: Vec<_> = alone.collect();
        assert_eq!(alone.len(), 1);
        assert!(alone[0]["flow"].get("reads").is_none());
        assert!(count(alone[0], "received") > 0, "{stack}");
    }
    let said = place.run(&["show", "out"]).with_code(0);
    said.says("slow reading fast");
}

#[test]
fn messages_of_a_flow_may_have_several_sizes_and_the_receiver_knows_which() {
    let place = Place::new();
    let mixed = SUITE
        .replace(
            "payload = \"60 kB\"",
            "payload = { from = \"32 B\", to = \"60 kB\" }",
        )
        .replace(
            "payload = \"32 B\"",
            "payload = [{ size = \"32 B\", weight = 3 }, { size = \"1 kB\", weight = 1 }]",
        )
        .replace("wait = \"block\"", "wait = \"block\"\naccess = \"all\"")
        .replace(
            "workload = \"ping-pong\"\n    payload = \"64 B\"",
            "workload = \"burst\"\n    payload = [\"64 B\"]",
        )
        .replace("gap = \"10 ms\"", "group = 3\nperiod = \"10 ms\"");
    place.suite(
        "flows",
        &mixed.replace(r#"["tcp"]"#, r#"["tcp", "udp", "iceoryx2"]"#),
    );
    let shown = place.measure("flows", &[]);
    for e in experiments(&shown) {
        for damaged in ["corrupted", "truncated", "duplicated"] {
            assert_eq!(count(e, damaged), 0, "{damaged}: {e:#}");
        }
        // Datagrams of 60 kB find a full receive buffer where a sink is kept from its CPU.
        if e["stack"] != "udp" {
            assert_eq!(count(e, "lost"), 0, "{e:#}");
        }
    }
    let camera = flow(&shown, "tcp", "camera");
    assert_eq!(camera["payload_bytes"], 60_000);
    assert_eq!(camera["flow"]["payload"], "32 B to 60 kB");
    // 30 of them: 30 kB in the mean, give or take six standard errors.
    let rate = |name: &str| camera["throughput"][name]["median"].as_f64().unwrap();
    let mean = rate("delivered_bytes_per_s") / rate("delivered_hz");
    assert!((10e3..50e3).contains(&mean), "{mean}");
    place
        .run(&["show", "out"])
        .says("32 B (3 of 4) or 1 kB (1 of 4)");
}

#[test]
fn all_senders_can_be_one_process() {
    let place = Place::new();
    let one = SUITE.replace(
        "name = \"drive\"",
        "name = \"drive\"\n    processes = \"per-side\"",
    );
    place.suite("flows", &one);
    let shown = place.measure("flows", &["--trials", "1"]);
    for name in ["control", "camera", "body", "diag"] {
        let e = flow(&shown, "tcp", name);
        assert_eq!(count(e, "received"), count(e, "offered"), "{e:#}");
        assert_eq!(e["flow"]["processes"], "per-side");
    }
    let trial = std::fs::read_to_string(place.path("out/trials/e0000-t000.json")).unwrap();
    let trial: Value = serde_json::from_str(&trial).unwrap();
    let processes = trial["cost"]["processes"].as_array().unwrap();
    let labels: Vec<&str> = processes
        .iter()
        .map(|p| p["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["initiator+6 x source", "echo+6 x sink"]);
}

#[test]
fn what_one_flow_loses_is_booked_on_it_alone() {
    let place = Place::new();
    // Participant 2 sends the camera.
    let stack = "description = \"lies\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\n\
                 inner = \"uds\"\ndrop_every = 3\nparticipant = 2\n";
    place.stack("liar", stack);
    place.suite("flows", &SUITE.replace(r#"["tcp"]"#, r#"["liar"]"#));
    let shown = place.measure("flows", &[]);
    let lost = |name| count(flow(&shown, "liar", name), "lost");
    let trials = flow(&shown, "liar", "camera")["trials"].as_u64().unwrap();
    assert!(
        (3 * trials..=7 * trials).contains(&lost("camera")),
        "a third of 15 in each of {trials}: {}",
        lost("camera")
    );
    assert_eq!([lost("control"), lost("body"), lost("diag")], [0, 0, 0]);
    place.file(
        "limits.toml",
        "[[limit]]\nname = \"control in full\"\nflow = \"control\"\nmetric = \"loss\"\nat_most = 0\n\
         [[limit]]\nname = \"camera in full\"\nflow = \"camera\"\nmetric = \"loss\"\nat_most = 0\n",
    );
    let checked = place.run(&["check", "out", "limits.toml"]);
    assert!(!checked.status.success());
    let checked = checked.says("camera in full");
    let text = checked.stdout;
    let verdict = |name: &str| {
        let line = text.lines().find(|l| l.contains(name));
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
            .to_lowercase()
    };
    assert_ne!(
        verdict("control in full").contains("fail"),
        verdict("camera in full").contains("fail"),
        "{text}"
    );
    place.file(
        "limits.toml",
        "[[limit]]\nname = \"x\"\nflow = \"contol\"\nmetric = \"loss\"\nat_most = 0\n",
    );
    let refused = place.run(&["check", "out", "limits.toml"]);
    assert!(!refused.status.success());
    refused
        .says("no experiment of this run has the flow `contol`")
        .says("did you mean `control`?");
}

#[test]
fn a_killed_process_fails_the_trial_of_all_flows_by_name() {
    let place = Place::new();
    let long = SUITE
        .replace("300 ms", "20 s")
        .replace("trials = 2", "trials = 1");
    place.suite("flows", &long);
    let run = place.start(&["run", "flows", "--out", "out", "--quiet"]);
    // A process for each side of each flow: the third sends the camera.
    let agents = run.agents(8);
    let graph_is_up = place.path("out/run.json");
    crate::harness::wait_for("the run's head", || graph_is_up.exists().then_some(()));
    std::thread::sleep(std::time::Duration::from_millis(500));
    send(agents[2], libc::SIGKILL);
    let ended = run.end();
    assert!(!ended.status.success());
    let shown = place.show("out");
    for name in ["control", "camera", "body", "diag"] {
        let e = flow(&shown, "tcp", name);
        assert_eq!(e["failed_trials"], 1, "{e:#}");
        let message = e["failures"][0]["message"].as_str().unwrap();
        assert!(message.contains("source 2 of camera"), "{message}");
    }
    // People are told once.
    let told = |text: &str| text.matches("source 2 of camera").count();
    assert_eq!(told(&ended.stderr), 1, "{}", ended.stderr);
    let shown = place.run(&["show", "out"]).says("and 3 more flows: ");
    assert_eq!(told(&shown.stdout), 1, "{}", shown.stdout);
}

#[test]
fn each_flow_is_held_against_itself_alone_and_a_run_goes_on_where_it_stopped() {
    let place = Place::new();
    place.suite("flows", SUITE);
    let shown = place.measure("flows", &["--alone", "--trials", "3"]);
    assert_eq!(experiments(&shown).len(), 8);
    for name in ["control", "camera", "body", "diag"] {
        // Of trials that the host disturbed, or that differ tenfold, there is none.
        let against = &flow(&shown, "tcp", name)["flow"]["against_alone"];
        let ratio = against["p50_ratio"]["value"].as_f64();
        assert!(ratio.is_none_or(|r| r > 0.0), "{name}: {against:#}");
    }
    place
        .run(&["show", "out"])
        .says("control with the other flows divided by the same flow alone");
    place
        .run(&["show", "out", "--notes", "short"])
        .says("Cost of the other flows: ");
    // A trial without one of its flows is measured again as a whole.
    for file in ["e0000-t001.json", "e0002-t001.json"] {
        std::fs::remove_file(place.path("out/trials").join(file)).unwrap();
    }
    place
        .run(&["run", "--resume", "out", "--quiet"])
        .with_code(0);
    let stored = std::fs::read_dir(place.path("out/trials")).unwrap();
    assert_eq!(stored.count(), 3 * 8);
    for e in experiments(&place.show("out")) {
        assert_eq!(e["failed_trials"], 0, "{e:#}");
    }
}
