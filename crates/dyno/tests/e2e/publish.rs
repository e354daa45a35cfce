//! A run as a publication: it keeps what it was made from, and somebody else repeats it with nothing but its
//! directory.

use crate::harness::Place;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[path = "../../build/source.rs"]
mod source;

const SUITE: &str = r#"
    # Why this suite is as it is.
    title = "published"
    [defaults]
    trials = 2
    warmup_messages = 2
    round_trips = 20
    wait = "block"
    placement = "process"
    [[experiment]]
    name = "round-trip"
    workload = "ping-pong"
    stacks = ["mine", "uds-stream"]
"#;

const STACK: &str = "adapter = \"pipe\"\ndescription = \"a pipe of my own\"\nwaits = [\"block\"]\n";

/// A run in `out` of a suite and a stack that nobody else has.
fn published() -> Place {
    let place = Place::new();
    place.suite("published", SUITE).stack("mine", STACK);
    place
        .run(&[
            "run",
            "published",
            "--set",
            "payload=2 KiB",
            "--out",
            "out",
            "--quiet",
        ])
        .with_code(0);
    place
}

/// Another place, which has the directory of the run and neither its suite nor its stack.
fn elsewhere(place: &Place) -> Place {
    let other = Place::new();
    let copied = Command::new("cp")
        .arg("-r")
        .args([place.path("out"), other.path("theirs")])
        .status();
    assert!(copied.unwrap().success());
    other
}

#[test]
fn a_run_keeps_what_it_was_made_from() {
    let place = published();
    let run = place.json("out/run.json");
    let origin = &run["origin"];
    // Byte by byte, with the comment.
    assert_eq!(origin["suite"]["text"], SUITE);
    assert_eq!(origin["stacks"]["mine"]["text"], STACK);
    let builtin = include_str!("../../../../testbeds/local.toml");
    assert_eq!(origin["testbed"]["text"], builtin);
    let floor = include_str!("../../../../adapters/floor/stacks/floor-futex.toml");
    assert_eq!(origin["stacks"]["floor-futex"]["text"], floor);
    assert_eq!(origin["request"]["set"][0][1], "2 KiB");
    assert_eq!(origin["request"]["seed"], run["plan"]["seed"]);

    let environment = &run["environment"];
    let hashes = environment["binaries"]["dyno"].as_array().unwrap();
    assert_eq!(hashes[0]["path"], env!("CARGO_BIN_EXE_dyno"));
    assert!(hashes.len() > 1, "{hashes:#?}");
    for binary in hashes {
        let path = binary["path"].as_str().unwrap();
        let told = Command::new("sha256sum").arg(path).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        assert_eq!(
            told.split_whitespace().next(),
            binary["sha256"].as_str(),
            "{path}"
        );
    }
    let os = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    if let Some(name) = os.lines().find_map(|l| l.strip_prefix("PRETTY_NAME=")) {
        let stored = environment["distribution"].as_str().unwrap();
        assert!(stored.starts_with(name.trim_matches('"')), "{stored}");
    }
}

#[test]
fn a_run_names_the_commit_that_its_program_was_built_from() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let place = published();
    let environment = &place.json("out/run.json")["environment"];
    match source::state(&root, &source::parts(&root)) {
        Some(state) => {
            assert_eq!(environment["commit"], state.commit);
            assert_eq!(environment["modified"], state.modified);
        }
        None => assert!(environment["commit"].is_null() && environment["modified"].is_null()),
    }
}

#[test]
fn somebody_else_repeats_a_run_with_its_directory_alone() {
    let place = published();
    let other = elsewhere(&place);
    other
        .run(&["run", "published", "--out", "mine", "--quiet"])
        .with_code(3)
        .says("there is no suite `published`");
    other
        .run(&["run", "--like", "theirs", "--out", "mine", "--quiet"])
        .with_code(0);
    let (theirs, mine) = (other.json("theirs/run.json"), other.json("mine/run.json"));
    for key in ["suite", "testbed", "stacks"] {
        assert_eq!(theirs["origin"][key], mine["origin"][key], "{key}");
    }
    for key in ["experiments", "stacks", "testbed", "refused"] {
        assert_eq!(theirs["plan"][key], mine["plan"][key], "{key}");
    }
    assert_ne!(theirs["plan"]["seed"], mine["plan"]["seed"]);
    // The same machine, build and texts: nothing differs, and nothing is unknown.
    let compared = other.run(&["compare", "theirs", "mine", "--format", "json"]);
    let compared: Value = serde_json::from_str(&compared.with_code(0).stdout).unwrap();
    assert_eq!(compared["differences"], Value::Array(Vec::new()));
    assert_eq!(
        compared["unknown"].as_array().map(Vec::len),
        Some(unknown_here(&mine))
    );
    // The repetition is as good an original.
    other
        .run(&[
            "run",
            "--like",
            "mine",
            "--seed",
            "7",
            "--trials",
            "1",
            "--clock",
            "monotonic",
            "--out",
            "third",
            "--quiet",
        ])
        .with_code(0);
    let third = other.json("third/run.json");
    assert_eq!(third["plan"]["seed"], 7);
    assert_eq!(third["plan"]["experiments"][0]["trials"], 1);
    assert!(mine["origin"]["request"]["clock"].is_null());
    other
        .run(&["run", "--like", "third", "--out", "fourth", "--quiet"])
        .with_code(0);
    let fourth = other.json("fourth/run.json");
    assert_eq!(fourth["origin"]["request"]["clock"], "monotonic");
}

/// A program that was built outside of a git checkout does not know its commit.
fn unknown_here(manifest: &Value) -> usize {
    let environment = &manifest["environment"];
    let keys = ["commit", "distribution"];
    keys.iter()
        .filter(|key| environment[**key].is_null())
        .count()
}

#[test]
fn what_is_asked_for_beyond_the_run_takes_the_place_of_what_it_has() {
    let place = published();
    let other = elsewhere(&place);
    other.file(
        "testbeds/lab.toml",
        "description = \"mine\"\n[[host]]\nname = \"here\"\nreach = \"local\"\naddress = \"127.0.0.1\"\n",
    );
    other
        .run(&[
            "run",
            "--like",
            "theirs",
            "--testbed",
            "lab",
            "--stack",
            "mine,tcp",
            "--set",
            "payload=64 B",
            "--out",
            "mine",
            "--quiet",
        ])
        .with_code(0);
    let mine = other.json("mine/run.json");
    assert_eq!(mine["plan"]["testbed"]["name"], "lab");
    let stacks = mine["plan"]["stacks"].as_object().unwrap();
    let stacks: Vec<&str> = stacks.keys().map(String::as_str).collect();
    assert_eq!(stacks, ["floor-futex", "mine", "tcp"]);
    assert_eq!(mine["plan"]["experiments"][0]["payload"], 64);
    other
        .run(&["compare", "theirs", "mine"])
        .with_code(0)
        .says("testbed: local (here) → lab (here)");
}

#[test]
fn a_suite_that_changed_meanwhile_is_repeated_as_it_was_and_compared_as_it_is() {
    let place = published();
    place.suite(
        "published",
        &SUITE.replace("round_trips = 20", "round_trips = 30"),
    );
    place
        .run(&["run", "--like", "out", "--out", "again", "--quiet"])
        .with_code(0);
    assert_eq!(
        place.json("again/run.json")["origin"]["suite"]["text"],
        SUITE
    );
    place
        .run(&[
            "run",
            "published",
            "--set",
            "payload=2 KiB",
            "--out",
            "new",
            "--quiet",
        ])
        .with_code(0);
    place
        .run(&["compare", "out", "new"])
        .with_code(0)
        .says("text of suite published, line 7: round_trips = 20 → round_trips = 30");
}

#[test]
fn what_cannot_be_repeated_is_refused_in_one_sentence_and_nothing_is_written() {
    let place = published();
    // As an older Dyno stored it.
    let mut old = place.json("out/run.json");
    old.as_object_mut().unwrap().remove("origin");
    std::fs::create_dir_all(place.path("old/trials")).unwrap();
    std::fs::write(place.path("old/run.json"), old.to_string()).unwrap();
    let refused = |arguments: &[&str], code: i32, why: &str| {
        let arguments = [&["run"], arguments, &["--out", "new"]].concat();
        let ended = place.run(&arguments).with_code(code).says(why);
        assert_eq!(
            ended.stderr.matches("--like").count().max(1),
            1,
            "{}",
            ended.stderr
        );
        assert!(!place.path("new").exists() && !place.path("runs").exists());
    };
    refused(
        &["--like", "old"],
        2,
        "old was measured by an older Dyno, which did not store the texts of suite",
    );
    refused(
        &["--like", "tmp"],
        5,
        "cannot find a run in tmp: it has no run.json",
    );
    refused(
        &["--like", "nowhere"],
        5,
        "cannot find a run in nowhere: it does not exist",
    );
    place
        .run(&["run", "quick", "--like", "out", "--out", "new"])
        .with_code(2)
        .says("cannot be used with");
    place
        .run(&["run", "--like", "out", "--resume", "out"])
        .with_code(2)
        .says("cannot be used with");
    assert!(!place.path("new").exists());
    // It is still shown and compared; what it lacks is unknown.
    place.run(&["show", "old"]).with_code(0);
    place.run(&["compare", "old", "out"]).with_code(0).says(
        "Not recorded, and may differ as well: the texts of suite, stacks and testbed of the base",
    );
}

fn git(dir: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn a_build_knows_its_commit_and_an_unpacked_archive_does_not() {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("skipped: there is no git");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("source");
    let file = |name: &str, text: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    file("Cargo.lock", "");
    file(".cargo/config.toml", "");
    file("published/table.toml", "");
    file("crates/dyno/src/main.rs", "fn main() {}");
    file("crates/dyno/tests/all.rs", "");
    file("docs/a.md", "");
    let parts = source::parts(&root);
    assert_eq!(
        parts,
        [
            ".cargo/config.toml",
            "Cargo.lock",
            "crates/dyno/src",
            "published"
        ]
        .map(std::path::PathBuf::from)
    );
    let state = || source::state(&root, &parts);
    assert_eq!(state(), None, "no repository");
    git(place.path(), &["init", "--quiet"]);
    assert_eq!(state(), None, "somebody else's repository around it");
    git(&root, &["init", "--quiet"]);
    assert_eq!(state(), None, "no commit yet");
    assert!(source::heads(&root).iter().all(|path| path.exists()));
    git(&root, &["add", "."]);
    git(&root, &["commit", "--quiet", "-m", "first"]);
    let first = state().unwrap();
    assert!(first.commit.len() == 40 && !first.modified, "{first:?}");
    // What is in no program does not count.
    file("docs/a.md", "more");
    file("crates/dyno/tests/all.rs", "more");
    assert_eq!(state().as_ref(), Some(&first));
    file("published/table.toml", "more");
    assert!(state().unwrap().modified);
    file("published/table.toml", "");
    assert_eq!(state(), Some(first));
    // A new file does, before git knows of it.
    file("crates/dyno/src/new.rs", "");
    assert!(state().unwrap().modified);
    assert!(!source::heads(&root).is_empty());
}
