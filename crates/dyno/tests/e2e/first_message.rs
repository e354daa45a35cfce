//! The time to the first message, with its parts, over fresh starts.

use crate::harness::{Place, count, experiments, on_stack};
use serde_json::Value;

const PARTS: [&str; 3] = ["open_ns", "match_ns", "first_delivery_ns"];

fn suite(stacks: &str, topology: &str, more: &str) -> String {
    format!(
        "title = \"first message\"\n\
         [defaults]\nwait = \"natural\"\ndeadline = \"20 s\"\n\
         [[experiment]]\nname = \"start\"\nworkload = \"first-message\"\n\
         stacks = [{stacks}]\ntopology = \"{topology}\"\n{more}\n"
    )
}

/// The one sample of a metric in each trial of an experiment, in nanoseconds.
#[track_caller]
fn samples(place: &Place, experiment: &Value, metric: &str) -> Vec<f64> {
    let trials = experiment["trials"].as_u64().unwrap();
    let one = |number| {
        let file = format!(
            "out/trials/e{:04}-t{number:03}.json",
            experiment["id"].as_u64().unwrap()
        );
        let text = std::fs::read_to_string(place.path(&file)).unwrap();
        let trial: Value = serde_json::from_str(&text).unwrap();
        let distribution = &trial["distributions"][metric];
        assert_eq!(distribution["n"], 1, "{metric} in {trial:#}");
        assert_eq!(distribution["infinite"], 0, "{metric} in {trial:#}");
        distribution["sum"].as_f64().unwrap()
    };
    (0..trials).map(one).collect()
}

/// One sample per trial, and parts that add up to the whole.
#[track_caller]
fn check_parts(place: &Place, e: &Value) {
    let whole = samples(place, e, "first_message_ns");
    let parts = PARTS.map(|part| samples(place, e, part));
    for (i, whole) in whole.iter().enumerate() {
        let sum: f64 = parts.iter().map(|part| part[i]).sum();
        assert_eq!(sum, *whole, "trial {i} of {e:#}");
        assert!(*whole > 0.0 && parts[0][i] > 0.0, "trial {i} of {e:#}");
    }
    assert_eq!(e["metrics"]["first_message_ns"]["n"], e["trials"], "{e:#}");
    assert_eq!(e["headline"], "first_message_ns");
}

#[test]
fn every_start_gives_one_time_whose_parts_add_up() {
    let place = Place::new();
    let stacks = r#""uds-stream", "tcp", "iceoryx2", "zenoh-tcp""#;
    place.suite("one", &suite(stacks, "1-1", "trials = 3"));
    place.suite("two", &suite(stacks, "2-2", "trials = 2"));
    for (name, flows) in [("one", 1), ("two", 4)] {
        let shown = place.measure(name, &[]);
        for e in experiments(&shown) {
            assert_eq!(e["failed_trials"], 0, "{e:#}");
            check_parts(&place, e);
            let trials = e["trials"].as_u64().unwrap();
            assert_eq!(count(e, "offered"), trials * flows, "{e:#}");
            assert_eq!(count(e, "received"), trials * flows, "{e:#}");
            assert!(e["cost"]["cpu_ns"]["min"].as_f64().unwrap() > 0.0, "{e:#}");
        }
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
}

#[test]
fn a_message_of_any_size_and_access_can_be_the_first() {
    let place = Place::new();
    let more = "trials = 1\npayload = \"100 kB\"\naccess = \"all\"\nperiod = \"5 ms\"";
    let stacks = r#""uds-stream", "iceoryx2""#;
    place.suite("large", &suite(stacks, "1-3", more));
    let shown = place.measure("large", &[]);
    for stack in ["uds-stream", "iceoryx2"] {
        let e = on_stack(&shown, stack);
        check_parts(&place, e);
        assert_eq!(count(e, "received"), 3, "{e:#}");
    }
}

#[test]
fn a_slow_open_is_a_part_of_the_open_and_of_nothing_else() {
    let place = Place::new();
    place.stack(
        "sleepy",
        "description = \"sleeps\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
         [options]\ninner = \"uds\"\nslow_open_ms = 400\n",
    );
    place.suite("slow", &suite("\"sleepy\"", "1-1", "trials = 5"));
    let shown = place.measure("slow", &[]);
    let e = on_stack(&shown, "sleepy");
    check_parts(&place, e);
    let least = |metric| {
        let all = samples(&place, e, metric);
        all.into_iter().fold(f64::INFINITY, f64::min)
    };
    assert!(least("first_message_ns") >= least("open_ns"), "{e:#}");
    assert!(least("open_ns") >= 400e6, "{e:#}");
    // If they held the delay too, they would in every trial.
    assert!(least("match_ns") < 400e6, "{e:#}");
    assert!(least("first_delivery_ns") < 400e6, "{e:#}");
}

#[test]
fn a_peer_that_comes_late_is_waited_for_in_the_open() {
    let place = Place::new();
    place.stack(
        "late",
        "description = \"one sleeps\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
         [options]\ninner = \"uds\"\nslow_open_ms = 400\nparticipant = 2\n",
    );
    // Sender 0 is matched with receiver 1 long before receiver 2 is there, and sends to nobody until
    // all of its receivers are.
    place.suite("late", &suite("\"late\"", "1-2", "trials = 1"));
    let shown = place.measure("late", &[]);
    let e = on_stack(&shown, "late");
    check_parts(&place, e);
    assert_eq!(count(e, "received"), 2, "{e:#}");
    let open = samples(&place, e, "open_ns");
    assert!(open[0] >= 400e6, "{e:#}");
}

#[test]
fn callbacks_note_the_first_message_too() {
    let place = Place::new();
    let more = "trials = 2\nwait = \"callback\"";
    place.suite("called", &suite("\"zenoh-tcp\"", "1-1", more));
    let shown = place.measure("called", &[]);
    let e = on_stack(&shown, "zenoh-tcp");
    assert_eq!(e["wait"], "callback");
    check_parts(&place, e);
}

#[test]
fn every_workload_has_its_first_message() {
    let place = Place::new();
    let suite = "title = \"all\"\n[defaults]\nwait = \"block\"\ntrials = 1\nwarmup_messages = 2\n\
        [[experiment]]\nname = \"there\"\nworkload = \"stream\"\nrate = \"1 kHz\"\nmessages = 20\n\
        stacks = [\"uds-stream\"]\n\
        [[experiment]]\nname = \"back\"\nworkload = \"ping-pong\"\nround_trips = 20\n\
        stacks = [\"uds-stream\"]\n\
        [[experiment]]\nname = \"asked\"\nworkload = \"call\"\nround_trips = 20\n\
        stacks = [\"uds-stream\"]\n";
    place.suite("all", suite);
    let shown = place.measure("all", &[]);
    for e in experiments(&shown) {
        assert_eq!(e["failed_trials"], 0, "{e:#}");
        let whole = samples(&place, e, "first_message_ns")[0];
        let sum: f64 = PARTS.map(|part| samples(&place, e, part)[0]).iter().sum();
        assert_eq!(sum, whole, "{e:#}");
        assert_ne!(e["headline"], "first_message_ns");
        assert_eq!(count(e, "received"), 20, "{e:#}");
    }
}

#[test]
fn a_first_message_that_never_comes_fails_the_trial_in_link() {
    let place = Place::new();
    place.stack(
        "mute",
        "description = \"drops all\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
         [options]\ninner = \"uds\"\ndrop_every = 1\n",
    );
    let more = "trials = 1\ndeadline = \"5 s\"";
    let text = suite("\"mute\"", "1-1", more).replace("deadline = \"20 s\"\n", "");
    place.suite("mute", &text);
    place
        .run(&["run", "mute", "--out", "out", "--quiet"])
        .with_code(4);
    let shown = place.show("out");
    let e = on_stack(&shown, "mute");
    assert_eq!(e["failures"][0]["step"], "link", "{e:#}");
}

#[test]
fn a_first_message_has_no_window_and_needs_two_sides() {
    let place = Place::new();
    place.suite("windowed", &suite("\"tcp\"", "1-1", "window = \"1 s\""));
    place
        .run(&["run", "windowed"])
        .with_code(3)
        .says("a first-message has no `window`")
        .says("`period` sets the time between two attempts");
    place.suite("alone", &suite("\"null\"", "1-1", "trials = 1"));
    place
        .run(&["run", "alone"])
        .with_code(3)
        .says("null has no second participant");
}

#[test]
fn the_start_of_processes_and_containers_is_measured_and_one_is_alone_in_its_container() {
    let namespaces = ["--fork", "--pid", "--mount-proc", "--ipc", "--uts", "true"];
    let may = std::process::Command::new("unshare")
        .args(namespaces)
        .status();
    if !may.is_ok_and(|status| status.success()) {
        eprintln!("NOT TESTED: containers take CAP_SYS_ADMIN");
        return;
    }
    let mounts = || {
        let all = std::fs::read_to_string("/proc/self/mounts").unwrap();
        all.lines().filter(|l| l.contains(" /proc ")).count()
    };
    let (place, before) = (Place::new(), mounts());
    for start in ["process", "container"] {
        let more = format!("trials = 3\nstart = \"{start}\"");
        place.suite(start, &suite("\"tcp\"", "1-1", &more));
        let run = ["run", start, "--out", start, "--quiet"];
        place.run(&run).with_code(0);
        let shown = place.show(start);
        let e = on_stack(&shown, "tcp");
        assert_eq!(e["failed_trials"], 0, "{e:#}");
        // Those that the host disturbed do not count while others do.
        assert!(e["trials"].as_u64() >= Some(1), "{e:#}");
        assert_eq!(e["metrics"]["boot_ns"]["n"], e["trials"], "{e:#}");
        assert_eq!(e["metrics"]["first_message_ns"]["n"], e["trials"], "{e:#}");
    }
    assert_eq!(place.leftovers(), Vec::<std::path::PathBuf>::new());
    // Nothing was mounted that others see.
    assert_eq!(mounts(), before);

    let other =
        suite("\"tcp\"", "1-1", "start = \"container\"").replace("first-message", "ping-pong");
    place.suite("other", &other);
    place
        .run(&["run", "other", "--quiet"])
        .with_code(3)
        .says("`start` is only for first-message");

    place.suite(
        "queue",
        &suite("\"posix-mq\"", "1-1", "start = \"container\""),
    );
    place
        .run(&["run", "queue", "--quiet"])
        .with_code(3)
        .says("processes in containers do not");
}
