//! `adapters/NAME/adapter.toml`: what is to be known of an adapter that is a shared library to build, package and test
//! it. A folder of `adapters/` without one is a crate that is part of the program, or has what several share.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What one adapter says of itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// That of its folder.
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) language: Language,
    /// The Debian packages that it is built from.
    #[serde(default)]
    pub(crate) packages: Vec<String>,
    /// The Debian packages that its own one needs beyond what its library is linked with.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// Whether it is packaged and missed where it was not built.
    #[serde(default = "yes")]
    pub(crate) given: bool,
    /// What is built along with it.
    pub(crate) with: Option<With>,
    /// The configurations that the conformance cases are played with; `crates/dyno/tests/e2e/libraries.rs` plays them.
    #[serde(default, rename = "conformance")]
    _conformance: Vec<Configuration>,
}

/// What it is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Language {
    /// Built by CMake.
    #[serde(rename = "c")]
    C,
    /// Built by CMake.
    #[serde(rename = "c++")]
    Cpp,
    /// A crate of the workspace.
    #[serde(rename = "rust")]
    Rust,
}

/// A library that comes as source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum With {
    /// COVESA's vsomeip.
    Vsomeip,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    #[serde(rename = "name")]
    _name: String,
    #[serde(default, rename = "options")]
    _options: BTreeMap<String, toml::Value>,
    #[serde(default, rename = "best_effort")]
    _best_effort: bool,
}

fn yes() -> bool {
    true
}

/// The manifests of all folders of `adapters/`, by name.
pub(crate) fn all() -> Result<Vec<Manifest>, String> {
    in_folder(Path::new("adapters"))
}

fn in_folder(folder: &Path) -> Result<Vec<Manifest>, String> {
    let unreadable =
        |path: &Path, e: std::io::Error| format!("cannot read {}: {e}", path.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| unreadable(folder, e))? {
        let entry = entry.map_err(|e| unreadable(folder, e))?;
        let path = entry.path().join("adapter.toml");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => continue,
            Err(e) => return Err(unreadable(&path, e)),
        };
        let manifest = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        all.push(Manifest {
            name: entry.file_name().to_string_lossy().into_owned(),
            ..manifest
        });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a folder with one adapter of this manifest.
    fn read(text: &str) -> Result<Vec<Manifest>, String> {
        let folder = tempfile::tempdir().unwrap();
        let adapter = folder.path().join("mine");
        fs::create_dir(&adapter).unwrap();
        fs::write(adapter.join("adapter.toml"), text).unwrap();
        fs::create_dir(folder.path().join("shared-by-several")).unwrap();
        in_folder(folder.path())
    }

    #[test]
    fn a_folder_with_a_manifest_is_an_adapter_and_one_without_is_none() {
        let all = read("language = \"c++\"\npackages = [\"libmine-dev\"]\n").unwrap();
        let [mine] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert_eq!((mine.name.as_str(), mine.language), ("mine", Language::Cpp));
        assert!(mine.given);
    }

    #[test]
    fn a_mistake_is_one_error_at_its_place() {
        for (text, place, words) in [
            (
                "language = \"c\"\npackage = []\n",
                "line 2, column 1",
                "`packages`",
            ),
            ("language = \"go\"\n", "line 1, column 12", "`rust`"),
            ("packages = []\n", "line 1", "missing field `language`"),
            (
                "language = \"c\"\nneeds = \"roudi\"\n",
                "line 2, column 9",
                "sequence",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains("mine/adapter.toml"), "{error}");
            assert!(error.contains(place), "{error}");
            assert!(error.contains(words), "{error}");
        }
    }
}
