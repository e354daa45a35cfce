//! The targets of `fuzz/` under libFuzzer, by cargo-fuzz: what breaks a reader of files, and what takes it too long?

use crate::{Outcome, metadata};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each target, and the files of the repository that its mutations begin with. A run is one input of
/// two files with a NUL between them.
const TARGETS: [(&str, &[&str]); 7] = [
    ("run", RUN),
    ("page", RUN),
    ("suite", &["suites"]),
    ("testbed", &["testbeds"]),
    ("limits", &["limits"]),
    ("study", &["studies", "examples/studies"]),
    ("importer", &["crates/dyno-audit/tests/data", "published"]),
];
const RUN: &[&str] = &[
    "crates/dyno-store/tests/golden/run-v3/run.json",
    "crates/dyno-store/tests/golden/run-v3/trials/e0000-t000.json",
];
/// One input may take so long, in seconds, and so much memory, in MiB.
const LONGEST: u32 = 5;
const MEMORY: u32 = 1024;

/// Runs `only` or every target for so many minutes each.
pub(super) fn study(minutes: u32, only: Option<&str>) -> Outcome {
    let chosen: Vec<_> = TARGETS
        .iter()
        .filter(|(name, _)| only.is_none_or(|o| o == *name))
        .collect();
    if chosen.is_empty() {
        let names = TARGETS.map(|(name, _)| name).join(", ");
        return Err(format!(
            "there is no target {}; there are {names}",
            only.unwrap_or_default()
        ));
    }
    let target_dir = metadata::load()?.target_directory.join("fuzz");
    let mut broken = Vec::new();
    for (name, seeds) in chosen {
        let corpus = Path::new("fuzz/corpus").join(name);
        seed(&corpus, seeds).map_err(|e| format!("cannot fill {}: {e}", corpus.display()))?;
        let mut command = Command::new("cargo");
        // Its sanitizers need a nightly compiler; what is fuzzed here has no unsafe code.
        command.args(["fuzz", "run", "--sanitizer", "none", "--target-dir"]);
        command.arg(&target_dir).arg(name).arg(&corpus);
        let found = Path::new("fuzz/found").join(name);
        if found.is_dir() {
            command.arg(found);
        }
        command.args([
            "--".to_owned(),
            format!("-max_total_time={}", u64::from(minutes) * 60),
        ]);
        command.args([
            format!("-timeout={LONGEST}"),
            format!("-rss_limit_mb={MEMORY}"),
        ]);
        let status = command.status();
        let status = status.map_err(|e| format!("cannot start cargo: {e}"))?;
        if !status.success() {
            broken.push(*name);
        }
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "ended early: {}; what broke a target lies in fuzz/artifacts, and belongs into fuzz/found/TARGET with the fix. \
             Where cargo has no command `fuzz`: cargo install cargo-fuzz --locked",
            broken.join(", ")
        )),
    }
}

/// Adds the seeds to what earlier studies have found.
fn seed(corpus: &Path, seeds: &[&str]) -> std::io::Result<()> {
    fs::create_dir_all(corpus)?;
    if seeds == RUN {
        let parts: Vec<Vec<u8>> = seeds.iter().map(fs::read).collect::<Result<_, _>>()?;
        return fs::write(corpus.join("seed"), parts.join(&0));
    }
    let mut folders: Vec<PathBuf> = seeds.iter().map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                // A name of its own, by which it is no other file's.
                let name = path.display().to_string().replace('/', "-");
                fs::copy(&path, corpus.join(name))?;
            }
        }
    }
    Ok(())
}
