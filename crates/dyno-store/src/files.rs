//! Writing a file so that it is there whole or not at all.

use crate::error::StoreError;
use crate::layout::TEMPORARY;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to `path`: into a temporary file of the same directory, synced, then renamed over
/// `path`, then the directory synced. After an error `path` is as it was and the temporary file is
/// gone; after a crash at any instant `path` is as it was or whole.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut name = OsString::from(format!("{TEMPORARY}{}-", std::process::id()));
    name.push(path.file_name().unwrap_or_default());
    let temporary = parent.join(name);
    let written = File::create(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        // The write's own error matters; a leftover would be removed on resume.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    sync_dir(parent)
}

/// Makes the entries of a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    let dir = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    File::open(dir)?.sync_all()
}

/// Removes what crashed writers left in `dir`; a directory that does not exist has nothing.
pub(crate) fn remove_temporaries(dir: &Path) -> Result<(), StoreError> {
    let entries = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(StoreError::io("read", dir))?,
    };
    for entry in entries {
        let entry = entry.map_err(StoreError::io("read", dir))?;
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            let path = entry.path();
            fs::remove_file(&path).map_err(StoreError::io("remove", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        write_whole(&path, b"old").unwrap();
        // A directory in the file's place cannot be renamed over.
        let blocked = dir.path().join("b.json");
        fs::create_dir(&blocked).unwrap();
        fs::write(blocked.join("x"), "").unwrap();
        assert!(write_whole(&blocked, b"new").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
