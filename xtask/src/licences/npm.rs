//! The packages of the page's scripts, of which the bundle holds those that are not for development.

use super::spdx::permitted;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The lock file, below the workspace's root.
pub(super) const LOCK: &str = "crates/dyno-page/web/package-lock.json";

/// Where packages come from that say where they do.
const REGISTRY: &str = "https://registry.npmjs.org/";

/// The parts of a lock file (version 3) that are read here.
#[derive(Debug, Deserialize)]
pub(super) struct Lock {
    /// By their place below the file; the file's own package has an empty one.
    packages: BTreeMap<String, Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    license: Option<String>,
    /// Where it was downloaded from; none: from the registry that is configured.
    resolved: Option<String>,
    /// The digest that it must have, wherever it comes from.
    integrity: Option<String>,
    /// It builds or tests, and is not in the bundle.
    #[serde(default)]
    dev: bool,
}

impl Lock {
    /// The packages that are not the workspace's own.
    fn foreign(&self) -> impl Iterator<Item = (&str, &Package)> {
        let all = self.packages.iter().filter(|(place, _)| !place.is_empty());
        all.map(|(place, package)| (place.trim_start_matches("node_modules/"), package))
    }

    pub(super) fn count(&self) -> usize {
        self.foreign().count()
    }

    /// What is not as `deny.toml` allows. Licences are those of what the bundle holds; origins and digests are
    /// those of all, since what builds runs here as well.
    pub(super) fn violations(&self, allow: &[String]) -> Vec<String> {
        let mut all = Vec::new();
        for (name, package) in self.foreign() {
            let origin = package.resolved.as_deref().unwrap_or(REGISTRY);
            if !origin.starts_with(REGISTRY) {
                all.push(format!("npm's {name} comes from {origin}"));
            }
            if package.integrity.is_none() {
                all.push(format!("npm's {name} has no digest in {LOCK}"));
            }
            if package.dev {
                continue;
            }
            match package
                .license
                .as_deref()
                .map(|text| permitted(text, allow))
            {
                Some(Ok(true)) => {}
                None => all.push(format!("npm's {name} names no licence")),
                Some(_) => all.push(format!(
                    "npm's {name} has the licence {}",
                    package.license.as_deref().unwrap_or("none")
                )),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(packages: &str) -> Vec<String> {
        let lock = format!(r#"{{"lockfileVersion": 3, "packages": {{"": {{}}, {packages}}}}}"#);
        let lock: Lock = serde_json::from_str(&lock).unwrap();
        lock.violations(&["MIT".to_owned()])
    }

    #[test]
    fn what_the_bundle_holds_needs_a_licence_that_is_allowed() {
        let of = |license: &str, dev: bool| {
            violations(&format!(
                r#""node_modules/a": {{"integrity": "sha512-a", "dev": {dev}, "license": "{license}"}}"#
            ))
        };
        assert_eq!(of("MIT", false), Vec::<String>::new());
        assert_eq!(of("GPL-3.0", false), ["npm's a has the licence GPL-3.0"]);
        assert_eq!(of("GPL-3.0", true), Vec::<String>::new());
    }

    #[test]
    fn every_package_has_a_digest_and_comes_from_the_registry() {
        let of = |resolved: &str, rest: &str| {
            violations(&format!(
                r#""node_modules/@a/b": {{"resolved": "{resolved}", "dev": true {rest}}}"#
            ))
        };
        let digest = r#", "integrity": "sha512-a""#;
        assert_eq!(
            of("https://registry.npmjs.org/b.tgz", digest),
            Vec::<String>::new()
        );
        assert_eq!(
            of("https://example.org/b.tgz", digest),
            ["npm's @a/b comes from https://example.org/b.tgz"]
        );
        let without = of("https://registry.npmjs.org/b.tgz", "");
        assert!(
            without[0].starts_with("npm's @a/b has no digest"),
            "{without:?}"
        );
    }
}
