//! Whether a stored run may have this machine do what it names: its texts and its plan are a stranger's until somebody says
//! otherwise. What stands in a suite, stack or testbed of this Dyno or of the user's own folders needs no question.

use crate::cli::RunArgs;
use crate::exit::{Code, Failure, Result};
use crate::files::FileArgs;
use crate::terminal::{self, Answer};
use dyno_model::adapter::{AdapterDescription, Options};
use dyno_model::daemon::{Daemon, Ready, StopSignal};
use dyno_model::plan::{Host, Reach};
use dyno_model::unit::counted;
use dyno_model::{Against, Plan, Stack, Testbed};
use dyno_plan::Catalog;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Where a line has more characters, so many of the last lines are told once more in short.
const LONG: usize = 300;
const MOST: usize = 20;

/// What the plan of a stored run would have this machine do beyond what `present` has of the same name: files that it writes or removes
/// for programs, then programs that it starts, hosts that it reaches. One line each; what may be long comes first, so that
/// it is not the rest that leaves the screen.
pub(super) fn wanted(
    plan: &Plan,
    present: &Catalog,
    adapters: &[AdapterDescription],
) -> Vec<String> {
    let (mut wanted, mut acts) = (Vec::new(), Vec::new());
    for (name, stack) in &plan.stacks {
        let known = present.read_stack(name, adapters).ok();
        let (known_daemons, known_options) = known
            .as_ref()
            .map_or_else(Default::default, |known| (daemons(known), options(known)));
        let new = daemons(stack)
            .into_iter()
            .filter(|d| !known_daemons.contains(d));
        for daemon in new {
            let of = format!("for the daemon `{}` of stack `{name}`", daemon.name);
            let files = daemon.files.iter();
            wanted.extend(files.map(|(path, text)| format!("write {path:?} {of}: {text:?}")));
            let leaves = daemon.leaves.iter();
            wanted.extend(leaves.map(|path| format!("remove {path:?} {of}")));
            acts.push(started(name, daemon));
        }
        let given = |(adapter, options)| given(name, adapter, options, &known_options, adapters);
        wanted.extend(options(stack).into_iter().filter_map(given));
    }
    let known = present.read_testbed(&plan.testbed.name).ok();
    acts.extend(reached(plan, known));
    if let Some(Against::Build { program, .. }) = &plan.against {
        acts.push(format!(
            "start {} as the agents of another build",
            program.display()
        ));
    }
    wanted.append(&mut acts);
    wanted
}

/// Of a stack, of the legs of a chain, and the programs that join these.
fn daemons(stack: &Stack) -> Vec<&Daemon> {
    let chain = stack.chain.iter();
    let of_chain = chain.flat_map(|chain| {
        let legs = chain.legs.iter().flat_map(|leg| &leg.daemons);
        legs.chain(chain.gateways.iter().flat_map(|gateway| &gateway.programs))
    });
    stack.daemons.iter().chain(of_chain).collect()
}

/// Adapters with their options.
fn options(stack: &Stack) -> Vec<(&str, &Options)> {
    let legs = stack.chain.iter().flat_map(|chain| &chain.legs);
    let legs = legs.map(|leg| (leg.adapter.as_str(), &leg.options));
    legs.chain([(stack.adapter.as_str(), &stack.options)])
        .collect()
}

fn started(stack: &str, daemon: &Daemon) -> String {
    let mut line = format!(
        "start the daemon `{}` of stack `{stack}`: {}",
        daemon.name,
        words(&daemon.command)
    );
    if !daemon.prepare.is_empty() {
        line.push_str(&format!(", and before it: {}", words(&daemon.prepare)));
    }
    for (name, value) in &daemon.environment {
        line.push_str(&format!(", with {name}={value:?}"));
    }
    for (name, value) in &daemon.options {
        line.push_str(&format!(", with {{option.{name}}} = {value:?}"));
    }
    line.push_str(&match &daemon.ready {
        Ready::Output(text) => format!(", wait until it prints {text:?}"),
        Ready::File(path) => format!(", wait for the file {path:?}"),
        Ready::Connect(place) => format!(", connect to {place:?} until it is accepted"),
    });
    if daemon.stop != StopSignal::default() {
        line.push_str(&format!(", end it with {}", daemon.stop));
    }
    if daemon.exclusive {
        line.push_str(", only if no other instance runs");
    }
    line
}

/// A command as a shell would take it, nearly: what has a blank or a quote is quoted.
fn words(command: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "'\"\\`".contains(c))
    };
    let words: Vec<String> = command
        .iter()
        .map(|word| match plain(word) {
            true => word.clone(),
            false => format!("{word:?}"),
        })
        .collect();
    format!("`{}`", words.join(" "))
}

/// Whatever is set may matter: a text may name a file that a library writes, a number may be a port, a switch may open one.
fn given(
    stack: &str,
    adapter: &str,
    options: &Options,
    known: &[(&str, &Options)],
    adapters: &[AdapterDescription],
) -> Option<String> {
    let described = adapters.iter().find(|a| a.name == adapter);
    let new = options.iter().filter(|(name, value)| {
        let mut specs = described.iter().flat_map(|a| &a.options);
        let mut known = known.iter().filter(|(of, _)| *of == adapter);
        !specs.any(|o| o.name == **name && o.default.as_ref() == Some(*value))
            && !known.any(|(_, options)| options.get(*name) == Some(*value))
    });
    let new: Vec<String> = new
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    (!new.is_empty()).then(|| {
        format!(
            "give the adapter `{adapter}` of stack `{stack}` the options {}",
            new.join(", ")
        )
    })
}

fn reached(plan: &Plan, known: Option<Testbed>) -> Vec<String> {
    let has_vsock = plan
        .stacks
        .values()
        .any(|s| s.adapters().contains(&"vsock"));
    let mut known = known.map_or_else(Vec::new, |testbed| testbed.hosts);
    // Each of the user's own covers one alone.
    let mut is_new = |host: &&Host| {
        let own = known.iter().position(|own| covers(own, host, has_vsock));
        own.map(|own| known.swap_remove(own)).is_none()
    };
    let mut lines = Vec::new();
    for host in &plan.testbed.hosts {
        if is_new(&host) {
            lines.extend(line(host));
        }
    }
    lines
}

/// Whether `known` has this machine do all that `host` does. A virtual machine may be smaller, and the planner gives it a vsock device
/// where a stack needs one.
fn covers(known: &Host, host: &Host, has_vsock: bool) -> bool {
    let reach = match (&known.reach, &host.reach) {
        (Reach::Vm(own), Reach::Vm(asked)) => {
            // A plan that was measured names the kernel that was found.
            let is_found = || asked.kernel == dyno_runner::kernel_of(&known.name, own);
            (own.kernel == asked.kernel || is_found())
                && own.memory_bytes >= asked.memory_bytes
                && own.cpus >= asked.cpus
                && own.pinned == asked.pinned
                && own.shared_bytes >= asked.shared_bytes
                && (asked.vsock.is_none() || has_vsock)
        }
        (own, asked) => own == asked,
    };
    reach && known.address == host.address
}

/// What a host that no testbed of the user's has would have this machine do.
fn line(host: &Host) -> Option<String> {
    let address = &host.address;
    let is_loopback = address.parse().is_ok_and(|a: IpAddr| a.is_loopback());
    match &host.reach {
        // A network of its own, which nothing joins to others and which goes with the run.
        Reach::Namespace => None,
        Reach::Local if is_loopback => None,
        Reach::Local => Some(format!("listen at {address} and send to it")),
        Reach::Ssh { destination } => Some(format!(
            "copy its own program to {destination:?} by ssh, start it there, and send to {address}"
        )),
        Reach::Vm(machine) => Some(format!(
            "boot a virtual machine at {address}: {}{machine}",
            machine
                .kernel
                .as_ref()
                .map_or(String::new(), |kernel| format!("{}: ", kernel.display()))
        )),
    }
}

/// Asks whether this machine may do what the run in `directory` wants of it.
///
/// # Errors
///
/// When somebody says no or interrupts, or nobody is there to ask and `--trust` was not given.
pub(super) fn permit(
    args: &RunArgs,
    directory: &Path,
    wanted: &[String],
    interrupt: &AtomicBool,
) -> Result<()> {
    if wanted.is_empty() || args.trust {
        return Ok(());
    }
    terminal::say(format!(
        "{} wants to do the following on this machine, which none of your own stacks and testbeds does ({}):",
        directory.display(),
        counted(wanted.len(), "thing")
    ));
    for line in wanted {
        terminal::say(format!("  {line}"));
    }
    // A long line pushes others off the screen.
    if wanted.iter().any(|line| line.chars().nth(LONG).is_some()) {
        terminal::say("in short:");
        for line in wanted.iter().rev().take(MOST).rev() {
            terminal::say(format!("  {}", shortened(line)));
        }
    }
    if !terminal::can_ask() {
        return Err(failure!(
            Usage,
            "nothing was run, because Dyno needs a terminal to ask you; if you trust the author of the run: {}",
            trusting()
        ));
    }
    match terminal::ask("Do you trust its author?", interrupt) {
        Answer::Yes => Ok(()),
        Answer::No => Err(Failure::message(Code::Usage, "nothing was run")),
        Answer::Interrupted => Err(Failure::message(
            Code::Interrupted,
            "interrupted; nothing was run",
        )),
    }
}

/// At most [`LONG`] characters of a line.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The command that was given, with `--trust`, as a shell takes it.
fn trusting() -> String {
    let given = std::env::args_os().skip(1);
    let given = given.map(|word| shell_word(&word.to_string_lossy()));
    let words: Vec<String> = ["dyno".to_owned()].into_iter().chain(given).collect();
    format!("{} --trust", words.join(" "))
}

/// The user's own folders as options of a command, each behind a blank.
pub(super) fn folders(own: &FileArgs) -> String {
    let word = |folder: &PathBuf| format!(" --files {}", shell_word(&folder.to_string_lossy()));
    own.folders.iter().map(word).collect()
}

/// A word that no shell takes apart or executes.
pub(super) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn a_command_that_is_proposed_executes_no_part_of_a_name() {
        for (word, shown) in [
            ("runs/a-1", "runs/a-1"),
            ("", "''"),
            ("$(rm x);`y`", "'$(rm x);`y`'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(shell_word(word), shown);
        }
    }
}
