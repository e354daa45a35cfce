//! `cargo xtask adapters`: installs what the adapters in C and C++ need, builds each with CMake, and
//! puts its library into `adapters` in cargo's target directory, where Dyno finds it.

use crate::{Outcome, packages, vsomeip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One adapter in C or C++.
struct Recipe {
    /// Its name, and that of its folder.
    name: &'static str,
    /// The Debian packages that it is built from.
    packages: &'static [&'static str],
}

const RECIPES: &[Recipe] = &[
    Recipe {
        name: "null-c",
        packages: &[],
    },
    Recipe {
        name: "c-skeleton",
        packages: &[],
    },
    Recipe {
        name: "cyclonedds",
        packages: &["cyclonedds-dev", "cyclonedds-tools"],
    },
    Recipe {
        name: "fastdds",
        packages: &["libfastrtps-dev"],
    },
    Recipe {
        name: "iceoryx",
        packages: &["libiceoryx-posh-dev", "iceoryx"],
    },
    Recipe {
        name: "vsomeip",
        packages: &[
            "libboost-system-dev",
            "libboost-thread-dev",
            "libboost-filesystem-dev",
            "libboost-log-dev",
        ],
    },
];

/// What every adapter is built with.
const TOOLS: &[&str] = &["cmake", "g++", "make"];

const USAGE: &str = "\
usage: cargo xtask adapters [NAME…] [--sanitize] [--no-install]

  NAME…         only these; otherwise all of adapters/ that are written in C or C++
  --sanitize    with the address and undefined-behaviour sanitizers, into adapters-sanitized
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
                    "there is no adapter {other:?} in C or C++, only {}\n\n{USAGE}",
                    names.join(", ")
                ));
            }
        }
    }
    let chosen: Vec<&Recipe> = RECIPES
        .iter()
        .filter(|r| order.names.is_empty() || order.names.iter().any(|n| n == r.name))
        .collect();
    if order.install {
        install(&chosen)?;
    }
    let failed: Vec<String> = chosen
        .iter()
        .filter_map(|recipe| {
            build(recipe, target, order.sanitize)
                .err()
                .map(|e| format!("{}: {e}", recipe.name))
        })
        .collect();
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

fn install(recipes: &[&Recipe]) -> Outcome {
    let packages = recipes.iter().flat_map(|r| r.packages);
    packages::install(packages.chain(TOOLS).copied())
}

/// Configures and builds one adapter, and copies its library to the others.
fn build(recipe: &Recipe, target: &Path, sanitize: bool) -> Outcome {
    let name = recipe.name;
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
