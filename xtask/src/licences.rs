//! Licences and origins of all dependencies, held against `deny.toml`. The same file serves
//! `cargo deny`, which knows more (advisories) but has to be installed.

mod npm;

use crate::Outcome;
use crate::metadata::{self, Metadata, Package};
use serde::Deserialize;

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
    let read = |name: &str| {
        let file = metadata.workspace_root.join(name);
        std::fs::read_to_string(&file).map_err(|e| format!("cannot read {}: {e}", file.display()))
    };
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

/// Whether the SPDX licence expression can be met with the licences in `allow`. An old style slash
/// means `OR`, as crates.io once wrote it.
fn permitted(expression: &str, allow: &[String]) -> Result<bool, String> {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let value = any_of(&mut rest, allow)?;
    match rest {
        [] => Ok(value),
        [word, ..] => Err(format!("unexpected {word:?}")),
    }
}

fn any_of(words: &mut &[&str], allow: &[String]) -> Result<bool, String> {
    let mut value = all_of(words, allow)?;
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        value |= all_of(words, allow)?;
    }
    Ok(value)
}

fn all_of(words: &mut &[&str], allow: &[String]) -> Result<bool, String> {
    let mut value = one(words, allow)?;
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        value &= one(words, allow)?;
    }
    Ok(value)
}

fn one(words: &mut &[&str], allow: &[String]) -> Result<bool, String> {
    let allowed = |licence: &str| allow.iter().any(|a| a == licence);
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let value = any_of(words, allow)?;
            match *words {
                [")", rest @ ..] => {
                    *words = rest;
                    Ok(value)
                }
                _ => Err("a missing )".into()),
            }
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            Ok(allowed(&format!("{licence} WITH {exception}")))
        }
        [licence, rest @ ..] if !matches!(*licence, "OR" | "AND" | "WITH" | ")") => {
            *words = rest;
            Ok(allowed(licence))
        }
        _ => Err("a missing licence".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(expression: &str) -> Result<bool, String> {
        let allow = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];
        permitted(expression, &allow.map(String::from))
    }

    #[test]
    fn one_of_several_licences_suffices_where_there_is_a_choice() {
        assert_eq!(may("MIT"), Ok(true));
        assert_eq!(may("GPL-3.0 OR MIT"), Ok(true));
        assert_eq!(may("GPL-3.0/MIT"), Ok(true));
        assert_eq!(may("GPL-3.0"), Ok(false));
    }

    #[test]
    fn all_licences_count_where_they_are_joined() {
        assert_eq!(may("MIT AND ISC"), Ok(true));
        assert_eq!(may("MIT AND GPL-3.0"), Ok(false));
        assert_eq!(may("MIT OR GPL-3.0 AND BSD-3-Clause"), Ok(true));
        assert_eq!(may("(MIT OR GPL-3.0) AND BSD-3-Clause"), Ok(false));
    }

    #[test]
    fn an_exception_is_part_of_the_licence() {
        assert_eq!(may("Apache-2.0 WITH LLVM-exception"), Ok(true));
        assert_eq!(may("Apache-2.0"), Ok(false));
    }

    #[test]
    fn a_broken_expression_is_an_error() {
        for broken in ["", "MIT OR", "(MIT", "MIT ISC", "AND MIT"] {
            assert!(may(broken).is_err(), "{broken:?}");
        }
    }

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
