//! Virtual machines as hosts: what crosses their border, that they are lost by name and booted anew, and that nothing of
//! them stays. Needs root, QEMU and a kernel (`cargo xtask kernel`); without root the tests say so and pass.

use crate::harness::{
    Ended, Place, all_children, count, experiments, is_alive, on_stack, send, wait_for,
};
use serde_json::Value;
use std::path::PathBuf;

const SUITE: &str = r#"
    title = "across the border"
    [defaults]
    trials = 1
    warmup = "20 ms"
    window = "500 ms"
    deadline = "60 s"
    drain = "10 s"
    placement = "host"
    [[experiment]]
    name = "rtt"
    workload = "ping-pong"
    timeout = "30 s"
    stacks = ["tcp", "udp", "cyclonedds"]
"#;

/// Emulated wherever it runs: what is tested is the same with KVM, and not whether KVM is there.
const TESTBED: &str = r#"
    description = "a host and a guest"
    [[host]]
    name = "outside"
    reach = "namespace"
    [[host]]
    name = "inside"
    reach = "vm"
    accelerator = "tcg"
"#;

fn may_boot() -> bool {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("NOT TESTED: the network of a virtual machine needs root");
    }
    root && cfg!(target_arch = "x86_64")
}

fn place(testbed: &str) -> Place {
    let place = Place::new();
    place
        .suite("across", SUITE)
        .file("testbeds/guest.toml", testbed);
    place
}

/// `dyno run across` on the testbed, with `more`.
fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", "across", "--testbed", "guest", "--out", "out"];
    [&run[..], &["--quiet"], more].concat()
}

/// That a command said so, wherever its lines were broken.
#[track_caller]
fn said(ended: &Ended, text: &str) {
    let all = format!("{}{}", ended.stdout, ended.stderr).replace('│', " ");
    let flat: Vec<&str> = all.split_whitespace().collect();
    assert!(flat.join(" ").contains(text), "{text:?} is not in:\n{all}");
}

/// The monitor of a run's machine.
fn monitor(runner: i32) -> i32 {
    let is_monitor = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(b"qemu-system") || line.windows(12).any(|w| w == b"/qemu-system")
    };
    wait_for("the monitor", || {
        all_children(runner).into_iter().find(is_monitor)
    })
}

#[test]
fn a_guest_is_a_host_and_what_it_says_is_called_emulated() {
    if !may_boot() {
        return;
    }
    let place = place(TESTBED);
    let run = place.run(&arguments(&[]));
    assert!(
        !run.stderr.contains("cargo xtask adapters"),
        "run `cargo xtask adapters cyclonedds` first\n{}",
        run.stderr
    );
    run.with_code(0).says("EMULATED: inside by QEMU's TCG");
    let shown = place.show("out");
    assert_eq!(experiments(&shown).len(), 3 + waits(&shown));
    for e in experiments(&shown) {
        assert!(count(e, "received") > 0, "{e:#}");
    }
    assert_eq!(count(on_stack(&shown, "tcp"), "lost"), 0);
    let emulated = &shown["run"]["environment"]["emulated"];
    assert_eq!(emulated, "inside by QEMU's TCG");
    for format in ["csv", "markdown", "openmetrics", "junit"] {
        place
            .run(&["show", "out", "--format", format])
            .says("inside by QEMU");
    }
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());

    // What was measured without it is not held against it.
    let real = [
        "run", "across", "--quiet", "--out", "real", "--stack", "tcp",
    ];
    let within = ["--set", "placement=process"];
    place.run(&[&real[..], &within].concat()).with_code(0);
    let compared = place.run(&["compare", "out", "real"]).with_code(2);
    said(&compared, "nothing compares the two");
    place.run(&["compare", "out", "out"]).with_code(0);
    let limit = "[[limit]]\nname = \"in time\"\nstack = \"tcp\"\nmetric = \"rtt\"\nquantile = \"p50\"\nat_most = \"100 s\"\n";
    place.file("limits.toml", limit);
    place.file("emulated.toml", &format!("emulated = true\n{limit}"));
    let checked = place.run(&["check", "out", "limits.toml"]).with_code(2);
    said(&checked, "`emulated = true`");
    let checked = place.run(&["check", "real", "emulated.toml"]).with_code(2);
    said(&checked, "was measured on real ones");
    said(&place.run(&["check", "out", "emulated.toml"]), "in time");
}

/// Further experiments of a stack that can wait in two ways.
fn waits(shown: &Value) -> usize {
    let of = experiments(shown).iter();
    of.filter(|e| e["stack"] == "cyclonedds").count() - 1
}

#[test]
fn a_guest_that_is_killed_fails_its_trial_by_name_and_is_booted_anew() {
    if !may_boot() {
        return;
    }
    let place = place(TESTBED);
    let more = ["--stack", "tcp", "--trials", "2", "--set", "window=2 s"];
    let run = place.start(&arguments(&more));
    let first = monitor(run.pid());
    // The agent here is started once the machine is up.
    run.agents(1);
    send(first, libc::SIGKILL);
    wait_for("the machine to be booted anew", || {
        all_children(run.pid())
            .iter()
            .all(|pid| *pid != first)
            .then_some(())
    });
    assert_ne!(monitor(run.pid()), first);
    run.end().with_code(4);
    let shown = place.show("out");
    let e = on_stack(&shown, "tcp");
    let failures = e["failures"].to_string();
    assert!(
        failures.contains("virtual machine inside is gone: qemu-system-x86_64 ended with signal 9"),
        "{failures}"
    );
    assert_eq!(e["trials"], 1, "{e:#}");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_runner_that_is_killed_takes_its_guest_with_it() {
    if !may_boot() {
        return;
    }
    let place = place(TESTBED);
    let run = place.start(&arguments(&["--stack", "tcp"]));
    let monitor = monitor(run.pid());
    run.signal(libc::SIGKILL);
    run.end();
    wait_for("the monitor to be gone", || {
        (!is_alive(monitor)).then_some(())
    });
    let run = place.start(&[
        "run",
        "across",
        "--testbed",
        "guest",
        "--out",
        "again",
        "--quiet",
        "--stack",
        "tcp",
    ]);
    let monitor = self::monitor(run.pid());
    // While it boots.
    run.signal(libc::SIGINT);
    run.end().with_code(130);
    assert!(!is_alive(monitor));
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn what_a_machine_lacks_is_named_with_what_mends_it() {
    if !may_boot() {
        return;
    }
    for (change, code, says) in [
        (
            "kernel = \"nowhere/vmlinuz-1\"",
            1,
            "run `cargo xtask kernel`",
        ),
        ("cpus = 64", 1, "write `cpus = "),
        ("memory = \"1000 GiB\"", 1, "write less in `memory`"),
        ("memory = \"128 MiB\"", 1, "write `memory = \""),
        ("memory = \"64 MiB\"", 3, "a guest needs 128 MiB"),
        (
            "accelerator = \"xen\"",
            3,
            "there is no accelerator \"xen\"",
        ),
        ("destination = \"x\"", 3, "has no `destination`"),
    ] {
        let testbed = match change.starts_with("accelerator") {
            true => TESTBED.replace("accelerator = \"tcg\"", change),
            false => format!("{TESTBED}\n{change}\n"),
        };
        let place = place(&testbed);
        let ended = place.run(&arguments(&["--stack", "tcp"])).with_code(code);
        said(&ended, says);
        assert_eq!(place.leftovers(), Vec::<PathBuf>::new(), "{change}");
    }
    let place = place(TESTBED);
    let mut without = place.dyno(&arguments(&["--stack", "tcp"]));
    let run: Ended = without.env("PATH", "/nowhere").output().unwrap().into();
    run.with_code(1)
        .says("run `apt-get install qemu-system-x86`");
}
