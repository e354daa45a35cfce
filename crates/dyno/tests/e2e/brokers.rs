//! Stacks whose messages go through a broker, with the real one.

use crate::harness::{Place, Running, all_children, count, on_stack, quantile, send, wait_for};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) const SUITE: &str = r#"
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

/// What a library itself does not bear: the stack, the case, and what it says then. libnats 3.4 takes a signal that comes while a send
/// waits for room in its socket for an error of the socket.
const LIBRARIES_CANNOT: [(&str, &str, &str); 1] = [(
    "nats",
    "signals_tear_no_message",
    "natsConnection_Publish: IO Error",
)];

/// Every case of conformance, with the stack's broker and options. What a slow receiver loses is the broker's to lose.
#[track_caller]
pub(crate) fn conforms(stack: &str) {
    let place = Place::new();
    let told = place.run(&["conformance", stack, "--best-effort", "--quiet", "--json"]);
    let told: Value =
        serde_json::from_str(&told.stdout).unwrap_or_else(|e| panic!("{e}: {}", told.stdout));
    assert_eq!(told["complete"], true, "{told:#}");
    let cases = told["cases"].as_array().unwrap();
    let passed = cases.iter().filter(|c| c["verdict"] == "passed").count();
    assert!(passed >= 12, "{told:#}");
    let cannot = |case: &Value| {
        let of_library = LIBRARIES_CANNOT
            .iter()
            .find(|known| known.0 == stack && case["case"] == known.1);
        of_library.is_some_and(|known| case["reason"].as_str().is_some_and(|r| r.contains(known.2)))
    };
    let mut failed = cases.iter().filter(|c| c["verdict"] == "failed");
    assert_eq!(failed.find(|case| !cannot(case)), None);
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

/// Waits until no other test has the broker, since those of one run take turns and some look for theirs in vain meanwhile.
/// `None` where it is not here, which is said. Those of Debian are: `cargo xtask adapters` installs them.
pub(crate) fn turn(command: &str) -> Option<MutexGuard<'static, ()>> {
    static TURNS: Mutex<BTreeMap<String, &'static Mutex<()>>> = Mutex::new(BTreeMap::new());
    if !dyno_runner::is_installed(command) && command.starts_with('$') {
        eprintln!("NOT TESTED: there is no {command}");
        return None;
    }
    let mut turns = TURNS.lock().unwrap();
    let own = *turns
        .entry(command.to_owned())
        .or_insert_with(|| Box::leak(Box::default()));
    drop(turns);
    // A test that failed with it has ended all the same.
    Some(own.lock().unwrap_or_else(PoisonError::into_inner))
}

macro_rules! brokers {
    ($($name:ident: $stack:literal, $command:literal, $program:literal;)+) => {
        $(mod $name {
            #[test]
            fn conforms() {
                if let Some(_turn) = super::turn($command) {
                    super::conforms($stack);
                }
            }
            #[test]
            fn a_killed_broker_fails_its_trial_by_name() {
                if let Some(_turn) = super::turn($command) {
                    super::a_killed_broker_fails_its_trial_by_name($stack, $program);
                }
            }
            #[test]
            fn a_frozen_broker_shows_in_the_tail() {
                if let Some(_turn) = super::turn($command) {
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

/// What names the databroker.
pub(crate) const DATABROKER: &str = "${DYNO_KUKSA_DATABROKER:-databroker}";

/// Each of two callers sets an actuator of its own, of one provider, and gets its own answers.
#[test]
fn kuksa_answers_two_callers_each() {
    let Some(_turn) = turn(DATABROKER) else {
        return;
    };
    let place = Place::new();
    place.suite(
        "set",
        "title = \"set\"\n[defaults]\ntrials = 1\nwarmup = \"50 ms\"\nsettle = \"0 s\"\nwindow = \"300 ms\"\n\
         drain = \"5 s\"\ncpus = \"none\"\nraw_samples = 100000\n[[experiment]]\nname = \"set\"\nworkload = \"call\"\n\
         topology = \"2-1\"\nstacks = [\"kuksa\"]\n",
    );
    let shown = place.measure("set", &["--repeats", "0"]);
    let e = on_stack(&shown, "kuksa");
    assert_eq!(count(e, "received"), count(e, "offered"), "{e:#}");
    assert_ne!(e["paired"], true, "requests of its own: {e:#}");
    // Who asks keeps a sample of each answer. The suite's own experiment is the first, the floor comes after it.
    let raw = std::fs::read_to_string(place.path("out/raw/e0000-t000.csv")).unwrap();
    let samples = raw.lines().skip(1);
    let answered: BTreeSet<&str> = samples
        .map(|sample| sample.split(',').nth(1).unwrap())
        .collect();
    assert_eq!(answered.len(), 2, "each caller got answers: {answered:?}");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

/// The suite's own calls: an actuator set and got through Kuksa's provider, in the rows of the suite's table.
#[test]
fn the_suite_signals_has_kuksas_calls() {
    let Some(_turn) = turn(DATABROKER) else {
        return;
    };
    let place = Place::new();
    let arguments = [
        "run",
        "signals",
        "--stack",
        "kuksa,kuksa-viss",
        "--experiment",
        "call",
        "--set",
        "scale=short",
        "--out",
        "out",
        "--repeats",
        "0",
    ];
    place.run(&arguments).with_code(0);
    let shown = place.show("out");
    for stack in ["kuksa", "kuksa-viss"] {
        let e = on_stack(&shown, stack);
        assert_eq!(
            (&e["workload"], &e["paired"]),
            (&"call".into(), &false.into()),
            "{e:#}"
        );
        assert!(count(e, "received") > 0, "{e:#}");
        assert_eq!(count(e, "lost"), 0, "{e:#}");
    }
    place
        .run(&["show", "out"])
        .with_code(0)
        .says("set and get, p50");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

/// Reads of what the broker keeps, and sets over the WebSocket, in the rows of the suite's table.
#[test]
fn the_suite_signals_has_kuksas_reads_and_sets() {
    let Some(_turn) = turn(DATABROKER) else {
        return;
    };
    let place = Place::new();
    let arguments = [
        "run",
        "signals",
        "--experiment",
        "reads,sets",
        "--set",
        "scale=short",
        "--out",
        "out",
        "--repeats",
        "0",
    ];
    place.run(&arguments).with_code(0);
    let shown = place.run(&["show", "out", "--format", "markdown"]);
    let row = |label: &str| -> Vec<&str> {
        let label = format!("| {label} ");
        let mut rows = shown.stdout.lines().filter(|l| l.starts_with(&label));
        let row = rows
            .next()
            .unwrap_or_else(|| panic!("{label}: {}", shown.stdout));
        row.trim_matches('|').split('|').map(str::trim).collect()
    };
    // Label, study, kuksa-get, kuksa-viss-set.
    for (label, column) in [
        ("reads/s, one client, nobody writes", 2),
        ("reads/s, several clients, nobody writes", 2),
        ("reads/s, one client beside a writer", 2),
        ("reads/s, several clients beside a writer", 2),
        ("WebSocket: a set with its answer", 3),
    ] {
        assert_ne!(row(label)[column], "–", "{}", shown.stdout);
    }
    // At 1 Hz hardly any read finds a new value, and all are counted: they are as many as their times.
    let shown = place.show("out");
    let experiments = shown["experiments"].as_array().unwrap();
    let idle = |e: &&Value| e["stack"] == "kuksa-get" && e["load"]["rate_hz"].as_f64() == Some(1.0);
    let idle: Vec<&Value> = experiments.iter().filter(idle).collect();
    assert_eq!(idle.len(), 2, "{shown:#}");
    for e in idle {
        assert!(count(e, "received") <= count(e, "offered"), "{e:#}");
        assert_eq!(count(e, "duplicated"), 0, "{e:#}");
        assert_eq!(e["wait"], "spin", "{e:#}");
        let reads = e["metrics"]["read_ns"]["n"].as_u64().unwrap();
        assert!(reads > 10 * count(e, "offered"), "{e:#}");
        let trials = e["trials"].as_f64().unwrap();
        let per_second = e["throughput"]["reads_hz"]["median"].as_f64().unwrap();
        // A window of a second in each trial.
        assert!(
            (per_second * trials / reads as f64 - 1.0).abs() < 0.5,
            "{e:#}"
        );
    }
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

/// The broker logs every message to a file system of 64 KiB, which is full after some hundred of 2,000.
#[test]
fn a_brokers_log_on_a_full_disk_costs_no_message() {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("NOT TESTED: mounting needs root");
        return;
    }
    let _turn = turn("mosquitto");
    let place = Place::new();
    let stack = include_str!("../../../../adapters/mqtt/stacks/mqtt-qos0.toml");
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let logs = format!(
        "log_type all\nlog_dest file {}/log\nuser root\n",
        disk.display()
    );
    place.stack(
        "logs",
        // Room for all, so that a subscriber that is kept from its CPU loses none.
        &stack
            .replace("log_type error\nlog_type warning\n", &logs)
            .replace("[options]", "[options]\nbroker_queue = 10000"),
    );
    let suite = SUITE.replace("200 Hz", "2 kHz").replace("10 s", "1 s");
    place.suite("broker", &suite);
    // The mount goes with its namespace.
    place
        .shell(
            "unshare --mount sh -c 'mount -t tmpfs -o size=64k none disk\n\
             dyno run broker --files . --stack logs --repeats 0 --out out --quiet || exit\n\
             dd if=/dev/zero of=disk/more bs=4096 count=1 2>&1; wc -c disk/log'",
        )
        .with_code(0)
        .says("No space left on device")
        .says("disk/log");
    let shown = place.show("out");
    let e = on_stack(&shown, "logs");
    assert_eq!(
        [count(e, "offered"), count(e, "received")],
        [2_000, 2_000],
        "{e:#}"
    );
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
