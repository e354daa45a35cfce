//! What a stranger's run names is executed after a question alone.

use crate::harness::{Ended, Place};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Command;

const STACK: &str = r#"
description = "sockets, and a daemon of somebody else's"
adapter = "uds"
waits = ["block"]
[options]
type = "seqpacket"
[[daemon]]
name = "helper"
command = ["sh", "-c", "touch VICTIM; echo ready; exec sleep 1000"]
ready = { output = "ready" }
"#;

/// A run in `theirs`, of a place whose suites and stacks are gone.
fn theirs(stack: &str) -> Place {
    let place = Place::new();
    let victim = place.path("victim").display().to_string();
    place.stack("mine", &stack.replace("VICTIM", &victim));
    place.round_trips(
        "small",
        "trials = 1\nround_trips = 20\nwait = \"block\"",
        &["mine"],
    );
    place
        .run(&["run", "small", "--out", "theirs", "--quiet"])
        .with_code(0);
    fs::remove_file(place.path("stacks/mine.toml")).unwrap();
    fs::remove_file(place.path("suites/small.toml")).unwrap();
    let _ = fs::remove_file(place.path("victim"));
    place
}

fn is_hit(place: &Place) -> bool {
    place.path("victim").exists()
}

fn refused(place: &Place, arguments: &[&str], says: &str) {
    let ended = place.run(arguments).with_code(2).says("--trust");
    ended.says(says);
    assert!(!is_hit(place), "{arguments:?}");
}

#[test]
fn a_daemon_of_a_strangers_run_is_not_started_unasked() {
    let place = theirs(STACK);
    let like = ["run", "--like", "theirs", "--out", "mine", "--quiet"];
    refused(
        &place,
        &like,
        "start the daemon `helper` of stack `mine`: `sh -c \"touch",
    );
    assert!(!place.path("mine").exists());
    // What would be asked can be read first.
    let dry = place.run(&["run", "--like", "theirs", "--dry-run"]);
    dry.with_code(0)
        .says("asks first: start the daemon `helper`");
    assert!(!is_hit(&place));

    let trusted = [&like as &[&str], &["--trust"]].concat();
    place.run(&trusted).with_code(0);
    assert!(is_hit(&place));
}

#[test]
fn a_run_that_is_resumed_starts_no_daemon_unasked() {
    let place = theirs(STACK);
    let trials: Vec<_> = fs::read_dir(place.path("theirs/trials")).unwrap().collect();
    fs::remove_file(trials.into_iter().next().unwrap().unwrap().path()).unwrap();
    refused(&place, &["run", "--resume", "theirs", "--quiet"], "helper");
    let resumed = place.run(&["run", "--resume", "theirs", "--quiet", "--trust"]);
    resumed.with_code(0);
}

#[test]
fn what_stands_in_ones_own_stacks_needs_no_question() {
    let place = theirs(STACK);
    let victim = place.path("victim").display().to_string();
    place.stack("mine", &STACK.replace("VICTIM", &victim));
    place
        .run(&["run", "--like", "theirs", "--out", "mine", "--quiet"])
        .with_code(0);
    assert!(is_hit(&place));
    // The same name is not the same text.
    let other = "echo ready; exec sleep 999";
    place.stack("mine", &STACK.replace("echo ready; exec sleep 1000", other));
    fs::remove_file(place.path("victim")).unwrap();
    let again = ["run", "--like", "theirs", "--out", "again", "--quiet"];
    refused(&place, &again, "helper");
}

#[test]
fn a_built_in_stack_and_one_without_a_daemon_need_no_question() {
    let place = Place::new();
    place.round_trips(
        "small",
        "trials = 1\nround_trips = 20",
        &["pipe", "uds-stream"],
    );
    place
        .run(&["run", "small", "--out", "theirs", "--quiet"])
        .with_code(0);
    fs::remove_file(place.path("suites/small.toml")).unwrap();
    place
        .run(&["run", "--like", "theirs", "--out", "mine", "--quiet"])
        .with_code(0);
}

/// A run of another build, host, file of options: whatever a manifest can name.
#[test]
fn other_programs_and_hosts_of_a_strangers_run_are_not_reached_unasked() {
    let place = theirs(&STACK[..STACK.find("[[daemon]]").unwrap()]);
    let victim = place.path("victim").display().to_string();
    let program = place.path("program");
    fs::write(
        &program,
        format!("#!/bin/sh\ntouch {victim}\necho dyno 1\n"),
    )
    .unwrap();
    let made = Command::new("chmod").arg("755").arg(&program).status();
    assert!(made.unwrap().success());
    let original = place.json("theirs/run.json");
    let like = ["run", "--like", "theirs", "--out", "mine", "--quiet"];
    let resume = ["run", "--resume", "theirs", "--retry-failed", "--quiet"];
    let written = |run: &Value| fs::write(place.path("theirs/run.json"), run.to_string()).unwrap();

    let mut run = original.clone();
    let build = json!({"kind": "build", "program": program, "version": "dyno 1"});
    run["origin"]["request"]["against"] = build.clone();
    written(&run);
    refused(&place, &like, "as the agents of another build");
    run["plan"]["against"] = build;
    written(&run);
    refused(&place, &resume, "as the agents of another build");
    // What was agreed to is the build that is named, not whatever lies there.
    run["plan"]["against"]["version"] = json!("dyno 2");
    written(&run);
    let trusted = [&resume as &[&str], &["--trust"]].concat();
    let ended = place.run(&trusted).with_code(2);
    ended.says("dyno 1").says("put it back");
    fs::remove_file(&victim).unwrap();

    let testbed = "description = \"theirs\"\n[[host]]\nname = \"a\"\nreach = \"ssh\"\n\
                   destination = \"root@192.0.2.1\"\naddress = \"192.0.2.1\"\n";
    let mut run = original.clone();
    run["origin"]["testbed"]["text"] = json!(testbed);
    written(&run);
    refused(&place, &like, "by ssh");
    let mut run = original;
    run["plan"]["testbed"]["hosts"][0]["reach"] =
        json!({"kind": "ssh", "destination": format!("-oProxyCommand=touch {victim}")});
    written(&run);
    refused(&place, &resume, "by ssh");
}

/// script(1) gives a terminal to what it runs, and takes the answer from here once what is asked can be read.
fn on_a_terminal(place: &Place, line: &str, until: &str, answer: &str) -> Ended {
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_dyno"));
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(place.path("."))
        .env("TMPDIR", place.path("tmp"))
        .env("DYNO_FILES", place.path("."))
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = script.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let (mut told, mut bytes) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&told).contains(until) {
        match output.read(&mut bytes).unwrap() {
            0 => break,
            n => told.extend_from_slice(&bytes[..n]),
        }
    }
    input.write_all(answer.as_bytes()).unwrap();
    output.read_to_end(&mut told).unwrap();
    drop(input);
    std::process::Output {
        status: child.wait().unwrap(),
        stdout: told,
        stderr: Vec::new(),
    }
    .into()
}

/// Whatever stands in a host is compared, not its reach alone.
#[test]
fn an_address_that_only_a_strangers_run_has_is_asked_for() {
    let place = theirs(&STACK[..STACK.find("[[daemon]]").unwrap()]);
    let whole = place.json("theirs/run.json");
    let resume = ["run", "--resume", "theirs", "--quiet"];
    let machine = |memory: u64| json!({"kind": "vm", "memory_bytes": memory, "cpus": 64, "accelerator": "tcg"});
    for (reach, address, says) in [
        (json!({"kind": "local"}), "192.0.2.7", "listen at 192.0.2.7"),
        (
            json!({"kind": "ssh", "destination": "me@there"}),
            "192.0.2.9",
            "send to 192.0.2.9",
        ),
        (machine(64 << 30), "10.77.0.1", "65536 MiB, 64 CPUs"),
    ] {
        let mut run = whole.clone();
        let host = &mut run["plan"]["testbed"]["hosts"][0];
        host["reach"] = reach;
        host["address"] = json!(address);
        place.file("theirs/run.json", &run.to_string());
        refused(&place, &resume, says);
    }
    // As many as the built-in testbed has, and no device that no stack takes.
    let built_in = |vsock: Value| {
        let mut machine = machine(512 << 20);
        machine["cpus"] = json!(1);
        machine["vsock"] = vsock;
        machine
    };
    for (vsock, machines, code, says) in [
        (json!("process"), 1, 2, "vsock by"),
        (Value::Null, 2, 2, "boot a virtual machine at 10.77.0.3"),
        (Value::Null, 20, 5, "somebody has changed the plan"),
    ] {
        let mut run = whole.clone();
        let first = run["plan"]["testbed"]["hosts"][0].clone();
        run["plan"]["testbed"]["name"] = json!("vm");
        let host = |n: u32, name: String, reach: Value| {
            let mut host = first.clone();
            host["name"] = json!(name);
            host["reach"] = reach;
            host["address"] = json!(format!("10.77.0.{n}"));
            host
        };
        let guests = (2..).map(|n| host(n, format!("guest{n}"), built_in(vsock.clone())));
        let hosts = [host(1, "host".into(), json!({"kind": "namespace"}))];
        let hosts = hosts.into_iter().chain(guests.take(machines));
        run["plan"]["testbed"]["hosts"] = hosts.collect();
        place.file("theirs/run.json", &run.to_string());
        place.run(&resume).with_code(code).says(says);
    }
    // One's own testbed of that name says the same.
    let own = "description = \"mine\"\n[[host]]\nname = \"h\"\nreach = \"local\"\naddress = \"127.0.0.9\"\n";
    fs::create_dir_all(place.path("testbeds")).unwrap();
    place.file("testbeds/local.toml", own);
    let mut run = whole;
    run["plan"]["testbed"]["hosts"][0]["address"] = json!("127.0.0.9");
    place.file("theirs/run.json", &run.to_string());
    let ended = place.run(&resume).with_code(2);
    assert!(!ended.stderr.contains("127.0.0.9"), "{}", ended.stderr);
}

#[test]
fn all_that_is_done_with_a_daemon_is_listed_and_what_is_long_comes_first() {
    let place = theirs(STACK);
    let mut run = place.json("theirs/run.json");
    let daemon = &mut run["plan"]["stacks"]["mine"]["daemons"][0];
    daemon["ready"] = json!({"connect": "tcp:192.0.2.3:22"});
    daemon["stop"] = json!("SIGKILL");
    daemon["exclusive"] = json!(true);
    daemon["files"] = json!({"helper.conf": "long ".repeat(2_000)});
    daemon["leaves"] = json!(["/left/behind"]);
    place.file("theirs/run.json", &run.to_string());
    let resume = ["run", "--resume", "theirs", "--quiet"];
    for says in [
        "tcp:192.0.2.3:22",
        "SIGKILL",
        "only if no other",
        "remove \"/left/behind\"",
    ] {
        refused(&place, &resume, says);
    }
    let told = place.run(&resume).stderr;
    let at = |text: &str| told.find(text).unwrap();
    assert!(at("helper.conf") < at("start the daemon"), "{told}");
    assert!(told.contains("things):"), "{told}");
    // And once more in short, which no length pushes away.
    let short = &told[at("in short:")..];
    assert!(short.contains("start the daemon"), "{short}");
    assert!(short.len() < 5_000, "{short}");
}

/// `--files` counts for a run that is resumed as it does for a new one.
#[test]
fn what_stands_in_a_folder_that_is_named_needs_no_question_on_resuming() {
    let place = theirs(STACK);
    let victim = place.path("victim").display().to_string();
    fs::create_dir_all(place.path("own/stacks")).unwrap();
    place.file("own/stacks/mine.toml", &STACK.replace("VICTIM", &victim));
    for trial in fs::read_dir(place.path("theirs/trials")).unwrap() {
        fs::remove_file(trial.unwrap().path()).unwrap();
    }
    let resume = ["run", "--resume", "theirs", "--quiet"];
    refused(&place, &resume, "start the daemon");
    let named = [&resume as &[&str], &["--files", "own"]].concat();
    place.run(&named).with_code(0);
    assert!(is_hit(&place));
}

#[test]
fn arguments_that_are_no_text_end_no_command() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = theirs(STACK);
    let odd = std::ffi::OsStr::from_bytes(b"r\xff");
    fs::rename(place.path("theirs"), place.path(".").join(odd)).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_dyno"))
        .args(["run", "--quiet", "--resume"])
        .arg(odd)
        .current_dir(place.path("."))
        .env("TMPDIR", place.path("tmp"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(told.contains("--trust"), "{told}");
    assert_eq!(ran.status.code(), Some(2), "{told}");
}

#[test]
fn on_a_terminal_a_question_is_asked_and_no_is_no() {
    let place = theirs(STACK);
    let asked = |answer: &str| {
        let out = format!("mine{}", answer.len());
        let line = format!("run --like theirs --out {out} --quiet --repeats 0");
        on_a_terminal(&place, &line, "[y/N]", answer)
    };
    asked("n\n").with_code(2).says("nothing was run");
    assert!(!is_hit(&place));
    // Ctrl-C.
    asked("\u{3}")
        .with_code(130)
        .says("interrupted; nothing was run");
    assert!(!is_hit(&place) && !place.path("mine1").exists());
    // Also behind a line that Ctrl-D cut.
    let ended = asked("y\u{4}\u{3}").with_code(130);
    ended.says("interrupted; nothing was run");
    assert!(!is_hit(&place));
    asked("yes\n")
        .with_code(0)
        .says("Do you trust its author? [y/N]");
    assert!(is_hit(&place));
}

#[test]
fn colours_of_an_argument_do_not_reach_a_terminal() {
    let place = Place::new();
    let told = on_a_terminal(&place, "run --no-such-option", "error", "").with_code(2);
    assert!(told.stdout.contains('\u{1b}'), "{}", told.stdout);
    let line = "show \"--$(printf 'a\\033[31mb')\"";
    let told = on_a_terminal(&place, line, "error", "").with_code(2);
    assert!(!told.stdout.contains('\u{1b}'), "{:?}", told.stdout);
}

/// A number may be a port, a switch may open one, and a name that is unknown here may be known to the other build.
#[test]
fn every_option_that_only_a_strangers_run_sets_is_listed() {
    let place = theirs(&STACK[..STACK.find("[[daemon]]").unwrap()]);
    place.stack("mine", &STACK[..STACK.find("[[daemon]]").unwrap()]);
    let mut run = place.json("theirs/run.json");
    let options = &mut run["plan"]["stacks"]["mine"]["options"];
    for (name, value) in [
        ("port", json!(4711)),
        ("open", json!(true)),
        ("share", json!(0.5)),
    ] {
        options[name] = value;
    }
    place.file("theirs/run.json", &run.to_string());
    let resume = ["run", "--resume", "theirs", "--quiet"];
    for says in ["port = 4711", "open = true", "share = 0.5"] {
        refused(&place, &resume, says);
    }
    // What one's own stack says too is not.
    let ended = place.run(&resume);
    assert!(!ended.stderr.contains("seqpacket"), "{}", ended.stderr);
}

#[test]
fn the_question_shows_whole_files_and_the_command_that_permits_them() {
    let place = theirs(STACK);
    let mut run = place.json("theirs/run.json");
    let text = format!("{}the end", "harmless ".repeat(1_000));
    run["plan"]["stacks"]["mine"]["daemons"][0]["files"] = json!({"helper.conf": text});
    place.file("theirs/run.json", &run.to_string());
    place
        .run(&["run", "--resume", "theirs", "--dry-run"])
        .with_code(0)
        .says("planned trials are stored already")
        .says("asks first: start the daemon `helper`")
        .says("the end");
    let resume = ["run", "--resume", "theirs", "--quiet"];
    refused(&place, &resume, "the end");
    let ended = place.run(&resume);
    ended.says("dyno run --resume theirs --quiet --trust");
    assert!(!is_hit(&place));
}

/// Addresses stand in the batches of ip(8) and in the configuration of daemons, names in paths.
#[test]
fn a_stored_host_that_no_testbed_can_have_is_not_resumed() {
    let place = theirs(&STACK.replace("touch VICTIM; ", ""));
    let path = "theirs/run.json";
    let whole = place.json(path);
    for (key, value) in [
        ("address", "127.0.0.1\nuser root"),
        ("address", "h1"),
        ("address", "0.0.0.0"),
        ("address", "::"),
        ("address", "224.0.0.251"),
        ("address", "255.255.255.255"),
        ("address", "::ffff:0.0.0.0"),
        ("name", "../h1"),
        ("name", "/tmp/h1"),
        ("name", ".."),
    ] {
        let mut run = whole.clone();
        run["plan"]["testbed"]["hosts"][0][key] = json!(value);
        place.file(path, &run.to_string());
        place
            .run(&["run", "--resume", "theirs", "--trust", "--quiet"])
            .with_code(5)
            .says("somebody has changed the plan");
    }
}

#[test]
fn what_the_command_line_names_needs_no_question() {
    let place = theirs(&STACK.replace("touch VICTIM; ", ""));
    place.stack("mine", &STACK.replace("touch VICTIM; ", ""));
    let program = env!("CARGO_BIN_EXE_dyno");
    let like = ["run", "--like", "theirs", "--quiet", "--against", program];
    place
        .run(&[&like as &[&str], &["--out", "a", "--repeats", "0"]].concat())
        .with_code(0);
}
