//! CPUs of participants, of their libraries' threads and of daemons.

use crate::harness::{Place, Running, children, failure, wait_for};
use dyno_model::cpus::parse_set;
use std::collections::BTreeMap;

/// The CPUs that each thread of a process may use, by the thread's number.
fn threads(pid: i32) -> BTreeMap<i32, Vec<u32>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks
        .filter_map(|task| {
            let status = std::fs::read_to_string(task.path().join("status")).ok()?;
            let line = status
                .lines()
                .find_map(|l| l.strip_prefix("Cpus_allowed_list:"))?;
            let id = task.file_name().to_str()?.parse().ok()?;
            Some((id, parse_set(line).ok()?))
        })
        .collect()
}

/// What the threads of the source of zenoh may use while messages flow: the agent's own, the participant's, and
/// those of the library. Agents of the floor have no threads of a library.
fn of_the_source(run: &Running) -> Vec<Vec<u32>> {
    wait_for("the source's own thread on its CPU", || {
        children(run.pid()).into_iter().find_map(|agent| {
            let sets: Vec<Vec<u32>> = threads(agent).into_values().collect();
            (sets.contains(&vec![0]) && sets.len() >= 5).then_some(sets)
        })
    })
}

fn suite(cpus: &str) -> String {
    format!(
        r#"
    title = "threads of libraries"
    [defaults]
    trials = 1
    warmup = "20 ms"
    settle = "0 s"
    window = "3 s"
    [[experiment]]
    name = "stream"
    workload = "stream"
    rate = "1 kHz"
    stacks = ["zenoh-tcp"]
    cpus = {cpus}
"#
    )
}

/// Zenoh's runtimes have several threads, all of which it makes before the first message.
#[test]
fn a_librarys_threads_run_beside_the_pacer_and_not_under_it() {
    if dyno_measure::allowed_cpus() != [0, 1] {
        return;
    }
    let place = Place::new();
    place.suite("auto", &suite("\"auto\""));
    let run = place.start(&["run", "auto", "--out", "out", "--quiet"]);
    let sets = of_the_source(&run);
    let own = sets.iter().filter(|s| **s == [0]).count();
    let beside = sets.iter().filter(|s| **s == [1]).count();
    assert!(own == 1 && beside >= 2, "{sets:?}");
    run.end().with_code(0);
    let shown = place.show("out");
    let stream = &shown["experiments"][0];
    assert_eq!(stream["cpus"], serde_json::json!([0, 1]));
    assert_eq!(stream["library_cpus"], serde_json::json!([[1], [1]]));
    place
        .run(&["show", "out"])
        .says("CPUs 0,1 (library threads on 1)");
}

#[test]
fn listed_cpus_are_not_left() {
    let place = Place::new();
    place.suite("one", &suite("[0, 0]"));
    let run = place.start(&["run", "one", "--out", "out", "--quiet"]);
    let sets = of_the_source(&run);
    let own = sets.iter().filter(|s| **s == [0]).count();
    assert!(own >= 3, "{sets:?}");
    run.end().with_code(0);
}

/// As where a CPU has gone since the run was planned.
#[test]
fn a_trial_fails_whose_listed_cpu_is_not_granted_and_warns_where_dyno_chose_it() {
    let place = Place::new();
    place.suite("one", &suite("[0, 0]").replace("zenoh-tcp", "tcp"));
    let run = |out: &str, listed: bool| {
        let plan = ["run", "one", "--out", out, "--quiet"];
        place
            .run(&[&plan[..], &["--set", "window=50 ms"]].concat())
            .with_code(0);
        for trial in std::fs::read_dir(place.path(out).join("trials")).unwrap() {
            std::fs::remove_file(trial.unwrap().path()).unwrap();
        }
        let file = place.path(out).join("run.json");
        let mut kept: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for e in kept["plan"]["experiments"].as_array_mut().unwrap() {
            assert_eq!(e["cpus_listed"], true);
            e["cpus"] = serde_json::json!([0, 4000]);
            e["cpus_listed"] = listed.into();
        }
        std::fs::write(&file, kept.to_string()).unwrap();
        let ended = place.run(&["run", "--resume", out, "--quiet"]);
        (ended, place.trials(out))
    };
    let (ended, trials) = run("listed", true);
    ended.with_code(4);
    assert!(!trials.is_empty());
    for trial in &trials {
        let message = failure(trial);
        assert!(message.contains("cannot pin to cpu 4000"), "{message}");
        assert!(message.contains("cpus = \"auto\""), "{message}");
    }
    let (ended, trials) = run("chosen", false);
    ended.with_code(0);
    let warned = |trial: &serde_json::Value| trial["warnings"].to_string().contains("4000");
    assert!(trials.iter().all(warned), "{trials:?}");
}

#[test]
fn a_daemon_runs_on_the_cpus_that_no_participant_has() {
    if dyno_measure::allowed_cpus().len() < 2 {
        return;
    }
    let place = Place::new();
    place
        .suite("one", &suite("[0, 0]").replace("zenoh-tcp", "mine"))
        .stack(
            "mine",
            &format!(
                r#"
description = "sockets, and a daemon that they do not need"
adapter = "uds"
waits = ["block"]
[options]
type = "seqpacket"
[[daemon]]
name = "helper"
command = ["sh", "-c", "echo $$ > {}; echo ready; while :; do sleep 0.05; done"]
ready = {{ output = "ready" }}
"#,
                place.path("pid").display()
            ),
        );
    let run = place.start(&["run", "one", "--out", "out", "--quiet"]);
    let helper: i32 = wait_for("the daemon", || {
        let text = std::fs::read_to_string(place.path("pid")).ok()?;
        text.trim().parse().ok()
    });
    let rest: Vec<u32> = dyno_measure::allowed_cpus()
        .into_iter()
        .filter(|cpu| *cpu != 0)
        .collect();
    assert_eq!(threads(helper)[&helper], rest);
    run.end().with_code(0);
}
