//! `dyno gate`: two sides measured in one run, and judged with an exit code. The host may be noisy, so that undecided is right as well.

use crate::harness::{Ended, Place};
use std::collections::BTreeSet;

/// The suite `trips` of short round trips.
fn place() -> Place {
    let place = Place::new();
    place.suite(
        "trips",
        "title = \"trips\"\n[defaults]\nwarmup = \"20 ms\"\nwindow = \"200 ms\"\npayload = \"64 B\"\n[[experiment]]\n\
         name = \"round-trip\"\nworkload = \"ping-pong\"\nstacks = [\"pipe\"]\n",
    );
    place
}

fn gate(place: &Place, arguments: &[&str]) -> Ended {
    let suite = ["gate", "--suite", "trips", "--budget", "6 s"];
    place.run(&[&suite[..], arguments].concat())
}

/// The code of a gate and its last line, which say the same.
#[track_caller]
fn judged(place: &Place, arguments: &[&str]) -> (i32, String) {
    let ended = gate(place, &[arguments, &["--out", "out"]].concat());
    let code = ended.status.code().unwrap();
    let sentence = ended.stdout.lines().last().unwrap_or_default().to_owned();
    let words: &[&str] = match code {
        0 => &["faster: ", "same within "],
        7 => &["undecided: "],
        8 => &["slower: "],
        _ => panic!("{code}\n{}\n{}", ended.stdout, ended.stderr),
    };
    let said = words.iter().any(|word| sentence.starts_with(word));
    let tells = sentence.contains("would have been found");
    assert!(said && tells, "{code}\n{}\n{}", ended.stdout, ended.stderr);
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
    (code, sentence)
}

#[test]
fn two_stacks_are_measured_in_slices_without_a_floor_and_judged() {
    let place = place();
    judged(&place, &["pipe", "uds-stream"]);
    let plan = place.json("out/run.json")["plan"].clone();
    let experiments = plan["experiments"].as_array().unwrap();
    let stacks: BTreeSet<&str> = experiments
        .iter()
        .filter_map(|e| e["stack"].as_str())
        .collect();
    assert_eq!(stacks, BTreeSet::from(["pipe", "uds-stream"]));
    assert!(experiments.iter().all(|e| e["slices"].is_object()));
    // The verdict is that of `compare`, which shows it again.
    place
        .run(&["compare", "out"])
        .with_code(0)
        .says("in slices of 10.0 ms");
}

#[test]
fn a_stack_is_not_slower_than_itself() {
    let (code, _) = judged(&place(), &["same", "uds-stream", "--smallest", "90%"]);
    assert_ne!(code, 8);
}

#[test]
fn a_planted_delay_never_passes() {
    let place = place();
    for (name, delay_us) in [("usual", 0), ("late", 500)] {
        place.stack(
            name,
            &format!(
                "description = \"{name}\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\ninner = \"uds\"\n\
                 participant = 0\ndelay_every = 1\ndelay_us = {delay_us}\n"
            ),
        );
    }
    let (code, sentence) = judged(&place, &["usual", "late"]);
    assert_ne!(code, 0, "{sentence}");
}

#[test]
fn what_fails_on_both_sides_is_no_pass_even_where_undecided_is_one() {
    let place = place();
    place.stack(
        "crashes",
        "description = \"crashes\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\ninner = \"uds\"\n\
         crash_in = \"send\"\ncrash_after = 30\n",
    );
    gate(&place, &["uds-stream", "crashes", "--allow-undecided"])
        .with_code(8)
        .says("worse: ")
        .says("failed");
}

#[test]
fn sides_that_cannot_be_gated_are_refused_with_what_would_do() {
    let place = place();
    let refused = |arguments: &[&str], code: i32, says: &str| {
        gate(&place, arguments).with_code(code).says(says);
        assert!(!place.path("runs").exists());
    };
    refused(&["tcp", "tcp"], 2, "gate same tcp`");
    refused(&["tcp", "./new/dyno"], 2, "NEW is a stack");
    refused(
        &["./none/dyno", "tcp"],
        2,
        "`dyno` program of another build",
    );
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dyno"), place.path("itself")).unwrap();
    refused(&["./itself", "tcp"], 2, "is this program itself");
    refused(&["tcp", "none"], 3, "none");
    for sides in [["uds-stream", "tpc"], ["tpc", "uds-stream"]] {
        refused(&sides, 3, "did you mean `tcp`?");
        let ended = gate(&place, &sides);
        assert!(ended.stderr.contains("dyno gate"), "{}", ended.stderr);
        for option in ["--stack", "--against"] {
            assert!(!ended.stderr.contains(option), "{}", ended.stderr);
        }
    }
    place
        .run(&["gate", "pipe", "tcp", "--budget", "100 ms"])
        .with_code(2)
        .says("allow");
    place
        .run(&["gate", "pipe", "floor-spin"])
        .with_code(3)
        .says("--set wait=block");
}

#[test]
fn where_slices_cannot_serve_whole_trials_do_and_the_reason_is_said() {
    let place = place();
    place.suite(
        "streams",
        "title = \"streams\"\n[[experiment]]\nname = \"one-way\"\nworkload = \"stream\"\nrate = \"1 kHz\"\n\
         stacks = [\"tcp\"]\n",
    );
    place
        .run(&["gate", "uds-stream", "tcp", "--suite", "streams", "--dry-run"])
        .with_code(0)
        .says("whole trials instead of slices for one-way on tcp and uds-stream: --slices works only for ping-pong and call");
    place.stack(
        "shared",
        "description = \"shared\"\nadapter = \"uds\"\nwaits = [\"block\"]\n[options]\ntype = \"stream\"\n[[daemon]]\nname = \"one\"\n\
         command = [\"sleep\", \"60\"]\nready = { output = \"up\" }\nexclusive = true\n",
    );
    gate(&place, &["same", "shared", "--dry-run"])
        .with_code(0)
        .says("both need one, of which a machine can have only one");
}

#[test]
fn what_the_new_side_refuses_is_no_pass() {
    let place = Place::new();
    place.suite(
        "trips",
        "title = \"trips\"\n[defaults]\nwarmup = \"20 ms\"\nwindow = \"200 ms\"\npayload = \"64 B\"\n[[experiment]]\n\
         name = \"round-trip\"\nworkload = \"ping-pong\"\nstacks = [\"pipe\"]\n[experiment.matrix]\nwait = [\"block\", \"spin\"]\n",
    );
    // The floor of blocking reads does not spin, so that nobody can tell whether it would be slower there.
    gate(
        &place,
        &["pipe", "floor-futex", "--smallest", "99%", "--out", "out"],
    )
    .with_code(7)
    .says("only the base has it; floor-futex refused it");
}
