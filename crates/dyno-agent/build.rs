//! Writes the names of the adapters of this tree that live in shared libraries: the folders of `adapters/` with an
//! `adapter.toml` that gives them away.

use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), String> {
    let own = env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets no CARGO_MANIFEST_DIR")?;
    let folder = Path::new(&own).join("../../adapters");
    println!("cargo::rerun-if-changed={}", folder.display());
    let unreadable = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let manifest = entry.path().join("adapter.toml");
        // Of a file that is not there cargo would think that it always changes.
        let Ok(text) = fs::read_to_string(&manifest) else {
            continue;
        };
        println!("cargo::rerun-if-changed={}", manifest.display());
        // The example for whoever writes an adapter is none that a user misses.
        let is_example = |line: &str| line.split_whitespace().collect::<String>() == "given=false";
        if !text.lines().any(is_example) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let out = env::var_os("OUT_DIR").ok_or("cargo sets no OUT_DIR")?;
    let out = Path::new(&out).join("outside.rs");
    fs::write(&out, format!("const OUTSIDE: &[&str] = &{names:?};\n"))
        .map_err(|e| format!("cannot write {}: {e}", out.display()))
}
