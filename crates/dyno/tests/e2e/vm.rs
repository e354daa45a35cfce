//! Virtual machines as hosts: what crosses their border, that they are lost by name and booted anew, and that nothing of
//! them stays. Needs root, QEMU and a kernel (`cargo xtask kernel`); without root the tests say so and pass.

use crate::harness::{
    Ended, Place, all_children, count, experiments, is_alive, on_stack, quantile, send, wait_for,
};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

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
    // A debug build is in the guest's memory twice while its image is unpacked, into at most half of it.
    let place = place(&format!("{TESTBED}    memory = \"768 MiB\"\n"));
    let run = place.run(&arguments(&[]));
    assert!(
        !run.stderr.contains("cargo xtask adapters"),
        "run `cargo xtask adapters cyclonedds` first\n{}",
        run.stderr
    );
    run.with_code(0).says("EMULATED: inside by QEMU's TCG");
    let shown = place.show("out");
    // What polls has its floor beside it, in memory that both sides share.
    let is_floor = |e: &&Value| e["stack"] == "floor-spin";
    let floors = experiments(&shown).iter().filter(is_floor).count();
    let polls = experiments(&shown).iter().any(|e| e["wait"] == "spin");
    assert_eq!(floors, usize::from(polls));
    assert_eq!(experiments(&shown).len(), 3 + waits(&shown) + floors);
    for e in experiments(&shown) {
        assert!(count(e, "received") > 0, "{e:#}");
    }
    assert_eq!(count(on_stack(&shown, "tcp"), "lost"), 0);
    let mut grew = false;
    for trial in records(&place) {
        let [monitor, within] = ["monitor of inside", "within inside"].map(|label| {
            let all = trial["cost"]["memory"].as_array().unwrap();
            let found = all.iter().find(|m| m["label"] == label);
            let found = found.unwrap_or_else(|| panic!("no {label}: {all:?}"));
            ["at_rest_bytes", "in_use_bytes"].map(|key| found[key].as_u64().unwrap())
        });
        // The guest has 768 MiB, all of which its monitor may come to hold, with its own beside them.
        assert!(
            within.iter().all(|bytes| (1..768 << 20).contains(bytes)),
            "{within:?}"
        );
        assert!(monitor.iter().all(|bytes| *bytes > 0), "{monitor:?}");
        // An agent takes some, be it what the one before it gave back, while the guest's kernel frees a few pages of its own.
        assert!(within[1] + (64 << 10) > within[0], "{within:?}");
        grew |= within[1] > within[0];
    }
    assert!(grew, "an agent is at work in it");
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
    said(&compared, "the two cannot be compared");
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

/// The stored trials.
fn records(place: &Place) -> Vec<Value> {
    let files = place.path("out/trials").read_dir().unwrap();
    let paths = files.map(|f| f.unwrap().path());
    let json = paths.filter(|p| p.extension().is_some_and(|e| e == "json"));
    let read = |path: PathBuf| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let all: Vec<Value> = json.map(read).collect();
    assert!(!all.is_empty());
    all
}

#[test]
fn messages_cross_the_border_by_vsock_and_its_back_end_is_named() {
    if !may_boot() {
        return;
    }
    let place = place(TESTBED);
    let more = "[[experiment]]\nname = \"call\"\nworkload = \"call\"\nstacks = [\"vsock\"]\n\
                [[experiment]]\nname = \"stream\"\nworkload = \"stream\"\nrate = \"100 Hz\"\nstacks = [\"vsock\"]\n";
    let suite = format!("{SUITE}\n{more}");
    place.suite("across", &suite);
    let run = place.run(&arguments(&["--stack", "vsock"]));
    let lacking = "run `cargo xtask daemons vsock`";
    if dyno_runner::vsock_back_end().is_none() {
        eprintln!("NOT TESTED: vsock has no back end here; {lacking}");
        said(&run, lacking);
        return;
    }
    run.with_code(0).says("vsock by ");
    let shown = place.show("out");
    assert_eq!(experiments(&shown).len(), 3);
    for e in experiments(&shown) {
        assert!(count(e, "received") > 0, "{e:#}");
        assert_eq!(count(e, "lost"), 0, "{e:#}");
        assert_eq!(count(e, "corrupted"), 0, "{e:#}");
    }
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

/// As the testbed `vm-pair`, emulated wherever it runs.
const PAIR: &str = r#"
    description = "two guests"
    [[host]]
    name = "left"
    reach = "vm"
    accelerator = "tcg"
    [[host]]
    name = "right"
    reach = "vm"
    accelerator = "tcg"
"#;

const MEMORY: &str = r#"
    title = "in shared memory"
    [defaults]
    trials = 2
    warmup = "20 ms"
    settle = "0 s"
    window = "300 ms"
    deadline = "60 s"
    drain = "10 s"
    placement = "host"
    wait = "natural"
    [[experiment]]
    name = "rtt"
    workload = "ping-pong"
    timeout = "30 s"
    stacks = ["floor-spin"]
    [[experiment]]
    name = "call"
    workload = "call"
    stacks = ["floor-spin"]
    [[experiment]]
    name = "stream"
    workload = "stream"
    rate = "100 Hz"
    payload = "1 MiB"
    stacks = ["floor-spin"]
    [[experiment]]
    name = "flood"
    workload = "flood"
    payload = "4 KiB"
    stacks = ["floor-spin"]
"#;

#[test]
fn messages_cross_the_border_in_memory_that_both_sides_share() {
    if !may_boot() {
        return;
    }
    for (testbed, names) in [(TESTBED, ["outside", "inside"]), (PAIR, ["left", "right"])] {
        let place = place(testbed);
        place.suite("across", MEMORY);
        let run = place.run(&arguments(&[])).with_code(0);
        said(&run, &format!("{}: vmlinuz", names[1]));
        said(&run, "64 MiB shared by ivshmem");
        let shown = place.show("out");
        assert_eq!(experiments(&shown).len(), 4);
        for e in experiments(&shown) {
            assert_eq!(e["stack"], "floor-spin");
            assert_eq!(e["trials"], 2, "{e:#}");
            assert!(count(e, "received") > 0, "{e:#}");
            for nothing in ["lost", "corrupted", "reordered", "duplicated"] {
                assert_eq!(count(e, nothing), 0, "{nothing}: {e:#}");
            }
        }
        assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_testbed_without_shared_memory_says_so() {
    if !may_boot() {
        return;
    }
    let stack = ["--stack", "floor-spin,tcp"];
    let place = place(&format!("shared_memory = \"none\"\n{TESTBED}"));
    let refused = place.run(&arguments(&stack)).with_code(3);
    said(&refused, "the testbed says `shared_memory = \"none\"`");
    // Whoever sleeps cannot be woken from another machine.
    let sleeps = self::place(TESTBED).run(&arguments(&["--stack", "floor-futex"]));
    said(&sleeps.with_code(3), "which works only within one machine");
    let place = self::place(&format!("shared_memory = \"48 MiB\"\n{TESTBED}"));
    let refused = place.run(&arguments(&stack)).with_code(3);
    said(&refused, "a power of two");
    // So large a ring has no room there, and the trial says what mends it.
    let place = self::place(&format!("shared_memory = \"1 MiB\"\n{TESTBED}"));
    let large = [&stack[..], &["--set", "payload=4 MiB"]].concat();
    let ended = place.run(&arguments(&large)).with_code(4);
    said(&ended, "write a larger `shared_memory` in the testbed");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
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

/// What went through the network that a process sees, its own loopback aside.
fn packets(pid: i32) -> u64 {
    let devices = std::fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap();
    let of = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let counts: Vec<u64> = counts
            .split_whitespace()
            .filter_map(|n| n.parse().ok())
            .collect();
        // Received and sent packets (proc(5)).
        (name.trim() != "lo").then(|| counts[1] + counts[9])
    };
    devices.lines().filter_map(of).sum()
}

#[test]
fn a_guest_that_is_frozen_shows_and_what_is_missing_is_resumed() {
    if !may_boot() {
        return;
    }
    let place = place(TESTBED);
    place.suite(
        "across",
        r#"
        title = "frozen"
        [defaults]
        trials = 2
        warmup = "20 ms"
        settle = "0 s"
        window = "8 s"
        deadline = "60 s"
        drain = "10 s"
        placement = "host"
        [[experiment]]
        name = "one-way"
        workload = "stream"
        rate = "50 Hz"
        stacks = ["tcp"]
        "#,
    );
    let run = place.start(&arguments(&[]));
    let monitor = monitor(run.pid());
    run.agents(1);
    // In the testbed's network, where nobody else sends; what stands here for the guest's agent is not in it.
    let network = |pid: &i32| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let own = network(&(std::process::id() as i32));
    let inside = wait_for("a process in the testbed's network", || {
        let mut all = all_children(run.pid()).into_iter();
        all.find(|pid| network(pid).is_some_and(|its| Some(its) != own))
    });
    // Neighbours that look for each other send now and then, and clocks that are compared send hundreds at once. Fifty
    // messages per second are on their way all the time: each, and what acknowledges it, passes two devices.
    let (mut before, mut busy) = (packets(inside), 0);
    wait_for("messages on their way", || {
        std::thread::sleep(Duration::from_millis(200));
        let now = packets(inside);
        busy = match (before + 30..before + 60).contains(&now) {
            true => busy + 1,
            false => 0,
        };
        before = now;
        (busy == 8).then_some(())
    });
    send(monitor, libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(2));
    send(monitor, libc::SIGCONT);
    // The first trial is stored before the second one begins.
    wait_for("the first trial", || {
        let files = place.path("out/trials").read_dir().ok()?.flatten();
        let mut names = files.map(|f| f.file_name().to_string_lossy().into_owned());
        names.find(|name| name.starts_with('e') && name.ends_with(".json"))
    });
    run.signal(libc::SIGKILL);
    run.end();
    place
        .run(&["run", "--resume", "out", "--quiet"])
        .with_code(0);
    let shown = place.show("out");
    let e = on_stack(&shown, "tcp");
    assert_eq!(e["trials"], 2, "{e:#}");
    assert_eq!(count(e, "offered"), 800, "no message is skipped");
    // 2 s of the 16 s of both trials: one in eight waits up to 2 s, evenly spread.
    assert!(quantile(e, "response_ns", "p90") >= 0.2e9, "{e:#}");
    assert!(quantile(e, "response_ns", "p99") >= 1e9, "{e:#}");
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
