//! Hosts that are reached by ssh: real servers, a real network between them, and the user's own `ssh`.

mod rig;

use crate::harness::{count, experiments, failure, send, wait_for};
use rig::{Rig, is_possible};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The last topology has more agents on a host than one connection carries.
const SUITE: &str = r#"
    title = "between hosts"
    [defaults]
    trials = 1
    warmup = "20 ms"
    window = "300 ms"
    deadline = "20 s"
    wait = "block"
    placement = "host"
    [[experiment]]
    name = "one-way"
    workload = "stream"
    rate = "200 Hz"
    stacks = ["tcp"]
    [experiment.matrix]
    topology = ["1-1", "2-2", "1-28"]
"#;

const SLOW: &str = r#"
    title = "slow enough to be hit"
    [defaults]
    trials = 3
    warmup = "20 ms"
    window = "2 s"
    deadline = "20 s"
    wait = "block"
    placement = "host"
    [[experiment]]
    name = "one-way"
    workload = "stream"
    rate = "200 Hz"
    stacks = ["tcp"]
"#;

/// Why trials of the run failed.
fn reasons(rig: &Rig) -> Vec<String> {
    let trials = rig.place.trials("out").into_iter();
    let failed = trials.filter(|trial| trial["outcome"] == "failed");
    failed.map(|trial| failure(&trial)).collect()
}

#[test]
fn four_hosts_deliver_and_each_program_is_copied_once() {
    if !is_possible() {
        return;
    }
    let rig = Rig::new(4);
    rig.place.suite("between", SUITE);
    let run = |out: &str| {
        let arguments = ["run", "between", "--testbed", "bench", "--out", out];
        rig.run(&arguments).with_code(0);
        let shown = rig.place.show(out);
        let of_each: Vec<u64> = experiments(&shown)
            .iter()
            .map(|e| {
                assert_eq!(e["failed_trials"], 0, "{e:#}");
                assert_eq!(count(e, "lost"), 0, "{e:#}");
                // Hosts behind ssh have clocks of their own, whichever machine they are in truth.
                assert!(e["clock_bound_ns"].is_u64(), "{e:#}");
                count(e, "received")
            })
            .collect();
        assert_eq!(of_each.len(), 3, "{shown:#}");
        assert!(of_each.iter().all(|received| *received > 0));
        for number in 1..=4 {
            rig.wait_until_clear(number);
        }
    };
    run("first");
    let copies = rig.copies();
    assert_eq!(copies.len(), 1, "{copies:?}");
    run("second");
    assert_eq!(rig.copies(), copies);
}

/// One path of each kind, at one size and without floods, which takes seconds instead of minutes.
#[test]
fn the_study_of_s_core_runs_between_servers() {
    if !is_possible() {
        return;
    }
    let rig = Rig::new(2);
    let settings = "scale=short window=100ms sizes=64B local=iceoryx,chain-iceoryx2 apart=s-core";
    let mut arguments = vec![
        "run",
        "s-core",
        "--testbed",
        "bench",
        "--out",
        "out",
        "--quiet",
    ];
    arguments.extend(["--experiment", "echo,echo-apart", "--trials", "1"]);
    arguments.extend(settings.split(' ').flat_map(|s| ["--set", s]));
    rig.run(&arguments).with_code(0);
    let shown = rig.place.show("out");
    let is_floor = |e: &&Value| e["stack"].as_str().unwrap().starts_with("floor");
    let of_each = experiments(&shown).iter().filter(|e| !is_floor(e));
    let mut of_each: Vec<String> = of_each
        .map(|e| {
            assert_eq!(e["failed_trials"], 0, "{e:#}");
            assert!(count(e, "received") > 0, "{e:#}");
            assert_eq!(count(e, "lost"), 0, "{e:#}");
            format!(
                "{} {}",
                e["placement"].as_str().unwrap(),
                e["stack"].as_str().unwrap()
            )
        })
        .collect();
    of_each.sort_unstable();
    let expected = ["host s-core", "process chain-iceoryx2"];
    assert_eq!(of_each, expected);
    rig.place
        .run(&["show", "out"])
        .with_code(0)
        .says("iceoryx needs the daemon RouDi, and dyno starts daemons on its own machine only")
        .says("Local against gateway (its 10.6)");
    for number in 1..=2 {
        rig.wait_until_clear(number);
    }
}

#[test]
fn hosts_that_cannot_be_used_are_named_before_any_trial() {
    if !is_possible() {
        return;
    }
    let rig = Rig::new(1);
    rig.place.suite("between", SUITE);
    for (destination, reason) in [
        ("stranger", "Permission denied (publickey)"),
        ("nobody", "cannot reach host there"),
        ("absent.invalid", "Could not resolve hostname"),
    ] {
        let testbed = format!(
            "description = \"one of two\"\n\
             [[host]]\nname = \"h1\"\nreach = \"ssh\"\ndestination = \"h1\"\naddress = \"10.88.0.1\"\n\
             [[host]]\nname = \"there\"\nreach = \"ssh\"\ndestination = {destination:?}\n\
             address = \"10.88.0.2\"\n"
        );
        rig.place.file("testbeds/broken.toml", &testbed);
        let arguments = [
            "run",
            "between",
            "--testbed",
            "broken",
            "--out",
            destination,
        ];
        let ended = rig.run(&arguments).with_code(1);
        let ended = ended.says("host there").says(reason);
        ended.says("without asking anything");
        let trials = rig.place.path(destination).join("trials");
        assert!(!trials.exists() || std::fs::read_dir(trials).unwrap().next().is_none());
        rig.wait_until_clear(1);
    }
}

#[test]
fn a_listed_cpu_that_a_server_lacks_ends_the_run_before_any_trial() {
    if !is_possible() {
        return;
    }
    let rig = Rig::new(2);
    rig.place.suite("slow", SLOW);
    let run = |cpus: &str, out: &str| {
        let arguments = ["run", "slow", "--testbed", "bench", "--trials", "1"];
        rig.run(&[&arguments[..], &["--out", out, "--set", cpus]].concat())
    };
    let ended = run("cpus=0,4000", "out").with_code(1);
    ended
        .says("`cpus` lists CPU 4000 of host h2")
        .says("list others");
    let trials = rig.place.path("out/trials");
    assert!(!trials.exists() || std::fs::read_dir(trials).unwrap().next().is_none());
    run("cpus=0,0", "both").with_code(0);
    for number in 1..=2 {
        rig.wait_until_clear(number);
    }
}

#[test]
fn what_happens_to_a_host_costs_one_trial_and_is_named() {
    if !is_possible() {
        return;
    }
    let rig = Rig::new(2);
    rig.place.suite("slow", SLOW);
    let hit = |victims: &dyn Fn() -> Vec<i32>, reason: &str| {
        let arguments = ["run", "slow", "--testbed", "bench", "--out", "out"];
        let mut command = rig.dyno(&arguments);
        let run = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = run.spawn().unwrap();
        rig.agent(1);
        rig.agent(2);
        for victim in victims() {
            send(victim, libc::SIGKILL);
        }
        let ended: crate::harness::Ended = run.wait_with_output().unwrap().into();
        ended.with_code(4);
        let reasons = reasons(&rig);
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert!(reasons[0].contains(reason), "{reasons:?}");
        let shown = rig.place.show("out");
        assert_eq!(experiments(&shown)[0]["failed_trials"], 1);
        for number in 1..=2 {
            rig.wait_until_clear(number);
        }
        std::fs::remove_dir_all(rig.place.path("out")).unwrap();
    };
    let of_server = || {
        let all = rig.processes(2).into_iter();
        all.filter(|(_, a)| a.starts_with("sshd: root"))
            .map(|p| p.0)
            .collect()
    };
    hit(&of_server, "the connection to host h2 (h2) was lost");
    let keeper = || rig.ending(2, "/dyno agent --keep");
    hit(&keeper, "the connection to host h2 (h2) was lost");
    hit(
        &|| vec![rig.agent(2)],
        "on h2 with adapter tcp ended with signal 9",
    );
    // The agent's end is seen first.
    rig.slow_to_end();
    hit(&of_server, "the connection to host h2 (h2) was lost");
}

#[test]
fn a_killed_runner_leaves_nothing_on_its_hosts() {
    if !is_possible() {
        return;
    }
    let rig = Rig::new(2);
    rig.place.suite("slow", SLOW);
    let arguments = ["run", "slow", "--testbed", "bench", "--out", "out"];
    let mut run = rig.dyno(&arguments).stdout(Stdio::null()).spawn().unwrap();
    rig.agent(1);
    // An agent that hangs cannot notice anything by itself.
    send(rig.agent(2), libc::SIGSTOP);
    run.kill().unwrap();
    run.wait().unwrap();
    for number in 1..=2 {
        rig.wait_until_clear(number);
    }
    // A keeper that is stopped goes on when its connection has ended.
    let mut run = rig.dyno(&["run", "slow", "--testbed", "bench", "--out", "stopped"]);
    let mut run = run.stdout(Stdio::null()).spawn().unwrap();
    rig.agent(2);
    for keeper in rig.ending(2, "/dyno agent --keep") {
        send(keeper, libc::SIGSTOP);
    }
    run.kill().unwrap();
    run.wait().unwrap();
    for number in 1..=2 {
        rig.wait_until_clear(number);
    }
    // What even the keeper could not clear, the next run does.
    let mut run = rig.dyno(&["run", "slow", "--testbed", "bench", "--out", "again"]);
    let mut run = run.stdout(Stdio::null()).spawn().unwrap();
    let agent = rig.agent(2);
    send(agent, libc::SIGSTOP);
    for keeper in rig.ending(2, "/dyno agent --keep") {
        send(keeper, libc::SIGKILL);
    }
    run.kill().unwrap();
    run.wait().unwrap();
    wait_for("h1 to be clear", || {
        rig.leftovers(1).is_empty().then_some(())
    });
    assert!(!rig.leftovers(2).is_empty());
    let resumed = rig.run(&["run", "--resume", "again"]);
    resumed.with_code(0).says("after an earlier run on host h2");
    for number in 1..=2 {
        rig.wait_until_clear(number);
    }
}

/// The suite `rwth` over four servers with the links of `netns-1gbe`, beside the same suite on
/// `netns-1gbe`: half an hour each, on a machine that does nothing else. `DYNO_RWTH_BASE` is a run on
/// `netns-1gbe` that exists already, `DYNO_RWTH_OUT` where the other one is to be kept.
///
/// ```sh
/// cargo test --release -p dyno --test e2e rwth_over_ssh -- --ignored --nocapture
/// ```
#[test]
#[ignore = "takes an hour of a machine that does nothing else"]
fn rwth_over_ssh_has_the_medians_of_namespaces() {
    assert!(is_possible());
    let rig = Rig::new(4);
    rig.shape();
    let given = |name: &str, default: &str| {
        std::env::var_os(name).map_or_else(|| rig.place.path(default), PathBuf::from)
    };
    let (base, new) = (
        given("DYNO_RWTH_BASE", "base"),
        given("DYNO_RWTH_OUT", "new"),
    );
    let [base, new] = [&base, &new].map(|path| path.to_str().unwrap());
    // An interrupted run goes on.
    let measure = |testbed: &str, out: &str| {
        let whole = [
            "rwth",
            "--set",
            "scale=short",
            "--testbed",
            testbed,
            "--out",
            out,
        ];
        let rest = ["--resume", out];
        let arguments: &[&str] = if Path::new(out).exists() {
            &rest
        } else {
            &whole
        };
        let arguments = [&["run"], arguments].concat();
        let status = rig.dyno(&arguments).status().unwrap();
        // Trials may fail: a cell without a figure has its reason.
        assert!(matches!(status.code(), Some(0 | 4)), "{status}");
    };
    if !Path::new(base).exists() {
        measure("netns-1gbe", base);
    }
    measure("bench", new);
    let compared = rig.run(&["compare", base, new, "--format", "json"]);
    println!("{}", rig.run(&["compare", base, new]).stdout);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    let mut verdicts = std::collections::BTreeMap::<String, u32>::new();
    for cell in compared["cells"].as_array().unwrap() {
        for row in cell["rows"].as_array().unwrap() {
            let verdict = format!("{}: {}", row["figure"], row["verdict"]);
            *verdicts.entry(verdict).or_default() += 1;
        }
    }
    println!("{verdicts:#?}");
    for e in experiments(&rig.place.show(new)) {
        let figure = !e["metrics"].as_object().unwrap().is_empty();
        assert!(
            figure || count_of(e, "failures") > 0,
            "neither a figure nor a reason: {e:#}"
        );
    }
}

fn count_of(e: &Value, list: &str) -> usize {
    e[list].as_array().map_or(0, Vec::len)
}
