//! Probes of the real machine, and what it does not grant them.

use crate::harness::{Place, experiments};
use dyno_model::cause::Warning;
use serde_json::Value;
use std::process::Command;

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    let id = unsafe { libc::geteuid() };
    id == 0
}

fn warnings(e: &Value) -> String {
    let all = e["warnings"].as_array().unwrap().iter();
    let texts: Vec<&str> = all.map(|w| w["text"].as_str().unwrap()).collect();
    texts.join("\n")
}

#[test]
fn a_class_and_a_counter_that_are_not_granted_are_said_beside_the_figure() {
    let place = Place::new();
    place.suite(
        "ground",
        r#"
        title = "without rights"
        [defaults]
        trials = 1
        warmup = "5 ms"
        window = "20 ms"
        [[experiment]]
        name = "timer"
        workload = "probe"
        probe = "timer"
        scheduling = "fifo:10"
        [[experiment]]
        name = "syscall"
        workload = "probe"
        probe = "syscall"
        batch = 100
        "#,
    );
    let without_rights = |arguments: &[&str]| {
        let dyno = place.dyno(arguments);
        // Even root has no rights within an empty bounding set (capabilities(7)).
        let mut command = Command::new("prlimit");
        command.args(["--rtprio=0:0", "--"]);
        if is_root() {
            command.args(["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--"]);
        }
        command
            .arg(dyno.get_program())
            .args(dyno.get_args())
            .current_dir(dyno.get_current_dir().unwrap())
            .envs(dyno.get_envs().filter_map(|(k, v)| Some((k, v?))));
        crate::harness::Ended::from(command.output().unwrap()).with_code(0)
    };
    without_rights(&["run", "ground", "--dry-run"])
        .says("missing: SCHED_FIFO with priority 10 not granted")
        .says("/etc/security/limits.conf");
    without_rights(&["run", "ground", "--out", "out", "--quiet"]);
    let shown = place.show("out");
    let of = |name: &str| {
        let all = experiments(&shown);
        all.iter()
            .find(|e| e["experiment"] == name)
            .unwrap()
            .clone()
    };
    let (timer, syscall) = (of("timer"), of("syscall"));
    for e in [&timer, &syscall] {
        assert_eq!(e["trials"], 1, "{e:#}");
        assert!(e["metrics"]["probe_ns"]["n"].as_u64() > Some(0), "{e:#}");
    }
    let said = warnings(&timer);
    assert!(said.contains("measured in SCHED_OTHER"), "{said}");
    assert!(said.contains("SCHED_FIFO"), "{said}");
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if level.trim().parse::<i32>().is_ok_and(|level| level >= 2) {
        let said = warnings(&syscall);
        assert!(
            said.contains("the kernel forbids the cycle counter"),
            "{said}"
        );
    }
    place.run(&["show", "out"]).says("measured in SCHED_OTHER");
}

#[test]
fn what_cannot_be_probed_here_is_refused_before_anything_runs() {
    let place = Place::new();
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap();
    let kib = memory
        .lines()
        .find_map(|l| l.strip_prefix("MemAvailable:"))
        .unwrap();
    let kib: u64 = kib.trim().trim_end_matches("kB").trim().parse().unwrap();
    let mut cells = vec![
        ("probe = \"syscall\"\nparallel = 4000", "more than the"),
        (
            "probe = \"timer\"\nperiod = \"1 us\"",
            "never done before the next",
        ),
    ];
    // The largest copy is of 1 GiB, from one buffer to another; what is free may change until it is planned.
    if kib < 1 << 20 {
        cells.push(("probe = \"copy\"\npayload = \"1 GiB\"", "free memory"));
    }
    for (lines, why) in cells {
        let text =
            format!("title = \"t\"\n[[experiment]]\nname = \"x\"\nworkload = \"probe\"\n{lines}\n");
        place.suite("mine", &text);
        place
            .run(&["run", "mine", "--out", "out"])
            .with_code(3)
            .says(why);
        assert!(!place.path("out").exists());
    }
}

#[test]
fn a_run_with_its_ground_says_what_a_round_trip_is_made_of() {
    let place = Place::new();
    place.suite(
        "mine",
        r#"
        title = "what a round trip is made of"
        [defaults]
        trials = 2
        warmup = "20 ms"
        settle = "0 s"
        window = "100 ms"
        wait = "block"
        [[experiment]]
        name = "rtt"
        workload = "ping-pong"
        stacks = ["pipe"]
        cpus = [0, 0]
        "#,
    );
    let shown = place.measure("mine", &["--ground"]);
    let all = experiments(&shown);
    // What is counted is slower and no row of its own.
    let own = all.iter().filter(|e| e["experiment"] == "rtt");
    let own: Vec<&Value> = own.filter(|e| e["stack"] == "pipe").collect();
    let [e] = own[..] else {
        panic!("{own:#?}");
    };
    let stored = dyno_store::read_run(&place.path("out")).unwrap().run;
    let counted = stored
        .manifest
        .plan
        .experiments
        .iter()
        .find(|e| e.counted)
        .unwrap();
    let trial = stored.trials_of(counted.id).next().unwrap();
    match dyno_measure::Tracepoints::open() {
        Ok(_) => {
            // A write and a read on each side, which carry the bytes. On one CPU a side that was preempted as it wrote need
            // not be woken for the answer.
            let asked = trial.cost.asked_per_message.unwrap();
            assert!((3.0..6.0).contains(&asked.carriers), "{asked:?}");
            assert!((0.5..4.0).contains(&asked.wakings), "{asked:?}");
            assert!(asked.calls >= asked.carriers, "{asked:?}");
            // A busy machine may refuse the p50 of what it is held against.
            let has_all = shown["experiments"].as_array().unwrap().iter().all(|e| {
                let metric = if e["workload"] == "probe" {
                    "probe_ns"
                } else {
                    "rtt_ns"
                };
                e["metrics"][metric]["p50"]["value"].is_number()
            });
            if has_all {
                let further = &e["made_of"]["further"];
                // JSON has nine digits.
                let copies = further["copies"].as_f64().unwrap();
                assert!((copies / asked.carriers - 1.0).abs() < 1e-6, "{e:#}");
                place.run(&["show", "out"]).says("further calls ×");
            }
        }
        Err(reason) => {
            let error = reason.to_string();
            let warned = Warning::NotCounted { error }.into();
            assert!(trial.warnings.contains(&warned), "{:?}", trial.warnings);
            place.run(&["show", "out"]).says("is not counted");
        }
    }
    assert!(e["metrics"]["rtt_ns"]["n"].as_u64() > Some(0), "{e:#}");
}
