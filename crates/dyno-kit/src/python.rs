//! The tools that read exports back, in the virtual environment that `cargo xtask test` makes in
//! `target/python`.
//!
//! Without it a test says that it tested nothing, and passes; with `DYNO_REQUIRE_READERS` set, as in
//! `cargo xtask test`, it fails.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian's package libbenchmark-tools has Google Benchmark's script.
const COMPARE: &str = "/usr/share/benchmark/compare.py";

/// The interpreter; `None` where there is none, which is then said.
pub fn python() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let found = test
        .ancestors()
        .map(|a| a.join("python/bin/python"))
        .find(|python| python.exists());
    if found.is_none() {
        missing(
            "the tools that read exports back (target/python); `cargo xtask test` installs them",
        );
    }
    found
}

/// Google Benchmark's `compare.py`.
pub fn compare_script() -> Option<PathBuf> {
    let named = std::env::var_os("DYNO_GBENCH_COMPARE").map(PathBuf::from);
    let script = named.unwrap_or_else(|| COMPARE.into());
    if script.exists() {
        return Some(script);
    }
    missing("Google Benchmark's compare.py (Debian: libbenchmark-tools)");
    None
}

fn missing(what: &str) {
    let required = std::env::var_os("DYNO_REQUIRE_READERS").is_some_and(|v| v == "1");
    assert!(!required, "missing: {what}");
    eprintln!("NOT TESTED, missing: {what}");
}

/// What the script of that name in `tests/readers` prints of a file or directory; `None` where there is
/// nothing to run it with.
#[track_caller]
pub fn read(script: &str, path: &Path) -> Option<Value> {
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dyno-export/tests/readers");
    let script = readers.join(script);
    let printed = run(&python()?, &[script.as_ref(), path.as_ref()]);
    Some(serde_json::from_str(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}")))
}

/// Runs a Python program to its good end, and gives what it printed.
#[track_caller]
pub fn run(python: &Path, arguments: &[&std::ffi::OsStr]) -> String {
    let output = Command::new(python)
        .args(arguments)
        .env("PYTHONUTF8", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}\n--- stdout\n{}\n--- stderr\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
