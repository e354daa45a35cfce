//! `dyno report`: one file of one or several runs, also of damaged ones.

use crate::harness::Place;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn measured() -> Place {
    measured_with(&[])
}

/// The same with more arguments of `dyno run`.
fn measured_with(more: &[&str]) -> Place {
    let place = Place::new();
    place.suite(
        "tiny",
        r#"
        title = "Two pipes & <one> question"
        [defaults]
        trials = 2
        warmup_messages = 2
        round_trips = 50
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        stacks = ["pipe", "uds-stream"]
        "#,
    );
    place
        .run(&[&["run", "tiny", "--out", "out", "--quiet"], more].concat())
        .with_code(0);
    place
}

/// The page, and the data in it.
#[track_caller]
fn page(place: &Place, name: &str) -> (String, Value) {
    let text = fs::read_to_string(place.path(name)).unwrap();
    let (_, rest) = text.split_once("id=\"dyno-data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let data = serde_json::from_str(data).unwrap();
    (text, data)
}

#[test]
fn a_run_becomes_one_file() {
    let place = measured();
    place
        .run(&["report", "out"])
        .with_code(0)
        .says("report.html: ")
        .says("1 run, 3 experiments");
    let (text, data) = page(&place, "report.html");
    assert!(text.starts_with("<!doctype html>"));
    assert!(text.contains("Two pipes &amp; &lt;one&gt; question"));
    // It is the document of `show`, and one page of it.
    assert_eq!(data["runs"][0]["show"], place.show("out"));
    let answers = data["runs"][0]["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!(answers[0]["experiments"].as_array().unwrap().len(), 2);
    let files: Vec<_> = fs::read_dir(place.path("")).unwrap().flatten().collect();
    let hidden = |name: &str| name.starts_with(".tmp");
    assert!(
        files
            .iter()
            .all(|f| !hidden(&f.file_name().to_string_lossy()))
    );
}

#[test]
fn the_page_goes_to_standard_output_and_nothing_with_it() {
    let place = measured();
    let ended = place.run(&["report", "out", "-o", "-"]).with_code(0);
    assert!(ended.stdout.starts_with("<!doctype html>"));
    assert!(ended.stdout.trim_end().ends_with("</html>"));
    assert_eq!(ended.stderr, "");
    assert!(!place.path("report.html").exists());
}

#[test]
fn several_runs_stand_side_by_side_with_their_verdicts() {
    let place = measured();
    place
        .run(&["run", "tiny", "--out", "again", "--quiet"])
        .with_code(0);
    place
        .run(&["report", "out", "again", "-o", "both.html"])
        .with_code(0)
        .says("both.html")
        .says("2 runs, 6 experiments");
    let (_, data) = page(&place, "both.html");
    assert_eq!(data["runs"][1]["name"], "B");
    let compared = place.run(&["compare", "out", "again", "--format", "json"]);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(data["comparisons"][0]["compare"], compared);
}

#[test]
fn the_newest_run_is_the_default() {
    let place = measured();
    place.run(&["run", "tiny", "--quiet"]).with_code(0);
    place.run(&["report"]).with_code(0).says("report.html");
    let (_, data) = page(&place, "report.html");
    assert_eq!(data["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_damaged_trial_is_named_and_the_rest_is_shown() {
    let place = measured();
    let file = place.path("out/trials/e0000-t000.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    place
        .run(&["report", "out"])
        .with_code(5)
        .says("e0000-t000.json")
        .says("report.html: ");
    let (text, data) = page(&place, "report.html");
    assert!(text.contains("Parts that could not be read"));
    let problems = data["runs"][0]["problems"].as_array().unwrap();
    assert!(problems[0].as_str().unwrap().contains("e0000-t000.json"));
    assert!(problems[0].as_str().unwrap().contains("--resume"));
}

#[test]
fn foreign_newer_truncated_and_missing_runs_are_named_and_the_others_are_shown() {
    let place = measured();
    fs::create_dir(place.path("foreign")).unwrap();
    place.file("foreign/notes.txt", "no run");
    fs::create_dir(place.path("other")).unwrap();
    place.file("other/run.json", r#"{"format": "of another tool"}"#);
    let manifest = fs::read_to_string(place.path("out/run.json")).unwrap();
    fs::create_dir(place.path("newer")).unwrap();
    let newer = manifest.replacen("\"format\":", "\"format\": 99, \"was\":", 1);
    place.file("newer/run.json", &newer);
    fs::create_dir(place.path("cut")).unwrap();
    place.file("cut/run.json", &manifest[..manifest.len() / 2]);
    place
        .run(&[
            "report", "foreign", "newer", "out", "other", "cut", "nowhere",
        ])
        .with_code(5)
        .says("it has no run.json")
        .says("written by a newer Dyno (format 99)")
        .says("cut/run.json is damaged")
        .says("cannot find a run in nowhere: it does not exist")
        .says("1 run, 3 experiments");
    let (text, data) = page(&place, "report.html");
    assert!(text.contains("Could not be read"));
    let names: Vec<&Value> = data["unreadable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|u| &u["name"])
        .collect();
    assert_eq!(names, ["foreign", "newer", "other", "cut", "nowhere"]);
    let reason = data["unreadable"][1]["reason"].as_str().unwrap();
    assert!(reason.contains("update Dyno"), "{reason}");
    // The one that is left needs no letter.
    assert_eq!(
        data["runs"][0]["name"],
        data["runs"][0]["show"]["run"]["id"]
    );
}

#[test]
fn without_a_readable_run_there_is_no_page() {
    let place = Place::new();
    place
        .run(&["report", "nowhere"])
        .with_code(5)
        .says("nowhere");
    place
        .run(&["report", "nowhere", "suites"])
        .with_code(5)
        .says("it does not exist")
        .says("no report to write");
    assert!(!place.path("report.html").exists());
}

#[test]
fn a_page_that_cannot_be_written_leaves_the_old_one() {
    let place = measured();
    place
        .run(&["report", "out", "-o", "none/page.html"])
        .with_code(1)
        .says("none/page.html")
        .says("-o");
    place
        .run(&["report", "out", "-o", "suites"])
        .with_code(2)
        .says("suites is a directory");
    // A full disk.
    place
        .run(&["report", "out", "-o", "/dev/full"])
        .with_code(1)
        .says("/dev/full");
    let old = place.path("old");
    fs::create_dir(&old).unwrap();
    place.file("old/page.html", "old");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o555)).unwrap();
    let ended = place.run(&["report", "out", "-o", "old/page.html"]);
    // Root may write everywhere.
    if ended.status.code() == Some(1) {
        assert_eq!(
            fs::read_to_string(place.path("old/page.html")).unwrap(),
            "old"
        );
    }
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn names_that_look_like_markup_stay_text() {
    let place = measured();
    let hostile = "</script><script>alert(1)</script>";
    for file in ["run.json", "trials/e0001-t000.json"] {
        let path = place.path("out").join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("uds-stream", hostile)).unwrap();
    }
    place.run(&["report", "out"]).with_code(0);
    let (text, data) = page(&place, "report.html");
    assert!(!text.contains("<script>alert"), "it got through");
    let experiments = data["runs"][0]["show"]["experiments"].as_array().unwrap();
    assert!(experiments.iter().any(|e| e["stack"] == hostile));
}

#[test]
fn a_run_that_goes_on_is_reported_as_far_as_it_is() {
    let place = Place::new();
    place.round_trips("long", "trials = 60\nround_trips = 100", &["pipe"]);
    let running = place.start(&["run", "long", "--out", "out", "--quiet"]);
    crate::harness::wait_for("the first trial", || {
        let trials = fs::read_dir(place.path("out/trials")).ok()?.flatten();
        let stored = |name: &str| name.starts_with('e') && name.ends_with(".json");
        trials
            .into_iter()
            .any(|f| stored(&f.file_name().to_string_lossy()))
            .then_some(())
    });
    place.run(&["report", "out"]).with_code(0);
    let (text, data) = page(&place, "report.html");
    running.signal(libc::SIGINT);
    running.end().with_code(130);
    assert_eq!(data["runs"][0]["running"], true);
    assert!(text.contains("still running"));
}

const LIMITS: &str = r#"
[[limit]]
name = "nothing <lost>"
metric = "loss"
at_most = 0

[[limit]]
name = "impossible"
stack = "pipe"
metric = "rtt"
quantile = "max" # one sample breaks it, however many trials a busy machine disturbs
at_most = "1 ns"

[[limit]]
name = "too few samples"
stack = "uds-stream"
metric = "rtt"
quantile = "p99.9"
at_most = "10 s"
"#;

#[test]
fn limits_are_what_the_page_opens_with_and_say_what_check_says() {
    let place = measured();
    crate::judge::calm(&place.path("out"));
    place.file("limits.toml", LIMITS);
    place
        .run(&["report", "out", "--limits", "limits.toml"])
        .with_code(0)
        .says("2 passed, 1 failed, 1 undecided");
    let (text, data) = page(&place, "report.html");
    let checked = place
        .run(&["check", "out", "limits.toml", "--format", "json"])
        .with_code(6);
    let checked: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(data["runs"][0]["check"], checked);
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("{what} is not in the page"))
    };
    assert!(at("id=\"requirements\"") < at("id=\"answers\""));
    assert!(text.contains("nothing &lt;lost&gt;"));
    assert!(text.contains("violates 1 of 2"), "pipe");
    assert!(text.contains("1 of 2 undecided"), "uds-stream");
    assert!(text.contains("No stack meets, with confidence, all 3 requirements of limits.toml."));
}

#[test]
fn limits_that_are_wrong_or_fit_nothing_leave_no_page() {
    let place = measured();
    for (text, says) in [
        (
            "[[limit]]\nname = \"x\"\nmetric = \"latency\"\nat_most = 1",
            "latency",
        ),
        (
            "[[limit]]\nname = \"x\"\nstack = \"tcp\"\nmetric = \"loss\"\nat_most = 0",
            "no experiment of this run has the stack `tcp`",
        ),
    ] {
        place.file("wrong.toml", text);
        place
            .run(&["report", "out", "--limits", "wrong.toml"])
            .with_code(3)
            .says(says);
    }
    place
        .run(&["report", "out", "--limits", "none.toml"])
        .with_code(1)
        .says("none.toml");
    assert!(!place.path("report.html").exists());
}

#[test]
fn two_runs_open_with_what_changed() {
    let place = measured_with(&["--trials", "4"]);
    place
        .run(&["run", "tiny", "--out", "again", "--quiet", "--trials", "4"])
        .with_code(0);
    place.run(&["report", "out", "again"]).with_code(0);
    let (text, _) = page(&place, "report.html");
    let changes = text.find("id=\"changes\"").unwrap();
    assert!(changes < text.find("id=\"answers\"").unwrap());
    assert!(text[changes..].contains("What changed"));
    // How many figures changed, or that noise left none that could be compared.
    let tally = [" worse, ", "Nothing could be compared."];
    assert!(tally.iter().any(|t| text[changes..].contains(t)));
}
