//! The state of the source: its git commit, and whether it differs from that.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A commit, and whether the source has changes that are not in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) commit: String,
    pub(crate) modified: bool,
}

/// What of a crate's directory is in no program.
const APART: [&str; 5] = ["tests", "benches", "examples", "web", "README.md"];

/// The files and directories that go into the program, relative to `root`.
pub(crate) fn parts(root: &Path) -> Vec<PathBuf> {
    let inside = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(root.join(dir)).into_iter().flatten();
        let entries = entries.flatten().map(|e| dir.join(e.file_name()));
        entries.collect()
    };
    let crates = ["crates", "adapters"].into_iter().map(Path::new);
    let of_crates = crates.flat_map(inside).flat_map(|dir| inside(&dir));
    let is_apart = |path: &PathBuf| APART.iter().any(|name| path.ends_with(name));
    let shared = [
        ".cargo/config.toml",
        "Cargo.lock",
        "Cargo.toml",
        "published",
        "stacks",
        "suites",
        "testbeds",
    ];
    let mut all: Vec<PathBuf> = of_crates.filter(|path| !is_apart(path)).collect();
    all.extend(shared.into_iter().map(PathBuf::from));
    all.retain(|path| root.join(path).exists());
    all.sort();
    all
}

/// The state of `parts`; nothing where `root` is not the top of a git checkout. An archive that was unpacked
/// inside of somebody's own repository is none.
pub(crate) fn state(root: &Path, parts: &[PathBuf]) -> Option<State> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(parts.iter().filter_map(|part| part.to_str()));
    Some(State {
        commit: git(root, &["rev-parse", "HEAD"])?,
        modified: !git(root, &status)?.is_empty(),
    })
}

/// The files that change when another commit is checked out or made.
pub(crate) fn heads(root: &Path) -> Vec<PathBuf> {
    let branch = git(root, &["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
    let names = ["HEAD", "logs/HEAD", &branch];
    let paths = names.iter().filter(|name| !name.is_empty());
    let paths = paths.filter_map(|name| git(root, &["rev-parse", "--git-path", name]));
    // One that is not there would have cargo run this each time.
    let paths = paths.map(|path| root.join(path));
    paths.filter(|path| path.exists()).collect()
}

/// What git prints; nothing where it fails or is not there.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // Hooks set these for a repository that may be another one.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command
        .arg("--no-optional-locks")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
