//! The targets of `fuzz/` in seconds: each with files of this repository, with what once broke it, and with mutations of
//! them, the same ones each time. `cargo xtask study fuzz` looks for more.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_fuzz as targets;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::fs;
use std::path::{Path, PathBuf};

/// What stands in numbers' and texts' places.
const ODD: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"18446744073709551615",
    b"1e308",
    b"nan",
    b"\"\"",
    b"[]",
    b"{}",
    b"null",
    b"\x1b[2J",
    b"</script><script>",
    "\u{202e}\u{9b}".as_bytes(),
];

/// The files below a path of the repository, ordered.
fn files(path: &str) -> Vec<PathBuf> {
    fn below(path: &Path, found: &mut Vec<PathBuf>) {
        if path.is_dir() {
            let entries = fs::read_dir(path).unwrap();
            entries.for_each(|entry| below(&entry.unwrap().path(), found));
        } else {
            found.push(path.to_owned());
        }
    }
    let mut found = Vec::new();
    below(&Path::new("../..").join(path), &mut found);
    found.sort();
    found
}

fn read(paths: &[&str]) -> Vec<Vec<u8>> {
    let files: Vec<PathBuf> = paths.iter().flat_map(|path| files(path)).collect();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Manifest and trial of each of the store's golden runs.
fn runs() -> Vec<Vec<u8>> {
    let golden = ["run-v1", "run-v2", "run-v3"].map(|run| {
        let run = format!("crates/dyno-store/tests/golden/{run}");
        let manifest = format!("{run}/run.json");
        let trial = format!("{run}/trials/e0000-t000.json");
        read(&[&manifest, &trial]).join(&0)
    });
    golden.into()
}

/// A little of it changed.
fn mutated(seed: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..random.random_range(1..4) {
        let from = random.random_range(0..=bytes.len());
        let to = (from + random.random_range(0..24)).min(bytes.len());
        match random.random_range(0..4) {
            0 if from < bytes.len() => bytes[from] ^= 1 << random.random_range(0..8),
            1 => drop(bytes.drain(from..to)),
            2 => {
                let again = bytes[from..to].to_vec();
                bytes.splice(from..from, again);
            }
            _ => {
                // A word or number from there on.
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.';
                let begin = from + bytes[from..].iter().take_while(|b| !is_word(b)).count();
                let end = begin + bytes[begin..].iter().take_while(|b| is_word(b)).count();
                let odd = ODD.choose(random).unwrap();
                bytes.splice(begin..end, odd.iter().copied());
            }
        }
    }
    bytes
}

/// Tries a target on all seeds and so many mutations. What breaks it is printed as a text.
fn try_out(name: &str, target: fn(&[u8]), mut seeds: Vec<Vec<u8>>, mutations: usize) {
    if Path::new("../../fuzz/found").join(name).is_dir() {
        seeds.extend(read(&[&format!("fuzz/found/{name}")]));
    }
    let mut random = StdRng::seed_from_u64(36);
    let mutations: Vec<Vec<u8>> = (0..mutations)
        .map(|_| mutated(seeds.choose(&mut random).unwrap(), &mut random))
        .collect();
    for input in seeds.iter().chain(&mutations) {
        let tried = std::panic::catch_unwind(|| target(input));
        assert!(
            tried.is_ok(),
            "{name} is broken by {:?}",
            String::from_utf8_lossy(input)
        );
    }
}

#[test]
fn a_strangers_run_is_shown_or_refused() {
    try_out("run", targets::run, runs(), 300);
}

#[test]
fn a_page_holds_a_strangers_run_as_data() {
    try_out("page", targets::page, runs(), 150);
}

#[test]
fn a_strangers_suite_is_planned_or_refused() {
    try_out("suite", targets::suite, read(&["suites"]), 300);
}

#[test]
fn a_strangers_testbed_is_planned_for_or_refused() {
    try_out("testbed", targets::testbed, read(&["testbeds"]), 300);
}

#[test]
fn a_strangers_limits_are_read_or_refused() {
    try_out("limits", targets::limits, read(&["limits"]), 1000);
}

#[test]
fn a_strangers_study_is_shown_or_refused() {
    let seeds = read(&["studies", "examples/studies"]);
    try_out("study", targets::study, seeds, 100);
}

#[test]
fn outputs_of_tools_are_imported_or_refused() {
    let seeds = read(&["crates/dyno-audit/tests/data", "published"]);
    try_out("importer", targets::importer, seeds, 300);
}
