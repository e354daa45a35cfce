//! Campaigns: a run dealt out to parts, each resumed and shown by itself, and merged.

use crate::harness::{LONG, Place, experiments, on_stack, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;

const SUITE: &str = r#"
    title = "cannot be divided"
    [defaults]
    trials = 2
    warmup_messages = 2
    round_trips = 20
    wait = "block"
    placement = "process"
    [[experiment]]
    name = "round-trip"
    workload = "ping-pong"
    stacks = ["pipe", "uds-stream", "tcp"]
    [experiment.matrix]
    payload = ["64 B", "4 KiB"]
"#;

fn place() -> Place {
    let place = Place::new();
    place.suite("dealt", SUITE);
    place
}

/// Runs part `index` of three into a directory of that number.
fn run_part(place: &Place, index: u32) {
    let (shard, out) = (format!("{index}/3"), format!("p{index}"));
    place
        .run(&["run", "dealt", "--shard", &shard, "--out", &out, "--quiet"])
        .with_code(0)
        .says(&format!("part {index} of 3"));
}

/// Stack and factors of every experiment that is shown.
fn cells(shown: &Value) -> BTreeSet<String> {
    let of = |e: &Value| {
        ["experiment", "stack", "payload_bytes", "wait", "placement"]
            .map(|key| e[key].to_string())
            .join(" ")
    };
    let all: BTreeSet<String> = experiments(shown).iter().map(of).collect();
    assert_eq!(all.len(), experiments(shown).len(), "each once");
    all
}

#[test]
fn three_parts_merged_are_the_whole_run() {
    let place = place();
    (1..=3).for_each(|index| run_part(&place, index));
    let parts: Vec<BTreeSet<String>> = (1..=3)
        .map(|index| cells(&place.show(&format!("p{index}"))))
        .collect();
    assert!(parts.iter().all(|p| !p.is_empty()), "{parts:?}");
    place
        .run(&["merge", "p3", "p1", "p2", "-o", "all"])
        .with_code(0)
        .says("from 3 runs, stored in all");
    let all = place.show("all");
    assert_eq!(all["run"]["shard"], Value::Null);
    let together: BTreeSet<String> = parts.iter().flatten().cloned().collect();
    assert_eq!(
        together.len(),
        parts.iter().map(BTreeSet::len).sum::<usize>()
    );
    assert_eq!(cells(&all), together);
    // The undivided run of the same seed has exactly these.
    let seed = place.json("all/run.json")["plan"]["seed"].to_string();
    place
        .run(&["run", "dealt", "--seed", &seed, "--out", "one", "--quiet"])
        .with_code(0);
    assert_eq!(cells(&place.show("one")), together);
    assert_eq!(place.trial_names("all"), place.trial_names("one"));
    assert_eq!(
        place.json("all/run.json")["plan"]["experiments"],
        place.json("one/run.json")["plan"]["experiments"]
    );
    // It is read like any other run, and its rows stand beside their floor.
    assert_eq!(on_stack(&all, "tcp")["floor"]["stack"], "floor-futex");
    for arguments in [
        &["show", "all"][..],
        &["show", "all", "--format", "markdown"],
        &["compare", "all", "one"],
    ] {
        place.run(arguments).with_code(0).says("pipe");
    }
    // Two runs are no series yet.
    place
        .run(&["trend", "all", "one"])
        .with_code(7)
        .says("pipe");
    // Nothing is left to measure.
    let before = place.trial_names("all");
    place
        .run(&["run", "--resume", "all", "--quiet"])
        .with_code(0);
    assert_eq!(place.trial_names("all"), before);
}

/// Whether this process may give itself another host name; the name itself stays as it is.
fn may_have_another_host_name() -> bool {
    let tried = std::process::Command::new("unshare")
        .args(["--uts", "true"])
        .output();
    tried.is_ok_and(|o| o.status.success())
}

fn own_host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    name.trim().to_owned()
}

#[test]
fn every_row_of_a_merge_of_two_machines_names_its_own() {
    if !may_have_another_host_name() {
        eprintln!("skipped: no right to a UTS namespace");
        return;
    }
    let place = place();
    run_part(&place, 1);
    run_part(&place, 3);
    let shard = format!(
        "hostname dyno-other && exec {} run dealt --shard 2/3 --out p2 --quiet --repeats 0",
        env!("CARGO_BIN_EXE_dyno"),
    );
    let other = std::process::Command::new("unshare")
        .args(["--uts", "sh", "-c", &shard])
        .current_dir(place.path("."))
        .env("TMPDIR", place.path("tmp"))
        .env("DYNO_FILES", place.path("."))
        .output()
        .unwrap();
    assert!(other.status.success(), "{other:?}");
    place
        .run(&["merge", "p1", "p2", "p3", "-o", "all"])
        .with_code(0)
        .says("the parts differ in machine");
    let json = place.run(&["show", "all", "--format", "json"]).with_code(0);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let part = place.json("p2/run.json");
    let elsewhere = &part["plan"]["shard"]["experiments"];
    let elsewhere: Vec<u64> = elsewhere
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_u64().unwrap())
        .collect();
    assert!(!elsewhere.is_empty());
    for e in document["experiments"].as_array().unwrap() {
        let is_other = e["machine"] == "dyno-other";
        let id = e["id"].as_u64().unwrap();
        assert_eq!(is_other, elsewhere.contains(&id), "{e:#}");
    }
    // Each trial names it as well, and a table has a column for it.
    let trial = std::fs::read_dir(place.path("p2/trials")).unwrap().next();
    let trial = std::fs::read_to_string(trial.unwrap().unwrap().path()).unwrap();
    assert!(trial.contains("\"dyno-other\""), "{trial}");
    let csv = place.run(&["show", "all", "--format", "csv"]).with_code(0);
    let rows = csv.stdout.lines().filter(|l| l.contains(",dyno-other,"));
    assert!(rows.count() >= elsewhere.len());
    // The other exports, row by row.
    let host = |id: u64| match elsewhere.contains(&id) {
        true => "dyno-other".to_owned(),
        false => own_host_name(),
    };
    let export = |format: &str| {
        let shown = place.run(&["show", "all", "--format", format]);
        shown.with_code(0).stdout
    };
    let gbench: Value = serde_json::from_str(&export("gbench")).unwrap();
    for b in gbench["benchmarks"].as_array().unwrap() {
        let family = b["family_index"].as_u64().unwrap() as usize;
        let id = document["experiments"][family]["id"].as_u64().unwrap();
        let machine = format!("/machine:{}", host(id));
        assert!(b["name"].as_str().unwrap().contains(&machine), "{b:#}");
    }
    let mut samples = 0;
    for line in export("openmetrics").lines() {
        let Some((_, rest)) = line.split_once(",id=\"") else {
            continue;
        };
        let id = rest.split_once('"').unwrap().0.parse().unwrap();
        assert!(
            line.contains(&format!("machine=\"{}\"", host(id))),
            "{line}"
        );
        samples += 1;
    }
    assert!(samples > 0);
    if cfg!(feature = "parquet") {
        place
            .run(&["show", "all", "--format", "parquet", "-o", "tables"])
            .with_code(0);
    }
    let table = place.path("tables/results.parquet");
    let table =
        cfg!(feature = "parquet").then(|| dyno_kit::python::read("parquet_rows.py", &table));
    if let Some(table) = table.flatten() {
        let rows = table["rows"].as_array().unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            let host = host(row["id"].as_u64().unwrap());
            assert_eq!(row["machine"], host.as_str(), "{row:#}");
            assert_eq!(row["host"], host.as_str(), "{row:#}");
        }
    }
    place
        .run(&["show", "all"])
        .with_code(0)
        .says("machine")
        .says("rows from different machines are not compared");
    // What the other machine measured is not resumed here.
    place
        .run(&["run", "--resume", "p2"])
        .with_code(2)
        .says("measured on dyno-other");
}

#[test]
fn a_part_is_resumed_alone() {
    let place = place();
    run_part(&place, 2);
    let all = place.trial_names("p2");
    let first = all.first().unwrap();
    std::fs::remove_file(place.path(&format!("p2/trials/{first}.json"))).unwrap();
    place
        .run(&["run", "--resume", "p2"])
        .with_code(0)
        .says(&format!(
            "{} of {} planned trials are stored already",
            all.len() - 1,
            all.len()
        ))
        .says("part 2 of 3");
    assert_eq!(place.trial_names("p2"), all);
    let shown = place.run(&["show", "p2"]).with_code(0);
    assert!(!shown.stdout.contains("Not run"), "{}", shown.stdout);
}

#[test]
fn a_missing_part_is_measured_in_the_merged_run() {
    let place = place();
    run_part(&place, 1);
    run_part(&place, 3);
    place
        .run(&["merge", "p1", "p3", "-o", "all"])
        .with_code(5)
        .says("part 2 of 3 is missing");
    assert!(!place.path("all").exists());
    place
        .run(&["merge", "p1", "p3", "-o", "all", "--partial"])
        .with_code(0)
        .says("part 2 of 3 is missing");
    place.run(&["show", "all"]).with_code(0).says("Not run");
    place
        .run(&["run", "--resume", "all", "--quiet"])
        .with_code(0);
    let shown = place.run(&["show", "all"]).with_code(0);
    assert!(!shown.stdout.contains("Not run"), "{}", shown.stdout);
}

#[test]
fn parts_of_other_runs_are_refused() {
    let place = place();
    run_part(&place, 1);
    let rest =
        |seed: &'static str, shard: &'static str, out: &'static str, more: &[&'static str]| {
            let mut all = vec!["run", "dealt", "--shard", shard, "--out", out, "--quiet"];
            if !seed.is_empty() {
                all.extend(["--seed", seed]);
            }
            all.extend(more);
            place.run(&all).with_code(0);
        };
    rest("7", "2/3", "seeded", &[]);
    rest("", "2/3", "longer", &["--set", "round_trips=30"]);
    rest("", "2/4", "of-four", &[]);
    rest("", "1/3", "again", &[]);
    for (other, reason) in [
        ("seeded", "the seed is"),
        ("longer", "the settings of round-trip on"),
        ("of-four", "the first was divided into 3"),
        ("again", "is both in p1 and in again"),
    ] {
        place
            .run(&["merge", "p1", other, "-o", "all", "--partial"])
            .with_code(5)
            .says(reason)
            .says(other);
    }
    place
        .run(&["merge", "p1", "nowhere", "-o", "all"])
        .with_code(5)
        .says("nowhere");
    assert!(!place.path("all").exists());
}

#[test]
fn parts_that_cannot_be_are_refused_before_anything_runs() {
    let place = place();
    place
        .run(&["run", "dealt", "--shard", "4/3"])
        .with_code(2)
        .says("numbered from 1");
    place
        .run(&["run", "dealt", "--shard", "1/100"])
        .with_code(3)
        .says("use at most 8 parts");
    place
        .run(&["run", "dealt", "--shard", "2/2", "--dry-run"])
        .with_code(0)
        .says("part 2 of 2")
        .says("of 8 experiments");
    assert!(!place.path("runs").exists());
}

#[test]
fn a_run_that_goes_on_is_not_merged() {
    let place = place();
    let arguments = [
        "run",
        "dealt",
        "--shard",
        "1/2",
        "--out",
        "slow",
        "--set",
        "trials=1000",
    ];
    let running = place.start(&arguments);
    wait_for("a stored trial", || {
        let trials = place.path("slow/trials");
        let mut stored = std::fs::read_dir(trials).ok()?;
        stored.next().map(|_| ())
    });
    place
        .run(&["merge", "slow", "-o", "all", "--partial"])
        .with_code(5)
        .says("still writes to slow");
    running.signal(libc::SIGTERM);
    let ended = running.end();
    assert_eq!(
        ended.status.code(),
        Some(130),
        "within {LONG:?}: {}",
        ended.stderr
    );
    place
        .run(&["merge", "slow", "-o", "all", "--partial"])
        .with_code(0)
        .says("part 1 of 2");
}
