//! Chains: real processes on two and three legs, joined by gateways that lose, copy and change nothing of their own.

use crate::harness::{Place, count, experiments, failure, on_stack, quantile, send};
use serde_json::Value;
use std::time::Duration;

const ONE_WAY: &str = r#"
    [[experiment]]
    name = "stream"
    workload = "stream"
    rate = "1 kHz"
    [[experiment]]
    name = "burst"
    workload = "burst"
    group = 16
    period = "20 ms"
    [[experiment]]
    name = "flood"
    workload = "flood"
    messages = 2000
    [[experiment]]
    name = "first"
    workload = "first-message"
"#;

pub(crate) const CLOSED: &str = r#"
    [[experiment]]
    name = "round-trip"
    workload = "ping-pong"
    timeout = "10 s"
    [[experiment]]
    name = "call"
    workload = "call"
    timeout = "10 s"
"#;

/// A place with the stack `chain` of these legs and a suite `chains` of these experiments.
fn place(legs: &[&str], gateway: &str, settings: &str, all: &str) -> Place {
    let place = Place::new();
    let legs: String = legs
        .iter()
        .map(|leg| format!("[[leg]]\nstack = \"{leg}\"\n"))
        .collect();
    place.stack(
        "chain",
        &format!("description = \"a chain\"\n{gateway}\n{legs}"),
    );
    place.suite(
        "chains",
        &format!(
            "title = \"chains\"\n[defaults]\ntrials = 1\nwarmup = \"20 ms\"\nwindow = \"200 ms\"\n{settings}\n{all}"
        ),
    );
    place
}

fn measure(place: &Place) -> Value {
    place.measure("chains", &["--stack", "chain"])
}

/// The experiments on the chain, each with its one trial.
fn trials(place: &Place, shown: &Value) -> Vec<(Value, Value)> {
    let on_chain = |e: &&Value| e["stack"] == "chain";
    let all = experiments(shown).iter().filter(on_chain);
    let with_trial = |e: &Value| {
        let id = e["id"].as_u64().unwrap();
        let path = place.path(&format!("out/trials/e{id:04}-t000.json"));
        let text = std::fs::read_to_string(&path).unwrap();
        (e.clone(), serde_json::from_str(&text).unwrap())
    };
    all.map(with_trial).collect()
}

/// The same with what the trial says of the gateways.
fn on_chain(place: &Place, shown: &Value) -> Vec<(Value, Vec<Value>)> {
    let forwarded = |trial: &Value| trial["forwarded"].as_array().cloned();
    let all = trials(place, shown).into_iter();
    all.map(|(e, trial)| (e, forwarded(&trial).unwrap_or_default()))
        .collect()
}

#[track_caller]
fn assert_lossless(e: &Value) {
    assert_eq!(e["failed_trials"], 0, "{e:#}");
    assert!(count(e, "received") > 0, "{e:#}");
    for bad in ["lost", "corrupted", "truncated", "duplicated", "reordered"] {
        assert_eq!(count(e, bad), 0, "{bad}: {e:#}");
    }
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or(0)
}

#[test]
fn every_workload_goes_through_a_gateway() {
    let place = place(
        &["pipe", "uds-stream"],
        "",
        "",
        &format!("{ONE_WAY}{CLOSED}"),
    );
    let all = on_chain(&place, &measure(&place));
    assert_eq!(all.len(), 6);
    for (e, forwarded) in &all {
        assert_lossless(e);
        let closed = matches!(e["workload"].as_str(), Some("ping-pong" | "call"));
        assert_eq!(
            forwarded.len(),
            if closed { 2 } else { 1 },
            "{forwarded:#?}"
        );
        if e["workload"] == "first-message" {
            continue;
        }
        for way in forwarded {
            // What each end counted has passed the gateway once.
            assert_eq!(number(way, "taken"), count(e, "offered"), "{e:#} {way:#}");
            assert_eq!(number(way, "sent"), count(e, "received"), "{e:#} {way:#}");
            assert_eq!((number(way, "copied"), number(way, "dropped")), (0, 0));
        }
    }
}

#[test]
fn several_senders_and_receivers_share_a_gateway() {
    let experiments = r#"
        [[experiment]]
        name = "stream"
        workload = "stream"
        rate = "200 Hz"
        [experiment.matrix]
        topology = ["1-3", "3-1", "2-2"]
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        [experiment.matrix]
        topology = ["1-3", "3-1", "2-2"]
    "#;
    let place = place(&["pipe", "uds-stream"], "", "", experiments);
    let all = on_chain(&place, &measure(&place));
    assert_eq!(all.len(), 6);
    for (e, forwarded) in &all {
        assert_lossless(e);
        assert!(!forwarded.is_empty(), "{e:#}");
        for leg in e["chain"]["legs"].as_array().unwrap() {
            assert!(number(leg, "sent") > 0, "{leg:#}");
            assert_eq!(number(leg, "sent"), number(leg, "arrived"), "{leg:#} {e:#}");
        }
    }
}

#[test]
fn every_byte_passes_two_gateways_as_it_is() {
    let place = place(
        &["pipe", "uds-stream", "tcp"],
        "",
        "access = \"all\"\npayload = \"64 KiB\"",
        CLOSED,
    );
    for (e, forwarded) in on_chain(&place, &measure(&place)) {
        assert_lossless(&e);
        assert_eq!(forwarded.len(), 4, "{forwarded:#?}");
    }
}

#[test]
fn a_gateway_between_legs_that_lend_copies_nothing_but_requests() {
    let place = place(&["iceoryx2", "iceoryx2"], "", "wait = \"block\"", CLOSED);
    for (e, forwarded) in on_chain(&place, &measure(&place)) {
        assert_lossless(&e);
        let call = e["workload"] == "call";
        for (way, there) in forwarded.iter().zip([true, false]) {
            assert_eq!(way["lent"], true, "{way:#}");
            let copied = if call && there {
                number(way, "taken")
            } else {
                0
            };
            assert_eq!(number(way, "copied"), copied, "{e:#} {way:#}");
        }
        // Nothing went missing on any leg, there or back.
        let legs = e["chain"]["legs"].as_array().unwrap();
        assert_eq!(legs.len(), 4, "{legs:#?}");
        for leg in legs {
            assert_eq!(leg["sent"], leg["arrived"], "{legs:#?}");
        }
    }
}

#[test]
fn calls_of_the_stacks_own_go_through_a_gateway() {
    let place = place(&["uds-stream", "tcp"], "", "", CLOSED);
    for (e, _) in on_chain(&place, &measure(&place)) {
        assert_lossless(&e);
        assert_eq!(e["paired"], false, "{e:#}");
    }
}

#[test]
fn legs_wait_each_in_its_own_way() {
    let place = Place::new();
    let chain = "description = \"a chain\"\n[[leg]]\nstack = \"iceoryx2\"\nwait = \"block\"\n\
                 [[leg]]\nstack = \"floor-callback\"\nwait = \"callback\"\n";
    place.stack("chain", chain).suite(
        "chains",
        &format!("title = \"chains\"\n[defaults]\ntrials = 1\nwindow = \"100 ms\"\n{CLOSED}"),
    );
    for (e, _) in on_chain(&place, &measure(&place)) {
        assert_lossless(&e);
    }
}

#[test]
fn a_full_queue_drops_what_it_is_told_to_and_holds_up_where_not() {
    // The second leg is slow: 1 ms for each message.
    let slow = "description = \"slow\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
                [options]\ninner = \"uds\"\ndelay_every = 1\ndelay_us = 1000\n";
    for (full, loses) in [
        ("hold-up", false),
        ("drop-oldest", true),
        ("drop-newest", true),
    ] {
        let gateway = format!("[gateway]\nqueue = {{ depth = 4, full = \"{full}\" }}\n");
        let experiment = "[[experiment]]\nname = \"stream\"\nworkload = \"stream\"\nrate = \"4 kHz\"\nmessages = 400\n";
        // 400 ms and more where all wait; what was dropped is waited for until the end.
        let drain = if loses {
            "drain = \"2 s\""
        } else {
            "drain = \"20 s\""
        };
        let place = place(&["pipe", "slow"], &gateway, drain, experiment);
        place.stack("slow", slow);
        let all = on_chain(&place, &measure(&place));
        let [(e, forwarded)] = all.as_slice() else {
            panic!("{all:#?}");
        };
        let [way] = forwarded.as_slice() else {
            panic!("{forwarded:#?}");
        };
        let dropped = number(way, "dropped");
        assert_eq!(dropped > 0, loses, "{full}: {way:#}");
        assert_eq!(
            number(way, "taken"),
            number(way, "sent") + dropped,
            "{full}: {way:#}"
        );
        assert_eq!(
            number(way, "copied"),
            number(way, "taken"),
            "{full}: {way:#}"
        );
        assert_eq!(count(e, "lost"), dropped, "{full}: {e:#}");
    }
}

#[test]
fn a_loss_on_the_second_leg_is_not_the_gateways() {
    let lossy = "description = \"lossy\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
                 [options]\ninner = \"uds\"\ndrop_every = 10\n";
    let experiment = "[[experiment]]\nname = \"stream\"\nworkload = \"stream\"\nrate = \"1 kHz\"\nmessages = 200\n";
    let place = place(&["pipe", "lossy"], "", "drain = \"300 ms\"", experiment);
    place.stack("lossy", lossy);
    let all = on_chain(&place, &measure(&place));
    let (e, forwarded) = &all[0];
    let way = &forwarded[0];
    assert_eq!((number(way, "taken"), number(way, "sent")), (200, 200));
    let lost = count(e, "lost");
    assert!((15..=25).contains(&lost), "one of ten of 200: {e:#}");
    let legs = e["chain"]["legs"].as_array().unwrap();
    let by_leg: Vec<u64> = legs.iter().map(|leg| number(leg, "lost")).collect();
    assert_eq!(by_leg, [0, lost], "{legs:#?}");
    place
        .run(&["show", "out"])
        .with_code(0)
        .says(&format!("leg 2 (lossy) lost {lost} of 200"));
}

#[test]
fn what_is_damaged_or_repeated_on_the_first_leg_is_carried_and_counted() {
    let faulty = "description = \"faulty\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
                  [options]\ninner = \"uds\"\ncorrupt_every = 20\nduplicate_every = 30\n";
    let experiment = "[[experiment]]\nname = \"stream\"\nworkload = \"stream\"\nrate = \"1 kHz\"\nmessages = 200\n";
    let settings = "drain = \"300 ms\"\naccess = \"all\"";
    let place = place(&["faulty", "pipe"], "", settings, experiment);
    place.stack("faulty", faulty);
    let all = on_chain(&place, &measure(&place));
    let (e, _) = &all[0];
    assert!(count(e, "corrupted") > 0, "{e:#}");
    assert!(count(e, "duplicated") > 0, "{e:#}");
    // A damaged message may come twice.
    let lost = count(e, "lost");
    assert!((1..=count(e, "corrupted")).contains(&lost), "{e:#}");
    let least = &e["chain"]["least_ns"];
    assert!(least.as_i64().unwrap() >= 0, "{e:#}");
}

#[test]
fn legs_alone_run_in_the_same_rounds_and_tell_what_the_chain_adds() {
    // Two options of one adapter in the process of the gateway.
    let experiment = "[[experiment]]\nname = \"round-trip\"\nworkload = \"ping-pong\"\n";
    let place = place(&["uds-stream", "uds-seqpacket"], "", "", experiment);
    let more = ["--stack", "chain", "--legs", "--trials", "3"];
    let shown = place.measure("chains", &more);
    let e = on_stack(&shown, "chain");
    for leg in ["uds-stream", "uds-seqpacket"] {
        assert_eq!(on_stack(&shown, leg)["planned_trials"], 3);
        assert_eq!(on_stack(&shown, leg)["is_leg"], true);
    }
    assert_eq!(e["is_leg"], false);
    let added = &e["chain"]["added"];
    // Of trials that the host disturbed nothing is said.
    let rows = ["chain", "uds-stream", "uds-seqpacket"].map(|s| on_stack(&shown, s));
    let is_calm = rows
        .iter()
        .all(|e| e["trials"] == 3 && e["all_disturbed"] == false);
    if is_calm {
        assert_eq!(added["metric"], "rtt_ns", "{added:#}");
        assert_eq!(added["trials"], 3, "{added:#}");
    }
    // The mean of the trials' differences, whatever it is on this machine.
    let mean = |stack: &str| on_stack(&shown, stack)["metrics"]["rtt_ns"]["mean"].as_f64();
    let legs = mean("uds-stream").unwrap() + mean("uds-seqpacket").unwrap();
    if is_calm {
        let expected = mean("chain").unwrap() - legs;
        let found = added["mean_ns"]["value"].as_f64().unwrap();
        assert!((found - expected).abs() < 1.0, "{found} {expected}");
    }
    place
        .run(&[
            "run", "chains", "--stack", "pipe", "--legs", "--out", "none",
        ])
        .with_code(3)
        .says("no stack of this run is a chain");
}

#[test]
fn a_chain_leads_to_a_host_with_a_clock_of_its_own() {
    let place = Place::new();
    let chain = "description = \"a chain\"\n[[leg]]\nstack = \"pipe\"\n\
                 [[leg]]\nstack = \"tcp\"\nplacement = \"host\"\n";
    let testbed = "description = \"this machine twice\"\n[[host]]\nname = \"here\"\nreach = \"local\"\n\
                   [[host]]\nname = \"there\"\nreach = \"local\"\naddress = \"127.0.0.2\"\nown_clock = true\n";
    place.stack("chain", chain).suite(
        "chains",
        &format!("title = \"chains\"\n[defaults]\ntrials = 1\nwindow = \"100 ms\"\nplacement = \"host\"\n{ONE_WAY}{CLOSED}"),
    );
    place.file("testbeds/twice.toml", testbed);
    let shown = place.measure("chains", &["--stack", "chain", "--testbed", "twice"]);
    for (e, trial) in trials(&place, &shown) {
        assert_lossless(&e);
        let clocks = trial["clocks"].as_array().unwrap();
        let bound: i64 = clocks.iter().map(|c| c["bound"].as_i64().unwrap()).sum();
        assert!(bound > 0, "{trial:#}");
        if e["workload"] != "first-message" {
            let least = trial["parts"]["least"].as_i64().unwrap();
            assert!(least >= -bound, "{least} {bound}: {trial:#}");
        }
    }
}

/// `leg 1`, `echo`, `gateway 1 back`.
fn stage(part: &Value) -> String {
    let number = part["number"].as_u64();
    let number = number.map_or(String::new(), |n| format!(" {n}"));
    let back = if part["back"] == true { " back" } else { "" };
    format!("{}{number}{back}", part["stage"].as_str().unwrap())
}

#[test]
fn parts_of_a_round_trip_of_8_bytes_add_up_to_the_whole() {
    let place = place(&["pipe", "uds-stream"], "", "payload = \"8 B\"", CLOSED);
    for (e, trial) in trials(&place, &measure(&place)) {
        let parts = &trial["parts"];
        assert!(parts["least"].as_i64().unwrap() > 0, "{parts:#}");
        assert!(number(parts, "messages") > 0, "{parts:#}");
        let parts = parts["parts"].as_array().unwrap();
        let stages: Vec<String> = parts.iter().map(stage).collect();
        assert_eq!(
            stages,
            [
                "leg 1",
                "gateway 1",
                "leg 2",
                "echo",
                "leg 2 back",
                "gateway 1 back",
                "leg 1 back"
            ]
        );
        let sum: f64 = parts.iter().map(|p| p["mean"].as_f64().unwrap()).sum();
        let min = e["metrics"]["rtt_ns"]["min"].as_f64().unwrap();
        assert!(sum >= min, "{sum} < {min}: {trial:#}");
    }
}

#[test]
fn a_delay_in_a_gateway_appears_in_its_stay_and_nowhere_else() {
    let experiment = "[[experiment]]\nname = \"stream\"\nworkload = \"stream\"\nrate = \"50 Hz\"\nmessages = 40\n";
    let gateway = "[gateway]\ndelay = \"5 ms\"\n";
    let place = place(&["pipe", "uds-stream"], gateway, "", experiment);
    let all = trials(&place, &measure(&place));
    let (_, trial) = &all[0];
    let parts = trial["parts"]["parts"].as_array().unwrap();
    let p50 = |wanted: &str| {
        let part = parts.iter().find(|p| stage(p) == wanted).unwrap();
        part["p50"].as_f64().unwrap()
    };
    assert!(p50("gateway 1") >= 5e6, "{trial:#}");
    // The legs have none of it: the smallest part of any message is one of them.
    let least = trial["parts"]["least"].as_f64().unwrap();
    assert!(least < 5e6, "{trial:#}");
    let warnings = place.show("out")["run"]["warnings"].to_string();
    assert!(warnings.contains("a planted fault"), "{warnings}");
}

/// A stream of 5 s through a gateway, to which `does` something in its middle. The agents start in the order of their
/// participants, the gateway last; those of the floor's trial are two.
fn disturbed(does: impl FnOnce(i32)) -> (Place, crate::harness::Ended) {
    let experiment = "[[experiment]]\nname = \"stream\"\nworkload = \"stream\"\nrate = \"500 Hz\"\nwindow = \"5 s\"\n";
    let settings = "wait = \"block\"\ncpus = \"none\"\ndrain = \"3 s\"\nsettle = \"0 s\"";
    let place = place(&["pipe", "uds-stream"], "", settings, experiment);
    let run = place.start(&[
        "run", "chains", "--stack", "chain", "--out", "out", "--quiet",
    ]);
    let agents = run.agents(3);
    std::thread::sleep(Duration::from_millis(1_000));
    does(agents[2]);
    let ended = run.end();
    (place, ended)
}

#[test]
fn a_frozen_gateway_shows_in_the_response_time() {
    let (place, ended) = disturbed(|gateway| {
        send(gateway, libc::SIGSTOP);
        std::thread::sleep(Duration::from_secs(2));
        send(gateway, libc::SIGCONT);
    });
    ended.with_code(0);
    let shown = place.show("out");
    let e = on_stack(&shown, "chain");
    // Of 5 s the last tenth waited the longest: 2 s less half a second of messages that came after its begin.
    assert!(quantile(e, "response_ns", "p90") >= 1.2e9, "{e:#}");
    assert!(quantile(e, "response_ns", "p99") >= 1.7e9, "{e:#}");
    assert_eq!(count(e, "offered"), 2_500, "no message is skipped");
    assert_eq!(count(e, "lost"), 0, "{e:#}");
    // It is the gateway's, not that of the leg in which messages lay.
    let part = |wanted: &str| {
        let mut parts = e["chain"]["parts"].as_array().unwrap().iter();
        parts.find(|p| stage(p) == wanted).unwrap()
    };
    for (quantile, least) in [("p90_ns", 1.2e9), ("p99_ns", 1.7e9)] {
        let stay = part("gateway 1")[quantile]["value"].as_f64().unwrap();
        assert!(stay >= least, "{e:#}");
        let leg = part("leg 1")[quantile]["value"].as_f64().unwrap();
        assert!(leg < stay / 10.0, "{e:#}");
    }
}

#[test]
fn a_killed_gateway_fails_its_trial_by_name_and_leaves_nothing() {
    let (place, ended) = disturbed(|gateway| send(gateway, libc::SIGKILL));
    assert_ne!(ended.status.code(), Some(0), "{}", ended.stderr);
    let mut failed = place.trials("out");
    failed.retain(|trial| trial["outcome"] == "failed");
    let [trial] = failed.as_slice() else {
        panic!("{failed:#?}");
    };
    assert_eq!(trial["kind"], "crash", "{trial:#}");
    let message = failure(trial);
    assert!(message.contains("gateway 2"), "{message}");
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn eight_legs_carry_and_nine_are_refused() {
    let legs = ["pipe", "uds-stream"].repeat(4);
    let settings = "wait = \"block\"\ncpus = \"none\"";
    let place = place(&legs, "", settings, CLOSED);
    for (e, forwarded) in on_chain(&place, &measure(&place)) {
        assert_lossless(&e);
        assert_eq!(forwarded.len(), 14, "seven gateways, there and back");
        assert_eq!(e["chain"]["residual_ns"], 0, "{e:#}");
        // Eight legs and seven stays there, the echo, and as many back.
        assert_eq!(e["chain"]["parts"].as_array().unwrap().len(), 31);
    }
    let longer = "description = \"longer\"\n[[leg]]\nstack = \"chain\"\n[[leg]]\nstack = \"tcp\"\n";
    place.stack("longer", longer);
    place
        .run(&["run", "chains", "--stack", "longer", "--out", "none"])
        .with_code(3)
        .says("a chain has 2 to 8 legs, found 9");
}

#[test]
fn a_chain_that_is_none_is_refused_before_anything_runs() {
    let place = place(&["pipe"], "", "", CLOSED);
    place
        .run(&["run", "chains", "--stack", "chain", "--out", "out"])
        .with_code(3)
        .says("a chain has 2 to 8 legs, found 1");
    assert!(!place.path("out").exists());
}

#[test]
fn an_echo_that_polls_makes_its_sleep_the_round_trip() {
    let settings = "echo_poll = \"50 ms\"";
    let experiment =
        "[[experiment]]\nname = \"round-trip\"\nworkload = \"ping-pong\"\nwindow = \"600 ms\"\n";
    let place = place(&["pipe", "uds-stream"], "", settings, experiment);
    let shown = measure(&place);
    let e = on_stack(&shown, "chain");
    assert_lossless(e);
    assert!(quantile(e, "rtt_ns", "p50") >= 40e6, "{e:#}");
    let parts = e["chain"]["parts"].as_array().unwrap();
    let p50 = |part: &Value| part["p50_ns"]["value"].as_f64().unwrap();
    let longest = parts.iter().max_by(|a, b| p50(a).total_cmp(&p50(b)));
    // A ping waits before the echo takes it: on the leg that leads there.
    assert_eq!(stage(longest.unwrap()), "leg 2", "{parts:#?}");
    place
        .run(&[
            "run",
            "chains",
            "--stack",
            "floor-callback",
            "--out",
            "none",
        ])
        .with_code(3)
        .says("polls for messages, and this one has a callback");
}
