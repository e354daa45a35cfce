//! Finding a run, and naming a new one.

use crate::error::StoreError;
use crate::files::{self, MANIFEST_BYTES, Place};
use crate::layout;
use jiff::Timestamp;
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where runs go when nothing else is said.
pub const DEFAULT_RUNS_DIR: &str = "runs";
/// The name that stands for the newest run.
pub const LATEST: &str = "latest";

/// The run directory that the user means: `latest` is the newest run in `runs_dir` by its start
/// time; anything else is a path, or the name of a run in `runs_dir`.
///
/// A directory that happens to be called `latest` is reached as `./latest`.
pub fn locate(which: &Path, runs_dir: &Path) -> Result<PathBuf, StoreError> {
    if which == Path::new(LATEST) {
        return newest(runs_dir);
    }
    [which.to_owned(), runs_dir.join(which)]
        .into_iter()
        .find(|dir| layout::manifest(dir).is_file())
        .ok_or_else(|| StoreError::NotARun {
            dir: which.to_owned(),
            reason: if which.exists() {
                "it has no run.json"
            } else {
                "it does not exist"
            },
        })
}

/// What is read of every manifest, whatever its format: a run of a newer Dyno can be the newest.
#[derive(Deserialize)]
struct Started {
    started_unix_ms: u64,
}

fn newest(runs_dir: &Path) -> Result<PathBuf, StoreError> {
    let entries = match fs::read_dir(runs_dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other
            .and_then(Iterator::collect)
            .map_err(StoreError::io("read", runs_dir))?,
    };
    entries
        .into_iter()
        .filter_map(|entry| {
            let dir = entry.path();
            let bytes = files::read(&layout::manifest(&dir), Place::Run, MANIFEST_BYTES).ok()?;
            let head: Started = serde_json::from_slice(&bytes).ok()?;
            Some((head.started_unix_ms, dir))
        })
        .max()
        .map(|(_, dir)| dir)
        .ok_or_else(|| StoreError::NoRuns {
            runs_dir: runs_dir.to_owned(),
        })
}

/// Creates an empty directory for a new run and returns its name and path:
/// `<runs_dir>/<suite>-YYYYMMDD-HHMMSS` in UTC, with `-2`, `-3`, … where that exists already.
///
/// Characters of the suite's name that are not letters, digits, `.`, `_` or `-` become `-`.
pub fn new_run_dir(
    runs_dir: &Path,
    suite: &str,
    started_unix_ms: u64,
) -> Result<(String, PathBuf), StoreError> {
    fs::create_dir_all(runs_dir).map_err(create_failed(runs_dir))?;
    let stem = stem(suite, started_unix_ms);
    let mut number = 1u32;
    loop {
        let name = if number == 1 {
            stem.clone()
        } else {
            format!("{stem}-{number}")
        };
        let dir = runs_dir.join(&name);
        match fs::create_dir(&dir) {
            Ok(()) => return Ok((name, dir)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(source) => return Err(create_failed(&dir)(source)),
        }
    }
}

fn create_failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| {
        if crate::error::is_full(&source) {
            StoreError::NoSpaceToStart { path, source }
        } else {
            StoreError::io("create", &path)(source)
        }
    }
}

fn stem(suite: &str, started_unix_ms: u64) -> String {
    let suite: String = suite
        .trim_start_matches('.')
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => c,
            _ => '-',
        })
        .collect();
    let suite = if suite.is_empty() { "run" } else { &suite };
    // A clock beyond the year 9999 has no such text; the number itself is as good a name.
    let time = i64::try_from(started_unix_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .map_or_else(
            || started_unix_ms.to_string(),
            |t| t.strftime("%Y%m%d-%H%M%S").to_string(),
        );
    format!("{suite}-{time}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_suite_and_utc_time() {
        assert_eq!(stem("quick", 1_763_695_923_999), "quick-20251121-033203");
        assert_eq!(stem("../my suite", 0), "-my-suite-19700101-000000");
        assert_eq!(stem("", u64::MAX), format!("run-{}", u64::MAX));
    }

    #[test]
    fn runs_of_the_same_second_are_numbered() {
        let runs = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..3)
            .map(|_| new_run_dir(runs.path(), "quick", 0).unwrap().0)
            .collect();
        assert_eq!(
            names,
            [
                "quick-19700101-000000",
                "quick-19700101-000000-2",
                "quick-19700101-000000-3"
            ]
        );
    }
}
