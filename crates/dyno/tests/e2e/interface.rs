//! What people and scripts see: lists, help, manual page, doctor, formats.

use crate::harness::Place;
use serde_json::Value;

#[test]
fn lists_name_everything_that_is_built_in() {
    let place = Place::new();
    place
        .run(&["list", "suites"])
        .with_code(0)
        .says("quick")
        .says("iceperf");
    place.run(&["list", "testbeds"]).with_code(0).says("local");
    let stacks = place.run(&["list", "stacks", "--json"]).with_code(0);
    let stacks: Value = serde_json::from_str(&stacks.stdout).unwrap();
    assert!(stacks.as_array().unwrap().len() >= 14);
    let adapters = place.run(&["list", "adapters", "--json"]).with_code(0);
    let adapters: Value = serde_json::from_str(&adapters.stdout).unwrap();
    for a in adapters.as_array().unwrap() {
        // One in a library that was not built is not asked.
        let is_known = a["unavailable"].is_null();
        assert!(!is_known || a["version"].as_str() != Some(""), "{a:#}");
    }
}

#[test]
fn an_adapter_that_is_not_found_is_looked_for_in_places_that_the_message_names() {
    let place = Place::new();
    place.stack(
        "mine",
        "description = \"mine\"\nadapter = \"mymw\"\nwaits = [\"block\"]\n",
    );
    let missing = place
        .dyno(&["run", "quick", "--stack", "mine"])
        .env("DYNO_ADAPTER_PATH", "/opt/one:/opt/two")
        .output();
    crate::harness::Ended::from(missing.unwrap())
        .with_code(3)
        .says("there is no adapter `mymw`")
        .says("libdyno_mymw.so")
        .says("/opt/one, /opt/two")
        .says("DYNO_ADAPTER_PATH");
}

#[cfg(not(feature = "serve"))]
#[test]
fn a_first_build_says_how_to_get_what_it_is_without() {
    let place = Place::new();
    let more: [&[&str]; 3] = [
        &["watch"],
        &["serve"],
        &["show", "--format", "parquet", "-o", "tables"],
    ];
    for arguments in more {
        let refused = place.run(arguments).with_code(2);
        refused.says("cargo run --release --features");
    }
}

#[test]
fn the_doctor_finds_and_changes_nothing() {
    let place = Place::new();
    let found = place.run(&["doctor", "--json"]).with_code(0);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    assert!(found["limits"].as_array().unwrap().len() > 5, "{found:#}");
    assert!(found["clock"]["cost_ns"].as_f64().unwrap() > 0.0);
    place
        .run(&["doctor"])
        .with_code(0)
        .says("Core to core")
        .says("Limits");
}

#[test]
fn the_manual_page_and_completions_are_made() {
    let place = Place::new();
    place.run(&["man"]).with_code(0).says("dyno\\-run(1)");
    place
        .run(&["man", "run"])
        .with_code(0)
        .says("dyno\\-run")
        .says("Finish the interrupted run");
    place
        .run(&["man", "rum"])
        .with_code(2)
        .says("no command `rum`");
    place.run(&["man", "-o", "pages"]).with_code(0);
    let main = std::fs::read_to_string(place.path("pages/dyno.1")).unwrap();
    let referred: Vec<String> = main
        .lines()
        .filter_map(|l| l.strip_prefix("dyno\\-")?.strip_suffix("(1)"))
        .filter(|name| *name != "help")
        .map(|name| name.replace("\\-", "-"))
        .collect();
    assert!(referred.len() > 8, "{referred:?}");
    for name in referred {
        let page = place.path(&format!("pages/dyno-{name}.1"));
        assert!(page.is_file(), "{name} has no page");
    }
    place
        .run(&["completions", "bash"])
        .with_code(0)
        .says("COMPLETE=");
    place.run(&["run", "--help"]).with_code(0).says("--resume");
}

/// What bash is offered for the last of `words`.
fn offered(place: &Place, words: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_dyno"))
        .args(["--", "dyno"])
        .args(words)
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .current_dir(place.path("."))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn names_of_suites_stacks_testbeds_and_runs_are_completed() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("runs/quick-1")).unwrap();
    place.file("runs/quick-1/run.json", "{}");
    for (words, name) in [
        (vec!["run", "thr"], "throughput"),
        (vec!["run", "quick", "--stack", "uds-s"], "uds-stream"),
        (
            vec!["run", "quick", "--stack", "tcp,uds-s"],
            "tcp,uds-stream",
        ),
        (vec!["run", "quick", "--testbed", "net"], "netns-1gbe"),
        (vec!["show", "runs/q"], "runs/quick-1"),
        (vec!["show", "la"], "latest"),
    ] {
        let all = offered(&place, &words);
        assert!(
            all.lines().any(|l| l.trim_end() == name),
            "{words:?}: {all}"
        );
    }
}

#[test]
fn a_resumed_run_refuses_what_it_cannot_honour() {
    let place = Place::new();
    let apart = "cannot be used with";
    for (flag, value, why) in [
        ("--repeats", "1", apart),
        ("--testbed", "local", apart),
        ("--max-time", "1 s", "--until-decided"),
        ("--experiment", "x", apart),
        ("--trials", "9", apart),
    ] {
        place
            .run(&["run", "--resume", "out", flag, value])
            .with_code(2)
            .says(why);
    }
}

#[test]
fn experiments_are_chosen_by_name_and_by_pattern() {
    let place = Place::new();
    place.suite(
        "two",
        r#"
        title = "two"
        [defaults]
        trials = 1
        [[experiment]]
        name = "camera-front"
        workload = "ping-pong"
        stacks = ["pipe"]
        [[experiment]]
        name = "lidar"
        workload = "ping-pong"
        stacks = ["pipe"]
        "#,
    );
    let planned = |pattern: &str| {
        let arguments = ["run", "two", "--dry-run", "--experiment", pattern];
        place.run(&arguments).with_code(0).stdout
    };
    let camera = planned("cam*");
    assert!(camera.contains("camera-front"), "{camera}");
    assert!(!camera.contains("lidar"), "{camera}");
    assert!(camera.contains(", about "), "{camera}");
    let both = planned("lidar,camera-?ront");
    assert!(
        both.contains("camera-front") && both.contains("lidar"),
        "{both}"
    );
    place
        .run(&["run", "two", "--dry-run", "--experiment", "lider"])
        .with_code(3)
        .says("did you mean `lidar`?");
}

#[test]
fn a_dry_run_plans_and_writes_nothing() {
    let place = Place::new();
    place
        .run(&["run", "quick", "--dry-run"])
        .with_code(0)
        .says("round-trip")
        .says("floor-spin");
    assert!(!place.path("runs").exists());
}

#[test]
fn a_budget_sets_the_number_of_trials_and_one_that_is_too_small_names_a_larger() {
    let place = Place::new();
    place.round_trips("tiny", "trials = 2\nwindow = \"200 ms\"", &["pipe"]);
    let planned = |budget: &str| {
        let run = place.run(&["run", "tiny", "--dry-run", "--budget", budget]);
        let text = run.with_code(0).stdout.clone();
        let (trials, _) = text.split_once(" trials of ").unwrap();
        trials.parse::<u32>().unwrap()
    };
    let (one, two) = (planned("1 min"), planned("2 min"));
    assert!(one > 20 && two.abs_diff(2 * one) <= one / 4, "{one} {two}");
    place
        .run(&["run", "tiny", "--dry-run", "--budget", "100 ms"])
        .with_code(2)
        .says("--stack");
    place
        .run(&["run", "tiny", "--budget", "1 min", "--trials", "3"])
        .with_code(2)
        .says("cannot be used with");
}

#[test]
fn a_table_of_stacks_begins_with_the_answers() {
    let place = Place::new();
    place.round_trips("tiny", "trials = 3\nround_trips = 200", &["pipe", "tcp"]);
    let run = place
        .run(&["run", "tiny", "--out", "out"])
        .with_code(0)
        .stdout
        .clone();
    let shown = place.run(&["show", "out"]).with_code(0).stdout.clone();
    for text in [run, shown] {
        let (answers, table) = text.split_once("\n\n").unwrap();
        assert!(answers.starts_with("Fastest by p50"), "{text}");
        assert!(
            answers.contains("p50 round trip") && answers.contains("pipe"),
            "{text}"
        );
        assert!(
            answers.lines().last().unwrap().starts_with("Reliability: "),
            "{text}"
        );
        assert!(table.contains("floor-"), "{text}");
    }
    let json = place
        .run(&["show", "out", "--format", "json"])
        .with_code(0)
        .stdout
        .clone();
    assert!(json.starts_with('{'), "{json}");
}

#[test]
fn the_last_run_is_found_and_printed_in_every_format() {
    let place = Place::new();
    place.round_trips("tiny", "trials = 2\nround_trips = 50", &["pipe"]);
    place
        .run(&["run", "tiny"])
        .with_code(0)
        .says("pipe")
        .says("stored in runs/tiny-");
    // 100 samples are too few for a p99, which takes 368.
    place
        .run(&["show", "latest"])
        .says("withheld; about ")
        .says(" more trials would give ")
        .says(": dyno run --resume runs/tiny-");
    for format in ["table", "markdown", "csv"] {
        place
            .run(&["show", "latest", "--format", format])
            .with_code(0)
            .says("pipe");
    }
    let shown = place.show("latest");
    assert_eq!(shown["format"], 1);
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/show.schema.json"
    );
    let mut schemas = boon::Schemas::new();
    let schema = boon::Compiler::new().compile(path, &mut schemas).unwrap();
    if let Err(e) = schemas.validate(&shown, schema) {
        panic!("{e:#}");
    }
}
