//! What every command that starts agents needs first: the program that they are, and a machine without what earlier
//! ones left behind.

use crate::exit::{Code, Failure, Result};
use crate::progress::Progress;
use dyno_runner::AgentCommand;
use std::path::PathBuf;

/// Agents are this very program.
pub(crate) fn agent_command() -> Result<AgentCommand> {
    // Not the resolved path: it would name a file that a rebuild has replaced.
    let program = PathBuf::from("/proc/self/exe");
    let program = std::fs::read_link(&program).map_err(Failure::with(Code::Error))?;
    Ok(AgentCommand {
        program,
        arguments: vec!["agent".to_owned()],
    })
}

/// Clears what an earlier run left behind, and says so.
pub(crate) fn report_sweep(progress: &Progress) {
    let swept = dyno_runner::sweep();
    for line in swept.told() {
        progress.say(line);
    }
    if !swept.is_empty() {
        progress.say(format!(
            "cleaned up after an earlier run: {} scratch folders, {} processes, {} other",
            swept.places.len(),
            swept.killed.len(),
            swept.removed.len()
        ));
    }
}
