//! Chores of the project: `cargo xtask test`, `adapters`, `dist`, `install`, `arm64`, `sanitize`, `lint`, `arrows`,
//! `licences`, `study`, `readers`, `daemons`, `kernel`, `web`, `gallery`.
//!
//! Each chore prints what it does before it does it and ends with exit code 1 at the first failure.

#![warn(clippy::too_many_lines)]

mod adapters;
mod arm64;
mod arrows;
mod chores;
mod dist;
mod files;
mod gallery;
mod kernel;
mod licences;
mod manifest;
mod metadata;
mod modules;
mod packages;
mod steps;
mod study;
mod vsomeip;
mod web;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask CHORE

  test      build everything and run every test (also doc tests, loom models, and the tests of the
            report in a browser); --fast: only the checks that need no packages, no browser and no
            C++, for each commit
  adapters  install the packages for adapters in shared libraries, and build them; --help says more
  install   build dyno and install it with its adapters; --prefix names the folder
  dist      make a release archive and Debian packages; --help says more
  arm64     build dyno for arm64 with Debian's cross compiler, and run it in qemu-user
  sanitize  run the conformance suite over the adapters in C and C++, built with the address and
            undefined-behaviour sanitizers
  lint      check formatting, clippy, rustdoc, arrows and licences; also cargo deny, if installed
  arrows    check that crates depend only on permitted crates, and that modules form no cycles
  licences  check the licences and origins of all dependencies against deny.toml
  study     measure how often Dyno's own statements are right on this machine; `cargo xtask study`
            lists all studies
  readers   install the programs with which tests read exports, into target/python
  daemons   build zenohd, which tests need and Debian lacks, into target/daemons; `daemons vsock`
            builds vhost-device-vsock, for virtual machines on kernels without vsock, into the
            user's cache; `daemons dds-bridge` builds zenohd-dds, the program of zenoh-dds-bridge
  kernel    download Debian's kernel for virtual machines into the user's cache
  web       build the scripts of the report's page; --check compares the checked-in bundle with a build
  gallery   run a few suites, make reports of them, and draw the pictures of docs/gallery.md; --help
            says more";

/// What a chore ends with; the error is for a person to read.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let rest: Vec<String> = std::env::args().skip(2).collect();
    let outcome = match chore.as_str() {
        "test" if rest == ["--fast"] => steps::run(&chores::fast()),
        "test" if rest.is_empty() => test(),
        "test" => Err(format!("cargo xtask test takes --fast only\n\n{USAGE}")),
        "sanitize" => sanitize(),
        "lint" => lint(),
        "adapters" => metadata::load().and_then(|m| adapters::run(&m.target_directory, &rest)),
        "dist" => metadata::load().and_then(|m| dist::dist(&m, &rest)),
        "install" => metadata::load().and_then(|m| dist::install(&m, &rest)),
        "arm64" => metadata::load().and_then(|m| arm64::run(&m, &rest)),
        "arrows" => arrows::check(),
        "licences" => licences::check(),
        "study" => study::run(&rest),
        "readers" => metadata::load().and_then(|m| packages::readers(&m)),
        "daemons" if rest == ["vsock"] => packages::vsock(),
        "daemons" if rest == ["dds-bridge"] => {
            metadata::load().and_then(|m| packages::dds_bridge(&m))
        }
        "daemons" => metadata::load().and_then(|m| packages::daemons(&m)),
        "kernel" => kernel::fetch(),
        "web" => metadata::load().and_then(|m| web::run(&m, &rest)),
        "gallery" => metadata::load().and_then(|m| gallery::run(&m, &rest)),
        "--help" | "-h" | "help" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(format!("there is no chore {other:?}\n\n{USAGE}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Outcome {
    let metadata = metadata::load()?;
    // A databroker that is named and missing is said before what takes long.
    let tests = chores::test(&metadata)?;
    packages::of_tests()?;
    // Said before what takes long: Debian 12's own node is too old.
    packages::of_web()?;
    // Downloads take time, compilers take the CPUs.
    steps::both_succeed(
        || packages::daemons(&metadata),
        || packages::readers(&metadata),
    )?;
    kernel::fetch()?;
    packages::vsock()?;
    adapters::equip_all()?;
    web::run(&metadata, &["--check".to_owned()])?;
    // Many adapters are one file for one CPU.
    let in_c = adapters::in_c()?;
    steps::both_succeed(
        || steps::run(&[chores::build()]),
        || adapters::run(&metadata.target_directory, &in_c),
    )?;
    adapters::place_debug(&metadata.target_directory)?;
    let [first, second] = &tests.lanes;
    let outcome = steps::run_in_lanes(&tests.alone, [first, second]);
    for line in chores::not_tested() {
        println!("── {line}");
    }
    outcome
}

fn sanitize() -> Outcome {
    let target = metadata::load()?.target_directory;
    adapters::run(&target, &["--sanitize".to_owned()])?;
    steps::run(&chores::sanitize(&target, &adapters::sanitizers()?))
}

fn lint() -> Outcome {
    adapters::equip_for_cargo()?;
    steps::run(&chores::lint())?;
    arrows::check()?;
    licences::check()?;
    if steps::succeeds("cargo", &["deny", "--version"]) {
        steps::run(&chores::deny())
    } else {
        println!("cargo deny is not installed: advisories stay unchecked here");
        Ok(())
    }
}
