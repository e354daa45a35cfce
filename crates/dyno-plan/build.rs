//! Writes the tables of what comes with Dyno: every file of `suites/`, `stacks/`, `testbeds/` and `adapters/*/stacks/`.
//! A file that is added to one of these folders is built in without being named anywhere.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), String> {
    let own = env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets no CARGO_MANIFEST_DIR")?;
    let root = Path::new(&own).join("../..");
    let root = root
        .canonicalize()
        .map_err(|e| format!("cannot find {}: {e}", root.display()))?;
    let mut of_stacks = vec![root.join("stacks")];
    for adapter in entries(&root.join("adapters"))? {
        let stacks = adapter.join("stacks");
        if stacks.is_dir() {
            of_stacks.push(stacks);
        }
    }
    let mut text = String::new();
    for (table, folders) in [
        ("SUITES", vec![root.join("suites")]),
        ("STACKS", of_stacks),
        ("TESTBEDS", vec![root.join("testbeds")]),
    ] {
        write_table(&mut text, table, &root, &folders)?;
    }
    let out = env::var_os("OUT_DIR").ok_or("cargo sets no OUT_DIR")?;
    let out = Path::new(&out).join("built_in.rs");
    fs::write(&out, text).map_err(|e| format!("cannot write {}: {e}", out.display()))
}

/// One constant: name, path for messages, and text of each TOML file in these folders, by name.
fn write_table(
    text: &mut String,
    table: &str,
    root: &Path,
    folders: &[PathBuf],
) -> Result<(), String> {
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in folders
        .iter()
        .map(|f| entries(f))
        .collect::<Result<Vec<_>, _>>()?
        .concat()
    {
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        if let Some(other) = files.insert(name, path.clone()) {
            return Err(format!(
                "{} and {} have one name: rename one of them",
                other.display(),
                path.display()
            ));
        }
    }
    let mut lines = format!("const {table}: &[BuiltIn] = &[\n");
    for (name, path) in &files {
        let shown = path.strip_prefix(root).unwrap_or(path).display();
        // Writing to a string cannot fail.
        let _ = writeln!(
            lines,
            "    ({name:?}, \"built-in {shown}\", include_str!({path:?})),"
        );
    }
    text.push_str(&lines);
    text.push_str("];\n");
    Ok(())
}

/// What is in a folder, sorted; cargo looks whether that changes.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let unreadable = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths = entries
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    paths.sort();
    Ok(paths)
}
