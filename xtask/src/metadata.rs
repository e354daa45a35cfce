//! What `cargo metadata` says of the workspace.

use crate::steps;
use serde::Deserialize;
use std::path::PathBuf;

/// The workspace and all packages that it depends on.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    pub(crate) target_directory: PathBuf,
    pub(crate) workspace_root: PathBuf,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// Where it comes from; `None` for a path.
    pub(crate) source: Option<String>,
    /// An SPDX expression.
    pub(crate) license: Option<String>,
    /// The address of its source.
    pub(crate) repository: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
    pub(crate) manifest_path: PathBuf,
}

/// What cargo builds of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    /// Such as `lib`, `bin` and `test`.
    pub(crate) kind: Vec<String>,
    pub(crate) name: String,
}

/// One line of a manifest's tables of dependencies.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev`, `build`, or `None` for a normal one.
    pub(crate) kind: Option<String>,
}

impl Metadata {
    /// The workspace's own packages.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        let member = |p: &&Package| self.workspace_members.contains(&p.id);
        self.packages.iter().filter(member)
    }
}

/// Asks cargo.
pub(crate) fn load() -> Result<Metadata, String> {
    let line = "metadata --format-version 1 --locked --all-features";
    let said = steps::said("cargo", &line.split(' ').collect::<Vec<_>>())?;
    serde_json::from_str(&said)
        .map_err(|e| format!("cargo metadata printed something unexpected: {e}"))
}
