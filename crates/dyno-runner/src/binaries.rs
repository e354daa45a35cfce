//! Asking agents what they execute, before anything is measured.

use crate::agent::{AgentCommand, DescribeError, ask};
use crate::programs::find;
use dyno_model::origin::{BASE, Binaries, DAEMON, PROGRAM};
use dyno_model::{AdapterDescription, Against, Plan};
use std::ffi::OsString;

/// What the agents of `plan` on this machine execute: their program, what it loads, and what each of the
/// `adapters` in libraries loads beyond that; and the programs of the stacks' daemons. What a base build cannot tell is left out.
///
/// # Errors
///
/// When the agent cannot be started, fails, or speaks another version.
pub fn binaries(
    agent: &AgentCommand,
    plan: &Plan,
    adapters: &[AdapterDescription],
) -> Result<Binaries, DescribeError> {
    let libraries = adapters.iter().filter_map(|a| {
        let mut pair = OsString::from(&a.name);
        pair.push("=");
        pair.push(a.library.as_ref()?);
        Some(pair)
    });
    let daemons = plan.stacks.values().flat_map(|stack| &stack.daemons);
    let daemons = daemons.filter_map(|d| {
        let mut pair = OsString::from(format!("{DAEMON}{}=", d.name));
        pair.push(find(d.command.first()?)?);
        Some(pair)
    });
    let asked = std::iter::once("--binaries".into()).chain(libraries.chain(daemons));
    let mut all: Binaries = ask(agent, asked)?;
    if let Some(Against::Build { .. }) = &plan.against {
        let base = AgentCommand::of_base(plan, agent);
        let theirs: Option<Binaries> = ask(&base, std::iter::once("--binaries".into())).ok();
        let program = theirs.and_then(|mut all| all.remove(PROGRAM));
        all.extend(program.map(|program| (BASE.to_owned(), program)));
    }
    Ok(all)
}
