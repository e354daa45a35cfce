//! The one place that opens the files of a run. A run may be anybody's: what lies in its directory is a regular file of
//! a bounded size or it is refused, and nothing in it leads out of it. The directory itself may be reached through a link.
//!
//! Files are written so that they are there whole or not at all.

use crate::error::StoreError;
use rustix::fs::{self as sys, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What names of unfinished files start with.
pub(crate) const TEMPORARY: &str = ".tmp-";
/// The largest manifest, in bytes: that of 40,000 experiments is smaller.
pub(crate) const MANIFEST_BYTES: u64 = 64 << 20;
/// The largest trial, in bytes: one with a hundred thousand counts of channels is smaller.
pub(crate) const TRIAL_BYTES: u64 = 32 << 20;
/// The largest text that is kept of what was printed, in bytes.
pub(crate) const SHOWN_BYTES: u64 = 64 << 20;
/// The longest lock file, in bytes: a process number.
pub(crate) const LOCK_BYTES: u64 = 64;
const NO_FILE: &str =
    "it is not a regular file: a run has no links, pipes or devices; put the file itself there";
const NO_FOLDER: &str =
    "the folder that it lies in is a link or no folder: put the folder itself there";
/// The most files in one folder of a run.
const FILES: usize = 1_000_000;

/// Where a file lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the run directory itself, which may be reached through a link.
    Run,
    /// In a folder of it, which may not.
    Folder,
}

impl Place {
    fn open(self, folder: &Path) -> io::Result<OwnedFd> {
        let own = match self {
            Place::Run => OFlags::empty(),
            Place::Folder => OFlags::NOFOLLOW,
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | own;
        sys::open(folder, flags, Mode::empty()).map_err(|e| match (self, e) {
            // Also what open(2) says of a link that it may not follow.
            (Place::Folder, Errno::NOTDIR | Errno::LOOP) => other(NO_FOLDER),
            (_, e) => e.into(),
        })
    }
}

fn other(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

fn parts(path: &Path) -> io::Result<(&Path, &std::ffi::OsStr)> {
    let name = path.file_name().ok_or_else(|| other("it has no name"))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    Ok((folder, name))
}

/// Opens a regular file of a run; what else has its name is refused without waiting for it.
fn open(path: &Path, place: Place, flags: OFlags) -> io::Result<File> {
    let (folder, name) = parts(path)?;
    let folder = place.open(folder)?;
    let never = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let file = File::from(
        sys::openat(folder, name, flags | never, mode).map_err(|e| match e {
            // open(2): a link, a socket or a device without a driver.
            Errno::LOOP | Errno::NXIO => other(NO_FILE),
            e => e.into(),
        })?,
    );
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(other(NO_FILE)),
    }
}

/// The content of a file of a run, which may have `most` bytes.
///
/// # Errors
///
/// When it cannot be opened or read, is no regular file, is reached through a link within the run, or is larger.
pub(crate) fn read(path: &Path, place: Place, most: u64) -> io::Result<Vec<u8>> {
    let file = open_to_read(path, place, most)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // It may grow meanwhile.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    within(bytes.len() as u64, most)?;
    Ok(bytes)
}

/// [`read`] without reading.
pub(crate) fn open_to_read(path: &Path, place: Place, most: u64) -> io::Result<File> {
    let file = open(path, place, OFlags::RDONLY)?;
    within(file.metadata()?.len(), most)?;
    Ok(file)
}

/// Fails where a file has more than `most` bytes.
pub(crate) fn within(size: u64, most: u64) -> io::Result<()> {
    match size <= most {
        true => Ok(()),
        false => Err(other(format!(
            "it has {size} bytes, where such a file has at most {most}"
        ))),
    }
}

/// The lock file of the run directory `dir`, to read.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    open_to_read(path, Place::Run, LOCK_BYTES)
}

/// The lock file, made where it is not there, to write.
pub(crate) fn create_lock(path: &Path) -> io::Result<File> {
    let file = open(path, Place::Run, OFlags::RDWR | OFlags::CREATE)?;
    match file.metadata()?.nlink() {
        0 | 1 => Ok(file),
        names => Err(other(format!(
            "it is one file with {names} names, and one of them may be a file of yours; remove this name"
        ))),
    }
}

/// The entries of a folder of a run; none of one that does not exist.
pub(crate) fn list(folder: &Path, place: Place) -> io::Result<Vec<PathBuf>> {
    match place.open(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        if paths.len() == FILES {
            return Err(other(format!("it holds more than {FILES} files")));
        }
        paths.push(entry?.path());
    }
    Ok(paths)
}

/// Writes `content` to `path`: into a temporary file of the same directory, synced, then renamed over
/// `path`, then the directory synced. After an error `path` is as it was and the temporary file is
/// gone; after a crash at any instant `path` is as it was or whole.
pub(crate) fn write_whole(path: &Path, place: Place, mut content: impl Read) -> io::Result<()> {
    let (folder, name) = parts(path)?;
    let folder = place.open(folder)?;
    let mut temporary = OsString::from(format!("{TEMPORARY}{}-", std::process::id()));
    temporary.push(name);
    // What lies there is of a process of the same number that was killed.
    let _ = sys::unlinkat(&folder, &temporary, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let written = sys::openat(&folder, &temporary, flags, Mode::from_raw_mode(0o666))
        .map_err(io::Error::from)
        .and_then(|fd| {
            let mut file = File::from(fd);
            io::copy(&mut content, &mut file)?;
            file.sync_all()?;
            Ok(sys::renameat(&folder, &temporary, &folder, name)?)
        });
    if let Err(error) = written {
        // The write's own error matters; a leftover would be removed on resume.
        let _ = sys::unlinkat(&folder, &temporary, AtFlags::empty());
        return Err(error);
    }
    Ok(sys::fsync(&folder)?)
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
pub(crate) fn remove_temporaries(dir: &Path, place: Place) -> Result<(), StoreError> {
    for path in list(dir, place).map_err(StoreError::io("read", dir))? {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if name.starts_with(TEMPORARY.as_bytes()) {
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
        write_whole(&path, Place::Run, &b"old"[..]).unwrap();
        // A directory in the file's place cannot be renamed over.
        let blocked = dir.path().join("b.json");
        fs::create_dir(&blocked).unwrap();
        fs::write(blocked.join("x"), "").unwrap();
        assert!(write_whole(&blocked, Place::Run, &b"new"[..]).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
