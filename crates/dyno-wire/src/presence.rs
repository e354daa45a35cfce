//! Whether a process still lives, for mechanisms that do not tell: a locked file.
//!
//! The kernel gives the lock up when the file is closed, however its owner ends.

use dyno_adapter::{Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Announces its owner until it is dropped.
#[derive(Debug)]
pub struct Presence {
    _file: File,
    path: PathBuf,
}

impl Presence {
    /// Creates and locks the file at `path`.
    pub fn announce(path: &Path) -> Result<Self> {
        let failed = |call, e| Error::system(format!("{call} {}", path.display()), e);
        let file = File::create(path).map_err(|e| failed("create", e))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|e| failed("lock", e.into()))?;
        Ok(Presence {
            _file: file,
            path: path.to_owned(),
        })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        // It lies in the scratch directory, which is removed anyway.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether somebody [announces](Presence::announce) himself at `path`. Two observers never take
/// each other for him.
pub fn is_present(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presence_ends_with_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("reader");
        assert!(!is_present(&path));
        let presence = Presence::announce(&path).unwrap();
        assert!(is_present(&path) && is_present(&path));
        drop(presence);
        assert!(!is_present(&path));
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_outlived_its_owner_is_no_presence() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("reader");
        File::create(&path).unwrap();
        assert!(!is_present(&path));
    }
}
