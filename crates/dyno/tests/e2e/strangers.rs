//! Runs that somebody else made, as an attacker would: every command that reads one ends, says what is wrong in a line or
//! a few, and leaves nothing behind.

use crate::harness::{LONG, Place};
use dyno_kit::damage::watched::PATIENCE;
use dyno_kit::damage::{Arena, Fault};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The trial of the golden run that failed, and the one that has distributions.
const FAILED: &str = "trials/e0000-t000.json";
const MEASURED: &str = "trials/e0001-t000.json";

/// A golden run as `name`, with one of its trials changed.
fn changed(place: &Place, name: &str, trial: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let run = place.path(name);
    for folder in ["trials", "raw"] {
        std::fs::create_dir_all(run.join(folder)).unwrap();
    }
    let golden = golden("run-v3");
    for file in ["run.json", FAILED, MEASURED, "raw/e0001-t000.csv"] {
        std::fs::copy(golden.join(file), run.join(file)).unwrap();
    }
    let file = format!("{name}/{trial}");
    let mut trial = place.json(&file);
    change(&mut trial);
    place.file(&file, &trial.to_string());
    run
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../dyno-store/tests/golden")
        .join(name)
}

fn names(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.path(".")).unwrap();
    entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn some_mutants_make_no_command_abort_hang_or_leave_a_file() {
    let place = Place::new();
    let bases = ["run-v1", "run-v2", "run-v3"].map(golden);
    let program = Path::new(env!("CARGO_BIN_EXE_dyno"));
    let arena = Arena::new(program, &place.path("arena"), &bases).unwrap();
    let mut faults = Vec::new();
    for seed in 1..=40 {
        // A loaded machine is slow; what hangs would do so for ever.
        for Fault { what, where_ } in arena.meet(seed, PATIENCE.max(LONG)).unwrap().faults {
            faults.push(format!("{what}: {where_}"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// A count of 2^62 made rows of percentiles without end.
#[test]
fn a_crafted_histogram_is_named_and_exports_leave_nothing_unfinished() {
    const CRAFTED: &str = "HISTFAAAACN42pNpmSzMwMDAzQABzFCaEYyAwP4DREBE+N9/KAAAhbgLow==";
    let place = Place::new();
    changed(&place, "run", MEASURED, |trial| {
        for (_, metric) in trial["distributions"].as_object_mut().unwrap() {
            metric["total"] = json!(CRAFTED);
        }
    });
    let ended = place.run(&["show", "run", "--format", "hdr", "-o", "out"]);
    ended
        .with_code(5)
        .says("e0001-t000")
        .says("bounds are not those");
    assert!(place.path("out").is_dir());
    assert!(!names(&place).iter().any(|name| name.starts_with(".tmp-")));
}

#[test]
fn a_hundred_thousand_warnings_are_shown_as_some_and_their_number() {
    let place = Place::new();
    let warnings: Vec<String> = (0..100_000).map(|i| format!("warning {i}")).collect();
    changed(&place, "run", FAILED, |trial| {
        trial["warnings"] = json!(warnings)
    });
    let ended = place.run(&["show", "run", "--notes", "all"]).with_code(0);
    assert!(ended.stdout.len() < 100_000, "{}", ended.stdout.len());
    ended
        .says("warning 0")
        .says("99900 more, which are left out");
}

#[test]
fn a_limit_with_many_unknown_stacks_shows_some_and_says_how_many_there_are() {
    let place = Place::new();
    changed(&place, "run", FAILED, |_| {});
    let stacks: Vec<String> = (0..1_200).map(|i| format!("nothing-{i}")).collect();
    let limit = "[[limit]]\nname = \"a\"\nmetric = \"loss\"\nat_most = 0\n";
    place.file("one-line.toml", &format!("{limit}stack = {stacks:?}\n"));
    place.file("lines.toml", &format!("{limit}stack = {stacks:#?}\n"));
    for (file, shown) in [
        ("one-line.toml", "first is shown"),
        ("lines.toml", "first 20 are shown"),
    ] {
        let ended = place.run(&["check", "run", file]).with_code(3);
        assert!(
            ended.stderr.len() < 200_000,
            "{file}: {}",
            ended.stderr.len()
        );
        ended.says("1200 mistakes").says(shown).says("nothing-0");
    }
}

#[test]
fn beside_a_damaged_trial_an_audit_without_objections_ends_with_5() {
    let place = Place::new();
    let run = changed(&place, "run", FAILED, |_| {});
    place
        .run(&["audit", "run", "--fail-on", "impossible"])
        .with_code(0);
    std::fs::write(run.join("trials/e0000-t000.json"), "{").unwrap();
    for arguments in [
        &["audit", "run", "--fail-on", "impossible"][..],
        &["audit", "run"],
    ] {
        place.run(arguments).with_code(5).says("e0000-t000.json");
    }
}

#[test]
fn a_trend_without_a_run_that_cannot_be_read_ends_with_5() {
    let place = Place::new();
    changed(&place, "runs/a", FAILED, |_| {});
    place.run(&["trend", "runs"]).with_code(7);
    let damaged = changed(&place, "runs/b", FAILED, |_| {});
    std::fs::write(damaged.join("run.json"), "{").unwrap();
    place.run(&["trend", "runs"]).with_code(5).says("left out");
}

#[test]
fn a_trial_of_20_gigabytes_is_refused_with_a_line() {
    let place = Place::new();
    let run = changed(&place, "run", FAILED, |_| {});
    let trial = std::fs::File::create(run.join("trials/e0000-t000.json")).unwrap();
    trial.set_len(20 << 30).unwrap();
    let ended = place.run(&["show", "run"]).with_code(5);
    let lines = ended
        .stderr
        .lines()
        .filter(|line| line.contains("e0000-t000.json"));
    assert_eq!(lines.count(), 1, "{}", ended.stderr);
    ended.says("has 21474836480 bytes");
}

/// What the bounds and the care for strangers must not take from anybody.
#[test]
fn a_run_of_a_thousand_stacks_and_ten_thousand_trials_is_shown() {
    let place = Place::new();
    let run = changed(&place, "run", FAILED, |_| {});
    let mut manifest = place.json("run/run.json");
    let trial = place.json(&format!("run/{FAILED}"));
    let plan = &mut manifest["plan"];
    let mut first = plan["experiments"][0].clone();
    let stack = plan["stacks"][first["stack"].as_str().unwrap()].clone();
    first["trials"] = json!(10);
    (plan["experiments"], plan["stacks"]) = (json!([]), json!({}));
    std::fs::remove_dir_all(run.join("trials")).unwrap();
    std::fs::create_dir(run.join("trials")).unwrap();
    for id in 0..1_000 {
        let name = format!("stack-{id}");
        (first["id"], first["stack"]) = (json!(id), json!(name));
        let experiments = plan["experiments"].as_array_mut().unwrap();
        experiments.push(first.clone());
        plan["stacks"][&name] = stack.clone();
        plan["stacks"][&name]["name"] = json!(name);
        for number in 0..10 {
            let mut trial = trial.clone();
            (trial["experiment"], trial["number"]) = (json!(id), json!(number));
            let file = format!("run/trials/e{id:04}-t{number:03}.json");
            place.file(&file, &trial.to_string());
        }
    }
    place.file("run/run.json", &manifest.to_string());
    let shown = place.show("run");
    let experiments = shown["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), 1_000);
    assert!(experiments.iter().all(|e| e["failed_trials"] == 10));
    place.run(&["show", "run"]).with_code(0).says("stack-999");
}

/// Each row's label had gone over all rows.
#[test]
fn a_run_of_thousands_of_experiments_of_one_name_and_stack_is_shown() {
    let place = Place::new();
    changed(&place, "run", FAILED, |_| {});
    let mut manifest = place.json("run/run.json");
    let first = manifest["plan"]["experiments"][0].clone();
    let same = |id| {
        let mut e = first.clone();
        e["id"] = json!(id);
        e
    };
    manifest["plan"]["experiments"] = (0..4_000).map(same).collect();
    place.file("run/run.json", &manifest.to_string());
    place.run(&["show", "run"]).with_code(0);
}
