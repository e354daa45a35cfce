//! The adapters of this tree that are shared libraries keep the promises of adapters: each configuration of each
//! `adapters/NAME/adapter.toml` is examined by `dyno conformance`, as a user's adapter is.

use crate::harness::{Ended, Place};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The part of a manifest that says how it is examined; `xtask/src/manifest.rs` has the whole, and its mistakes.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    conformance: Vec<Configuration>,
}

#[derive(Deserialize)]
struct Configuration {
    name: String,
    #[serde(default)]
    options: BTreeMap<String, toml::Value>,
    #[serde(default)]
    best_effort: bool,
}

/// Where `cargo xtask adapters` puts libraries, or what stands in its place, such as sanitized ones.
fn libraries() -> PathBuf {
    let built = || {
        let program = Path::new(env!("CARGO_BIN_EXE_dyno"));
        // The program is target/PROFILE/dyno.
        program.ancestors().nth(2).unwrap().join("adapters")
    };
    std::env::var_os("DYNO_ADAPTER_PATH").map_or_else(built, PathBuf::from)
}

/// What `dyno conformance` says of the library with these options.
fn examine(place: &Place, library: &Path, with: &Configuration) -> Ended {
    let mut arguments = vec!["conformance".to_owned(), library.display().to_string()];
    for (option, value) in &with.options {
        let value = match value {
            toml::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        arguments.extend(["--set".to_owned(), format!("{option}={value}")]);
    }
    if with.best_effort {
        arguments.push("--best-effort".to_owned());
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    place.run(&arguments)
}

#[test]
fn every_configuration_of_every_manifest_keeps_the_promises_of_adapters() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters");
    let mut examined = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let Ok(text) = std::fs::read_to_string(entry.path().join("adapter.toml")) else {
            continue;
        };
        let manifest: Manifest = toml::from_str(&text).unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        for configuration in &manifest.conformance {
            let library = libraries().join(format!("libdyno_{name}.so"));
            assert!(
                library.exists(),
                "{} is missing; run `cargo xtask adapters {name}`",
                library.display()
            );
            println!("── {name}, {}", configuration.name);
            let place = Place::new();
            examine(&place, &library, configuration)
                .with_code(0)
                .says(" 0 failed");
            assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
            examined += 1;
        }
    }
    assert!(examined >= 5, "{examined} configurations");
}
