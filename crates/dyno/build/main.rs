//! Tells the program which source it is built from, as DYNO_COMMIT and DYNO_MODIFIED: both are empty where
//! that is not known, such as in an unpacked archive.

mod source;

use std::path::PathBuf;

fn main() {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts");
    let root = PathBuf::from(here).join("../..");
    let parts = source::parts(&root);
    let state = source::state(&root, &parts);
    let (commit, modified) = match &state {
        Some(state) => (state.commit.as_str(), state.modified.to_string()),
        None => ("", String::new()),
    };
    println!("cargo::rustc-env=DYNO_COMMIT={commit}");
    println!("cargo::rustc-env=DYNO_MODIFIED={modified}");
    println!("cargo::rerun-if-changed=build");
    // Not the index, which git writes to when it only looks.
    let watched = parts.iter().map(|part| root.join(part));
    for path in watched.chain(source::heads(&root)) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
