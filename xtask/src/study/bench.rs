//! What studies have in common: a place to run `dyno` in, and how they read and count what it says.

use crate::{Outcome, files, steps};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A scratch directory with files for `dyno` in cargo's target directory, removed at the end or, where
/// a study was killed, by the next one of its name.
pub(super) struct Place {
    pub(super) dir: PathBuf,
    program: PathBuf,
}

impl Place {
    /// A release build of an older source would be studied in silence, so that cargo looks first.
    pub(super) fn new(name: &str) -> Result<Place, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        steps::done(Command::new(cargo).args(["build", "--release", "--quiet"]))?;
        Place::without_build(name)
    }

    /// The same for a program that the user names.
    pub(super) fn without_build(name: &str) -> Result<Place, String> {
        let target = crate::metadata::load()?.target_directory;
        Place::of(target.join("study").join(name), target.join("release/dyno"))
    }

    /// This folder, for this program; where there is no cargo, as in a guest.
    pub(super) fn of(dir: PathBuf, program: PathBuf) -> Result<Place, String> {
        files::empty(&dir)?;
        for part in ["suites", "stacks", "testbeds"] {
            files::make_folder(&dir.join(part))?;
        }
        Ok(Place { dir, program })
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn file(&self, name: &str, text: &str) -> Outcome {
        files::write(&self.dir.join(name), text)
    }

    /// Runs `dyno` of the release build in this place, with arguments that have blanks between them, and returns what it
    /// printed.
    pub(super) fn dyno(&self, arguments: &str) -> Result<String, String> {
        self.started(arguments, &[], &[0])
    }

    /// The same where failed trials and limits that are broken or undecided are what is looked for.
    pub(super) fn judged(&self, arguments: &str) -> Result<String, String> {
        self.started(arguments, &[], &[0, 4, 6, 7])
    }

    /// `dyno` of the release build in this place.
    pub(super) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments.split_whitespace());
        command.current_dir(&self.dir).env("DYNO_FILES", &self.dir);
        command
    }

    /// The same as [`Place::dyno`] with more in its environment, where it may end with these codes.
    pub(super) fn started(
        &self,
        arguments: &str,
        more: &[(&str, &str)],
        codes: &[i32],
    ) -> Result<String, String> {
        let mut command = self.command(arguments);
        let output = command.envs(more.iter().copied()).output();
        let output = output.map_err(|e| {
            let program = command.get_program().display();
            format!("cannot start {program}: {e}; run `cargo build --release` first")
        })?;
        let code = output.status.code();
        if !code.is_some_and(|code| codes.contains(&code)) {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "dyno {arguments} ended with {}: {said}",
                output.status
            ));
        }
        String::from_utf8(output.stdout).map_err(|e| e.to_string())
    }

    /// The same as [`Place::dyno`], its output read as JSON.
    pub(super) fn json(&self, arguments: &str) -> Result<Value, String> {
        serde_json::from_str(&self.dyno(arguments)?).map_err(|e| format!("dyno {arguments}: {e}"))
    }

    /// A run as `dyno show` has it for programs.
    pub(super) fn show(&self, run: &str) -> Result<Value, String> {
        self.json(&format!("show {run} --format json"))
    }

    /// The records of a run's trials.
    pub(super) fn trials(&self, run: &str) -> Result<Vec<Value>, String> {
        let all = files::list(&self.dir.join(run).join("trials"))?;
        let of_records = |path: &&PathBuf| path.extension().is_some_and(|e| e == "json");
        all.iter()
            .filter(of_records)
            .map(|f| files::json(f))
            .collect()
    }

    /// Removes one run.
    pub(super) fn forget(&self, run: &str) -> Outcome {
        files::remove_folder(&self.dir.join(run))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The next study of the name clears it at the latest.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// `dyno` of the release build, or of the debug build where there is no other.
pub(super) fn program() -> Result<PathBuf, String> {
    let target = crate::metadata::load()?.target_directory;
    let programs = ["release", "debug"].map(|profile| target.join(profile).join("dyno"));
    let program = programs.into_iter().find(|program| program.exists());
    program.ok_or_else(|| "there is no dyno yet; run `cargo build --release` first".to_owned())
}

/// `17 of 20 (85 %)`.
pub(super) fn share(part: usize, all: usize) -> String {
    let percent = 100.0 * part as f64 / all.max(1) as f64;
    format!("{part} of {all} ({percent:.1} %)")
}

/// The array at a key of a document; empty where there is none.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}
