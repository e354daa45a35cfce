//! Daemons of stacks: started, watched, paid for, and gone afterwards.

use crate::harness::{Place, count, experiments, is_alive, on_stack, send, wait_for};
use std::path::PathBuf;

const SUITE: &str = r#"
    title = "with a daemon"
    [defaults]
    trials = 1
    warmup = "20 ms"
    window = "200 ms"
    deadline = "10 s"
    [[experiment]]
    name = "rtt"
    workload = "ping-pong"
    wait = "block"
    payload = "1000 B"
    stacks = ["mine"]
"#;

/// The stack `mine`: Unix sockets, beside which `script` runs in a shell.
fn place(script: &str, more: &str) -> Place {
    let place = Place::new();
    place.suite("small", SUITE).stack(
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
command = ["sh", "{{scratch}}/helper.sh", "{}"]
{more}
[daemon.files]
"helper.sh" = '''
{script}
'''
"#,
            place.path("").display()
        ),
    );
    place
}

/// The daemon's process, which it wrote to the file `pid`.
fn pid(place: &Place) -> i32 {
    wait_for("the daemon", || {
        let text = std::fs::read_to_string(place.path("pid")).ok()?;
        text.trim().parse().ok()
    })
}

const READY: &str = "ready = { output = \"ready for 1000\" }";

#[test]
fn a_daemons_cost_is_in_the_totals_and_apart() {
    let place = place(
        "echo $$ > $1/pid\nx=0\necho ready for {payload} of {option.type}\n\
         while :; do x=$((x+1)); sleep 0.01; done",
        READY,
    );
    let shown = place.measure("small", &[]);
    let mine = on_stack(&shown, "mine");
    let [daemon] = mine["cost"]["daemons"].as_array().unwrap().as_slice() else {
        panic!("{mine:#}");
    };
    assert_eq!(daemon["name"], "helper");
    let median = |v: &serde_json::Value| v["median"].as_f64().unwrap();
    let pss = median(&daemon["pss_bytes"]);
    assert!(pss > 0.0 && pss < median(&mine["cost"]["pss_bytes"]));
    let cpu = median(&daemon["cpu_ns"]);
    assert!(cpu > 0.0 && cpu < median(&mine["cost"]["cpu_ns"]));
    place.run(&["show", "out"]).says("daemon helper:");
    assert!(!is_alive(pid(&place)));
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_daemon_that_cannot_start_up_fails_its_trials_by_name() {
    let place = place("echo no room for {payload} >&2\nexit 3", READY);
    place
        .run(&["run", "small", "--out", "out", "--quiet"])
        .with_code(4);
    place.run(&["show", "out"]).says(
        "crash in daemon: daemon helper ended with exit code 3 before it was ready: no room for \
         1000",
    );
}

#[test]
fn a_daemon_that_never_gets_ready_is_a_hang() {
    let place = place(
        "echo $$ > $1/pid\nexec sleep 1000",
        "ready = { file = \"{scratch}/socket\" }",
    );
    let short = ["run", "small", "--out", "out", "--quiet", "--set"];
    place
        .run(&[&short[..], &["deadline=3 s"]].concat())
        .with_code(4);
    place
        .run(&["show", "out"])
        .says("daemon helper was not ready within 3.0 s: there is no");
    assert!(!is_alive(pid(&place)));
}

#[test]
fn a_daemon_that_dies_fails_the_trial_by_name() {
    let place = place(
        "echo alive\necho $$ > $1/pid\n: > {scratch}/socket\nexec sleep 1000",
        "ready = { file = \"{scratch}/socket\" }",
    );
    let long = ["run", "small", "--out", "out", "--quiet", "--set"];
    let run = place.start(&[&long[..], &["window=20 s"]].concat());
    let daemon = pid(&place);
    run.agents(2);
    send(daemon, libc::SIGKILL);
    run.end().with_code(4);
    place.run(&["show", "out"]).says("crash in").says(
        "daemon helper ended with signal 9 (SIGKILL, from outside or from the kernel's \
         out-of-memory killer) during the trial: alive",
    );
}

#[test]
fn what_a_killed_daemon_leaves_is_removed_but_nobody_elses() {
    let place = place(
        "trap '' TERM\necho > $1/left\necho > $1/theirs\necho $$ > $1/pid\necho ready for 1000\n\
         while :; do sleep 0.1; done",
        &format!("{READY}\nstop = \"SIGKILL\"\nleaves = [\"LEFT\", \"THEIRS\"]"),
    );
    let stack = std::fs::read_to_string(place.path("stacks/mine.toml")).unwrap();
    let at = |name: &str| place.path(name).display().to_string();
    let stack = stack
        .replace("LEFT", &at("left"))
        .replace("THEIRS", &at("theirs"));
    place.stack("mine", &stack).file("theirs", "from before");
    place.measure("small", &[]);
    assert!(!place.path("left").exists() && place.path("theirs").exists());
    assert!(!is_alive(pid(&place)));
}

#[test]
fn a_killed_runner_takes_its_daemons_along() {
    let place = place(
        "echo > $1/left\necho $$ > $1/pid\necho ready for 1000\nexec sleep 1000",
        &format!("{READY}\nleaves = [\"LEFT\"]"),
    );
    let stack = std::fs::read_to_string(place.path("stacks/mine.toml")).unwrap();
    let left = place.path("left");
    place.stack("mine", &stack.replace("LEFT", &left.display().to_string()));
    let long = ["run", "small", "--out", "out", "--quiet", "--set"];
    let run = place.start(&[&long[..], &["window=20 s"]].concat());
    run.agents(2);
    let daemon = pid(&place);
    run.signal(libc::SIGKILL);
    let _ = run.end();
    wait_for("the daemon to die with its runner", || {
        (!is_alive(daemon)).then_some(())
    });
    assert!(left.exists());
    // The next start clears what the killed one could not.
    place
        .run(&["run", "small", "--out", "again", "--quiet"])
        .with_code(0);
    assert!(!left.exists());
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_stack_whose_daemon_is_not_installed_says_how_to_get_it() {
    let place = place("", READY);
    let stack = std::fs::read_to_string(place.path("stacks/mine.toml")).unwrap();
    let stack = stack
        .replace("\"sh\"", "\"no-such-daemon\"")
        .replace("[options]", "install = \"apt-get install it\"\n[options]");
    place.stack("mine", &stack);
    place
        .run(&["run", "small", "--out", "out", "--quiet"])
        .with_code(3)
        .says("helper is not installed; run `apt-get install it`");
    place
        .run(&["list", "stacks"])
        .with_code(0)
        .says("cannot be used: the program no-such-daemon");
}

#[test]
fn iceoryx_is_measured_with_roudis_share_apart() {
    let place = Place::new();
    place.suite(
        "small",
        &SUITE
            .replace("wait = \"block\"", "")
            .replace("mine", "iceoryx"),
    );
    let run = place.run(&["run", "small", "--out", "out", "--quiet"]);
    assert!(
        !run.stderr.contains("cargo xtask adapters"),
        "run `cargo xtask adapters iceoryx` first\n{}",
        run.stderr
    );
    run.with_code(0);
    let shown = place.show("out");
    let of_iceoryx = experiments(&shown)
        .iter()
        .filter(|e| e["stack"] == "iceoryx");
    let waits: Vec<&str> = of_iceoryx
        .map(|e| {
            let [roudi] = e["cost"]["daemons"].as_array().unwrap().as_slice() else {
                panic!("{e:#}");
            };
            assert_eq!(roudi["name"], "RouDi");
            assert!(roudi["pss_bytes"]["median"].as_f64().unwrap() > 0.0);
            assert!(count(e, "received") > 0 && count(e, "lost") == 0, "{e:#}");
            e["wait"].as_str().unwrap()
        })
        .collect();
    assert_eq!(waits, ["spin", "block"]);
    place.run(&["show", "out"]).says("daemon RouDi:");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn runs_take_turns_with_an_exclusive_daemon() {
    // The second of two such daemons at once ends with an error.
    let script = "mkdir $1/one || exit 7\ntrap 'rmdir $1/one; exit 0' TERM\necho ready for 1000\n\
                  while :; do sleep 0.01; done";
    let place = place(script, &format!("{READY}\nexclusive = true"));
    // A program that nothing else locks.
    std::fs::copy("/bin/sh", place.path("shell")).unwrap();
    let stack = std::fs::read_to_string(place.path("stacks/mine.toml")).unwrap();
    let shell = place.path("shell").display().to_string();
    place.stack("mine", &stack.replace("\"sh\"", &format!("{shell:?}")));
    let runs = ["a", "b", "c"]
        .map(|out| place.start(&["run", "small", "--out", out, "--quiet", "--trials", "2"]));
    for run in runs {
        run.end().with_code(0);
    }
    assert!(!place.path("one").exists());
}
