//! Chores of the project: `cargo xtask test`, `adapters`, `sanitize`, `lint`, `arrows`, `licences`, `study`.
//!
//! Each chore prints what it does before it does it and ends with exit code 1 at the first failure.

mod adapters;
mod arrows;
mod licences;
mod metadata;
mod packages;
mod steps;
mod study;
mod vsomeip;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask CHORE

  test      build the adapters, build all, run every test (also doc tests and loom models)
  adapters  install what adapters in C and C++ need, and build them; --help says more
  sanitize  the conformance suite over the adapters in C and C++, built with the address and
            undefined-behaviour sanitizers
  lint      formatting, clippy, rustdoc, arrows, licences; cargo deny where it is installed
  arrows    check which crate may depend on which
  licences  check the licences and origins of all dependencies against deny.toml
  study     how often Dyno's own statements are right on this machine: aa, power, clocks, noise, again,
            agree";

/// What a chore ends with; the error is for a person to read.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let rest: Vec<String> = std::env::args().skip(2).collect();
    let outcome = match chore.as_str() {
        "test" => test(),
        "sanitize" => sanitize(),
        "lint" => lint(),
        "adapters" => metadata::load().and_then(|m| adapters::run(&m.target_directory, &rest)),
        "arrows" => arrows::check(),
        "licences" => licences::check(),
        "study" => study::run(&rest),
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
    let target = metadata::load()?.target_directory;
    packages::of_tests()?;
    adapters::run(&target, &[])?;
    steps::run(&steps::test(&target))
}

fn sanitize() -> Outcome {
    let target = metadata::load()?.target_directory;
    adapters::run(&target, &["--sanitize".to_owned()])?;
    steps::run(&steps::sanitize(&target, &adapters::sanitizers()?))
}

fn lint() -> Outcome {
    steps::run(&steps::lint())?;
    arrows::check()?;
    licences::check()?;
    if steps::succeeds("cargo", &["deny", "--version"]) {
        steps::run(&steps::deny())
    } else {
        println!("cargo deny is not installed: advisories stay unchecked here");
        Ok(())
    }
}
