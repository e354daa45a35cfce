//! Runs changed as an attacker or bad luck would: each mutant meets some of the commands that read runs. Tests of `dyno`
//! have some tens of mutants, `cargo xtask study damage` thousands.

mod commands;
mod mutant;
pub mod watched;

use commands::{LIMITS, Places};
use mutant::Draw;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Commands that each mutant meets.
pub const COMMANDS_EACH: usize = 4;

/// A place for mutants of one thread.
pub struct Arena {
    program: PathBuf,
    dir: PathBuf,
    /// Whole runs, each of which mutants are made of.
    bases: Vec<PathBuf>,
}

/// What one mutant did to the commands that it met.
#[derive(Debug, Default)]
pub struct Meeting {
    /// How often each exit code came, by the code.
    pub codes: Vec<i32>,
    /// The peak of the memory of any command, in KiB.
    pub peak_kib: i64,
    /// The longest that a command took.
    pub longest: Duration,
    /// What none may do, each with the mutant and the command.
    pub faults: Vec<Fault>,
}

/// A command did what none may do.
#[derive(Debug)]
pub struct Fault {
    /// In words that are the same for the same fault.
    pub what: String,
    /// The mutant, the command and the end of what it printed.
    pub where_: String,
}

impl Arena {
    /// In the new folder `dir`, for this `dyno`.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made.
    pub fn new(program: &Path, dir: &Path, bases: &[PathBuf]) -> io::Result<Arena> {
        fs::create_dir_all(dir.join("runs"))?;
        fs::create_dir_all(dir.join("tmp"))?;
        fs::write(dir.join("limits.toml"), LIMITS)?;
        Ok(Arena {
            program: program.to_owned(),
            dir: dir.to_owned(),
            bases: bases.to_vec(),
        })
    }

    /// Makes mutant `seed` and has it met by the commands whose turn it is.
    ///
    /// # Errors
    ///
    /// When files cannot be written or processes not started.
    pub fn meet(&self, seed: u64, patience: Duration) -> io::Result<Meeting> {
        let draw = &mut Draw::new(seed);
        let (good, run) = (self.dir.join("runs/good"), self.dir.join("runs/mutant"));
        let base = &self.bases[draw.below(self.bases.len())];
        for copy in [&good, &run] {
            remove(copy)?;
            copy_folder(base, copy)?;
        }
        let said = mutant::mutate(draw, &run)?;
        let all = commands::all();
        let mut meeting = Meeting::default();
        for turn in 0..COMMANDS_EACH {
            let words = &all[(seed as usize * COMMANDS_EACH + turn) % all.len()];
            let out = self.dir.join("out");
            remove(&out)?;
            let places = Places {
                run: Path::new("runs/mutant"),
                good: Path::new("runs/good"),
                runs: Path::new("runs"),
                limits: Path::new("limits.toml"),
                out: &out,
            };
            let mut command = Command::new(&self.program);
            command.args(words.iter().map(|word| places.argument(word)));
            command
                .current_dir(&self.dir)
                .env("TMPDIR", self.dir.join("tmp"))
                // Colours are escape sequences too.
                .env("NO_COLOR", "1")
                .env("TERM", "dumb");
            let watched = watched::watch(&mut command, patience)?;
            let mut faults = watched.faults(patience);
            for left in unfinished(&[&self.dir, &run, &self.dir.join("runs")])? {
                faults.push("leaves an unfinished file".into());
                remove(&left)?;
            }
            let end: String = watched.printed.chars().rev().take(300).collect();
            let end: String = end.chars().rev().collect();
            for what in faults {
                let where_ = format!(
                    "mutant {seed} of {} ({said}): dyno {}: …{}",
                    base.file_name().unwrap_or_default().display(),
                    words.join(" "),
                    end.escape_debug()
                );
                meeting.faults.push(Fault { what, where_ });
            }
            meeting.codes.push(watched.code.unwrap_or(-9));
            meeting.peak_kib = meeting.peak_kib.max(watched.peak_kib);
            meeting.longest = meeting.longest.max(watched.took);
        }
        Ok(meeting)
    }
}

/// Files that a command began and did not finish.
fn unfinished(folders: &[&Path]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders.iter().filter(|f| f.is_dir() && !f.is_symlink()) {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".tmp-") {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(known) if known.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => fs::copy(entry.path(), &target).map(|_| ())?,
        }
    }
    Ok(())
}
