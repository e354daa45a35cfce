//! Reading a run while another process writes it: each trial once, as it appears.

use crate::error::StoreError;
use crate::files::{self, Place, TRIAL_BYTES};
use crate::layout::{LOCK, TRIALS, json_files};
use crate::reader::read_manifest;
use crate::trial::parse;
use dyno_model::record::{RunManifest, TrialRecord};
use std::collections::BTreeMap;
use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Whether a runner holds the lock of the run directory `dir`; `None` where the file system does not tell.
pub fn has_runner(dir: &Path) -> Option<bool> {
    let file = match files::lock_file(&dir.join(LOCK)) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Some(false),
        Err(_) => return None,
    };
    // Shared and given back at once; a runner that starts just then tries again.
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Follows a run directory.
#[derive(Debug)]
pub struct RunFollower {
    dir: PathBuf,
    manifest: RunManifest,
    /// The trial files that were read, with their time of change.
    seen: BTreeMap<PathBuf, Option<SystemTime>>,
}

/// What is new in a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct News {
    /// Trials that were stored since the last look, in the order in which they were run.
    pub trials: Vec<TrialRecord>,
    /// Trials that were known have been measured again: `trials` are all there are, and what was read
    /// before is void.
    pub anew: bool,
}

impl RunFollower {
    /// Starts to follow the run in `dir`.
    ///
    /// # Errors
    ///
    /// When it is not a run directory that can be read.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Ok(RunFollower {
            dir: dir.to_owned(),
            manifest: read_manifest(dir)?,
            seen: BTreeMap::new(),
        })
    }

    /// The run's head.
    pub fn manifest(&self) -> &RunManifest {
        &self.manifest
    }

    /// What is new since the last look; at first everything. Files that cannot be read are passed over:
    /// who shows the run names them.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn news(&mut self) -> Result<News, StoreError> {
        let mut files = self.files()?;
        let replaced = |(path, changed): (&PathBuf, &Option<SystemTime>)| {
            files.get(path).is_none_or(|now| now != changed)
        };
        let anew = self.seen.iter().any(replaced);
        if anew {
            self.seen.clear();
        }
        files.retain(|path, _| !self.seen.contains_key(path));
        let read = |path: &PathBuf| {
            let stem = path.file_stem()?.to_string_lossy();
            let bytes = files::read(path, Place::Folder, TRIAL_BYTES).ok()?;
            parse(&bytes, &stem, &self.manifest.plan).ok()
        };
        let mut trials: Vec<TrialRecord> = files
            .keys()
            .filter_map(read)
            .map(|stored| stored.record)
            .collect();
        trials.sort_by_key(|t| (t.started_unix_ms, t.position, t.id));
        self.seen.append(&mut files);
        Ok(News { trials, anew })
    }

    /// Whether a runner holds the directory's lock; `None` where the file system does not tell.
    pub fn has_runner(&self) -> Option<bool> {
        has_runner(&self.dir)
    }

    /// The trial files that there are, with their time of change.
    fn files(&self) -> Result<BTreeMap<PathBuf, Option<SystemTime>>, StoreError> {
        let trials = self.dir.join(TRIALS);
        let stamped = json_files(&trials)?.into_iter().map(|path| {
            let changed = fs::symlink_metadata(&path).and_then(|m| m.modified()).ok();
            (path, changed)
        });
        Ok(stamped.collect())
    }
}
