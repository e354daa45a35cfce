//! How many trials a run has stored and how they ended, without taking in what they measured: for lists
//! of many runs. Only files that changed since the last look are read.

use crate::error::StoreError;
use crate::files::{self, Place, TRIAL_BYTES};
use crate::layout::{TRIALS, json_files};
use dyno_model::record::{FORMAT, FailureKind};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Counts the trials of one run directory, again and again.
#[derive(Debug)]
pub struct Tally {
    dir: PathBuf,
    seen: BTreeMap<OsString, (Stamp, Ending)>,
}

/// What [`Tally::look`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Trials that can be read: completed and failed ones.
    pub stored: usize,
    /// Those of them that failed.
    pub failed: usize,
    /// Those of the failed ones that the user interrupted; `dyno run --resume` measures them again.
    pub interrupted: usize,
    /// Completed trials that do not count, because the host disturbed them.
    pub disturbed: usize,
    /// Files that are not readable trials.
    pub unreadable: usize,
    /// Another number whenever a trial was stored, replaced or removed since the last look.
    pub state: u64,
}

/// What tells one content of a file from another: writers rename a new file into place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    inode: u64,
    size: u64,
    changed: Option<SystemTime>,
}

impl Stamp {
    /// The stamp of a file with that `metadata`.
    pub fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            inode: metadata.ino(),
            size: metadata.len(),
            changed: metadata.modified().ok(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Completed { disturbed: bool },
    Failed { interrupted: bool },
    Unreadable,
}

impl Tally {
    /// Nothing was looked at yet; `dir` need not exist.
    pub fn new(dir: &Path) -> Tally {
        Tally {
            dir: dir.to_owned(),
            seen: BTreeMap::new(),
        }
    }

    /// Counts what there is now.
    ///
    /// # Errors
    ///
    /// When the directory of trials cannot be read. That there is none yet is no error.
    pub fn look(&mut self) -> Result<Count, StoreError> {
        let trials = self.dir.join(TRIALS);
        let mut now = BTreeMap::new();
        for path in json_files(&trials)? {
            let name = path.file_name().unwrap_or_default().to_owned();
            // Removed since the directory was read.
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            let stamp = Stamp::of(&metadata);
            let ending = match self.seen.get(&name) {
                Some((before, ending)) if *before == stamp => *ending,
                _ => ending(&path),
            };
            now.insert(name, (stamp, ending));
        }
        self.seen = now;
        Ok(self.count())
    }

    fn count(&self) -> Count {
        let mut count = Count::default();
        let mut state = DefaultHasher::new();
        for (name, (stamp, ending)) in &self.seen {
            (name, stamp).hash(&mut state);
            match ending {
                Ending::Completed { disturbed } => {
                    count.stored += 1;
                    count.disturbed += usize::from(*disturbed);
                }
                Ending::Failed { interrupted } => {
                    count.stored += 1;
                    count.failed += 1;
                    count.interrupted += usize::from(*interrupted);
                }
                Ending::Unreadable => count.unreadable += 1,
            }
        }
        count.state = state.finish();
        count
    }
}

/// The few fields that tell how a trial ended.
#[derive(Deserialize)]
struct Ended {
    format: u32,
    outcome: How,
    kind: Option<FailureKind>,
    #[serde(default)]
    disturbed: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum How {
    Completed,
    Failed,
}

fn ending(path: &Path) -> Ending {
    let Ok(bytes) = files::read(path, Place::Folder, TRIAL_BYTES) else {
        return Ending::Unreadable;
    };
    match serde_json::from_slice::<Ended>(&bytes) {
        Ok(trial) if trial.format > FORMAT => Ending::Unreadable,
        Ok(trial) => match trial.outcome {
            How::Completed => Ending::Completed {
                disturbed: !trial.disturbed.is_empty(),
            },
            How::Failed => Ending::Failed {
                interrupted: trial.kind == Some(FailureKind::Interrupted),
            },
        },
        Err(_) => Ending::Unreadable,
    }
}
