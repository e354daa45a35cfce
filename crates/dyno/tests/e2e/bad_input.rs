//! Bad input: one clear error, the documented exit code, nothing written, no panic.

use crate::harness::{Ended, Place};

const GOOD: &str = r#"
title = "t"
[defaults]
trials = 1
[[experiment]]
name = "a"
workload = "stream"
rate = "1 kHz"
payload = "64 B"
stacks = ["pipe"]
"#;

#[track_caller]
fn refused(suite: &str) -> Ended {
    let place = Place::new();
    place.suite("bad", suite);
    let ended = place
        .run(&["run", "bad", "--out", "out", "--quiet"])
        .with_code(3);
    assert!(!place.path("out").exists(), "nothing half-written");
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    ended
}

#[track_caller]
fn refused_with(old: &str, new: &str) -> Ended {
    assert!(GOOD.contains(old));
    refused(&GOOD.replace(old, new))
}

#[test]
fn a_typo_is_shown_where_it_stands() {
    refused_with("payload =", "paylaod =")
        .says("paylaod")
        .says("payload")
        .says("bad.toml");
}

#[test]
fn an_empty_payload_is_refused() {
    refused_with("64 B", "0 B").says("at least one byte");
}

#[test]
fn a_payload_without_room_for_the_stamps_is_refused_one_way() {
    refused_with("64 B", "8 B").says("32");
}

#[test]
fn a_rate_no_clock_can_hold_is_refused() {
    refused_with("1 kHz", "1000 MHz").says("100 MHz");
    refused_with("1 kHz", "0 Hz").says("positive");
    refused_with("1 kHz", "1000").says("unit");
}

#[test]
fn an_unknown_stack_is_refused_with_the_nearest_name() {
    refused_with("\"pipe\"", "\"pip\"").says("pipe");
    let place = Place::new();
    place.suite("good", GOOD);
    place
        .run(&["run", "good", "--stack", "pip", "--out", "out"])
        .with_code(3)
        .says("pipe");
    place
        .run(&["run", "good", "--stack", "unix", "--out", "out"])
        .with_code(3)
        .says("`uds-dgram`, `uds-seqpacket`, `uds-stream`");
}

#[test]
fn no_name_is_broken_at_its_hyphens() {
    // Nothing begins like it, so that all stacks are listed.
    let all = Place::new()
        .run(&["run", "quick", "--stack", "0000000000"])
        .with_code(3);
    assert!(all.stderr.contains("uds-stream"), "{}", all.stderr);
    assert!(
        all.stderr.lines().all(|line| !line.ends_with('-')),
        "{}",
        all.stderr
    );
}

#[test]
fn commands_and_options_that_are_elsewhere_are_said_to_be_there() {
    let place = Place::new();
    place
        .run(&["export", "x"])
        .with_code(2)
        .says("dyno show RUN --format csv");
    place.run(&["import"]).with_code(2).says("dyno show FILE");
    let option = ["run", "quick", "--set", "queue_depth=16", "--dry-run"];
    place.run(&option).with_code(3).says("under [options]");
}

#[test]
fn a_cpu_that_does_not_exist_is_refused() {
    refused_with("trials = 1", "trials = 1\ncpus = [0, 4096]").says("4096");
}

#[test]
fn a_testbed_without_hosts_is_refused() {
    let place = Place::new();
    place
        .suite("good", GOOD)
        .file("testbeds/empty.toml", "description = \"none\"\n");
    let ended = place.run(&["run", "good", "--testbed", "empty", "--out", "out"]);
    ended.with_code(3).says("host");
}

#[test]
fn an_unknown_suite_or_key_is_refused() {
    let place = Place::new();
    place.run(&["run", "quik"]).with_code(3).says("quick");
    place
        .run(&["run", "quick", "--set", "wndow=1s"])
        .with_code(3)
        .says("window");
    place
        .run(&["run", "missing.toml"])
        .with_code(1)
        .says("there is no file missing.toml");
    place
        .run(&["run", "quik.toml"])
        .with_code(1)
        .says("did you mean `quick`?")
        .says("dyno list suites");
    place.file(
        "limits.toml",
        "[[limit]]\nname = \"x\"\nmetric = \"loss\"\nat_most = 0\n",
    );
    place
        .run(&["run", "limits.toml"])
        .with_code(2)
        .says("limits.toml is a limits file")
        .says("dyno check latest limits.toml");
    place
        .run(&["run"])
        .with_code(2)
        .says("no suite is named")
        .says("`dyno run quick`")
        .says("`dyno init FILE`");
    place.run(&["frobnicate"]).with_code(2);
}
