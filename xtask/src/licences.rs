//! Licences and origins of all dependencies, held against `deny.toml`. The same file serves
//! `cargo deny`, which knows more (advisories) but has to be installed.

mod npm;
mod spdx;

use crate::metadata::{self, Metadata, Package};
use crate::{Outcome, files};
use serde::Deserialize;
use spdx::permitted;

/// The parts of `deny.toml` that are read here.
#[derive(Debug, Deserialize)]
struct Policy {
    licenses: Licences,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Licences {
    /// SPDX identifiers, `WITH` an exception included.
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// Checks every package of the lock files, cargo's and npm's.
pub(crate) fn check() -> Outcome {
    let metadata = metadata::load()?;
    let read = |name: &str| files::read(&metadata.workspace_root.join(name));
    let policy: Policy =
        toml::from_str(&read("deny.toml")?).map_err(|e| format!("deny.toml is not valid: {e}"))?;
    let lock: npm::Lock = serde_json::from_str(&read(npm::LOCK)?)
        .map_err(|e| format!("{} is not valid: {e}", npm::LOCK))?;
    let mut violations = violations(&metadata, &policy);
    violations.extend(lock.violations(&policy.licenses.allow));
    if violations.is_empty() {
        println!(
            "── licences and origins: {} packages and {} of npm, all as deny.toml allows",
            metadata.packages.len(),
            lock.count()
        );
        return Ok(());
    }
    Err(format!(
        "{} packages are not as deny.toml allows:\n  {}",
        violations.len(),
        violations.join("\n  ")
    ))
}

fn violations(metadata: &Metadata, policy: &Policy) -> Vec<String> {
    let mut all = Vec::new();
    for package in &metadata.packages {
        let Package { name, version, .. } = package;
        match &package.license {
            None => all.push(format!(
                "{name} {version} names no licence in {}",
                package.manifest_path.display()
            )),
            Some(text) => match permitted(text, &policy.licenses.allow) {
                Ok(true) => {}
                Ok(false) => all.push(format!("{name} {version} has the licence {text}")),
                Err(what) => all.push(format!("{name} {version}: {what} in {text:?}")),
            },
        }
        if let Some(source) = &package.source {
            let registry = source.trim_start_matches("registry+");
            if !policy.sources.allow_registry.iter().any(|r| r == registry) {
                all.push(format!("{name} {version} comes from {source}"));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_origins_and_missing_licences_are_named() {
        let package = |name: &str, license: Option<&str>, source: Option<&str>| Package {
            id: name.into(),
            name: name.into(),
            version: "1.0.0".into(),
            source: source.map(Into::into),
            license: license.map(Into::into),
            repository: None,
            dependencies: Vec::new(),
            targets: Vec::new(),
            manifest_path: "Cargo.toml".into(),
        };
        let metadata = Metadata {
            packages: vec![
                package("own", Some("MIT"), None),
                package("fine", Some("MIT"), Some("registry+https://good")),
                package("bare", None, Some("registry+https://good")),
                package("far", Some("MIT"), Some("git+https://other")),
            ],
            workspace_members: Vec::new(),
            target_directory: "target".into(),
            workspace_root: ".".into(),
        };
        let policy = Policy {
            licenses: Licences {
                allow: vec!["MIT".into()],
            },
            sources: Sources {
                allow_registry: vec!["https://good".into()],
            },
        };
        let wrong = violations(&metadata, &policy);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(
            wrong[0].starts_with("bare 1.0.0 names no licence"),
            "{wrong:?}"
        );
        assert!(
            wrong[1].starts_with("far 1.0.0 comes from git+"),
            "{wrong:?}"
        );
    }
}
