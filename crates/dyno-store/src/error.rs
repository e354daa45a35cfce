//! What can go wrong with a run directory. Every text says what to do next.

use dyno_model::plan::TrialId;
use std::io;
use std::path::{Path, PathBuf};

/// What went wrong with a run directory.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no manifest.
    #[error(
        "cannot find a run in {dir}: {reason}; name a directory that `dyno run` wrote, or `latest`"
    )]
    NotARun {
        /// The directory.
        dir: PathBuf,
        /// `it does not exist`, `it has no run.json`.
        reason: &'static str,
    },
    /// No run was found to choose from.
    #[error(
        "there is no run in {runs_dir} yet; start one with `dyno run quick` or name a run directory"
    )]
    NoRuns {
        /// Where it was looked for.
        runs_dir: PathBuf,
    },
    /// A format that is not known yet.
    #[error(
        "{path} was written by a newer Dyno (format {found}), this one reads up to {readable}; update Dyno"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that can be read.
        readable: u32,
    },
    /// The manifest cannot be understood.
    #[error(
        "{path} is damaged: {reason}; without it the trials cannot be interpreted: restore it from a copy, or measure again"
    )]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Raw samples cannot be understood.
    #[error(
        "{path} is damaged: {reason}; the trial itself is intact, only its raw samples are lost"
    )]
    Raw {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A new run would mix with what is there.
    #[error(
        "{dir} is not empty; choose another --out{}",
        if *run {
            format!(", or finish the run that it holds with `dyno run --resume {}`", dir.display())
        } else {
            String::new()
        }
    )]
    NotEmpty {
        /// The directory.
        dir: PathBuf,
        /// It holds a run.
        run: bool,
    },
    /// Another runner writes there.
    #[error(
        "{dir} is in use by another dyno{}; wait for it to end or choose another --out",
        pid.map(|p| format!(" (process {p})")).unwrap_or_default()
    )]
    Locked {
        /// The directory.
        dir: PathBuf,
        /// The other runner's process, where it is known.
        pid: Option<u32>,
    },
    /// The disk, a quota or a file size limit is full, before anything was measured.
    #[error(
        "cannot write {path}: {source}; nothing was measured; free some space or choose another --out"
    )]
    NoSpaceToStart {
        /// The file that did not fit.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The disk, a quota or a file size limit is full, while runs are merged.
    #[error(
        "cannot write {path}: {source}; nothing was merged, and the runs are as they were; free some space or choose another --out"
    )]
    NoSpaceToMerge {
        /// The file that did not fit.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The disk, a quota or a file size limit is full.
    #[error(
        "cannot write {path}: {source}; all trials stored before are intact; free some space, then finish the run with `dyno run --resume {dir}`"
    )]
    NoSpace {
        /// The file that did not fit.
        path: PathBuf,
        /// The run directory.
        dir: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Another failed system call.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// `create`, `read`, `write`, `lock`, `remove`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A record that could not be read back, such as one with a number that is not finite.
    #[error("trial {id} cannot be stored: {reason}; this is a defect of Dyno, please report it")]
    Unstorable {
        /// The trial.
        id: TrialId,
        /// What the reader would say.
        reason: String,
    },
    /// A manifest that could not be read back.
    #[error(
        "the manifest cannot be stored: {reason}; plan fewer experiments in one run (--experiment, --stack); if there are few, this is a defect of Dyno, please report it"
    )]
    UnstorableManifest {
        /// What the reader would say.
        reason: String,
    },
}

impl StoreError {
    /// A failed system call on `path`, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io {
            action,
            path,
            source,
        }
    }
}

/// Whether there was no room: disk, quota, or the limit on the size of a file.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
