//! What is inside: the licences of all crates in a program, and the list of them as CycloneDX.

use crate::files;
use crate::metadata::{Metadata, Package};
use crate::steps::said;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The packages that are linked into `of`, itself among them, by name and version; macros run in the compiler and are
/// not inside.
pub(super) fn inside<'a>(
    metadata: &'a Metadata,
    of: &str,
    features: &[&str],
) -> Result<Vec<&'a Package>, String> {
    let tree = [
        "tree",
        "--locked",
        "--package",
        of,
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let lines = said("cargo", &[&tree, features].concat())?;
    let mut found: Vec<&Package> = Vec::new();
    for line in lines.lines() {
        // `name v1.2.3`, and a path or `(*)` behind it.
        let mut words = line.split_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            continue;
        };
        let version = version.trim_start_matches('v');
        let package = metadata
            .packages
            .iter()
            .find(|p| p.name == name && p.version == version);
        found.push(package.ok_or_else(|| format!("cargo metadata does not know {line:?}"))?);
    }
    found.sort_by_key(|p| (&p.name, &p.version));
    found.dedup_by_key(|p| (&p.name, &p.version));
    Ok(found)
}

/// The licence of Dyno and of each package of others, then every text once.
pub(super) fn licences(metadata: &Metadata, inside: &[&Package]) -> Result<String, String> {
    let own = files::read(&metadata.workspace_root.join("LICENSE"))?;
    let mut all = "Dyno is licensed under the Apache License 2.0.\n".to_owned();
    let foreign = || inside.iter().filter(|p| p.source.is_some());
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    texts.insert(own, vec!["Dyno".to_owned()]);
    if foreign().next().is_some() {
        all += "It holds these packages of crates.io; the texts of their licences follow.\n\n";
    }
    for package in foreign() {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("no licence named");
        all += &format!("  {name}: {licence}\n");
        let folder = package.manifest_path.parent().unwrap_or(Path::new("."));
        for text in texts_in(folder)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    for (text, of) in texts {
        all += &format!(
            "\n{}\n{}:\n\n{}\n",
            "-".repeat(78),
            of.join(", "),
            text.trim_end()
        );
    }
    Ok(all)
}

/// The licence texts of a source that is no crate.
pub(super) fn of_source(folder: &Path) -> Result<String, String> {
    let texts = texts_in(folder)?;
    match texts.is_empty() {
        true => Err(format!(
            "there is no licence in {}; build its adapter again",
            folder.display()
        )),
        false => Ok(format!("\n{}\n{}", "-".repeat(78), texts.join("\n"))),
    }
}

/// The files of a folder that are named like licences, by name.
fn texts_in(folder: &Path) -> Result<Vec<String>, String> {
    const NAMES: &str = "LICENSE LICENCE COPYING COPYRIGHT NOTICE UNLICENSE";
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_uppercase();
        path.is_file() && NAMES.split(' ').any(|word| name.starts_with(word))
    };
    let found = files::list(folder)?.into_iter().filter(is_licence);
    found
        .map(|path| {
            let text = files::cannot("read", &path, fs::read(&path))?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        })
        .collect()
}

/// The digests in Cargo.lock.
#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The list as CycloneDX 1.5 (ECMA-424, <https://cyclonedx.org/docs/1.5/json/>).
pub(super) fn sbom(metadata: &Metadata, name: &str, inside: &[&Package]) -> Result<String, String> {
    let text = files::read(&metadata.workspace_root.join("Cargo.lock"))?;
    let lock: Lock = toml::from_str(&text).map_err(|e| format!("Cargo.lock is not valid: {e}"))?;
    let digests: BTreeMap<(&str, &str), &str> = lock
        .package
        .iter()
        .filter_map(|p| {
            Some((
                (p.name.as_str(), p.version.as_str()),
                p.checksum.as_deref()?,
            ))
        })
        .collect();
    let components: Vec<Value> = inside
        .iter()
        .filter(|p| p.source.is_some())
        .map(|p| {
            let mut component = json!({
                "type": "library",
                "name": p.name,
                "version": p.version,
                "purl": format!("pkg:cargo/{}@{}", p.name, p.version),
            });
            if let Some(licence) = &p.license {
                // Crates of long ago separate alternatives by a slash.
                component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
            }
            if let Some(digest) = digests.get(&(p.name.as_str(), p.version.as_str())) {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": digest }]);
            }
            component
        })
        .collect();
    let version = metadata
        .packages
        .iter()
        .find(|p| p.name == "dyno")
        .map(|p| p.version.as_str());
    let list = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": name, "version": version } },
        "components": components,
    });
    serde_json::to_string_pretty(&list)
        .map(|text| text + "\n")
        .map_err(|e| format!("cannot write the list of what is inside: {e}"))
}
