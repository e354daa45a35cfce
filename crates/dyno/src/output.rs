//! Where exports go: a file or a directory that appears whole or not at all.
//!
//! Both are made under a hidden name beside their place and renamed. Ctrl-C, SIGTERM and SIGHUP take away
//! what was made so far; a second one ends the program where it stands.

use crate::exit::{Failure, Result};
use crate::interrupt::on_interrupt;
use crate::terminal;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::{Builder, TempDir};

/// What names of unfinished files and directories start with.
const TEMPORARY: &str = ".tmp-dyno-";

/// Whether the user wants it to end. While it exists, the signals are only noted.
#[derive(Clone)]
struct Interruption(Arc<AtomicBool>);

impl Interruption {
    fn watch() -> Result<Self> {
        on_interrupt(false).map(Interruption)
    }

    fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The failure of a write: the interruption, if there was one.
    fn or(&self, path: &Path, e: &dyn std::fmt::Display) -> Failure {
        match self.is_wanted() {
            true => interrupted(path),
            false => cannot("write", path, e),
        }
    }
}

/// A file under construction, whose writes fail once the user wants it to end.
struct Stoppable {
    file: File,
    stop: Interruption,
}

impl Write for Stoppable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // `ErrorKind::Interrupted` would only be tried again.
        if self.stop.is_wanted() {
            return Err(io::Error::other("interrupted"));
        }
        self.file.write(&bytes[..bytes.len().min(1 << 20)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What `--out` names, where that is not standard output (`-`).
pub(crate) fn named(out: Option<&Path>) -> Option<&Path> {
    out.filter(|path| *path != Path::new("-"))
}

/// Writes to the file that `--out` names, or else to standard output.
pub(crate) fn put(out: Option<&Path>, text: &str) -> Result<()> {
    match named(out) {
        Some(path) => write_file(path, text.as_bytes()),
        None => terminal::print(text),
    }
}

/// Writes a file. One that is there already is replaced; what is no file, such as a pipe or a device, is
/// written to as it is.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let known = fs::metadata(path).ok();
    if known.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(failure!(
            Usage,
            "{} is a directory: name a file",
            path.display()
        ));
    }
    if known.is_some_and(|m| !m.is_file()) {
        return fs::write(path, bytes).map_err(|e| cannot("write", path, &e));
    }
    // A symbolic link stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let stop = Interruption::watch()?;
    let failed = |e: io::Error| stop.or(path, &e);
    let temporary = Builder::new()
        .prefix(TEMPORARY)
        .make_in(parent(&target), |p| {
            let file = File::options().write(true).create_new(true).open(p)?;
            let stop = stop.clone();
            Ok(Stoppable { file, stop })
        });
    let mut temporary = temporary.map_err(failed)?;
    temporary
        .as_file_mut()
        .write_all(bytes)
        .and_then(|()| temporary.as_file().file.sync_all())
        .map_err(failed)?;
    temporary.persist(&target).map_err(|e| failed(e.error))?;
    Ok(())
}

/// A directory under construction. Its files are not synced one by one: an export can be made again.
pub(crate) struct Folder {
    target: PathBuf,
    temporary: TempDir,
    stop: Interruption,
    files: Vec<String>,
}

impl Folder {
    /// Refuses a place that is taken, before anything is computed for it.
    pub(crate) fn refuse_occupied(target: &Path) -> Result<()> {
        let advice = match fs::read_dir(target) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => "is not a directory",
            Err(e) => return Err(cannot("read", target, &e)),
            Ok(mut entries) => match entries.next() {
                None => return Ok(()),
                Some(_) => "is not empty",
            },
        };
        Err(failure!(
            Usage,
            "{} {advice}: name a new directory with -o",
            target.display()
        ))
    }

    /// Begins a directory that will be at `target`.
    pub(crate) fn create(target: &Path) -> Result<Self> {
        let stop = Interruption::watch()?;
        let temporary = Builder::new()
            .prefix(TEMPORARY)
            .permissions(Permissions::from_mode(0o777))
            .tempdir_in(parent(target))
            .map_err(|e| stop.or(target, &e))?;
        Ok(Folder {
            target: target.to_owned(),
            temporary,
            stop,
            files: Vec::new(),
        })
    }

    /// Makes a file of that name, which `write` fills.
    pub(crate) fn file<E: std::fmt::Display>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut (dyn Write + Send)) -> std::result::Result<(), E>,
    ) -> Result<()> {
        let path = self.target.join(name);
        let failed = |e: &dyn std::fmt::Display| self.stop.or(&path, e);
        let file = File::create_new(self.temporary.path().join(name)).map_err(|e| failed(&e))?;
        let stop = self.stop.clone();
        let mut out = BufWriter::new(Stoppable { file, stop });
        write(&mut out).map_err(|e| failed(&e))?;
        out.flush().map_err(|e| failed(&e))?;
        self.files.push(name.to_owned());
        Ok(())
    }

    /// Puts the directory in its place, and returns the names of its files.
    pub(crate) fn finish(self) -> Result<Vec<String>> {
        if self.stop.is_wanted() {
            return Err(interrupted(&self.target));
        }
        // Over an empty directory too (rename(2)).
        fs::rename(self.temporary.path(), &self.target)
            .map_err(|e| self.stop.or(&self.target, &e))?;
        // Nothing is left at the hidden name.
        let _ = self.temporary.keep();
        Ok(self.files)
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    }
}

fn cannot(action: &str, path: &Path, e: &dyn std::fmt::Display) -> Failure {
    failure!(
        Error,
        "cannot {action} {}: {e}; name another place with -o",
        path.display()
    )
}

fn interrupted(path: &Path) -> Failure {
    failure!(
        Interrupted,
        "interrupted: {} was not written",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Code;

    #[test]
    fn a_file_replaces_another_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.html");
        write_file(&path, b"one").unwrap();
        write_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let refused = write_file(dir.path(), b"page").unwrap_err();
        assert_eq!(refused.code, Code::Usage);
        assert!(write_file(&dir.path().join("none/report.html"), b"page").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_to_a_file_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let (page, link) = (dir.path().join("page.html"), dir.path().join("link.html"));
        fs::write(&page, "old").unwrap();
        std::os::unix::fs::symlink(&page, &link).unwrap();
        write_file(&link, b"new").unwrap();
        assert_eq!(fs::read(&page).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
