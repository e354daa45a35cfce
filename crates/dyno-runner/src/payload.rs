//! What is copied to another host: the program that the agents run, and the libraries of its adapters.
//!
//! A payload lies on the host in a directory whose name is the hash of its content. Nothing there is
//! ever changed, so what is there already is right.

use crate::agent::{AgentCommand, describe_adapters};
use crate::error::SshError;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The program within a payload.
pub(crate) const PROGRAM: &str = "dyno";

/// One file or link of a payload.
pub(crate) enum Piece<'a> {
    /// A file with its content.
    File {
        /// Relative to the payload's directory.
        name: &'a Path,
        /// Where it was found.
        from: &'a Path,
        /// All of it.
        bytes: Vec<u8>,
    },
    /// A symbolic link.
    Link {
        /// Relative to the payload's directory.
        name: &'a Path,
        /// Where it was found.
        from: &'a Path,
        /// What it names.
        target: &'a Path,
    },
}

/// Files by their paths within the payload's directory.
pub(crate) struct Payload {
    /// 32 hexadecimal digits that stand for the content.
    pub(crate) hash: String,
    /// The sum of the files' sizes.
    pub(crate) bytes: u64,
    items: Vec<Item>,
}

struct Item {
    /// Relative to the payload's directory.
    name: PathBuf,
    /// Where it was found.
    from: PathBuf,
    content: Content,
}

enum Content {
    /// Opened once: what is copied is what was hashed, also when a build replaces it meanwhile.
    File(File),
    Link(PathBuf),
}

impl Payload {
    /// The program of `agent`, and the libraries of those of its adapters that `adapters` names.
    pub(crate) fn of(agent: &AgentCommand, adapters: &BTreeSet<&str>) -> Result<Self, SshError> {
        let program = &agent.program;
        // The running program may have been replaced under its name.
        let own = Path::new("/proc/self/exe");
        let file = match fs::read_link(own).is_ok_and(|path| path == *program) {
            true => File::open(own),
            false => File::open(program),
        };
        let mut items = vec![Item {
            name: PROGRAM.into(),
            from: program.clone(),
            content: Content::File(file.map_err(unreadable(program))?),
        }];
        let described = describe_adapters(agent).map_err(SshError::Describe)?;
        for adapter in described.iter().filter(|a| adapters.contains(&*a.name)) {
            if let Some(library) = &adapter.library {
                add_library(&mut items, &adapter.name, library)?;
            }
        }
        Self::new(items)
    }

    fn new(items: Vec<Item>) -> Result<Self, SshError> {
        let mut bytes = 0;
        let mut hasher = Sha256::new();
        for item in &items {
            let size = item
                .hash_into(&mut hasher)
                .map_err(unreadable(&item.name))?;
            bytes += size;
        }
        let digest = hasher.finalize();
        Ok(Payload {
            hash: digest.iter().take(16).map(|b| format!("{b:02x}")).collect(),
            bytes,
            items,
        })
    }

    /// The files with their contents.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = io::Result<Piece<'_>>> {
        self.items.iter().map(|item| {
            let (name, from) = (item.name.as_path(), item.from.as_path());
            match &item.content {
                Content::Link(target) => Ok(Piece::Link { name, from, target }),
                Content::File(file) => {
                    let (mut file, mut bytes) = (file, Vec::new());
                    file.rewind()?;
                    file.read_to_end(&mut bytes)?;
                    Ok(Piece::File { name, from, bytes })
                }
            }
        })
    }

    /// Writes the files as a tar archive.
    pub(crate) fn write(&self, to: impl Write) -> io::Result<()> {
        let mut archive = tar::Builder::new(to);
        for item in &self.items {
            let mut header = tar::Header::new_gnu();
            match &item.content {
                Content::Link(target) => {
                    header.set_entry_type(tar::EntryType::Symlink);
                    header.set_size(0);
                    header.set_mode(0o777);
                    archive.append_link(&mut header, &item.name, target)?;
                }
                Content::File(file) => {
                    let mut file = file;
                    file.rewind()?;
                    let size = file.metadata()?.len();
                    header.set_size(size);
                    header.set_mode(0o755);
                    archive.append_data(&mut header, &item.name, file.take(size))?;
                }
            }
        }
        archive.finish()
    }
}

impl Item {
    /// Adds name and content; returns the size.
    fn hash_into(&self, hasher: &mut Sha256) -> io::Result<u64> {
        let name = self.name.to_string_lossy();
        hasher.update(name.as_bytes());
        match &self.content {
            Content::Link(target) => {
                hasher.update(b"\0link\0");
                hasher.update(target.to_string_lossy().as_bytes());
                hasher.update(b"\0");
                Ok(0)
            }
            Content::File(file) => {
                let size = file.metadata()?.len();
                hasher.update(b"\0file\0");
                hasher.update(size.to_le_bytes());
                let mut file = file;
                file.rewind()?;
                io::copy(&mut file, hasher)
            }
        }
    }
}

/// The library of an adapter, and what stands beside it in a folder of the adapter's name: libraries of
/// its own in `lib`. They stand alike in the payload, where the program finds them.
fn add_library(items: &mut Vec<Item>, adapter: &str, library: &Path) -> Result<(), SshError> {
    let folder = Path::new("adapters");
    let file = library.file_name().unwrap_or_default();
    items.push(Item {
        name: folder.join(file),
        from: library.to_owned(),
        content: Content::File(File::open(library).map_err(unreadable(library))?),
    });
    let beside = library.with_file_name(adapter).join("lib");
    // Most adapters have none.
    let entries = fs::read_dir(&beside).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|e| e.path())
        .filter(|p| p.to_string_lossy().contains(".so"))
        .collect();
    paths.sort();
    for path in paths {
        let content = match fs::read_link(&path) {
            Ok(target) => Content::Link(target),
            Err(_) => Content::File(File::open(&path).map_err(unreadable(&path))?),
        };
        items.push(Item {
            name: folder
                .join(adapter)
                .join("lib")
                .join(path.file_name().unwrap_or_default()),
            from: path,
            content,
        });
    }
    Ok(())
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> SshError {
    let path = path.to_owned();
    move |source| SshError::Unreadable {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(library: &Path) -> Payload {
        let mut items = Vec::new();
        add_library(&mut items, "some", library).unwrap();
        Payload::new(items).unwrap()
    }

    #[test]
    fn the_hash_is_that_of_names_and_contents_and_the_archive_holds_both() {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("libdyno_some.so");
        let lib = dir.path().join("some/lib");
        fs::create_dir_all(&lib).unwrap();
        fs::write(&library, "adapter").unwrap();
        fs::write(lib.join("libx.so.1.2"), "library").unwrap();
        std::os::unix::fs::symlink("libx.so.1.2", lib.join("libx.so.1")).unwrap();
        let first = payload(&library);
        assert_eq!(first.bytes, 14);
        assert_eq!(first.hash, payload(&library).hash);

        let mut archive = Vec::new();
        first.write(&mut archive).unwrap();
        let there = dir.path().join("there");
        tar::Archive::new(&archive[..]).unpack(&there).unwrap();
        let read = |name: &str| fs::read_to_string(there.join(name)).unwrap();
        assert_eq!(read("adapters/libdyno_some.so"), "adapter");
        assert_eq!(read("adapters/some/lib/libx.so.1"), "library");

        fs::write(lib.join("libx.so.1.2"), "liberty").unwrap();
        assert_ne!(first.hash, payload(&library).hash);
    }
}
