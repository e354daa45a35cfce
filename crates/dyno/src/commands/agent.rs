//! `dyno agent`

use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// Plays one trial, or describes the adapters, or the one in `library`.
pub(crate) fn agent(describe: bool, library: Option<&Path>) -> ExitCode {
    if let Some(path) = library {
        return match dyno_agent::describe_library(path) {
            Ok(description) => print(&description),
            Err(reason) => {
                eprintln!("{reason}");
                ExitCode::FAILURE
            }
        };
    }
    if describe {
        return print(&dyno_agent::describe());
    }
    dyno_agent::run()
}

fn print(what: &impl Serialize) -> ExitCode {
    match serde_json::to_string(what) {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("cannot describe the adapters: {e}");
            ExitCode::FAILURE
        }
    }
}
