//! As many trials as a precision takes, comparisons side by side, warm-ups that end when the series is
//! steady, and modes of participants that are not pinned.

use crate::harness::{Place, on_stack};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;

const SUITE: &str = r#"
    title = "short"
    [defaults]
    wait = "block"
    warmup = "20 ms"
    window = "60 ms"
    trials = 3
    [[experiment]]
    name = "round-trip"
    workload = "ping-pong"
    stacks = ["uds-stream"]
"#;

fn place() -> Place {
    let place = Place::new();
    place.suite("short", SUITE);
    place
}

fn count_of(trials: &[Value], experiment: u64) -> usize {
    trials
        .iter()
        .filter(|t| t["experiment"] == experiment)
        .count()
}

#[test]
fn a_precision_out_of_reach_ends_at_the_most_trials_and_says_by_how_much() {
    let place = place();
    let shown = place.measure(
        "short",
        &[
            "--precision",
            "0.0001%",
            "--max-trials",
            "6",
            "--repeats",
            "0",
        ],
    );
    let trials = place.trials("out");
    assert_eq!(count_of(&trials, 0), 6);
    let precision = &on_stack(&shown, "uds-stream")["precision"];
    assert_eq!(precision["reached"], false, "{precision:#}");
    assert!(precision["got"].as_f64().is_none_or(|w| w > 1e-6));
    place.run(&["show", "out"]).with_code(0).says("missed");
}

#[test]
fn a_precision_within_reach_is_reached_or_all_trials_were_tried() {
    let place = place();
    let wide = [
        "--precision",
        "100%",
        "--max-trials",
        "20",
        "--repeats",
        "0",
    ];
    let shown = place.measure("short", &wide);
    let precision = &on_stack(&shown, "uds-stream")["precision"];
    // Other tests run beside this one: the host may disturb every trial.
    let tried = count_of(&place.trials("out"), 0);
    let reached = precision["reached"].as_bool().unwrap();
    assert!(reached || tried == 20, "{tried} trials, {precision:#}");
    assert!((3..=20).contains(&tried), "{tried}");
}

#[test]
fn a_resumed_run_goes_on_until_its_precision() {
    let place = place();
    place
        .run(&[
            "run",
            "short",
            "--out",
            "out",
            "--quiet",
            "--precision",
            "0.0001%",
            "--max-trials",
            "5",
            "--repeats",
            "0",
        ])
        .with_code(0);
    for name in ["e0000-t004.json", "e0000-t001.json"] {
        std::fs::remove_file(place.path("out/trials").join(name)).unwrap();
    }
    place
        .run(&["run", "--resume", "out", "--quiet"])
        .with_code(0);
    let trials = place.trials("out");
    assert_eq!(count_of(&trials, 0), 5);
}

#[test]
fn a_finished_run_gets_more_trials_of_everything() {
    let place = place();
    let base = ["run", "short", "--out", "out", "--quiet", "--repeats", "0"];
    place.run(&base).with_code(0);
    let before = place.trials("out");
    let first = std::fs::read(place.path("out/trials/e0000-t000.json")).unwrap();
    place
        .run(&["run", "--resume", "out", "--more", "2", "--dry-run"])
        .with_code(0)
        .says("planned trials are stored already; 4 trials left, about ");
    place
        .run(&["run", "--resume", "out", "--more", "2", "--quiet"])
        .with_code(0)
        .says("2 trials of each experiment added later");
    let after = place.trials("out");
    for experiment in 0..2 {
        let had = count_of(&before, experiment);
        assert_eq!(count_of(&after, experiment), had + 2);
    }
    let kept = std::fs::read(place.path("out/trials/e0000-t000.json")).unwrap();
    assert_eq!(first, kept);
    assert_eq!(place.json("out/run.json")["plan"]["more"][0]["trials"], 2);
    place
        .run(&["run", "short", "--more", "2"])
        .with_code(2)
        .says("--resume");
}

#[test]
fn a_comparison_with_the_same_measures_both_side_by_side() {
    let place = place();
    place
        .run(&[
            "run",
            "short",
            "--out",
            "out",
            "--quiet",
            "--against",
            "same",
            "--repeats",
            "0",
        ])
        .with_code(0)
        .says("uds-stream");
    let mut trials = place.trials("out");
    trials.sort_by_key(|t| t["position"].as_u64());
    let base = trials.iter().map(|t| t["experiment"].as_u64().unwrap());
    let base = base.max().unwrap();
    for number in 0..3 {
        let at = |experiment: u64| {
            trials
                .iter()
                .position(|t| t["experiment"] == experiment && t["number"] == number)
                .unwrap()
        };
        assert_eq!(at(0).abs_diff(at(base)), 1, "round {number}");
    }
}

#[test]
fn another_build_plays_the_base() {
    let place = place();
    let other = place.path("other-dyno");
    std::fs::copy(env!("CARGO_BIN_EXE_dyno"), &other).unwrap();
    place
        .run(&[
            "run",
            "short",
            "--out",
            "out",
            "--quiet",
            "--against",
            other.to_str().unwrap(),
            "--repeats",
            "0",
        ])
        .with_code(0);
    let manifest = place.json("out/run.json");
    assert_eq!(manifest["plan"]["against"]["kind"], "build");
    let nothing = place.path("suites/short.toml");
    place
        .run(&["run", "short", "--against", nothing.to_str().unwrap()])
        .with_code(2)
        .says("another build");
    // The first word of an agent of an older protocol: refused before anything is stored.
    let old = place.path("old-dyno");
    std::fs::write(
        &old,
        "#!/bin/sh\ncase $1 in --version) echo dyno 0.0.1;; *) echo '{\"report\":\"hello\",\"protocol\":3}';; esac\n",
    )
    .unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let old = old.to_str().unwrap();
    let ended = place.run(&["run", "short", "--out", "refused", "--against", old]);
    let ended = ended.with_code(2).says("dyno 0.0.1");
    // Wrapped to the terminal's width.
    let said = ended.stderr.replace('│', " ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("its agents speak protocol version 3, and those of dyno "),
        "{said}"
    );
    assert!(!place.path("refused").exists());
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn the_warm_up_lasts_until_the_series_is_steady() {
    let place = place();
    // The first 25 pings take about half of the least warm-up; the rest of it is on another level.
    place.stack(
        "slow-start",
        "description = \"warms up\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\n\
         inner = \"uds\"\nparticipant = 0\ndelay_every = 1\ndelay_first = 25\ndelay_us = 2000\n",
    );
    let short = [
        "--stack",
        "slow-start",
        "--repeats",
        "0",
        "--set",
        "warmup=100 ms",
    ];
    place.measure("short", &short);
    let slow: Vec<Value> = place
        .trials("out")
        .into_iter()
        .filter(|t| t["experiment"] == 0)
        .collect();
    // On a busy machine the slow pings of one trial may last for the whole of it.
    let warmups: Vec<u64> = slow.iter().map(|t| t["warmup"].as_u64().unwrap()).collect();
    assert!(warmups.iter().all(|w| *w >= 100_000_000), "{warmups:?} ns");
    assert!(warmups.iter().any(|w| *w >= 110_000_000), "{warmups:?} ns");
    let fixed = place.run(&[
        "run",
        "short",
        "--stack",
        "slow-start",
        "--out",
        "fixed",
        "--quiet",
        "--set",
        "settle=0 s",
        "--repeats",
        "0",
    ]);
    fixed.with_code(0);
    for trial in place.trials("fixed") {
        assert_eq!(trial["warmup"], 20_000_000);
    }
}

#[test]
fn participants_that_are_not_pinned_say_where_they_ran() {
    let place = place();
    place.measure("short", &["--set", "cpus=none", "--repeats", "0"]);
    for trial in place.trials("out") {
        let places = trial["places"].as_array().unwrap();
        for participant in 0..2 {
            let of = |p: &&Value| p["participant"] == participant;
            let first = places.iter().find(of).expect("where it ran first");
            assert!(first["cpu"].is_u64(), "{first:#}");
        }
    }
    place
        .run(&["run", "short", "--out", "pinned", "--quiet"])
        .with_code(0);
    for trial in place.trials("pinned") {
        assert_eq!(trial["places"], Value::Array(Vec::new()));
        assert!(
            trial["noise"]["gaps"]
                .as_array()
                .is_some_and(|g| !g.is_empty())
        );
        assert!(trial["noise"]["window"]["wall"].as_u64().unwrap() > 0);
    }
}

#[test]
fn trials_are_added_until_limits_are_decided_or_the_budget_ends() {
    let place = place();
    let base = ["run", "short", "--out", "out", "--quiet", "--repeats", "0"];
    place.run(&base).with_code(0);
    let had = count_of(&place.trials("out"), 0);
    let limit = |quantile: &str, at_most: &str| {
        format!(
            "[[limit]]\nname = \"x\"\nmetric = \"rtt\"\nquantile = \"{quantile}\"\nat_most = \"{at_most}\"\n"
        )
    };
    // A limit that is broken is decided also where the host disturbs every trial.
    place.file("easy.toml", &limit("p50", "1 ns"));
    let until = |limits: &str, more: &[&str]| {
        let base = [
            "run",
            "--resume",
            "out",
            "--until-decided",
            limits,
            "--quiet",
        ];
        place.run(&[&base[..], more].concat())
    };
    until("easy.toml", &[])
        .with_code(0)
        .says("look 1: 1 result decided")
        .says("dyno check out easy.toml --confidence 99%");
    assert_eq!(count_of(&place.trials("out"), 0), had);
    place.file("hard.toml", &limit("p99.9", "100 s"));
    let most = had + 1;
    until("hard.toml", &["--max-trials", &most.to_string()])
        .with_code(0)
        .says("look 1: 1 of 1 result undecided; adding 1 trial of each experiment")
        .says("--max-trials");
    assert_eq!(count_of(&place.trials("out"), 0), most);
    until("easy.toml", &["--more", "1"])
        .with_code(2)
        .says("cannot be used with");
    place
        .run(&["run", "short", "--until-decided", "easy.toml"])
        .with_code(2)
        .says("--resume");
}
