//! Stacks whose messages go through a broker, with the real one.

use crate::harness::{Place, Running, all_children, count, on_stack, quantile, send, wait_for};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

const SUITE: &str = r#"
    title = "through a broker"
    [defaults]
    trials = 1
    warmup = "100 ms"
    window = "10 s"
    settle = "0 s"
    drain = "5 s"
    cpus = "none"
    [[experiment]]
    name = "one-way"
    workload = "stream"
    rate = "200 Hz"
    stacks = "all"
"#;

/// Starts the suite on `stack`.
fn start(place: &Place, stack: &str) -> Running {
    place.suite("broker", SUITE);
    place.start(&["run", "broker", "--stack", stack, "--out", "out", "--quiet"])
}

/// The process of the run's broker, once its clients are there.
fn broker(run: &Running, program: &str) -> i32 {
    let is_it = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c.trim() == program)
    };
    let pid = wait_for("the broker", || {
        all_children(run.pid()).into_iter().find(is_it)
    });
    run.agents(2);
    pid
}

/// Every case of conformance, with the stack's broker and options. What a slow receiver loses is the broker's to lose.
#[track_caller]
fn conforms(stack: &str) {
    let place = Place::new();
    place
        .run(&["conformance", stack, "--best-effort", "--quiet"])
        .with_code(0)
        .says(" 0 failed");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[track_caller]
fn a_killed_broker_fails_its_trial_by_name(stack: &str, program: &str) {
    let place = Place::new();
    let run = start(&place, stack);
    send(broker(&run, program), libc::SIGKILL);
    run.end().with_code(4);
    place
        .run(&["show", "out"])
        .says(&format!("daemon {program} ended with signal 9"));
    let manifest = std::fs::read_to_string(place.path("out/run.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let broker = &manifest["environment"]["binaries"][format!("daemon {program}")][0];
    assert_eq!(
        broker["sha256"].as_str().map(str::len),
        Some(64),
        "{broker}"
    );
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[track_caller]
fn a_frozen_broker_shows_in_the_tail(stack: &str, program: &str) {
    let place = Place::new();
    let run = start(&place, stack);
    let broker = broker(&run, program);
    // In the midst of the window, with seconds on both sides.
    std::thread::sleep(Duration::from_secs(4));
    send(broker, libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(2));
    send(broker, libc::SIGCONT);
    run.end().with_code(0);
    let shown = place.show("out");
    let e = on_stack(&shown, stack);
    // 2 s of 10 s: 20 % of the messages wait up to 2 s, evenly spread.
    assert!(quantile(e, "response_ns", "p99") >= 1.6e9, "{e:#}");
    assert_eq!(count(e, "offered"), 2_000, "no message is skipped: {e:#}");
    assert_eq!(count(e, "received"), 2_000, "no message is lost: {e:#}");
    let daemon = &e["cost"]["daemons"][0];
    assert_eq!(daemon["name"], program);
    assert!(
        daemon["cpu_ns"]["median"].as_f64().unwrap() > 0.0,
        "{daemon:#}"
    );
    assert!(
        daemon["pss_bytes"]["median"].as_f64().unwrap() > 0.0,
        "{daemon:#}"
    );
}

/// Whether the broker is here; says so where not. Those of Debian are: `cargo xtask adapters` installs them.
fn is_here(command: &str) -> bool {
    let found = dyno_runner::is_installed(command) || !command.starts_with('$');
    if !found {
        eprintln!("left out: there is no {command}");
    }
    found
}

macro_rules! brokers {
    ($($name:ident: $stack:literal, $command:literal, $program:literal;)+) => {
        $(mod $name {
            #[test]
            fn conforms() {
                if super::is_here($command) {
                    super::conforms($stack);
                }
            }
            #[test]
            fn a_killed_broker_fails_its_trial_by_name() {
                if super::is_here($command) {
                    super::a_killed_broker_fails_its_trial_by_name($stack, $program);
                }
            }
            #[test]
            fn a_frozen_broker_shows_in_the_tail() {
                if super::is_here($command) {
                    super::a_frozen_broker_shows_in_the_tail($stack, $program);
                }
            }
        })+
    };
}

// Each with its fullest protocol: the others send less.
brokers! {
    mqtt: "mqtt-qos2", "mosquitto", "mosquitto";
    nats: "nats", "nats-server", "nats-server";
    dbus: "dbus", "dbus-daemon", "dbus-daemon";
    kuksa: "kuksa", "${DYNO_KUKSA_DATABROKER:-databroker}", "databroker";
}

/// A subscriber that sleeps 10 ms after each of 1,000 messages per second: whoever drops what it has no room for, each is counted.
#[test]
fn what_a_slow_consumer_loses_is_counted_whoever_hides_it() {
    let place = Place::new();
    place.suite(
        "slow",
        "title = \"slow\"\n[defaults]\ntrials = 1\nwarmup = \"20 ms\"\nsettle = \"0 s\"\nwindow = \"500 ms\"\n\
         drain = \"300 ms\"\ncpus = \"none\"\n[[experiment]]\nname = \"one-way\"\nworkload = \"stream\"\n\
         rate = \"1 kHz\"\nsink_pause = \"10 ms\"\nstacks = [\"mqtt-qos0\", \"udp\"]\n",
    );
    let shown = place.measure("slow", &["--repeats", "0"]);
    for stack in ["mqtt-qos0", "udp"] {
        let e = on_stack(&shown, stack);
        let [offered, received, lost] = ["offered", "received", "lost"].map(|n| count(e, n));
        assert_eq!(offered, 500, "{stack}");
        assert_eq!(received + lost, offered, "{stack}: {e:#}");
        // Of ten only one finds it awake; the others wait in a queue, or find none.
        let in_window = count(e, "in_window");
        assert!((1..=offered / 5).contains(&in_window), "{stack}: {e:#}");
    }
    // A socket's buffer holds no more than some hundred.
    assert!(count(on_stack(&shown, "udp"), "lost") > 0);
}
