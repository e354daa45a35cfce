//! `dyno agent`

use crate::cli::AgentArgs;
use crate::terminal;
use dyno_report::escaped_json;
use serde::Serialize;
use std::process::ExitCode;

/// Plays one trial, or answers what it was asked instead.
pub(crate) fn agent(args: &AgentArgs) -> ExitCode {
    if let Some(path) = &args.describe_library {
        return answer(dyno_agent::describe_library(path));
    }
    if let Some(path) = &args.binaries_of {
        return answer(dyno_agent::binaries_of_library(path));
    }
    if let Some(libraries) = &args.binaries {
        return answer(dyno_agent::binaries(libraries));
    }
    if let Some(order) = &args.conformance {
        let order = serde_json::from_str(order)
            .map_err(|e| format!("cannot read the order of the runner: {e}"));
        return order
            .and_then(dyno_agent::play_case)
            .unwrap_or_else(|reason| {
                terminal::say(reason);
                ExitCode::FAILURE
            });
    }
    if args.describe {
        return print(&dyno_agent::describe());
    }
    dyno_agent::run()
}

fn answer(what: Result<impl Serialize, impl std::fmt::Display>) -> ExitCode {
    match what {
        Ok(what) => print(&what),
        Err(reason) => {
            terminal::say(reason.to_string());
            ExitCode::FAILURE
        }
    }
}

fn print(what: &impl Serialize) -> ExitCode {
    match serde_json::to_string(what) {
        Ok(json) => match terminal::print(&(escaped_json(json) + "\n")) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.code.into(),
        },
        Err(e) => {
            terminal::say(format!("cannot print the answer: {e}"));
            ExitCode::FAILURE
        }
    }
}
