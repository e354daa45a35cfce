//! Where adapters in shared libraries are found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The environment variable that names directories to search first, separated by colons.
pub const ADAPTER_PATH: &str = "DYNO_ADAPTER_PATH";

/// A library that looks like an adapter; it has not been opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The adapter's name, from the file's name.
    pub name: String,
    /// The library.
    pub path: PathBuf,
}

/// `libdyno_NAME.so`.
pub fn file_name(adapter: &str) -> String {
    format!("libdyno_{adapter}.so")
}

/// The directories in the order in which they are searched: those of [`ADAPTER_PATH`], then
/// `adapters` beside the running program and beside its directory (where `cargo xtask adapters`
/// puts them), then `../lib/dyno/adapters` (where a package would).
pub fn directories() -> Vec<PathBuf> {
    let named = std::env::var_os(ADAPTER_PATH).unwrap_or_default();
    let mut all: Vec<PathBuf> = std::env::split_paths(&named)
        .filter(|p| !p.as_os_str().is_empty())
        .collect();
    // Without a path of its own the program has no neighbours to look at.
    if let Some(program) = std::env::current_exe()
        .ok()
        .as_deref()
        .and_then(Path::parent)
    {
        all.push(program.join("adapters"));
        if let Some(above) = program.parent() {
            all.push(above.join("adapters"));
            all.push(above.join("lib/dyno/adapters"));
        }
    }
    all
}

/// Every library of an adapter in `directories`, by name; of two with one name the first is taken.
pub fn installed(directories: &[PathBuf]) -> Vec<Installed> {
    let mut found = BTreeMap::new();
    for directory in directories {
        // A directory that is not there holds no adapter.
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let name = file
                .to_str()
                .and_then(|f| f.strip_prefix("libdyno_")?.strip_suffix(".so"));
            if let Some(name) = name.filter(|n| !n.is_empty()) {
                found.entry(name.to_owned()).or_insert_with(|| entry.path());
            }
        }
    }
    found
        .into_iter()
        .map(|(name, path)| Installed { name, path })
        .collect()
}

/// The other libraries of the adapter `name` in `directories`, behind the one that is [taken](installed): each comes
/// from another installation.
pub fn passed_over(name: &str, directories: &[PathBuf]) -> Vec<PathBuf> {
    let file = file_name(name);
    // A folder that is named twice holds one library.
    let mut known = Vec::new();
    let mut all: Vec<PathBuf> = directories.iter().map(|d| d.join(&file)).collect();
    all.retain(|path| {
        let path = path.canonicalize().ok();
        let is_new = path.is_some() && !known.contains(&path);
        known.push(path);
        is_new
    });
    all.into_iter().skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_directory_wins_and_other_files_are_no_adapters() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for path in [
            a.path().join(file_name("one")),
            b.path().join(file_name("one")),
            b.path().join(file_name("two")),
            b.path().join("libother.so"),
            b.path().join("libdyno_.so"),
        ] {
            std::fs::write(path, "").unwrap();
        }
        let found = installed(&[
            PathBuf::from("/nonexistent"),
            a.path().to_owned(),
            b.path().to_owned(),
        ]);
        let of = |name: &str, dir: &Path| Installed {
            name: name.into(),
            path: dir.join(file_name(name)),
        };
        assert_eq!(found, [of("one", a.path()), of("two", b.path())]);
    }

    #[test]
    fn a_second_installation_is_told_from_a_folder_that_is_named_twice() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let second = b.path().join(file_name("one"));
        for path in [&a.path().join(file_name("one")), &second] {
            std::fs::write(path, "").unwrap();
        }
        let once = [a.path().to_owned(), a.path().join(".")];
        assert!(passed_over("one", &once).is_empty());
        let both = [&once[..], &[b.path().to_owned()]].concat();
        assert_eq!(passed_over("one", &both), [second]);
        assert!(passed_over("two", &both).is_empty());
    }
}
