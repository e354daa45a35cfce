//! The folder that is served, and nothing outside it.
//!
//! A name from a request is compared with the names that the folder has; no path is made of it. Links are
//! followed only to places within the folder, and a run is read only if all its files are plain files: a
//! pipe in a file's place would hold up whoever reads it. Whoever may write into the folder while it is
//! served is trusted not to race these checks.

use crate::error::ServeError;
use dyno_store::{MANIFEST, PARTS, RAW, TRIALS};
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// The largest manifest that is read, in bytes. Those of long campaigns have about one.
const LARGEST_MANIFEST: u64 = 64 << 20;

/// The folder of runs.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Without links.
    root: PathBuf,
}

/// Why a directory is not opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The folder has no directory of that name.
    Missing,
    /// It has one that is not to be read, and this is why.
    Refused(String),
}

impl Folder {
    /// The folder at `path`, which must be a directory and not a run itself.
    pub(crate) fn open(path: &Path) -> Result<Folder, ServeError> {
        let failed = |source| ServeError::Folder {
            folder: path.to_owned(),
            source,
        };
        let root = fs::canonicalize(path).map_err(failed)?;
        fs::read_dir(&root).map_err(failed)?;
        if root.join(MANIFEST).is_file() {
            let above = root.parent().unwrap_or(&root).to_owned();
            return Err(ServeError::IsARun {
                run: path.to_owned(),
                folder: above,
            });
        }
        Ok(Folder { root })
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The names of what could be runs: directories, and links, whose targets [`Folder::find`] looks at.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let could_be = entry
                .file_type()
                .is_ok_and(|t| t.is_dir() || t.is_symlink());
            if could_be && !is_hidden(&entry.file_name()) {
                names.push(entry.file_name());
            }
        }
        Ok(names)
    }

    /// The directory of that name, ready to be read.
    pub(crate) fn find(&self, name: &OsStr) -> Result<PathBuf, Closed> {
        let names = self
            .names()
            .map_err(|e| Closed::Refused(format!("the folder cannot be read: {e}")))?;
        let known = names.iter().find(|n| *n == name).ok_or(Closed::Missing)?;
        let directory = self.root.join(known);
        let kind = self.kind(&directory)?;
        if !kind.is_some_and(|k| k.is_dir()) {
            return Err(Closed::Missing);
        }
        for (file, must_be) in [
            (MANIFEST, Must::BeFile),
            (".lock", Must::BeFile),
            (TRIALS, Must::HoldFiles),
            (PARTS, Must::HoldFiles),
            (RAW, Must::HoldFiles),
        ] {
            self.check(&directory.join(file), must_be)?;
        }
        let manifest = fs::metadata(directory.join(MANIFEST));
        if manifest.is_ok_and(|m| m.len() > LARGEST_MANIFEST) {
            let text = format!("{MANIFEST} is larger than {} MiB", LARGEST_MANIFEST >> 20);
            return Err(Closed::Refused(text));
        }
        Ok(directory)
    }

    /// What is there, links followed within the folder; `None`: nothing.
    fn kind(&self, path: &Path) -> Result<Option<FileType>, Closed> {
        let shown = path.strip_prefix(&self.root).unwrap_or(path).display();
        let unreadable = |e: io::Error| Closed::Refused(format!("cannot read {shown}: {e}"));
        let kind = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata.file_type(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(unreadable(e)),
        };
        if !kind.is_symlink() {
            return Ok(Some(kind));
        }
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Closed::Refused(format!("{shown} is a link to nothing")));
            }
            Err(e) => return Err(unreadable(e)),
        };
        if !target.starts_with(&self.root) {
            return Err(Closed::Refused(format!(
                "{shown} is a link that leads out of the served folder, which Dyno does not \
                 follow; copy the run into the folder instead"
            )));
        }
        let metadata = fs::symlink_metadata(&target).map_err(unreadable)?;
        Ok(Some(metadata.file_type()))
    }

    fn check(&self, path: &Path, must: Must) -> Result<(), Closed> {
        let shown = path.strip_prefix(&self.root).unwrap_or(path);
        let other = |what: &str| {
            let text = format!("{} is not {what}, but in a run it must be", shown.display());
            Err(Closed::Refused(text))
        };
        match (self.kind(path)?, must) {
            (None, _) => Ok(()),
            (Some(kind), Must::BeFile) if kind.is_file() => Ok(()),
            (Some(_), Must::BeFile) => other("a plain file"),
            (Some(kind), Must::HoldFiles) if !kind.is_dir() => other("a directory"),
            (Some(_), Must::HoldFiles) => {
                let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
                let entries = entries.map_err(|e| {
                    Closed::Refused(format!("cannot read {}: {e}", shown.display()))
                })?;
                for entry in entries {
                    // Most file systems tell what an entry is without another look.
                    if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                        self.check(&entry.path(), Must::BeFile)?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// What a part of a run has to be, if it is there.
#[derive(Debug, Clone, Copy)]
enum Must {
    BeFile,
    HoldFiles,
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().first() == Some(&b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A folder with the run `good`, and beside it a run that is not served.
    fn place() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        for run in ["runs/good", "outside"] {
            let run = place.path().join(run);
            fs::create_dir_all(run.join(TRIALS)).unwrap();
            fs::write(run.join(MANIFEST), "{}").unwrap();
            fs::write(run.join(TRIALS).join("e0000-t000.json"), "{}").unwrap();
        }
        let folder = Folder::open(&place.path().join("runs")).unwrap();
        (place, folder)
    }

    fn refused(folder: &Folder, name: &str) -> String {
        match folder.find(OsStr::new(name)) {
            Err(Closed::Refused(text)) => text,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn only_names_of_the_folder_are_found() {
        let (place, folder) = place();
        let good = folder.find(OsStr::new("good")).unwrap();
        assert_eq!(good, folder.root().join("good"));
        fs::create_dir(folder.root().join(".hidden")).unwrap();
        fs::write(folder.root().join("file"), "").unwrap();
        let outside = place.path().join("outside");
        for name in [
            "..",
            ".",
            "../outside",
            "good/../good",
            ".hidden",
            "file",
            "none",
            "good/",
        ] {
            assert_eq!(
                folder.find(OsStr::new(name)),
                Err(Closed::Missing),
                "{name}"
            );
        }
        assert_eq!(folder.find(outside.as_os_str()), Err(Closed::Missing));
        assert_eq!(folder.names().unwrap(), ["good"]);
    }

    #[test]
    fn links_lead_to_places_within_the_folder_only() {
        let (place, folder) = place();
        let outside = place.path().join("outside");
        symlink("good", folder.root().join("again")).unwrap();
        symlink(&outside, folder.root().join("leak")).unwrap();
        symlink("nowhere", folder.root().join("dangling")).unwrap();
        symlink("loop", folder.root().join("loop")).unwrap();
        assert!(folder.find(OsStr::new("again")).is_ok());
        assert!(
            refused(&folder, "leak").contains("leak is a link that leads out of the served folder")
        );
        assert!(refused(&folder, "dangling").contains("is a link to nothing"));
        assert!(refused(&folder, "loop").contains("cannot read loop"));
    }

    #[test]
    fn a_run_with_parts_elsewhere_or_of_another_kind_is_refused() {
        let (place, folder) = place();
        let outside = place.path().join("outside");
        let run = |name: &str| {
            let run = folder.root().join(name);
            fs::create_dir_all(run.join(TRIALS)).unwrap();
            run
        };
        symlink(outside.join(MANIFEST), run("a").join(MANIFEST)).unwrap();
        symlink("/dev/zero", run("b").join(".lock")).unwrap();
        let trial = outside.join(TRIALS).join("e0000-t000.json");
        symlink(trial, run("c").join(TRIALS).join("e0000-t000.json")).unwrap();
        symlink(outside.join(TRIALS), run("d").join(RAW)).unwrap();
        for name in ["a", "b", "c", "d"] {
            let text = refused(&folder, name);
            assert!(
                text.contains("link that leads out of the served folder"),
                "{name}: {text}"
            );
        }
        fs::create_dir(run("e").join(MANIFEST)).unwrap();
        assert!(refused(&folder, "e").contains("e/run.json is not a plain file"));
        let pipe = run("f").join(TRIALS).join("e0000-t000.json");
        let path = std::ffi::CString::new(pipe.as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: the path ends in NUL and outlives the call.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        assert!(refused(&folder, "f").contains("e0000-t000.json is not a plain file"));
    }

    #[test]
    fn a_run_or_nothing_is_no_folder_of_runs() {
        let (place, _) = place();
        let run = place.path().join("runs/good");
        let e = Folder::open(&run).unwrap_err().to_string();
        assert!(e.contains("is a run; name the folder that holds it"), "{e}");
        let e = Folder::open(&place.path().join("none"))
            .unwrap_err()
            .to_string();
        assert!(e.contains("`dyno run quick`"), "{e}");
        let file = run.join(MANIFEST);
        assert!(Folder::open(&file).is_err());
    }
}
