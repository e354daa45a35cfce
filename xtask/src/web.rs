//! The scripts of the report's page: their packages from npm's registry, the bundle that is checked in so
//! that cargo alone builds Dyno, and their tests in a browser.

use crate::metadata::Metadata;
use crate::steps::{self, Step};
use crate::{Outcome, files, packages};
use std::path::{Path, PathBuf};

pub(crate) const USAGE: &str = "\
usage: cargo xtask web [--check]

  builds the scripts of the report's page into crates/dyno-page/assets, which is checked in
  --check   compares the checked-in bundle with a fresh build, and changes nothing";

/// Where the scripts are, below the workspace's root.
const SOURCE: &str = "crates/dyno-page/web";

/// The lock file as it was when the packages were installed, kept among them.
const INSTALLED: &str = "node_modules/.installed-lock.json";

/// Longest path of a directory for temporary files that a browser can have sockets below: 108 bytes
/// (unix(7)) less what Chromium appends.
const LONGEST: usize = 60;

/// Builds the bundle, or compares it.
pub(crate) fn run(metadata: &Metadata, arguments: &[String]) -> Outcome {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let step = match arguments[..] {
        [] => npm("bundle", "run build", metadata),
        ["--check"] => npm("the checked-in bundle", "run check", metadata),
        ["--help"] => {
            println!("{USAGE}");
            return Ok(());
        }
        _ => return Err(format!("cargo xtask web takes --check only\n\n{USAGE}")),
    };
    packages::of_web()?;
    install(metadata)?;
    steps::run(&[step])
}

/// Installs the packages of the lock file where they are missing or were those of another one.
pub(crate) fn install(metadata: &Metadata) -> Outcome {
    let source = source(metadata);
    let lock = source.join("package-lock.json");
    let wanted = std::fs::read(&lock)
        .map_err(|e| format!("cannot read {}: {e}; restore it with git", lock.display()))?;
    let installed = source.join(INSTALLED);
    if std::fs::read(&installed).is_ok_and(|known| known == wanted) {
        println!("── the page's packages are installed");
        return Ok(());
    }
    steps::run(&[npm(
        "the page's packages",
        "ci --no-audit --no-fund",
        metadata,
    )])?;
    files::write(&installed, wanted)
}

/// The tests of the scripts, alone and in a browser, with the debug build of `dyno`.
pub(crate) fn tests(metadata: &Metadata) -> Step {
    let program = metadata.target_directory.join("debug/dyno");
    npm("browser tests", "test", metadata)
        .with("DYNO_BIN", program.to_string_lossy())
        // A failed test is to end as one, not to wait for somebody to look at a report.
        .with("CI", "1")
}

/// Where browsers are to leave what they leave: below `target`, where `cargo clean` finds it, and not in
/// `/tmp`. `None` where it would be too deep for their sockets.
pub(crate) fn scratch(target: &Path) -> Option<PathBuf> {
    let scratch = target.join("tmp/web");
    let fits = scratch.as_os_str().len() <= LONGEST;
    (fits && std::fs::create_dir_all(&scratch).is_ok()).then_some(scratch)
}

/// The directory of the scripts.
pub(crate) fn source(metadata: &Metadata) -> PathBuf {
    metadata.workspace_root.join(SOURCE)
}

fn npm(name: &'static str, arguments: &str, metadata: &Metadata) -> Step {
    let step = Step::new(name, &format!("npm {arguments}"))
        .inside(source(metadata))
        // The tests use the system's Chromium.
        .with("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    match scratch(&metadata.target_directory) {
        Some(scratch) => step.with("TMPDIR", scratch.to_string_lossy()),
        None => step,
    }
}
