//! `cargo xtask adapters`: installs what the adapters in shared libraries need, builds each with CMake or, in
//! Rust, with cargo, and puts its library into `adapters` in cargo's target directory, where Dyno finds it.

use crate::{Outcome, packages, vsomeip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One adapter that is a shared library.
struct Recipe {
    /// Its name, and that of its folder.
    name: &'static str,
    /// The Debian packages that it is built from.
    packages: &'static [&'static str],
    language: Language,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    /// C or C++, built by CMake.
    C,
    /// A crate of the workspace.
    Rust,
}
use Language::{C, Rust};

const RECIPES: &[Recipe] = &[
    Recipe {
        name: "null-c",
        packages: &[],
        language: C,
    },
    Recipe {
        name: "c-skeleton",
        packages: &[],
        language: C,
    },
    Recipe {
        name: "cyclonedds",
        packages: &["cyclonedds-dev", "cyclonedds-tools"],
        language: C,
    },
    Recipe {
        name: "dbus",
        packages: &["libdbus-1-dev", "dbus-daemon", "pkg-config"],
        language: C,
    },
    Recipe {
        name: "fastdds",
        packages: &["libfastrtps-dev"],
        language: C,
    },
    Recipe {
        name: "grpc",
        packages: GRPC,
        language: C,
    },
    Recipe {
        name: "iceoryx",
        packages: &["libiceoryx-posh-dev", "iceoryx"],
        language: C,
    },
    Recipe {
        name: "kuksa",
        packages: KUKSA,
        language: C,
    },
    Recipe {
        name: "mqtt",
        packages: &["libmosquitto-dev", "mosquitto", "pkg-config"],
        language: C,
    },
    Recipe {
        name: "nats",
        packages: &["libnats-dev", "nats-server", "pkg-config"],
        language: C,
    },
    Recipe {
        name: "vsomeip",
        packages: &[
            "libboost-system-dev",
            "libboost-thread-dev",
            "libboost-filesystem-dev",
            "libboost-log-dev",
        ],
        language: C,
    },
    Recipe {
        name: "zenoh",
        packages: &[],
        language: Rust,
    },
];

/// gRPC in C++, with the compiler of its interfaces.
const GRPC: &[&str] = &[
    "libgrpc++-dev",
    "libprotobuf-dev",
    "protobuf-compiler",
    "protobuf-compiler-grpc",
    "pkg-config",
];

/// The same, and the WebSockets of Boost.Beast, which has headers alone.
const KUKSA: &[&str] = &[
    "libgrpc++-dev",
    "libprotobuf-dev",
    "protobuf-compiler",
    "protobuf-compiler-grpc",
    "pkg-config",
    "libboost-dev",
];

/// What every adapter in C or C++ is built with.
const TOOLS: &[&str] = &["cmake", "g++", "make"];

const USAGE: &str = "\
usage: cargo xtask adapters [NAME…] [--sanitize] [--no-install]

  NAME…         only these; otherwise all of adapters/ that are no part of the program itself
  --sanitize    those in C and C++ with the address and undefined-behaviour sanitizers, into adapters-sanitized
  --no-install  do not install packages";

/// What to build and how.
struct Order {
    names: Vec<String>,
    sanitize: bool,
    install: bool,
}

/// Reads the arguments and builds. One adapter that fails does not keep the others from being built.
pub(crate) fn run(target: &Path, arguments: &[String]) -> Outcome {
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
            name if RECIPES.iter().any(|r| r.name == name) => order.names.push(name.to_owned()),
            other => {
                let names: Vec<&str> = RECIPES.iter().map(|r| r.name).collect();
                return Err(format!(
                    "there is no adapter {other:?} in a library of its own, only {}\n\n{USAGE}",
                    names.join(", ")
                ));
            }
        }
    }
    let chosen: Vec<&Recipe> = RECIPES
        .iter()
        .filter(|r| order.names.is_empty() || order.names.iter().any(|n| n == r.name))
        .filter(|r| r.language == C || !order.sanitize)
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
    for recipe in equipped {
        if let Err(e) = build(recipe, target, order.sanitize) {
            failed.push(format!("{}: {e}", recipe.name));
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

/// Installs what all need, at once; where that fails, what each needs. The recipes that have what they need, and for
/// each of the others what it lacks.
fn equip<'a>(
    chosen: &[&'a Recipe],
    install: impl Fn(&[&Recipe]) -> Outcome,
) -> (Vec<&'a Recipe>, Vec<String>) {
    if install(chosen).is_ok() {
        return (chosen.to_vec(), Vec::new());
    }
    let mut failed = Vec::new();
    let mut equipped = chosen.to_vec();
    equipped.retain(|recipe| {
        let installed = install(&[recipe]);
        if let Err(e) = &installed {
            failed.push(format!(
                "{}: {e}; where its library came otherwise, add --no-install",
                recipe.name
            ));
        }
        installed.is_ok()
    });
    (equipped, failed)
}

fn install(recipes: &[&Recipe]) -> Outcome {
    let packages = recipes.iter().flat_map(|r| r.packages);
    let tools = match recipes.iter().any(|r| r.language == C) {
        true => TOOLS,
        false => &[],
    };
    packages::install(packages.chain(tools).copied())
}

/// Configures and builds one adapter, and copies its library to the others.
fn build(recipe: &Recipe, target: &Path, sanitize: bool) -> Outcome {
    let name = recipe.name;
    if recipe.language == Rust {
        return build_in_rust(name, target);
    }
    let out = match sanitize {
        true => target.join("adapters-sanitized"),
        false => target.join("adapters"),
    };
    let work = out.join("build").join(name);
    fs::create_dir_all(&work).map_err(|e| format!("cannot create {}: {e}", work.display()))?;
    let mut settings = vec![
        "-DCMAKE_BUILD_TYPE=Release".to_owned(),
        format!("-DDYNO_SANITIZE={}", if sanitize { "ON" } else { "OFF" }),
    ];
    if name == "vsomeip" {
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
    cmake(&configure)?;
    // Without a number CMake starts as many compilers as there are files.
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    cmake(&["--build", &work_text, "--parallel", &jobs.to_string()])?;
    let file = format!("libdyno_{name}.so");
    place(&work.join(&file), &out.join(&file))
}

/// The crates of adapters in Rust that are libraries of their own.
fn in_rust() -> impl Iterator<Item = &'static str> {
    RECIPES
        .iter()
        .filter(|r| r.language == Rust)
        .map(|r| r.name)
}

/// Builds an adapter in Rust as it is measured, for all builds of Dyno.
fn build_in_rust(name: &str, target: &Path) -> Outcome {
    println!("── adapter {name}, in Rust");
    let package = format!("dyno-adapter-{name}");
    let status = Command::new("cargo")
        .args([
            "build",
            "--release",
            "--locked",
            "--lib",
            "--package",
            &package,
        ])
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if !status.success() {
        return Err(format!(
            "cargo build --package {package} failed ({status}); see above"
        ));
    }
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
    in_rust().try_for_each(|name| place_rust(name, &debug, &debug.join("adapters")))
}

fn place_rust(name: &str, from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to).map_err(|e| format!("cannot create {}: {e}", to.display()))?;
    let built = from.join(format!("libdyno_adapter_{name}.so"));
    place(&built, &to.join(format!("libdyno_{name}.so")))
}

/// The names of all adapters that are libraries of their own.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    RECIPES.iter().map(|r| r.name)
}

/// The names of the adapters in C and C++.
pub(crate) fn in_c() -> Vec<String> {
    let in_c = RECIPES.iter().filter(|r| r.language == C);
    in_c.map(|r| r.name.to_owned()).collect()
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

/// Runs CMake; what it printed is shown only where it fails.
pub(crate) fn cmake(arguments: &[&str]) -> Outcome {
    let output = Command::new("cmake")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cannot start cmake: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let last = lines.split_at(lines.len().saturating_sub(60)).1;
    Err(format!(
        "cmake {} failed ({}):\n{}",
        arguments.join(" "),
        output.status,
        last.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(recipes: &[&Recipe]) -> Vec<&'static str> {
        recipes.iter().map(|r| r.name).collect()
    }

    #[test]
    fn a_package_that_cannot_be_had_keeps_no_other_adapter_from_being_built() {
        let chosen: Vec<&Recipe> = RECIPES.iter().collect();
        let no_fastdds = |recipes: &[&Recipe]| match names(recipes).contains(&"fastdds") {
            true => Err("install libfastrtps-dev by hand".to_owned()),
            false => Ok(()),
        };
        let (equipped, failed) = equip(&chosen, no_fastdds);
        assert_eq!(equipped.len(), chosen.len() - 1);
        assert!(!names(&equipped).contains(&"fastdds"));
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
        let chosen: Vec<&Recipe> = RECIPES.iter().collect();
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
