//! Hosts as network namespaces: what crosses their links, what shapes it, and that all of it goes
//! with the run. Needs root; without it the tests say so and pass.

use crate::harness::{Place, count, experiments, is_alive, on_stack, send, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUITE: &str = r#"
    title = "between hosts"
    [defaults]
    trials = 1
    warmup = "20 ms"
    window = "200 ms"
    deadline = "30 s"
    placement = "host"
    wait = "block"
    payload = "1000 B"
    [[experiment]]
    name = "rtt"
    workload = "ping-pong"
    timeout = "20 s"
    stacks = ["tcp"]
"#;

fn may_make_namespaces() -> bool {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("NOT TESTED: making network namespaces needs root");
    }
    root
}

fn place(suite: &str) -> Place {
    let place = Place::new();
    place.suite("apart", suite);
    place
}

/// `dyno run apart` on the testbed, with `more`.
fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", "apart", "--testbed", "netns-1gbe", "--out", "out"];
    [&run[..], &["--quiet"], more].concat()
}

#[track_caller]
fn measure(place: &Place, more: &[&str]) -> Value {
    place.run(&arguments(more)).with_code(0);
    place.show("out")
}

/// The network namespace of a process, such as `net:[4026532456]`.
fn network_of(pid: i32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

/// Whether the process's network has the address.
fn has_address(pid: i32, address: &str) -> bool {
    let routes = std::fs::read_to_string(format!("/proc/{pid}/net/fib_trie")).unwrap_or_default();
    routes
        .lines()
        .any(|l| l.ends_with(&format!("-- {address}")))
}

/// Whether any process is in the network namespace, or holds it open.
fn is_held(network: &Path) -> bool {
    let entries = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    entries("/proc".into()).any(|process| {
        let held = |entry: std::fs::DirEntry| std::fs::read_link(entry.path()).ok();
        entries(process.path().join("ns"))
            .chain(entries(process.path().join("fd")))
            .any(|entry| held(entry).as_deref() == Some(network))
    })
}

fn failures(shown: &Value) -> String {
    let all = experiments(shown).iter().map(|e| e["failures"].to_string());
    all.collect::<Vec<_>>().join("\n")
}

fn sum(shown: &Value, key: &str) -> u64 {
    experiments(shown)
        .iter()
        .map(|e| e[key].as_u64().unwrap())
        .sum()
}

/// Trials that have a measurement, whatever the host did to them.
fn completed(shown: &Value) -> u64 {
    let left_out = |e: &&Value| e["all_disturbed"] == false;
    let disturbed = experiments(shown).iter().filter(left_out);
    let disturbed = disturbed.map(|e| e["disturbed_trials"].as_u64().unwrap());
    sum(shown, "trials") + disturbed.sum::<u64>()
}

#[test]
fn sockets_deliver_between_hosts() {
    if !may_make_namespaces() {
        return;
    }
    let suite = SUITE.replace(r#"["tcp"]"#, r#"["tcp", "udp", "zenoh-tcp"]"#);
    let place = place(&format!(
        "{suite}
        [[experiment]]
        name = \"one-way\"
        workload = \"stream\"
        rate = \"200 Hz\"
        stacks = [\"tcp\", \"udp\", \"zenoh-tcp\"]
        [experiment.matrix]
        topology = [\"1-1\", \"2-2\", \"1-3\"]"
    ));
    let shown = measure(&place, &[]);
    assert_eq!(experiments(&shown).len(), 12);
    for e in experiments(&shown) {
        assert_eq!(e["testbed"], "netns-1gbe");
        assert!(count(e, "received") > 0, "{e:#}");
        if e["stack"] != "udp" {
            assert_eq!(count(e, "lost"), 0, "{e:#}");
        }
    }
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn processes_of_one_host_share_its_network() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(&SUITE.replace(r#""host""#, r#""process""#));
    let run = place.start(&arguments(&["--set", "window=20 s"]));
    let agents = run.agents(2);
    wait_for("both agents to be on the first host", || {
        agents
            .iter()
            .all(|a| has_address(*a, "10.77.0.1"))
            .then_some(())
    });
    assert_eq!(network_of(agents[0]), network_of(agents[1]));
    run.signal(libc::SIGINT);
    run.end().with_code(130);
}

#[test]
fn a_flood_is_no_faster_than_the_link() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(
        &SUITE
            .replace("ping-pong", "flood")
            .replace("timeout", "# timeout")
            .replace("1000 B", "64 kB")
            .replace("200 ms", "1 s"),
    );
    let shown = measure(
        &place,
        &["--stack", "tcp,udp", "--set", "link.rate=50 Mbit/s"],
    );
    for stack in ["tcp", "udp"] {
        let e = on_stack(&shown, stack);
        let delivered = e["throughput"]["delivered_bytes_per_s"]["max"]
            .as_f64()
            .unwrap();
        assert!(delivered > 0.0 && delivered * 8.0 <= 50e6 * 1.1, "{e:#}");
    }
}

#[test]
fn discovery_by_multicast_finds_other_hosts() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(
        &SUITE
            .replace(
                r#"["tcp"]"#,
                r#"["fastdds-udp", "cyclonedds", "vsomeip-udp"]"#,
            )
            .replace("wait = \"block\"", ""),
    );
    let run = place.run(&arguments(&[]));
    assert!(
        !run.stderr.contains("cargo xtask adapters"),
        "run `cargo xtask adapters` first\n{}",
        run.stderr
    );
    run.with_code(0);
    for e in experiments(&place.show("out")) {
        assert!(count(e, "received") > 0, "{e:#}");
        if e["stack"] != "vsomeip-udp" {
            assert_eq!(count(e, "lost"), 0, "{e:#}");
        }
    }
}

/// A camera that offers half as much again as the link carries, and a control loop of the same program: the small messages of
/// SOME/IP do not wait behind the large ones.
#[test]
fn a_camera_does_not_hold_back_a_control_loop_over_someip() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(
        r#"
        title = "between hosts"
        [defaults]
        trials = 1
        warmup = "500 ms"
        settle = "0 s"
        window = "2 s"
        drain = "1 s"
        deadline = "60 s"
        placement = "host"
        cpus = "none"
        [[experiment]]
        name = "drive"
        stacks = ["vsomeip-udp"]
        processes = "per-side"
        [[experiment.flow]]
        name = "control"
        workload = "stream"
        payload = "64 B"
        cycle = "5 ms"
        [[experiment.flow]]
        name = "camera"
        workload = "stream"
        payload = "4 MB"
        rate = "50 Hz"
        "#,
    );
    let shown = measure(&place, &["--repeats", "0"]);
    let all = experiments(&shown);
    let control = all.iter().find(|e| e["flow"]["name"] == "control").unwrap();
    let [offered, in_window] = ["offered", "in_window"].map(|n| count(control, n));
    assert_eq!(offered, 400, "{control:#}");
    // Behind the camera in one queue: a tenth. Of datagrams some may find no room.
    assert!(in_window > offered / 2, "{control:#}");
}

#[test]
fn a_killed_runner_leaves_no_namespace() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(SUITE);
    let run = place.start(&arguments(&["--set", "window=20 s"]));
    let agents = run.agents(2);
    wait_for("each agent to be on a host of its own", || {
        let apart = has_address(agents[0], "10.77.0.1") && has_address(agents[1], "10.77.0.2");
        apart.then_some(())
    });
    let mut networks: BTreeSet<PathBuf> = agents.iter().filter_map(|a| network_of(*a)).collect();
    assert_eq!(networks.len(), 2);
    assert!(!networks.contains(&network_of(run.pid()).unwrap()));
    // All that the runner holds: eight hosts and the switch.
    let held = std::fs::read_dir(format!("/proc/{}/fd", run.pid())).unwrap();
    networks.extend(
        held.flatten()
            .filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .filter(|to| to.to_string_lossy().starts_with("net:[")),
    );
    assert_eq!(networks.len(), 9);
    run.signal(libc::SIGKILL);
    let _ = run.end();
    wait_for("the agents to die with their runner", || {
        agents.iter().all(|a| !is_alive(*a)).then_some(())
    });
    wait_for("the namespaces to go with them", || {
        (!networks.iter().any(|n| is_held(n))).then_some(())
    });
    // The next run on such hosts has the same addresses, and clears the files.
    place.run(&arguments(&[])).with_code(5);
    place
        .run(&[
            "run",
            "apart",
            "--testbed",
            "netns-1gbe",
            "--out",
            "again",
            "--quiet",
        ])
        .with_code(0);
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_link_that_goes_down_fails_its_trial_only() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(SUITE);
    let run = place.start(&arguments(&["--trials", "2", "--set", "window=3 s"]));
    let agents = run.agents(2);
    wait_for("the second host", || {
        has_address(agents[1], "10.77.0.2").then_some(())
    });
    let network = format!("--net=/proc/{}/ns/net", agents[1]);
    let down = "ip link set eth0 down && ip link set eth0 up";
    let done = Command::new("nsenter")
        .args([&network, "sh", "-c", down])
        .status();
    assert!(done.unwrap().success());
    run.end().with_code(4);
    let shown = place.show("out");
    assert_eq!((sum(&shown, "failed_trials"), completed(&shown)), (1, 1));
    let said = failures(&shown);
    assert!(said.contains("the link of host h2 went down"), "{said}");
    // It is made anew for every run.
    place
        .run(&["run", "--resume", "out", "--retry-failed", "--quiet"])
        .with_code(0);
    assert_eq!(completed(&place.show("out")), 2);
}

/// The stack `mine`: TCP, and a daemon on each host that writes its id to `pid-ADDRESS`.
fn with_daemon(place: &Place) {
    place.stack(
        "mine",
        &format!(
            r#"
description = "sockets, and a daemon that they do not need"
adapter = "tcp"
waits = ["block"]
[[daemon]]
name = "helper"
command = ["sh", "{{scratch}}/helper.sh", "{}"]
ready = {{ output = "ready" }}
[daemon.files]
"helper.sh" = '''
echo $$ > $1/pid-{{address}}
echo ready
while :; do sleep 0.05; done
'''
"#,
            place.path("").display()
        ),
    );
}

#[test]
fn every_host_has_a_daemon_of_its_own() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(&SUITE.replace("tcp", "mine"));
    with_daemon(&place);
    let run = place.start(&arguments(&["--trials", "2", "--set", "window=3 s"]));
    let agents = run.agents(2);
    let daemon = |address: &str| {
        wait_for("the daemon", || {
            let text = std::fs::read_to_string(place.path(&format!("pid-{address}"))).ok()?;
            text.trim().parse::<i32>().ok()
        })
    };
    let daemons = [daemon("10.77.0.1"), daemon("10.77.0.2")];
    wait_for("both agents on their hosts", || {
        (network_of(agents[0]) != network_of(agents[1])).then_some(())
    });
    for (daemon, agent) in daemons.iter().zip(&agents) {
        wait_for("a daemon beside each agent", || {
            (network_of(*daemon) == network_of(*agent)).then_some(())
        });
    }
    send(daemons[1], libc::SIGKILL);
    run.end().with_code(4);
    let shown = place.show("out");
    assert_eq!((sum(&shown, "failed_trials"), completed(&shown)), (1, 1));
    let said = failures(&shown);
    assert!(
        said.contains("daemon helper on h2 ended with signal 9"),
        "{said}"
    );
    let names: Vec<&str> = on_stack(&shown, "mine")["cost"]["daemons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["helper on h1", "helper on h2"]);
    place
        .run(&["run", "--resume", "out", "--retry-failed", "--quiet"])
        .with_code(0);
    assert!(daemons.iter().all(|d| !is_alive(*d)));
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_agent_on_another_host_is_named() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(SUITE);
    let run = place.start(&arguments(&["--trials", "2", "--set", "window=3 s"]));
    send(run.agents(2)[1], libc::SIGKILL);
    run.end().with_code(4);
    let shown = place.show("out");
    assert_eq!((sum(&shown, "failed_trials"), completed(&shown)), (1, 1));
    let said = failures(&shown);
    assert!(
        said.contains("agent (echo 1) on h2 with adapter tcp"),
        "{said}"
    );
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

/// Runs `script` in a shell of `program`, with the environment of `dyno` in this place.
fn within(place: &Place, program: &[&str], script: &str) -> crate::harness::Ended {
    let inner = place.dyno(&[]);
    let mut command = Command::new(program[0]);
    command
        .args(&program[1..])
        .args(["sh", "-c", script])
        .env("DYNO", env!("CARGO_BIN_EXE_dyno"))
        .current_dir(inner.get_current_dir().unwrap());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command.output().unwrap().into()
}

const RUN: &str = "exec \"$DYNO\" run apart --testbed netns-1gbe --out out --quiet";

#[test]
fn missing_rights_are_said_before_anything_is_measured() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(SUITE);
    let without = ["setpriv", "--bounding-set", "-sys_admin"];
    within(&place, &without, RUN)
        .with_code(1)
        .says("needs network namespaces, which cannot be made")
        .says("run dyno as root");
    assert!(!place.path("out").exists());
    within(&place, &without, "exec \"$DYNO\" list testbeds")
        .with_code(0)
        .says("cannot be used: the testbed `netns-1gbe` needs network namespaces");
}

#[test]
fn missing_tools_are_said_before_anything_is_measured() {
    if !may_make_namespaces() {
        return;
    }
    let place = place(SUITE);
    let hide =
        "for d in /usr/sbin /sbin; do [ -L $d ] || mount -t tmpfs tmpfs $d; done; PATH=/none;";
    within(&place, &["unshare", "--mount"], &format!("{hide} {RUN}"))
        .with_code(1)
        .says("which is not installed")
        .says("`apt-get install iproute2`");
    assert!(!place.path("out").exists());
}

#[test]
fn a_sender_may_have_a_reader_here_and_one_on_another_host() {
    const READERS: &str = r#"
        title = "here and there"
        [defaults]
        trials = 1
        warmup = "20 ms"
        window = "200 ms"
        cpus = "none"
        wait = "block"
        [[experiment]]
        name = "both"
        stacks = ["udp", "tcp"]
        [[experiment.flow]]
        name = "here"
        workload = "stream"
        rate = "200 Hz"
        [[experiment.flow]]
        name = "there"
        reads = "here"
        placement = "host"
    "#;
    if !may_make_namespaces() {
        return;
    }
    let shown = measure(&place(READERS), &[]);
    for stack in ["udp", "tcp"] {
        let of = |name: &str| {
            let mut all = experiments(&shown).iter();
            let found = all.find(|e| e["stack"] == stack && e["flow"]["name"] == name);
            found.unwrap_or_else(|| panic!("no flow {name} on {stack}"))
        };
        let (here, there) = (of("here"), of("there"));
        assert_eq!(here["placement"], "process");
        assert_eq!(there["placement"], "host");
        assert_eq!(count(here, "offered"), count(there, "offered"), "{stack}");
        for e in [here, there] {
            assert_eq!(count(e, "received"), count(e, "offered"), "{stack}");
        }
    }
}
