//! Directories that nobody else can have written, by handle.
//!
//! Scratch places lie in a folder that everybody may write to. What is found there is obeyed only if this user made it:
//! a directory is opened without following a link, its owner and mode are read from the handle, and all further work goes
//! through that handle, so that what a stranger puts in its place meanwhile is never reached.

use dyno_own::Why;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Notes are a few lines.
const NOTE_BYTES: u64 = 1 << 20;

/// Something that stands in a place of Dyno's and was left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Where it is.
    pub path: PathBuf,
    /// Why it is not Dyno's to remove.
    pub why: Why,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Quoted: whoever chose the name may have put control characters into it.
        write!(f, "left {:?} alone: {}", self.path, self.why)
    }
}

/// This user, by whose name files are made.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether somebody else than the owner may write.
fn is_open(stat: &Stat) -> bool {
    stat.st_mode & 0o022 != 0
}

/// A directory in which this user alone makes and removes entries.
pub(crate) struct OwnDir {
    handle: OwnedFd,
    path: PathBuf,
}

impl OwnDir {
    /// The directory `name` in `parent`.
    fn open(parent: impl AsFd, name: &OsStr, path: PathBuf) -> Result<Self, Left> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let left = |why| Left {
            path: path.clone(),
            why,
        };
        // A file system of a stranger's own may say of its files what it likes, and may never answer.
        let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
        let handle = match openat2(&parent, name, flags, Mode::empty(), resolve) {
            // Linux before 5.6, and sandboxes that do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => openat(&parent, name, flags, Mode::empty()),
            other => other,
        };
        let handle = handle.map_err(|e| match e {
            Errno::LOOP | Errno::NOTDIR | Errno::XDEV => left(Why::NoDirectory),
            _ => left(Why::Unreadable(io::Error::from(e).to_string())),
        })?;
        let stat = fstat(&handle).map_err(|e| left(Why::Unreadable(e.to_string())))?;
        if stat.st_uid != user() {
            return Err(left(Why::Owner(stat.st_uid)));
        }
        Ok(OwnDir { handle, path })
    }

    /// The directory `name` in `folder`, to which nobody else may write.
    pub(crate) fn top(folder: &Path, name: &OsStr) -> Result<Self, Left> {
        let path = folder.join(name);
        let parent = rustix::fs::open(folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let parent = parent.map_err(|e| Left {
            path: path.clone(),
            why: Why::Unreadable(io::Error::from(e).to_string()),
        })?;
        let own = Self::open(parent, name, path)?;
        match fstat(&own.handle) {
            Ok(stat) if !is_open(&stat) => Ok(own),
            Ok(stat) => Err(Left {
                path: own.path,
                why: Why::Writable(stat.st_mode & 0o7777),
            }),
            Err(e) => Err(Left {
                path: own.path,
                why: Why::Unreadable(e.to_string()),
            }),
        }
    }

    /// Makes a directory in it for this user alone.
    pub(crate) fn make(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.handle, name, Mode::RWXU)?)
    }

    /// A directory in it.
    pub(crate) fn dir(&self, name: &OsStr) -> Result<Self, Left> {
        Self::open(&self.handle, name, self.path.join(name))
    }

    /// Lets nobody else see what is in it.
    pub(crate) fn protect(&self) -> io::Result<()> {
        Ok(rustix::fs::fchmod(&self.handle, Mode::RWXU)?)
    }

    /// Its path, for messages and other processes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of an entry that leads through the handle, whatever has become of the directory's name.
    fn through(&self, name: &OsStr) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd())).join(name)
    }

    /// The names of its entries.
    pub(crate) fn names(&self) -> Vec<OsString> {
        let entries = fs::read_dir(self.through(OsStr::new("")));
        let entries = entries.into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    }

    /// The text of a note in it: a file of this user's with one name. Anything else has none.
    pub(crate) fn note(&self, name: &OsStr) -> String {
        // A pipe must not keep its reader waiting.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut text = String::new();
        if let Ok(file) = openat(&self.handle, name, flags, Mode::empty())
            && fstat(&file).is_ok_and(|stat| is_own_file(&stat))
            && File::from(file)
                .take(NOTE_BYTES)
                .read_to_string(&mut text)
                .is_err()
        {
            text.clear();
        }
        text
    }

    /// Removes an entry and all that is in it. What cannot be removed now is tried again at the next start.
    pub(crate) fn remove(&self, name: &OsStr) -> bool {
        remove_all(&self.through(name))
    }

    /// When it was made, where its file system keeps that.
    fn made(&self) -> Option<std::time::SystemTime> {
        fs::metadata(self.through(OsStr::new("")))
            .ok()?
            .created()
            .ok()
    }

    /// Removes a file that a process of the session with this scratch directory noted. A note counts only for what this user made
    /// since the session began, under one name, and where nobody else can put another file in its place.
    pub(crate) fn remove_noted(&self, path: &Path) -> bool {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return false;
        };
        let Ok(handle) = rustix::fs::open(parent, flags, Mode::empty()) else {
            return false;
        };
        if !path.is_absolute() || !fstat(&handle).is_ok_and(|stat| keeps_names(&stat)) {
            return false;
        }
        let parent = OwnDir {
            handle,
            path: parent.to_owned(),
        };
        let Ok(stat) =
            rustix::fs::statat(&parent.handle, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        else {
            return false;
        };
        let made = fs::symlink_metadata(parent.through(name)).and_then(|m| m.created());
        // Without times of creation the other conditions stand alone.
        let is_newer = self
            .made()
            .zip(made.ok())
            .is_none_or(|(begun, made)| made >= begun);
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        stat.st_uid == user()
            && stat.st_nlink == 1
            && !is_directory
            && is_newer
            && rustix::fs::unlinkat(&parent.handle, name, rustix::fs::AtFlags::empty()).is_ok()
    }
}

fn is_own_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_uid == user()
        && stat.st_nlink == 1
}

/// Whether an entry of this user stays what it is in that directory: its owner is this user or root, and others
/// either cannot write to it or cannot remove what is not theirs.
fn keeps_names(stat: &Stat) -> bool {
    is_trusted(stat.st_uid) && (!is_open(stat) || stat.st_mode & 0o1000 != 0)
}

/// This user, root, or whoever root is seen as in a user namespace.
fn is_trusted(uid: u32) -> bool {
    uid == user() || uid == 0 || fs::metadata("/").is_ok_and(|root| root.uid() == uid)
}

/// Why temporary files cannot be put below `folder`, if they cannot: strangers could exchange it, or a directory above it.
pub(crate) fn objection(folder: &Path) -> Option<Left> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let why = |path: &Path| match rustix::fs::open(path, flags, Mode::empty()).and_then(fstat) {
        Err(e) => Some(Why::Unreadable(io::Error::from(e).to_string())),
        Ok(stat) if keeps_names(&stat) => None,
        Ok(stat) if !is_trusted(stat.st_uid) => Some(Why::Owner(stat.st_uid)),
        Ok(stat) => Some(Why::Writable(stat.st_mode & 0o7777)),
    };
    folder.ancestors().find_map(|path| {
        why(path).map(|why| Left {
            path: path.to_owned(),
            why,
        })
    })
}

/// Removes the files and directories of this user in `folder` whose names contain `name`; returns their paths.
pub(crate) fn remove_named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|e| e.file_name().to_string_lossy().contains(name));
    let own = named.filter(|e| e.metadata().is_ok_and(|m| m.uid() == user()));
    own.map(|e| e.path())
        .filter(|path| remove_all(path))
        .collect()
}

/// Removes a file, or a directory with all that is in it; a link is removed and not followed.
fn remove_all(path: &Path) -> bool {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    removed.is_ok()
}
