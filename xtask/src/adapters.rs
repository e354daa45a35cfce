//! `cargo xtask adapters`: installs what the adapters in shared libraries need, builds each with CMake or, in
//! Rust, with cargo, and puts its library into `adapters` in cargo's target directory, where Dyno finds it.

use crate::manifest::{self, Language, Manifest};
use crate::{Outcome, files, packages, steps, vsomeip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What every adapter in C or C++ is built with.
const TOOLS: &[&str] = &["cmake", "g++", "make"];

const USAGE: &str = "\
usage: cargo xtask adapters [NAME…] [--sanitize] [--no-install]

  NAME…         only these adapters; by default all that are not built into the program
  --sanitize    build those in C and C++ with the address and undefined-behaviour sanitizers, into
                adapters-sanitized
  --no-install  do not install packages";

/// What to build and how.
struct Order {
    names: Vec<String>,
    sanitize: bool,
    install: bool,
}

/// Reads the arguments and builds. One adapter that fails does not keep the others from being built.
pub(crate) fn run(target: &Path, arguments: &[String]) -> Outcome {
    let all = manifest::all()?;
    let mut order = Order {
        names: Vec::new(),
        sanitize: false,
        install: true,
    };
    for argument in arguments {
        match argument.as_str() {
            "--sanitize" => order.sanitize = true,
            "--no-install" => order.install = false,
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(());
            }
            name if all.iter().any(|m| m.name == name) => order.names.push(name.to_owned()),
            other => {
                let names: Vec<&str> = all.iter().map(|m| m.name.as_str()).collect();
                return Err(format!(
                    "there is no adapter {other:?} in a library of its own, only {}\n\n{USAGE}",
                    names.join(", ")
                ));
            }
        }
    }
    let chosen: Vec<&Manifest> = all
        .iter()
        .filter(|m| order.names.is_empty() || order.names.contains(&m.name))
        .filter(|m| m.language != Language::Rust || !order.sanitize)
        .collect();
    if chosen.is_empty() {
        return Err(format!(
            "{} is in Rust, and only adapters in C and C++ are built with sanitizers",
            order.names.join(", ")
        ));
    }
    let (equipped, mut failed) = match order.install {
        true => equip(&chosen, install),
        false => (chosen.clone(), Vec::new()),
    };
    for manifest in equipped {
        if let Err(e) = build(manifest, target, order.sanitize) {
            failed.push(format!("{}: {e}", manifest.name));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} of {} adapters could not be built:\n  {}",
        failed.len(),
        chosen.len(),
        failed.join("\n  ")
    ))
}

/// Installs what all need, at once; where that fails, what each needs. The adapters that have what they need, and for
/// each of the others what it lacks.
fn equip<'a>(
    chosen: &[&'a Manifest],
    install: impl Fn(&[&Manifest]) -> Outcome,
) -> (Vec<&'a Manifest>, Vec<String>) {
    if install(chosen).is_ok() {
        return (chosen.to_vec(), Vec::new());
    }
    let mut failed = Vec::new();
    let mut equipped = chosen.to_vec();
    equipped.retain(|manifest| {
        let installed = install(&[manifest]);
        if let Err(e) = &installed {
            failed.push(format!(
                "{}: {e}; where its library came otherwise, add --no-install",
                manifest.name
            ));
        }
        installed.is_ok()
    });
    (equipped, failed)
}

fn install(adapters: &[&Manifest]) -> Outcome {
    let packages = adapters.iter().flat_map(|m| &m.packages);
    let tools = match adapters.iter().any(|m| m.language != Language::Rust) {
        true => TOOLS,
        false => &[],
    };
    packages::install(packages.map(String::as_str).chain(tools.iter().copied()))
}

/// Installs what the adapters in Rust are built from, without which cargo does not build the whole workspace.
pub(crate) fn equip_for_cargo() -> Outcome {
    let all = manifest::all()?;
    let in_rust: Vec<&Manifest> = all
        .iter()
        .filter(|m| m.language == Language::Rust)
        .collect();
    install(&in_rust)
}

/// Installs what all adapters are built from.
pub(crate) fn equip_all() -> Outcome {
    let all = manifest::all()?;
    install(&all.iter().collect::<Vec<_>>())
}

/// Configures and builds one adapter, and copies its library to the others.
fn build(manifest: &Manifest, target: &Path, sanitize: bool) -> Outcome {
    let name = manifest.name.as_str();
    if manifest.language == Language::Rust {
        return build_in_rust(name, target);
    }
    let out = match sanitize {
        true => target.join("adapters-sanitized"),
        false => target.join("adapters"),
    };
    let work = out.join("build").join(name);
    files::make_folder(&work)?;
    let mut settings = vec![
        "-DCMAKE_BUILD_TYPE=Release".to_owned(),
        format!("-DDYNO_SANITIZE={}", if sanitize { "ON" } else { "OFF" }),
    ];
    if manifest.with == Some(manifest::With::Vsomeip) {
        let definitions = vsomeip::prepare(target)?;
        settings.extend(definitions.iter().map(|(k, v)| format!("-D{k}={v}")));
    }
    println!(
        "── adapter {name}{}",
        if sanitize { ", sanitized" } else { "" }
    );
    let source = Path::new("adapters").join(name);
    let (source, work_text) = (source.to_string_lossy(), work.to_string_lossy());
    let configure: Vec<&str> = ["-S", &source, "-B", &work_text]
        .into_iter()
        .chain(settings.iter().map(String::as_str))
        .collect();
    steps::cmake(&configure)?;
    // Without a number CMake starts as many compilers as there are files.
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    steps::cmake(&["--build", &work_text, "--parallel", &jobs.to_string()])?;
    let file = format!("libdyno_{name}.so");
    place(&work.join(&file), &out.join(&file))
}

/// Builds an adapter in Rust as it is measured, for all builds of Dyno.
fn build_in_rust(name: &str, target: &Path) -> Outcome {
    println!("── adapter {name}, in Rust");
    let package = format!("dyno-adapter-{name}");
    let build = ["build", "--release", "--locked", "--lib", "--package"];
    steps::done(Command::new("cargo").args(build).arg(package))?;
    place_rust(name, &target.join("release"), &target.join("adapters"))?;
    // A debug build beside the program would go before it.
    let old = target.join(format!("debug/adapters/libdyno_{name}.so"));
    match fs::remove_file(&old) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {e}", old.display()))
        }
        _ => Ok(()),
    }
}

/// Puts the adapters in Rust that a debug build of the workspace has made beside its program, which finds them
/// before any other: tests need none that is optimized.
pub(crate) fn place_debug(target: &Path) -> Outcome {
    let debug = target.join("debug");
    let all = manifest::all()?;
    let in_rust = all.iter().filter(|m| m.language == Language::Rust);
    let mut names = in_rust.map(|m| m.name.as_str());
    names.try_for_each(|name| place_rust(name, &debug, &debug.join("adapters")))
}

fn place_rust(name: &str, from: &Path, to: &Path) -> Outcome {
    files::make_folder(to)?;
    let built = from.join(format!("libdyno_adapter_{name}.so"));
    place(&built, &to.join(format!("libdyno_{name}.so")))
}

/// The names of the adapters in C and C++.
pub(crate) fn in_c() -> Result<Vec<String>, String> {
    let all = manifest::all()?.into_iter();
    let in_c = all.filter(|m| m.language != Language::Rust);
    Ok(in_c.map(|m| m.name).collect())
}

/// Moves a copy into place: a process that has the old library mapped keeps it whole.
fn place(from: &Path, to: &PathBuf) -> Outcome {
    let aside = to.with_extension("so.new");
    fs::copy(from, &aside)
        .and_then(|_| fs::rename(&aside, to))
        .map_err(|e| format!("cannot copy {} to {}: {e}", from.display(), to.display()))
}

/// The libraries to preload into a program that is not sanitized itself, as `LD_PRELOAD` wants them. The
/// C++ library comes along, because the sanitizer looks for its exceptions before anything else loads it.
pub(crate) fn sanitizers() -> Result<String, String> {
    let path = |library: &str| {
        let output = Command::new("cc")
            .arg(format!("-print-file-name={library}"))
            .output()
            .map_err(|e| format!("cannot start cc: {e}"))?;
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match Path::new(&path).is_absolute() {
            true => Ok(path),
            false => Err(format!(
                "the C compiler has no {library}; install GCC's libraries"
            )),
        }
    };
    let all = ["libasan.so", "libubsan.so", "libstdc++.so.6"].map(path);
    Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up() -> Vec<Manifest> {
        let manifest = |name: &str| {
            let mut manifest: Manifest = toml::from_str("language = \"c++\"").unwrap();
            manifest.name = name.to_owned();
            manifest
        };
        ["cyclonedds", "fastdds", "zenoh"].map(manifest).into()
    }

    fn has(adapters: &[&Manifest], name: &str) -> bool {
        adapters.iter().any(|m| m.name == name)
    }

    #[test]
    fn a_package_that_cannot_be_had_keeps_no_other_adapter_from_being_built() {
        let all = made_up();
        let chosen: Vec<&Manifest> = all.iter().collect();
        let no_fastdds = |adapters: &[&Manifest]| match has(adapters, "fastdds") {
            true => Err("install libfastrtps-dev by hand".to_owned()),
            false => Ok(()),
        };
        let (equipped, failed) = equip(&chosen, no_fastdds);
        assert_eq!(equipped.len(), chosen.len() - 1);
        assert!(!has(&equipped, "fastdds"));
        assert_eq!(
            failed,
            [
                "fastdds: install libfastrtps-dev by hand; where its library came otherwise, add --no-install"
            ]
        );
    }

    #[test]
    fn what_all_need_is_asked_for_once() {
        let asked = std::cell::Cell::new(0);
        let all = made_up();
        let chosen: Vec<&Manifest> = all.iter().collect();
        let (equipped, failed) = equip(&chosen, |_| {
            asked.set(asked.get() + 1);
            Ok(())
        });
        assert_eq!(
            (asked.get(), equipped.len(), failed.len()),
            (1, chosen.len(), 0)
        );
    }
}
