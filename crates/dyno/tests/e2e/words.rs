//! Text of strangers never reaches a reader raw, whatever field of a run or of another file carries it, whatever command shows it
//! in whatever format: no escape sequence, no control character, no mark that changes the direction of what follows.

use crate::harness::{Ended, Place};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A title for the window, a colour, a screen that is cleared by one character of C1, and a mark of each other kind.
const EVIL: &str = "\u{1b}]0;T\u{7}\u{1b}[31m\u{9b}2J\u{85}\u{7f}\u{8}\u{c}\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2028}\u{2029}\u{2066}\u{2069}\u{ad}\u{200b}\u{200d}\u{2060}\u{feff}\u{e0041}";

fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// What reached the reader although it must not, by what was asked.
#[derive(Default)]
struct Leaks(Vec<String>);

impl Leaks {
    /// Lines of CSV end by CR LF (RFC 4180).
    fn look(&mut self, what: &str, text: &str) {
        let text = text.replace("\r\n", "\n");
        let mut found: Vec<char> = text.chars().filter(|c| is_hidden(*c)).collect();
        found.sort_unstable();
        found.dedup();
        if !found.is_empty() {
            let at = text.find(is_hidden).unwrap_or(0);
            let near: String = text[..at].chars().rev().take(40).collect();
            let near: String = near.chars().rev().collect();
            self.0.push(format!("{what}: {found:?} after {near:?}"));
        }
    }

    fn of(&mut self, place: &Place, arguments: &[&str]) -> Ended {
        let ended = place.run(arguments);
        let shown = arguments.join(" ").replace(EVIL, "EVIL");
        self.look(&format!("{shown} (stdout)"), &ended.stdout);
        self.look(&format!("{shown} (stderr)"), &ended.stderr);
        let code = ended.status.code();
        assert!(code.is_some_and(|c| c != 101), "{shown}: {}", ended.stderr);
        ended
    }

    #[track_caller]
    fn none(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

/// The places of all texts of a document, and of the keys of its maps.
fn texts(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(all) => {
            for (i, one) in all.iter().enumerate() {
                texts(one, &format!("{at}/{i}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, one) in fields {
                texts(one, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

fn planted(document: &Value, at: &str) -> Value {
    let mut document = document.clone();
    if let Some(Value::String(text)) = document.pointer_mut(at) {
        text.push_str(EVIL);
        text.push('z');
    }
    document
}

/// Names of the maps whose keys are words of a run and not of its format.
const MAPS: [&str; 7] = [
    "stacks",
    "machines",
    "binaries",
    "mitigations",
    "limits",
    "libraries",
    "versions",
];

/// Plants in the keys of those maps as well, so that references to them still hold.
fn plant_keys(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(plant_keys),
        Value::Object(fields) => {
            for (name, one) in fields.iter_mut() {
                plant_keys(one);
                if let (Value::Object(map), true) = (&mut *one, MAPS.contains(&name.as_str())) {
                    let renamed = std::mem::take(map).into_iter();
                    let renamed = renamed.map(|(key, value)| (format!("{key}{EVIL}z"), value));
                    *map = renamed.collect::<Map<_, _>>();
                }
            }
        }
        _ => {}
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn write(path: &Path, value: &Value) {
    fs::write(path, value.to_string()).unwrap();
}

fn copied(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-rT").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// Whether the run in `directory` is read, whole.
fn is_read(directory: &Path) -> bool {
    dyno_store::read_run(directory).is_ok_and(|read| read.problems.is_empty())
}

/// The files of a run that hold its words.
fn documents(directory: &Path) -> Vec<String> {
    let mut all = vec!["run.json".to_owned()];
    for file in fs::read_dir(directory.join("trials")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".json") {
            all.push(format!("trials/{name}"));
        }
    }
    all.sort();
    all
}

/// Plants in every text of the run in `directory` that may be any text, all at once. Returns each document with one text planted
/// that may not.
fn plant(directory: &Path) -> Vec<(String, String, Value)> {
    let mut refused = Vec::new();
    for name in documents(directory) {
        let path = directory.join(&name);
        let original = read(&path);
        let mut places = Vec::new();
        texts(&original, "", &mut places);
        let mut all = original.clone();
        for at in places {
            let one = planted(&original, &at);
            write(&path, &one);
            match is_read(directory) {
                true => all = planted(&all, &at),
                false => refused.push((name.clone(), at, one)),
            }
        }
        write(&path, &all);
        assert!(is_read(directory), "{name}");
        let mut with_keys = all.clone();
        plant_keys(&mut with_keys);
        write(&path, &with_keys);
        if !is_read(directory) {
            write(&path, &all);
        }
    }
    refused
}

/// A small run that was measured, with words that only some runs have.
fn measured() -> Place {
    let place = Place::new();
    place.round_trips(
        "tiny",
        "trials = 2\nround_trips = 20\nplacement = \"thread\"",
        &["pipe", "uds-stream"],
    );
    place
        .run(&["run", "tiny", "--out", "clean", "--quiet"])
        .with_code(0);
    let trials = documents(&place.path("clean"));
    let path = place.path("clean").join(&trials[1]);
    let mut trial = read(&path);
    trial["disturbed"] = json!(["others were at work"]);
    trial["warnings"] = json!(["a warning"]);
    write(&path, &trial);
    assert!(is_read(&place.path("clean")));
    place
}

fn golden() -> Place {
    let place = Place::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dyno-store/tests/golden/run-v3");
    copied(&golden, &place.path("clean"));
    place
}

/// As escapes of TOML, which its reader takes for the characters themselves.
const ESCAPED: &str = r"\u001b]0;T\u0007\u009b2J\u202e";

fn limits() -> String {
    format!(
        "[[limit]]\nname = \"l{ESCAPED}\"\nmetric = \"rtt\"\nquantile = \"p50\"\nat_most = \"1 s\"\n"
    )
}

/// Every command that reads a run, in every format. `{}`: a directory or file of its own.
const ASKED: [&str; 46] = [
    "show evil",
    "show evil --wide --notes all",
    "show evil --format markdown",
    "show evil --format json",
    "show evil --format csv",
    "show evil --format gbench",
    "show evil --format openmetrics",
    "show evil --format junit",
    "show evil --format table -o evil.txt",
    "show evil --format markdown -o evil.md",
    "show evil --format json -o evil.json",
    "show evil --format csv -o evil.csv",
    "show evil --format gbench -o evil.gbench",
    "show evil --format openmetrics -o evil.prom",
    "show evil --format junit -o evil.xml",
    "show evil --format hdr -o evil-hdr",
    "report evil -o evil.html",
    "report evil clean --limits limits.toml -o evil-limits.html",
    "compare clean evil",
    "compare evil clean --format markdown",
    "compare evil clean --format json",
    "compare evil clean --format csv",
    "check evil limits.toml",
    "check evil limits.toml --format markdown",
    "check evil limits.toml --format json",
    "check evil limits.toml --format csv",
    "check evil limits.toml --junit evil-check.xml",
    "check evil none.toml",
    "check evil --history clean",
    "check evil",
    "trend clean evil evil",
    "trend clean evil --format markdown",
    "trend clean evil --format json",
    "trend clean evil --format csv",
    "audit evil",
    "audit evil --all",
    "audit evil --all --format markdown",
    "audit evil --all --format json",
    "audit evil --all --format html",
    "merge evil -o merged --partial",
    "merge evil clean -o merged-too --partial",
    "run --like evil --dry-run",
    "run --like evil --out again --quiet",
    "run --resume evil --dry-run",
    "run --resume evil",
    "report evil.gbench -o evil-gbench.html",
];

#[test]
fn no_command_shows_control_characters_of_a_run_in_any_format() {
    let mut leaks = Leaks::default();
    for (base, place) in [("measured", measured()), ("golden", golden())] {
        copied(&place.path("clean"), &place.path("evil"));
        plant(&place.path("evil"));
        place.file("limits.toml", &limits());
        place.file(
            "none.toml",
            &format!("{}experiment = \"none of these\"\n", limits()),
        );
        for asked in ASKED {
            let arguments: Vec<&str> = asked.split(' ').collect();
            let before = leaks.0.len();
            leaks.of(&place, &arguments);
            for line in &mut leaks.0[before..] {
                *line = format!("{base}: {line}");
            }
        }
        for tool in ["json", "gbench"] {
            for asked in ["show", "audit"] {
                let file = format!("evil.{tool}");
                leaks.of(&place, &[asked, &file]);
            }
        }
        for file in fs::read_dir(place.path(".")).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_file() && name.starts_with("evil") {
                let text = fs::read_to_string(&path).unwrap();
                leaks.look(&format!("{base}: the file {name}"), &text);
            }
        }
        for file in fs::read_dir(place.path("evil-hdr")).into_iter().flatten() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            leaks.look(&format!("{base}: a file of hdr"), &text);
        }
        // Programs get what the run says, and nothing in its place.
        let shown: Value =
            serde_json::from_slice(&fs::read(place.path("evil.json")).unwrap()).unwrap();
        let experiment = shown["experiments"][0]["experiment"].as_str().unwrap();
        assert!(experiment.contains(EVIL), "{experiment:?}");
    }
    leaks.none();
}

#[test]
fn a_word_that_cannot_be_read_is_named_without_its_control_characters() {
    let mut leaks = Leaks::default();
    let place = golden();
    copied(&place.path("clean"), &place.path("evil"));
    let refused = plant(&place.path("evil"));
    assert!(refused.len() > 20, "{}", refused.len());
    let mut told = std::collections::BTreeSet::new();
    for (name, at, document) in refused {
        // One of a kind.
        let kind: String = at.chars().filter(|c| !c.is_ascii_digit()).collect();
        if !told.insert(kind) {
            continue;
        }
        let _ = fs::remove_dir_all(place.path("evil"));
        copied(&place.path("clean"), &place.path("evil"));
        write(&place.path("evil").join(&name), &document);
        let before = leaks.0.len();
        leaks.of(&place, &["show", "evil"]);
        leaks.of(&place, &["trend", "clean", "evil"]);
        for line in &mut leaks.0[before..] {
            *line = format!("{name} {at}: {line}");
        }
    }
    leaks.none();
}

#[test]
fn texts_that_a_run_keeps_are_quoted_without_their_control_characters() {
    let mut leaks = Leaks::default();
    let place = measured();
    let wrong = format!("x = \"a{EVIL}b\"\n[[a]]\n\u{1b}[31m = \u{202e}\n");
    let unknown = format!("title = \"{ESCAPED}\"\nunheard = \"{ESCAPED}\"\n");
    for text in [wrong.as_str(), unknown.as_str()] {
        for at in [
            "/origin/suite/text",
            "/origin/testbed/text",
            "/origin/stacks/pipe/text",
        ] {
            let mut run = read(&place.path("clean/run.json"));
            *run.pointer_mut(at).unwrap() = json!(text);
            let _ = fs::remove_dir_all(place.path("evil"));
            copied(&place.path("clean"), &place.path("evil"));
            write(&place.path("evil/run.json"), &run);
            leaks.of(&place, &["run", "--like", "evil", "--dry-run"]);
        }
        let mut run = read(&place.path("clean/run.json"));
        run["plan"]["search"] = json!({
            "raise": "payload",
            "until": {"path": format!("limits{EVIL}"), "text": text},
        });
        write(&place.path("evil/run.json"), &run);
        for asked in [
            "show evil",
            "check evil",
            "report evil -o evil.html",
            "run --resume evil",
            "run --like evil --dry-run",
        ] {
            leaks.of(&place, &asked.split(' ').collect::<Vec<_>>());
        }
        leaks.look(
            "report",
            &fs::read_to_string(place.path("evil.html")).unwrap(),
        );
        // Files that somebody names.
        place.file("wrong.toml", text);
        for folder in ["suites", "stacks", "testbeds"] {
            fs::create_dir_all(place.path(folder)).unwrap();
            place.file(&format!("{folder}/wrong.toml"), text);
        }
        for asked in [
            "check clean wrong.toml",
            "run wrong.toml --dry-run",
            "list suites",
            "list suites --json",
            "list stacks",
            "list testbeds",
            "doctor",
            "audit wrong.toml",
            "show wrong.toml",
        ] {
            leaks.of(&place, &asked.split(' ').collect::<Vec<_>>());
        }
        for folder in ["suites", "stacks", "testbeds"] {
            fs::remove_file(place.path(folder).join("wrong.toml")).unwrap();
        }
    }
    leaks.none();
}

#[test]
fn names_of_files_and_arguments_are_told_without_their_control_characters() {
    let mut leaks = Leaks::default();
    let place = golden();
    let name = format!("run{EVIL}");
    copied(&place.path("clean"), &place.path(&name));
    for arguments in [
        &["show", &name] as &[&str],
        &["report", &name, "-o", "-"],
        &["report", &name, "-o", &format!("{name}.html")],
        &[
            "show",
            &name,
            "--format",
            "hdr",
            "-o",
            &format!("{name}-hdr"),
        ],
        &["show", &format!("{name}-nowhere")],
        &["merge", "clean", &name, "-o", &format!("{name}-merged")],
        &["trend", "clean", &name],
        &["show", "clean", &name],
        &["show", "clean", "--format", &name],
        &["run", &name],
        &["run", "quick", "--stack", &name],
        &["run", "quick", "--set", &name],
        &["run", "quick", "--testbed", &name],
        &["conformance", &name],
        &["audit", &name],
        &["check", "clean", &name],
    ] {
        leaks.of(&place, arguments);
    }
    fs::create_dir(place.path("runs")).unwrap();
    fs::rename(place.path(&name), place.path(&format!("runs/{name}"))).unwrap();
    let mut complete = place.dyno(&["--", "dyno", "show", "runs/"]);
    complete
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "2");
    leaks.look(
        "completions",
        &Ended::from(complete.output().unwrap()).stdout,
    );
    leaks.none();
}
