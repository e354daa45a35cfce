//! Writing a run directory: one writer at a time, each file whole or not there.

use crate::error::{StoreError, is_full};
use crate::files::{
    self, LOCK_BYTES, MANIFEST_BYTES, Place, TEMPORARY, TRIAL_BYTES, create_lock,
    remove_temporaries, sync_dir, write_whole,
};
use crate::layout::{self, DAMAGED, LOCK, MANIFEST, RAW, TRIALS};
use crate::raw;
use crate::reader::{ReadRun, collect, manifest_of, newer, read_manifest, trial_files};
use crate::trial::{StoredTrial, Unusable};
use dyno_model::record::{FailureKind, Outcome, RunManifest, TrialRecord};
use dyno_model::{Plan, TrialId};
use serde::Serialize;
use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which stored trials `--resume` measures again. Completed ones never are; damaged ones always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Redo {
    /// Those that the user interrupted. Other failures are findings and are kept.
    #[default]
    Interrupted,
    /// Every failed trial.
    Failed,
}

impl Redo {
    fn wants(self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Completed => false,
            Outcome::Failed { kind, .. } => {
                self == Redo::Failed || *kind == FailureKind::Interrupted
            }
        }
    }
}

/// The one writer of a run directory. It holds the directory's lock until it is dropped or its
/// process ends, however that ends.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    _lock: File,
}

impl RunWriter {
    /// Starts a new run in `dir`, which must not exist or be empty; parents are created.
    ///
    /// After an error nothing of the run is left, not even the directory if it is empty.
    pub fn create(dir: &Path, manifest: &RunManifest) -> Result<Self, StoreError> {
        refuse_occupied(dir)?;
        let created = Self::start(dir, manifest);
        let theirs =
            |e: &StoreError| matches!(e, StoreError::Locked { .. } | StoreError::NotEmpty { .. });
        if created.as_ref().is_err_and(|e| !theirs(e)) {
            // The error that is reported matters; only empty directories can be removed here.
            let _ = fs::remove_dir(dir.join(TRIALS));
            let _ = fs::remove_file(dir.join(LOCK));
            let _ = fs::remove_dir(dir);
        }
        created
    }

    fn start(dir: &Path, manifest: &RunManifest) -> Result<Self, StoreError> {
        let full = |action, path: &Path, source: io::Error| {
            if is_full(&source) {
                StoreError::NoSpaceToStart {
                    path: path.to_owned(),
                    source,
                }
            } else {
                StoreError::io(action, path)(source)
            }
        };
        fs::create_dir_all(dir).map_err(|e| full("create", dir, e))?;
        let lock = lock(dir).map_err(|e| match e {
            StoreError::Io {
                action,
                path,
                source,
            } => full(action, &path, source),
            other => other,
        })?;
        // Another runner may have come and gone between the first look and the lock.
        refuse_occupied(dir)?;
        let bytes = readable(manifest, Layout::Pretty, MANIFEST_BYTES, manifest_of)
            .map_err(|reason| StoreError::UnstorableManifest { reason })?;
        // Of a start that was cut off, the empty folder may be there, and a part of the manifest.
        remove_temporaries(dir, Place::Run)?;
        let trials = dir.join(TRIALS);
        fs::create_dir_all(&trials).map_err(|e| full("create", &trials, e))?;
        let path = layout::manifest(dir);
        write_whole(&path, Place::Run, bytes.as_slice()).map_err(|e| full("write", &path, e))?;
        if let Some(parent) = dir.parent() {
            sync_dir(parent).map_err(StoreError::io("write", parent))?;
        }
        Ok(RunWriter {
            dir: dir.to_owned(),
            _lock: lock,
        })
    }

    /// Goes on with the run in `dir`: removes what crashed writers left, sets damaged trial files
    /// aside (as `….json.damaged`), and returns the trials that stay. Every trial of the plan that
    /// is not among them is to be measured.
    ///
    /// A trial that a newer Dyno wrote is an error, so that nothing overwrites it.
    pub fn open_for_resume(dir: &Path, redo: Redo) -> Result<(Self, ReadRun), StoreError> {
        let manifest = read_manifest(dir)?;
        let writer = RunWriter {
            dir: dir.to_owned(),
            _lock: lock(dir)?,
        };
        remove_temporaries(dir, Place::Run)?;
        for folder in [TRIALS, RAW] {
            remove_temporaries(&dir.join(folder), Place::Folder)?;
        }
        let trials = dir.join(TRIALS);
        fs::create_dir_all(&trials).map_err(|e| writer.failed("create", &trials, e))?;
        let files = trial_files(dir, &manifest.plan)?;
        for (file, parsed) in &files {
            if let Err(Unusable::Newer(found)) = parsed {
                return Err(newer(file, *found));
            }
        }
        let mut read = collect(dir, manifest, files);
        for problem in &mut read.problems {
            let aside = problem.file.with_extension(format!("json.{DAMAGED}"));
            fs::rename(&problem.file, &aside).map_err(StoreError::io("rename", &problem.file))?;
            problem.advice = format!(
                "set aside as {}, its trial is measured again",
                aside.display()
            );
        }
        read.run.trials.retain(|t| !redo.wants(&t.outcome));
        // A trial of several flows is whole, or measured again.
        let stored: HashSet<TrialId> = read.run.trials.iter().map(|t| t.id).collect();
        let plan = read.run.manifest.plan.clone();
        let is_whole = |id| plan.beside(id).iter().all(|other| stored.contains(other));
        read.run.trials.retain(|t| is_whole(t.id));
        Ok((writer, read))
    }

    /// Stores another plan of the run: one that has more trials. The trials stored so far are part of it.
    ///
    /// # Errors
    /// The manifest cannot be read, would be too large to be read again, or cannot be written.
    pub fn write_plan(&self, plan: &Plan) -> Result<(), StoreError> {
        let manifest = RunManifest {
            plan: plan.clone(),
            ..read_manifest(&self.dir)?
        };
        let bytes = readable(&manifest, Layout::Pretty, MANIFEST_BYTES, manifest_of)
            .map_err(|reason| StoreError::UnstorableManifest { reason })?;
        let path = layout::manifest(&self.dir);
        write_whole(&path, Place::Run, bytes.as_slice()).map_err(|e| self.failed("write", &path, e))
    }

    /// Where the run is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Stores one trial, durably, before it returns; an earlier record of the same trial is
    /// replaced. Raw samples go into a file of their own, written first, so that a stored trial has
    /// them.
    pub fn write_trial(&self, record: &TrialRecord) -> Result<(), StoreError> {
        let id = record.id;
        let stored = StoredTrial {
            record: TrialRecord {
                raw: Vec::new(),
                ..record.clone()
            },
            raw_samples: record.raw.len() as u64,
        };
        let bytes = readable(&stored, Layout::Compact, TRIAL_BYTES, StoredTrial::read)
            .map_err(|reason| StoreError::Unstorable { id, reason })?;
        if !record.raw.is_empty() {
            let raw_dir = self.dir.join(RAW);
            fs::create_dir_all(&raw_dir).map_err(|e| self.failed("create", &raw_dir, e))?;
            let text = raw::encode(&record.raw);
            files::within(text.len() as u64, raw::most(stored.raw_samples)).map_err(|e| {
                StoreError::Unstorable {
                    id,
                    reason: format!("of its raw samples, {e}"),
                }
            })?;
            self.write(&layout::raw(&self.dir, id), text.as_bytes())?;
        }
        self.write(&layout::trial(&self.dir, id), &bytes)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        write_whole(path, Place::Folder, bytes).map_err(|e| self.failed("write", path, e))
    }

    fn failed(&self, action: &'static str, path: &Path, source: io::Error) -> StoreError {
        if is_full(&source) {
            StoreError::NoSpace {
                path: path.to_owned(),
                dir: self.dir.clone(),
                source,
            }
        } else {
            StoreError::io(action, path)(source)
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Layout {
    Compact,
    Pretty,
}

/// The value as JSON, ending in a line feed, having made sure that `read` can read it back: JSON has no
/// numbers that are not finite, readers take at most `most` bytes, and what cannot be read must not take the place of what can.
pub(crate) fn readable<T>(
    value: &impl Serialize,
    form: Layout,
    most: u64,
    read: impl Fn(&[u8]) -> serde_json::Result<T>,
) -> Result<Vec<u8>, String> {
    let bytes = match form {
        Layout::Compact => serde_json::to_vec(value),
        Layout::Pretty => serde_json::to_vec_pretty(value),
    };
    let mut bytes = bytes.map_err(|e| e.to_string())?;
    read(&bytes).map_err(|e| e.to_string())?;
    bytes.push(b'\n');
    files::within(bytes.len() as u64, most).map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// Refuses a directory that holds anything but what a start leaves that was cut off before its manifest was written: a lock
/// file, an empty folder for trials, a part of the manifest.
fn refuse_occupied(dir: &Path) -> Result<(), StoreError> {
    let entries = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(StoreError::io("read", dir))?,
    };
    for entry in entries {
        let entry = entry.map_err(StoreError::io("read", dir))?;
        let name = entry.file_name();
        let is_of_a_start = match name.to_str() {
            Some(TRIALS) => is_empty_folder(&entry),
            Some(name) => name == LOCK || name.starts_with(TEMPORARY) && name.ends_with(MANIFEST),
            None => false,
        };
        if !is_of_a_start {
            return Err(StoreError::NotEmpty {
                dir: dir.to_owned(),
                run: layout::manifest(dir).exists(),
            });
        }
    }
    Ok(())
}

fn is_empty_folder(entry: &fs::DirEntry) -> bool {
    // A link to a folder is none.
    let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
    is_folder && fs::read_dir(entry.path()).is_ok_and(|mut inside| inside.next().is_none())
}

/// Takes the lock of a run directory. The kernel releases it when the process ends; the file stays,
/// because removing it would let a third writer lock another file of the same name.
fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let mut file = create_lock(&path).map_err(StoreError::io("create", &path))?;
    match try_for_a_moment(&file) {
        Ok(()) => {
            // The process number only serves the other runner's message.
            let _ = file
                .set_len(0)
                .and_then(|()| writeln!(file, "{}", std::process::id()));
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let _ = (&file).take(LOCK_BYTES).read_to_string(&mut text);
            Err(StoreError::Locked {
                dir: dir.to_owned(),
                pid: text.trim().parse().ok(),
            })
        }
        Err(TryLockError::Error(source)) => Err(StoreError::io("lock", &path)(source)),
    }
}

/// Those who only look whether a runner is at work hold the lock for an instant.
fn try_for_a_moment(file: &File) -> Result<(), TryLockError> {
    const TRIES: u32 = 20;
    const PAUSE: Duration = Duration::from_millis(5);
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    file.try_lock()
}
