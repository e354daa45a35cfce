//! What a release is called, and where it is put together.

use crate::Outcome;
use std::fs;
use std::path::Path;

/// What is built and packed, and how it is called.
pub(super) struct Release {
    pub(super) version: String,
    /// Seconds since 1970 of the commit, or of SOURCE_DATE_EPOCH.
    pub(super) time: String,
    /// As Debian says it, such as `amd64`.
    pub(super) architecture: String,
    /// Name and address of whoever answers for the packages.
    pub(super) maintainer: String,
    /// Where Dyno comes from.
    pub(super) homepage: String,
}

/// An empty folder.
pub(super) fn empty(folder: &Path) -> Outcome {
    let gone = match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => fs::create_dir_all(folder),
    };
    gone.map_err(|e| format!("cannot empty {}: {e}", folder.display()))
}
