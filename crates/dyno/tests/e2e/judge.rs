//! `compare`, `check` and `trend` on runs that were really measured.

use crate::harness::{Ended, Place};
use serde_json::Value;
use std::path::Path;

/// Short trials of one stack, which tests rewrite between runs.
const SUITE: &str = r#"
    title = "judged"
    [defaults]
    trials = 4
    warmup_messages = 5
    round_trips = 150
    wait = "block"
    [[experiment]]
    name = "round-trip"
    workload = "ping-pong"
    stacks = ["probe"]
"#;

/// A stack over uds sockets whose every message is this late, in µs.
fn probe(delay_us: u32) -> String {
    let delay = match delay_us {
        0 => String::new(),
        us => format!("delay_every = 1\ndelay_us = {us}\n"),
    };
    format!(
        "description = \"judged\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\ninner = \"uds\"\n{delay}"
    )
}

/// The run `out` of four trials that all count, however busy the machine is that tests run on.
fn measured(place: &Place, out: &str, delay_us: u32) {
    place
        .suite("judged", SUITE)
        .stack("probe", &probe(delay_us));
    place
        .run(&["run", "judged", "--out", out, "--repeats", "0", "--quiet"])
        .with_code(0);
    calm(&place.path(out));
}

/// Makes every trial of a stored run one that counts.
pub(crate) fn calm(run: &Path) {
    for entry in std::fs::read_dir(run.join("trials")).unwrap() {
        change(&entry.unwrap().path(), |trial| {
            trial["disturbed"] = Value::Array(Vec::new());
        });
    }
}

/// The runs `fast` and `slow`, the second with every message 2 ms late.
fn two_runs() -> Place {
    let place = Place::new();
    measured(&place, "fast", 0);
    measured(&place, "slow", 2_000);
    place
}

/// Changes a stored file.
fn change(file: &Path, how: impl FnOnce(&mut Value)) {
    let mut content: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    how(&mut content);
    std::fs::write(file, serde_json::to_vec(&content).unwrap()).unwrap();
}

/// Makes a stored run one of another machine.
fn move_elsewhere(run: &Path) {
    edit(run, |m| m["environment"]["host"] = "elsewhere".into());
    for entry in std::fs::read_dir(run.join("trials")).unwrap() {
        change(&entry.unwrap().path(), |trial| {
            trial["machines"] = vec!["elsewhere"].into();
        });
    }
}

/// Changes the manifest of a stored run.
fn edit(run: &Path, how: impl FnOnce(&mut Value)) {
    change(&run.join("run.json"), how);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|e| panic!("{e}\n{}\n{}", ended.stdout, ended.stderr))
}

/// The row of one figure of the stack `probe`.
fn row<'a>(compared: &'a Value, figure: &str) -> &'a Value {
    let cells = compared["cells"].as_array().unwrap();
    let cell = cells.iter().find(|c| c["stack"] == "probe").unwrap();
    let mut rows = cell["rows"].as_array().unwrap().iter();
    rows.find(|r| r["figure"] == figure).unwrap()
}

#[test]
fn two_runs_are_compared_with_what_differs_between_them() {
    let place = two_runs();
    place
        .run(&["compare", "fast", "slow"])
        .with_code(0)
        .says("Differences between the runs: options of stack probe")
        .says("p50 round trip");
    // On one machine a floor that moves between the two runs may take the verdict back, so this
    // pair is made to come from two.
    move_elsewhere(&place.path("slow"));
    let ended = place
        .run(&["compare", "fast", "slow", "--format", "json"])
        .with_code(0);
    let compared = json(&ended);
    let p50 = row(&compared, "rtt_ns p50");
    assert_eq!(
        (&p50["verdict"], &p50["text"]),
        (&"higher".into(), &"slower".into())
    );
    assert!(p50["ratio"].as_f64().unwrap() > 5.0, "{p50:#}");
    assert_eq!(p50["new_trials"], 4);
    // The rate of a closed loop is its round trip once more.
    assert!(!ended.stdout.contains("delivered_hz"), "{}", ended.stdout);
    // 150 samples bear no p99.
    assert_eq!(row(&compared, "rtt_ns p99")["verdict"], "left-out");
    let text = compared["conclusion"].as_str().unwrap();
    assert!(
        text.contains("cannot be attributed to one of them"),
        "{text}"
    );
    for format in ["table", "markdown", "csv"] {
        place
            .run(&["compare", "fast", "slow", "--format", format])
            .with_code(0)
            .says("probe");
    }
}

#[test]
fn a_pipeline_can_fail_on_what_is_slower() {
    let place = two_runs();
    move_elsewhere(&place.path("slow"));
    let slower = ["--fail-on", "slower"];
    let compare =
        |base, new, how: &[&str]| place.run(&[&["compare", base, new][..], &slower, how].concat());
    compare("fast", "slow", &[]).with_code(8);
    // 150 samples bear no p99, so nobody can tell whether it is slower.
    compare("slow", "fast", &[]).with_code(7).says("faster");
    compare("slow", "fast", &["--allow-undecided"]).with_code(0);
    compare("fast", "slow", &["--allow-undecided"]).with_code(8);
    let p50 = ["--quantiles", "p50"];
    compare("slow", "fast", &p50).with_code(0).says("faster");
    compare("fast", "fast", &["--allow-undecided"]).with_code(0);
}

/// Changes every trial of the stack `probe` in a stored run, by its number.
fn each_trial(run: &Path, mut how: impl FnMut(u64, &mut Value)) {
    let manifest = std::fs::read(run.join("run.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let mut planned = manifest["plan"]["experiments"].as_array().unwrap().iter();
    let probe = &planned.find(|e| e["stack"] == "probe").unwrap()["id"];
    for entry in std::fs::read_dir(run.join("trials")).unwrap() {
        change(&entry.unwrap().path(), |trial| {
            if trial["experiment"] == *probe {
                how(trial["number"].as_u64().unwrap(), trial);
            }
        });
    }
}

#[test]
fn no_gate_is_talked_round_by_crashes_losses_or_disturbances() {
    let place = Place::new();
    let suite = SUITE.replace("trials = 4", "trials = 5");
    for (out, delay_us) in [("base", 0), ("disturbed", 2_000)] {
        place
            .suite("judged", &suite)
            .stack("probe", &probe(delay_us));
        place
            .run(&["run", "judged", "--out", out, "--repeats", "0", "--quiet"])
            .with_code(0);
        calm(&place.path(out));
    }
    for name in ["crashed", "lossy"] {
        copy(&place.path("base"), &place.path(name));
    }
    let gate = ["--fail-on", "slower", "--quantiles", "p50"];
    let compare = |new| place.run(&[&["compare", "base", new][..], &gate].concat());
    // Three of five trials crash: the others say nothing good.
    each_trial(&place.path("crashed"), |number, trial| {
        if number > 1 {
            trial["outcome"] = "failed".into();
            trial["kind"] = "crash".into();
            trial["step"] = "window".into();
            trial["message"] = "ended by signal 11".into();
            trial["stderr"] = Value::Array(Vec::new());
        }
    });
    compare("crashed")
        .with_code(7)
        .says("new: 3 of 5 trials failed");
    place.file("limits.toml", &limit("p50", "50 s"));
    place
        .run(&["check", "crashed", "limits.toml"])
        .with_code(7)
        .says("3 of 5 trials failed");
    // Two messages are lost in each trial, and nothing is slower.
    let more = |value: &mut Value| *value = (value.as_u64().unwrap() + 2).into();
    each_trial(&place.path("lossy"), |_, trial| {
        for count in ["offered", "sent", "lost"] {
            more(&mut trial["counts"][count]);
        }
        more(&mut trial["distributions"]["rtt_ns"]["infinite"]);
    });
    compare("lossy").with_code(8).says("new 10 lost of 760");
    // Three of five trials break the limit, and the host disturbed these; the others are one trial twice, so that
    // no scatter of this machine makes the limit undecided without the disturbed ones.
    let fast = place.path("base").join("trials");
    let good = |file: &str| {
        ["t000.json", "t001.json"]
            .iter()
            .find(|end| file.ends_with(*end))
            .copied()
    };
    for entry in std::fs::read_dir(place.path("disturbed").join("trials")).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        match good(&name) {
            Some(end) => {
                let first = fast.join(name.replace(end, "t000.json"));
                let first: Value = serde_json::from_slice(&std::fs::read(first).unwrap()).unwrap();
                change(&file, |trial| {
                    let number = trial["number"].take();
                    *trial = first;
                    trial["number"] = number;
                });
            }
            None => change(&file, |trial| {
                trial["disturbed"] = vec!["foreign load"].into()
            }),
        }
    }
    place.file("limits.toml", &limit("p50", "1900 us"));
    place
        .run(&["check", "disturbed", "limits.toml"])
        .with_code(7)
        .says("with the trials that the host disturbed");
}

/// 0 or 7: it follows from how far the honest figures scatter.
const AS_MEASURED: i32 = -1;

/// Which side is odd, what is asked of it, the exit code, and a part of the sentence.
const ODD_SIDES: &[(&str, &str, i32, &str)] = &[
    (
        "empty",
        "as new",
        7,
        "no trial of the new side completed; new: it was not run",
    ),
    (
        "empty",
        "as base",
        7,
        "no trial of the base completed; base: it was not run",
    ),
    ("empty", "check", 7, "UNDECIDED"),
    (
        "empty",
        "trend",
        7,
        "no value in the newest run: no trial completed",
    ),
    ("empty", "night", 7, "no trial completed"),
    (
        "failed",
        "as new",
        7,
        "new: 4 of 4 trials failed (crash in window: ended by signal 11)",
    ),
    ("failed", "as base", 7, "base: 4 of 4 trials failed"),
    ("failed", "check", 7, "4 of 4 trials failed"),
    (
        "failed",
        "trend",
        7,
        "no value in the newest run: no trial completed",
    ),
    ("failed", "night", 7, "no trial completed"),
    (
        "infinite",
        "as new",
        7,
        "base none of 600, new 600 lost of 600",
    ),
    (
        "infinite",
        "as base",
        7,
        "base 600 lost of 600, new none of 600",
    ),
    (
        "infinite",
        "check",
        6,
        "even the best value of its interval, ∞, is outside of the limit",
    ),
    ("infinite", "trend", 7, "undecided: too few runs: 3 of 8"),
    ("infinite", "night", 6, "×∞ of the usual value"),
    (
        "single",
        "as new",
        7,
        "two trials of each side are needed, there are 4 and 1",
    ),
    (
        "single",
        "as base",
        7,
        "two trials of each side are needed, there are 1 and 4",
    ),
    ("single", "check", AS_MEASURED, "p50 round trip"),
    ("single", "trend", 7, "undecided: too few runs: 3 of 8"),
    (
        "single",
        "night",
        7,
        "with so few trials, even a loss in all of them could be chance",
    ),
    (
        "disturbed",
        "as new",
        7,
        "the host disturbed every trial of the new side",
    ),
    (
        "disturbed",
        "as base",
        7,
        "the host disturbed every trial of the base",
    ),
    (
        "disturbed",
        "check",
        7,
        "the host disturbed every trial; judged by these trials, the limit passes",
    ),
    ("disturbed", "trend", 7, "undecided: too few runs: 3 of 8"),
    ("disturbed", "night", 7, "the host disturbed every trial"),
    (
        "refused",
        "as new",
        7,
        "only the base has it; the new run refused it",
    ),
    (
        "refused",
        "as base",
        AS_MEASURED,
        "only the new run has it; the base refused it",
    ),
    (
        "refused",
        "check",
        3,
        "it was refused when the run was planned: it cannot be used here",
    ),
    (
        "refused",
        "trend",
        7,
        "the previous run has it, but this run refused it: it cannot be used here",
    ),
    (
        "refused",
        "night",
        7,
        "the previous run has it, but this run refused it: it cannot be used here",
    ),
];

/// None makes a gate pass that judges two sides. A limit may be kept by a single trial whose interval is wide.
#[test]
fn odd_sides_have_their_exit_codes_and_sentences() {
    let place = Place::new();
    measured(&place, "good", 0);
    let odd = |name: &str| {
        copy(&place.path("good"), &place.path(name));
        place.path(name)
    };
    let failed = |trial: &mut Value| {
        trial["outcome"] = "failed".into();
        trial["kind"] = "crash".into();
        trial["step"] = "window".into();
        trial["message"] = "ended by signal 11".into();
        trial["stderr"] = Value::Array(Vec::new());
    };
    let run = odd("empty");
    std::fs::remove_dir_all(run.join("trials")).unwrap();
    std::fs::create_dir(run.join("trials")).unwrap();
    each_trial(&odd("failed"), |_, trial| failed(trial));
    each_trial(&odd("infinite"), |_, trial| {
        let counts = &mut trial["counts"];
        counts["lost"] = counts["offered"].clone();
        counts["received"] = 0.into();
        for (_, d) in trial["distributions"].as_object_mut().unwrap() {
            let n = d["n"].as_u64().unwrap() + d["infinite"].as_u64().unwrap_or(0);
            *d = serde_json::json!({"n": 0, "infinite": n, "saturated": 0, "sum": 0.0, "min": 0, "max": 0, "total": "", "blocks": []});
        }
    });
    let single = odd("single");
    for entry in std::fs::read_dir(single.join("trials")).unwrap() {
        let file = entry.unwrap().path();
        if !file.to_string_lossy().ends_with("t000.json") {
            std::fs::remove_file(file).unwrap();
        }
    }
    edit(&single, |m| {
        for e in m["plan"]["experiments"].as_array_mut().unwrap() {
            e["trials"] = 1.into();
        }
    });
    each_trial(&odd("disturbed"), |_, trial| {
        trial["disturbed"] = vec!["foreign load"].into();
    });
    // The floor alone was measured, and is the plan's first then.
    let refused = odd("refused");
    let trials = refused.join("trials");
    for number in 0..4 {
        let (probe, floor) = [0, 1]
            .map(|e| trials.join(format!("e000{e}-t00{number}.json")))
            .into();
        std::fs::rename(&floor, &probe).unwrap();
        change(&probe, |trial| trial["experiment"] = 0.into());
    }
    edit(&refused, |m| {
        let plan = &mut m["plan"];
        let experiments = plan["experiments"].as_array_mut().unwrap();
        assert_eq!(experiments.remove(0)["stack"], "probe");
        experiments[0]["id"] = 0.into();
        experiments[0]["added"] = false.into();
        plan["refused"] = serde_json::json!([{
            "experiment": "round-trip", "stack": "probe", "factors": "ping-pong, 64 B, block", "reason": "it cannot be used here"
        }]);
    });
    place.file("limits.toml", &limit("p50", "50 s"));
    let began = |run: &std::path::Path, ms: u64| edit(run, |m| m["started_unix_ms"] = ms.into());
    for night in 0..6 {
        let run = place.path(&format!("nights/{night}"));
        copy(&place.path("good"), &run);
        began(&run, 100_000 * (night + 1));
    }
    let mut wrong = Vec::new();
    for side in [
        "empty",
        "failed",
        "infinite",
        "single",
        "disturbed",
        "refused",
    ] {
        let series = format!("series-{side}");
        for night in 0..3 {
            let run = place.path(&format!("{series}/{night}"));
            copy(&place.path(if night == 2 { side } else { "good" }), &run);
            began(&run, 1_000_000 * (night + 1));
        }
        let newest = format!("{series}/2");
        let gate = ["--fail-on", "slower", "--quantiles", "p50"];
        for (command, arguments) in [
            ("as new", [&["compare", "good", side], &gate[..]].concat()),
            ("as base", [&["compare", side, "good"], &gate[..]].concat()),
            ("check", vec!["check", side, "limits.toml"]),
            ("trend", vec!["trend", &series, "--fail-on", "slower"]),
            ("night", vec!["check", &newest, "--history", "nights"]),
        ] {
            let ended = place.run(&arguments);
            let all = format!("{} {}", ended.stdout, ended.stderr);
            let flat = all.split_whitespace().collect::<Vec<_>>().join(" ");
            let row = ODD_SIDES
                .iter()
                .find(|row| (row.0, row.1) == (side, command));
            let code = ended.status.code();
            let is_code = |wanted: i32| match wanted {
                AS_MEASURED => [Some(0), Some(7)].contains(&code),
                wanted => code == Some(wanted),
            };
            let is_so = row.is_some_and(|row| is_code(row.2) && flat.contains(row.3));
            if !is_so {
                wrong.push(format!(
                    "{side}, {command}: {:?}: {all}",
                    ended.status.code()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn both_sides_of_one_run_are_compared_in_pairs() {
    let place = Place::new();
    let both = SUITE.replace(r#"["probe"]"#, r#"["probe", "uds-stream"]"#);
    place
        .suite("judged", &both)
        .stack("probe", &probe(2_000))
        .run(&[
            "run",
            "judged",
            "--stack",
            "probe",
            "--against",
            "uds-stream",
            "--out",
            "turns",
            "--repeats",
            "0",
            "--quiet",
        ])
        .with_code(0);
    calm(&place.path("turns"));
    place
        .run(&["compare", "turns", "--fail-on", "slower"])
        .with_code(8)
        .says("stack: uds-stream (uds")
        .says("compared in pairs");
    let compared = json(&place.run(&["compare", "turns", "--format", "json"]));
    assert_eq!(compared["paired"], true);
    assert_eq!(row(&compared, "rtt_ns p50")["new_trials"], 4);
}

#[test]
fn nothing_is_compared_without_a_second_side() {
    let place = Place::new();
    measured(&place, "one", 0);
    place
        .run(&["compare", "one"])
        .with_code(2)
        .says("was not measured with --against");
    place.run(&["compare", "one", "none"]).with_code(5);
    place
        .run(&["compare", "one", "one", "--margin", "5"])
        .with_code(2)
        .says("5%");
}

/// A limit on the round trip of `probe`.
fn limit(quantile: &str, at_most: &str) -> String {
    format!(
        "[[limit]]\nname = \"{quantile} within {at_most}\"\nstack = \"probe\"\nmetric = \"rtt\"\n\
         quantile = \"{quantile}\"\nat_most = \"{at_most}\"\n"
    )
}

#[test]
fn limits_pass_fail_and_stay_undecided_with_codes_of_their_own() {
    let place = Place::new();
    measured(&place, "run", 0);
    let check = |name: &str, text: &str| {
        place.file(name, text);
        place.run(&["check", "run", name, "--junit", "junit.xml"])
    };
    let junit = || std::fs::read_to_string(place.path("junit.xml")).unwrap();
    let lossless = "[[limit]]\nname = \"lossless\"\nmetric = \"loss\"\nat_most = 0\n";
    check("pass.toml", &(limit("p50", "50 s") + lossless))
        .with_code(0)
        .says("2 passed, 0 failed, 0 undecided")
        .says("none of 600 messages lost; with 95 % confidence, the true share is below 0.499 %");
    assert!(junit().contains("tests=\"2\" failures=\"0\" errors=\"0\""));
    check(
        "fail.toml",
        &(limit("p50", "1 ns") + &limit("p99.9", "1 s")),
    )
    .with_code(6)
    .says("FAIL")
    .says("UNDECIDED");
    assert!(
        junit().contains("failures=\"1\" errors=\"1\""),
        "{}",
        junit()
    );
    check("open.toml", &limit("p99.9", "1 s"))
        .with_code(7)
        .says("p99.9 needs 3688 samples, but there are 600")
        .says("undecided; about 21 more trials may decide it, in about ")
        .says(": dyno run --resume run --more 21")
        .says("dyno run --resume run --until-decided open.toml");
    place
        .run(&["check", "run", "open.toml", "--allow-undecided"])
        .with_code(2)
        .says("|| test $? = 7");
    for (format, text) in [
        ("markdown", "| UNDECIDED |"),
        ("csv", "undecided"),
        ("json", "\"kind\""),
    ] {
        place
            .run(&["check", "run", "open.toml", "--format", format])
            .with_code(7)
            .says(text);
    }
    each_trial(&place.path("run"), |_, trial| {
        trial["disturbed"] = vec!["foreign load"].into();
    });
    let busy = place.run(&["check", "run", "open.toml"]);
    let busy = busy.with_code(7).says("dyno doctor");
    assert!(!busy.stderr.contains("--more"), "{}", busy.stderr);
}

#[test]
fn a_stack_that_loses_each_tenth_message_passes_no_limit_on_its_p99() {
    let place = Place::new();
    let stream = SUITE
        .replace("round_trips = 150", "window = \"200 ms\"")
        .replace("\"ping-pong\"", "\"stream\"\nrate = \"2 kHz\"");
    let lossy = probe(0) + "drop_every = 10\nparticipant = 0\n";
    place
        .suite("judged", &stream)
        .stack("probe", &lossy)
        .run(&[
            "run",
            "judged",
            "--out",
            "lossy",
            "--repeats",
            "0",
            "--quiet",
        ])
        .with_code(0);
    calm(&place.path("lossy"));
    for (at_most, text) in [("1 us", "≤ 1.00 µs"), ("1000 s", "≤ 1000 s")] {
        let limits = limit("p99", at_most).replace("\"rtt\"", "\"response\"");
        place.file("p99.toml", &limits);
        place
            .run(&["check", "lossy", "p99.toml", "--junit", "junit.xml"])
            .with_code(6)
            .says(text)
            .says("even the best value of its interval, ∞, is outside of the limit");
        let junit = std::fs::read_to_string(place.path("junit.xml")).unwrap();
        assert!(junit.contains("failures=\"1\" errors=\"0\""), "{junit}");
    }
    place
        .run(&["check", "lossy", "p99.toml", "--format", "markdown"])
        .with_code(6)
        .says("**FAIL**");
}

#[test]
fn a_comparison_covers_what_runs_of_its_history_differ_by() {
    let place = two_runs();
    for night in ["a", "b", "c"] {
        let to = place.path(&format!("runs/{night}"));
        copy(&place.path("fast"), &to);
        edit(&to, |m| m["id"] = night.into());
    }
    copy(&place.path("fast"), &place.path("runs/broken"));
    place.file("runs/broken/run.json", "{}");
    let gate = ["compare", "fast", "slow", "--history", "runs"];
    let shown = place.run(&gate).with_code(0);
    shown
        .says("left out of the history")
        .says("(3 runs), the differences between runs");
    let found = json(&place.run(&[&gate[..], &["--format", "json"]].concat()));
    assert_eq!(found["history_runs"], 3);
    let within = ["compare", "fast", "--history", "runs"];
    place.run(&within).with_code(2);
}

#[test]
fn the_first_bad_night_is_held_against_the_history_of_its_machine() {
    let place = two_runs();
    let night = |name: &str, from: &str, day: u64, more: &dyn Fn(&mut Value)| {
        let to = place.path(&format!("runs/{name}"));
        copy(&place.path(from), &to);
        edit(&to, |m| {
            m["id"] = name.into();
            m["started_unix_ms"] = (1_795_231_560_000 + day * 86_400_000).into();
            more(m);
        });
    };
    let check = |more: &[&str]| place.run(&[&["check"][..], more].concat());
    let gate = ["--history", "runs"];
    for day in 0..4 {
        night(&format!("night-{day}"), "fast", day, &|_| ());
    }
    check(&gate)
        .with_code(7)
        .says("too few runs: 3 in the history have this figure, but 6 are needed");
    for day in 4..8 {
        night(&format!("night-{day}"), "fast", day, &|_| ());
    }
    check(&gate).with_code(0).says("All figures are as usual.");
    night("suite", "slow", 2, &|m| {
        m["plan"]["suite"] = "another".into()
    });
    night("host", "slow", 3, &|_| ());
    move_elsewhere(&place.path("runs/host"));
    night("format", "slow", 4, &|m| m["format"] = 99.into());
    night("bad", "slow", 8, &|_| ());
    check(&[&gate[..], &["--junit", "junit.xml"]].concat())
        .with_code(6)
        .says("WORSE")
        .says("1 run (another suite, another): suite")
        .says("another machine, elsewhere")
        .says("a format that only a newer Dyno reads");
    let junit = std::fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(junit.contains("type=\"limit\""), "{junit}");
    // A run that is named is held against those before it.
    check(&[&["runs/night-7"][..], &gate].concat())
        .with_code(0)
        .says("1 run (a later run): bad");
    let found = json(&check(
        &[&["runs/bad"][..], &gate, &["--format", "json"]].concat(),
    ));
    assert_eq!(found["history"].as_array().unwrap().len(), 8);
    let results = found["results"].as_array().unwrap();
    let mut of_probe = results.iter().filter(|r| r["stack"] == "probe");
    let worse = of_probe.find(|r| r["quantile"] == "p50").unwrap();
    assert_eq!(
        (&worse["status"], &worse["standing"]),
        (&"fail".into(), &"breaks".into())
    );
    assert_eq!(worse["runs"], 8);
    check(&["fast"])
        .with_code(2)
        .says("was not measured with --search");
    place.file("limits.toml", &limit("p50", "1 s"));
    check(&["fast", "limits.toml", "--history", "runs"]).with_code(2);
    check(&["--history", "suites"]).with_code(5);
}

#[test]
fn a_wrong_limits_file_is_refused_with_its_place() {
    let place = Place::new();
    measured(&place, "run", 0);
    place.file("unit.toml", &limit("p50", "2 mss"));
    place
        .run(&["check", "run", "unit.toml"])
        .with_code(3)
        .says("\"2 mss\" is not a duration")
        .says("unit.toml:6:");
    place.file(
        "stack.toml",
        &limit("p50", "2 ms").replace("probe", "prboe"),
    );
    place
        .run(&["check", "run", "stack.toml"])
        .with_code(3)
        .says("has the stack `prboe`")
        .says("did you mean `probe`?");
    place
        .run(&["check", "run", "missing.toml"])
        .with_code(1)
        .says("cannot read the limits missing.toml");
    place
        .run(&["check", "unit.toml", "run"])
        .with_code(2)
        .says("the run comes first")
        .says("dyno check run unit.toml");
    place
        .run(&["check", "run", "run"])
        .with_code(2)
        .says("run is no limits file");
}

#[test]
fn an_error_replaces_the_result_of_an_earlier_check() {
    let place = Place::new();
    measured(&place, "run", 0);
    place.file("good.toml", &limit("p50", "50 s"));
    place.file("bad.toml", &limit("p50", "2 mss"));
    let check = |limits| place.run(&["check", "run", limits, "--junit", "junit.xml"]);
    let junit = || std::fs::read_to_string(place.path("junit.xml")).unwrap();
    check("good.toml").with_code(0);
    assert!(junit().contains("errors=\"0\""), "{}", junit());
    check("bad.toml").with_code(3);
    for wanted in ["errors=\"1\"", "not checked", "is not a duration"] {
        assert!(junit().contains(wanted), "{wanted}: {}", junit());
    }
    // Who forgot the name of the file keeps the limits.
    let limits = || std::fs::read_to_string(place.path("good.toml")).unwrap();
    let before = limits();
    place
        .run(&["check", "run", "--junit", "good.toml"])
        .with_code(2);
    assert_eq!(limits(), before);
}

#[test]
fn a_history_shows_the_run_in_which_it_became_slower() {
    let place = two_runs();
    let day = 86_400_000u64;
    for night in 0..12u64 {
        let source = if night < 6 { "fast" } else { "slow" };
        let to = place.path(&format!("history/night-{night:02}"));
        copy(&place.path(source), &to);
        edit(&to, |m| {
            m["id"] = format!("night-{night:02}").into();
            m["started_unix_ms"] = (1_795_231_560_000 + night * day).into();
        });
    }
    let trend = |more: &[&str]| place.run(&[&["trend", "history"][..], more].concat());
    trend(&[])
        .with_code(0)
        .says("night-06")
        .says("options of stack probe");
    trend(&["--fail-on", "slower"]).with_code(8);
    let found = json(&trend(&["--format", "json"]).with_code(0));
    let series = found["series"].as_array().unwrap();
    let probe = series.iter().find(|s| s["stack"] == "probe").unwrap();
    let changes = probe["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{probe:#}");
    assert_eq!(changes[0]["run"], "night-06");
    assert_eq!(changes[0]["previous_run"], "night-05");
    assert!(changes[0]["ratio"].as_f64().unwrap() > 5.0);
    // Too few runs are undecided, not a pass.
    trend(&["--last", "4"])
        .with_code(7)
        .says("undecided: too few runs: 4 of 8");
    trend(&["--metric", "memory"]).with_code(0).says("memory");
    trend(&["--metric", "jitter"]).with_code(2);
    // A run of another format is named, and not passed over in silence.
    let newer = place.path("history/newer");
    copy(&place.path("fast"), &newer);
    edit(&newer, |m| m["format"] = 99.into());
    trend(&[]).with_code(5).says("left out:");
    std::fs::remove_dir_all(&newer).unwrap();
    // A run that is named twice, or lies in a directory that is named too, counts once.
    let twice = ["trend", "history", "history/night-03", "--format", "json"];
    let found = json(&place.run(&twice).with_code(0));
    assert_eq!(found["runs"].as_array().unwrap().len(), 12);
    place
        .run(&["trend", "suites"])
        .with_code(5)
        .says("is not a run directory");
}
