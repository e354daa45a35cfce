//! Files and folders, with errors that name them.

use crate::Outcome;
use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Says of an error what could not be done with which file.
pub(crate) fn cannot<T>(what: &str, path: &Path, result: io::Result<T>) -> Result<T, String> {
    result.map_err(|e| format!("cannot {what} {}: {e}", path.display()))
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    cannot("read", path, fs::read_to_string(path))
}

pub(crate) fn json(path: &Path) -> Result<Value, String> {
    serde_json::from_str(&read(path)?).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Outcome {
    cannot("write", path, fs::write(path, content))
}

pub(crate) fn make_folder(folder: &Path) -> Outcome {
    cannot("create", folder, fs::create_dir_all(folder))
}

pub(crate) fn remove_folder(folder: &Path) -> Outcome {
    cannot("remove", folder, fs::remove_dir_all(folder))
}

/// Makes the folder, with nothing in it.
pub(crate) fn empty(folder: &Path) -> Outcome {
    let gone = match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => fs::create_dir_all(folder),
    };
    cannot("empty", folder, gone)
}

/// What lies in a folder, by name.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect::<io::Result<Vec<_>>>()
    });
    let mut paths = cannot("read", folder, entries)?;
    paths.sort();
    Ok(paths)
}
