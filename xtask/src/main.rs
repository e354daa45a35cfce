//! Chores of the project: `cargo xtask test`, `lint`, `arrows`, `licences`, `study`.
//!
//! Each chore prints what it does before it does it and ends with exit code 1 at the first failure.

mod arrows;
mod libraries;
mod licences;
mod metadata;
mod steps;
mod study;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask CHORE

  test      install what stacks need, build all, run every test (also doc tests and loom models)
  lint      formatting, clippy, rustdoc, arrows, licences; cargo deny where it is installed
  arrows    check which crate may depend on which
  licences  check the licences and origins of all dependencies against deny.toml
  study     how often Dyno's own statements are right on this machine: aa, power, noise, again";

/// What a chore ends with; the error is for a person to read.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1).unwrap_or_default();
    let outcome = match chore.as_str() {
        "test" => test(),
        "lint" => lint(),
        "arrows" => arrows::check(),
        "licences" => licences::check(),
        "study" => study::run(&std::env::args().skip(2).collect::<Vec<_>>()),
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
    libraries::install()?;
    steps::run(&steps::test(&metadata::load()?.target_directory))
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
