//! Adapters of the tree, built by `cargo xtask adapters`.

use dyno_adapter::Adapter;
use std::path::{Path, PathBuf};

/// The directory that `cargo xtask adapters` fills: `adapters` in cargo's target directory.
pub(crate) fn directory() -> PathBuf {
    // This program is target/PROFILE/deps/NAME.
    let program = std::env::current_exe().expect("a test has a path");
    let target = program.ancestors().nth(3).expect("three levels up");
    target.join("adapters")
}

/// The adapter `name`. Panics where it was not built or cannot be used here: a test of it that was
/// skipped would prove nothing.
pub(crate) fn foreign(name: &str) -> Box<dyn Adapter> {
    // A sanitized build of the same adapters may stand elsewhere.
    let directory = std::env::var_os(dyno_abi::ADAPTER_PATH).map_or_else(directory, PathBuf::from);
    let path = directory.join(dyno_abi::file_name(name));
    assert!(
        Path::new(&path).exists(),
        "{} is missing; run `cargo xtask adapters {name}`",
        path.display()
    );
    let adapter = dyno_abi::load(&path).unwrap_or_else(|e| panic!("{e}"));
    if let Some(reason) = adapter.describe().unavailable {
        panic!("{name} cannot be used here: {reason}");
    }
    Box::new(adapter)
}
