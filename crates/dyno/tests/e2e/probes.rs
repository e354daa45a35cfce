//! Probes of the real machine, and what it does not grant them.

use crate::harness::{Place, experiments};
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
    let dyno = place.dyno(&["run", "ground", "--out", "out", "--quiet"]);
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
    crate::harness::Ended::from(command.output().unwrap()).with_code(0);
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
        let p50 = &e["metrics"]["probe_ns"]["p50"]["value"];
        assert!(p50.as_f64().is_some(), "{e:#}");
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
        .find_map(|l| l.strip_prefix("MemFree:"))
        .unwrap();
    let kib: u64 = kib.trim().trim_end_matches("kB").trim().parse().unwrap();
    let mut cells = vec![
        ("probe = \"syscall\"\nparallel = 4000", "more than the"),
        (
            "probe = \"timer\"\nperiod = \"1 us\"",
            "never done before the next",
        ),
    ];
    // The largest copy is of 1 GiB, from one buffer to another.
    if kib < 2 << 20 {
        cells.push(("probe = \"copy\"\npayload = \"1 GiB\"", "free memory"));
    }
    for (lines, why) in cells {
        let text =
            format!("title = \"t\"\n[[experiment]]\nname = \"x\"\nworkload = \"probe\"\n{lines}\n");
        place.suite("mine", &text);
        place
            .run(&["run", "mine", "--out", "out"])
            .with_code(2)
            .says(why);
        assert!(!place.path("out").exists());
    }
}
