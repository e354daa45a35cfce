//! `dyno agent`

use std::process::ExitCode;

/// Plays one trial, or describes the adapters.
pub(crate) fn agent(describe: bool) -> ExitCode {
    if !describe {
        return dyno_agent::run();
    }
    match serde_json::to_string(&dyno_agent::describe()) {
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
