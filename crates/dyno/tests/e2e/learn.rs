//! Suites that `dyno learn` writes.

use crate::harness::{Place, experiments};
use serde_json::Value;

/// A recording of `examples/`.
fn recording(name: &str) -> String {
    format!(
        "{}/../../examples/recordings/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

#[test]
fn a_recording_becomes_a_suite_that_is_measured() {
    let place = Place::new();
    let (log, csv) = (recording("drive.log"), recording("drive.csv"));
    place
        .run(&["learn", &log, &csv, "-o", "drive.toml", "--stack", "udp"])
        .with_code(0)
        .says("6 flows learnt; 2 topics and 2 other messages left out")
        .says("dyno run drive.toml --dry-run");
    let planned = place.run(&["run", "drive.toml", "--dry-run"]).with_code(0);
    assert!(planned.stdout.contains("learnt"), "{}", planned.stdout);
    let mut run = vec!["run", "drive.toml", "--trials", "1", "--out", "out"];
    run.extend(["--set", "window=1 s", "--set", "settle=0 s"]);
    place.run(&run).with_code(0);
    let shown = place.show("out");
    // Of those that have a rate: the group has a period instead.
    let rates: Vec<f64> = experiments(&shown)
        .iter()
        .filter_map(|e| e["load"]["rate_hz"].as_f64())
        .collect();
    for expected in [50.0, 20.0, 11.9] {
        assert!(rates.contains(&expected), "{expected}: {rates:?}");
    }
    assert_eq!(experiments(&shown).len(), 6);
}

#[test]
fn an_explanation_is_a_table_or_json_and_writes_no_suite() {
    let place = Place::new();
    let log = recording("drive.log");
    let told = place.run(&["learn", &log, "--explain"]).with_code(0);
    for part in [
        "drive.log (candump log): 93 messages",
        "can0 0x0c8",
        "every 20 ms",
        "seen once: can0 0x400",
        "left out: error frames (1)",
    ] {
        assert!(told.stdout.contains(part), "{part}: {}", told.stdout);
    }
    assert!(!told.stdout.contains("[[experiment"), "{}", told.stdout);
    let told = place
        .run(&["learn", &log, "--explain", "--format", "json", "--rename"])
        .with_code(0);
    let json: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(json["flows"].as_array().unwrap().len(), 4);
    assert_eq!(json["flows"][0]["topic"], "topic-1");
    assert!(!told.stdout.contains("can0"), "{}", told.stdout);
    // Without either, the suite is on standard output.
    let suite = place.run(&["learn", &log]).with_code(0).stdout;
    assert!(suite.contains("cycle = \"20 ms\""), "{suite}");
}

#[test]
fn files_that_cannot_be_learnt_from_are_named_with_the_remedy() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder")).unwrap();
    place
        .file("empty", "")
        .file("once.csv", "time_s,topic,size\n1,a,2\n");
    place.file("\u{1b}[2Jevil\u{202e}.log", "(x) can0\n");
    let cases: [(&[&str], i32, &str); 7] = [
        (
            &["folder"],
            1,
            "folder is a directory: name the files in it",
        ),
        (&["empty"], 1, "empty is empty"),
        (&["nowhere"], 1, "cannot read nowhere"),
        (&["once.csv"], 1, "no topic has enough messages for a flow"),
        (
            &["\u{1b}[2Jevil\u{202e}.log"],
            1,
            "no message that Dyno can use",
        ),
        (&["once.csv", "-o", "suite"], 2, "ends in .toml"),
        (&["once.csv", "--stack", "ud"], 2, "there is no stack `ud`"),
    ];
    for (arguments, code, says) in cases {
        let ended = place.run(&[&["learn"], arguments].concat()).with_code(code);
        let text = ended
            .stderr
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(text.contains(says), "{says}: {text}");
        assert!(
            !ended.stderr.contains(['\u{1b}', '\u{202e}']),
            "{:?}",
            ended.stderr
        );
    }
    assert!(!place.path("suite").exists());
}
