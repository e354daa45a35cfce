//! What this program and its adapters execute: the files that are really mapped, by SHA-256, so that two
//! runs can be told to have measured the same software.

use crate::registry;
use dyno_model::origin::{Binaries, Binary, DAEMON, PROGRAM};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What this program maps, and what the adapters in these libraries map beyond that; of a daemon its program. A library that
/// cannot be asked is left out: nothing is known of it.
pub fn binaries(libraries: &[(String, PathBuf)]) -> io::Result<Binaries> {
    let mut all = Binaries::from([(PROGRAM.to_owned(), hashed(mapped()?))]);
    for (adapter, library) in libraries {
        if adapter.starts_with(DAEMON) {
            all.insert(adapter.clone(), hashed(vec![library.clone()]));
        } else if let Ok(of_adapter) = registry::ask("--binaries-of", library) {
            all.insert(adapter.clone(), of_adapter);
        }
    }
    Ok(all)
}

/// What the adapter in the library at `path` maps once it is loaded into this process, itself first.
///
/// # Errors
///
/// When it cannot be loaded; a sentence for people.
pub fn binaries_of_library(path: &Path) -> Result<Vec<Binary>, String> {
    let maps = |e: io::Error| format!("cannot read /proc/self/maps: {e}");
    let before: BTreeSet<PathBuf> = mapped().map_err(maps)?.into_iter().collect();
    registry::describe_library(path)?;
    let mut more = mapped().map_err(maps)?;
    more.retain(|file| !before.contains(file));
    let own = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    more.sort_by_key(|file| *file != own);
    Ok(hashed(more))
}

/// The files with executable pages in this process, each once (proc_pid_maps(5)).
fn mapped() -> io::Result<Vec<PathBuf>> {
    Ok(executable(&std::fs::read_to_string("/proc/self/maps")?))
}

fn executable(maps: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for line in maps.lines() {
        // Address, permissions, offset, device, inode, and the path, which may hold blanks.
        let mut fields = line.splitn(6, ' ');
        let permissions = fields.nth(1).unwrap_or_default();
        let path = fields.nth(3).unwrap_or_default().trim_start();
        let file = PathBuf::from(path);
        if permissions.contains('x') && path.starts_with('/') && !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

fn hashed(files: Vec<PathBuf>) -> Vec<Binary> {
    // What runs, whatever lies under its name by now.
    let own = Path::new("/proc/self/exe");
    let program = std::fs::read_link(own).ok();
    let hash = |path: PathBuf| {
        let content = match program.as_ref() == Some(&path) {
            true => File::open(own),
            // A file that was replaced is called `NAME (deleted)`, which does not exist.
            false => File::open(&path),
        };
        Binary {
            sha256: content.and_then(sha256).ok(),
            path,
        }
    };
    files.into_iter().map(hash).collect()
}

fn sha256(mut file: File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut file, &mut hasher)?;
    let digest = hasher.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_executable_pages_are_listed_once_and_what_is_no_file_is_not() {
        let maps = "\
55d0-55d1 r--p 00000000 fe:00 11                         /opt/my dyno
55d1-55d2 r-xp 00001000 fe:00 11                         /opt/my dyno
7f00-7f01 r-xp 00000000 fe:00 12                         /lib/libc.so.6
7f01-7f02 r-xp 00002000 fe:00 12                         /lib/libc.so.6
7f03-7f04 r--p 00000000 fe:00 13                         /usr/lib/locale/C.utf8
7f05-7f06 r-xp 00000000 fe:00 14                         /lib/libold.so (deleted)
7ffc-7ffd r-xp 00000000 00:00 0                          [vdso]
7ffe-7fff rwxp 00000000 00:00 0 
";
        let all = ["/opt/my dyno", "/lib/libc.so.6", "/lib/libold.so (deleted)"];
        assert_eq!(executable(maps), all.map(PathBuf::from));
    }

    #[test]
    fn a_hash_is_that_of_the_content_and_a_file_that_is_gone_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("libx.so");
        std::fs::write(&file, "abc").unwrap();
        let all = hashed(vec![file, dir.path().join("gone.so (deleted)")]);
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(all[0].sha256.as_deref(), Some(abc));
        assert_eq!(all[1].sha256, None);
    }

    #[test]
    fn a_process_knows_its_program_and_its_c_library() {
        let all = binaries(&[("none".into(), "/nowhere/libdyno_none.so".into())]).unwrap();
        let own = &all[PROGRAM];
        let program = std::env::current_exe().unwrap();
        assert!(own.iter().any(|b| b.path == program && b.sha256.is_some()));
        assert!(
            own.iter().any(|b| b.name().starts_with("libc.so")),
            "{own:?}"
        );
        assert_eq!(
            all.len(),
            1,
            "nothing is known of a library that is not there"
        );
    }
}
