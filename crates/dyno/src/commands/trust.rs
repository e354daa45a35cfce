//! Whether a stored run may have this machine do what it names: its texts and its plan are a stranger's until somebody says
//! otherwise. What stands in a suite, stack or testbed of this Dyno or of the user's own folders needs no question.

use crate::cli::RunArgs;
use crate::exit::{Code, Failure, Result};
use crate::terminal::{self, Answer};
use dyno_model::adapter::{AdapterDescription, Options};
use dyno_model::daemon::Daemon;
use dyno_model::plan::Reach;
use dyno_model::{Against, Plan, Stack, Testbed};
use dyno_plan::Catalog;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What the plan of a stored run would have this machine do beyond what `present` has of the same name: programs that it starts,
/// files that it writes or removes for them, hosts that it reaches. One line each.
pub(super) fn wanted(
    plan: &Plan,
    present: &Catalog,
    adapters: &[AdapterDescription],
) -> Vec<String> {
    let mut wanted = Vec::new();
    for (name, stack) in &plan.stacks {
        let known = present.read_stack(name, adapters).ok();
        let (known_daemons, known_options) = known
            .as_ref()
            .map_or_else(Default::default, |known| (daemons(known), options(known)));
        let new = daemons(stack)
            .into_iter()
            .filter(|d| !known_daemons.contains(d));
        wanted.extend(new.map(|daemon| started(name, daemon)));
        let given = |(adapter, options)| given(name, adapter, options, &known_options, adapters);
        wanted.extend(options(stack).into_iter().filter_map(given));
    }
    let known = present.read_testbed(&plan.testbed.name).ok();
    wanted.extend(reached(&plan.testbed, known));
    if let Some(Against::Build { program, .. }) = &plan.against {
        wanted.push(format!(
            "start {} as the agents of another build",
            program.display()
        ));
    }
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
    for (path, text) in &daemon.files {
        line.push_str(&format!(", write {path:?}: {text:?}"));
    }
    for path in &daemon.leaves {
        line.push_str(&format!(", remove {path:?}"));
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

fn reached(testbed: &Testbed, known: Option<Testbed>) -> Vec<String> {
    let mut known: Vec<Testbed> = known.into_iter().collect();
    // A plan that was measured names the kernel that was found.
    if let Some(mut settled) = known.first().cloned()
        && dyno_runner::settle_hosts(&mut settled, &mut |_| {}).is_ok()
    {
        known.push(settled);
    }
    let is_known = |reach: &Reach| {
        let mut hosts = known.iter().flat_map(|testbed| &testbed.hosts);
        hosts.any(|host| match (&host.reach, reach) {
            (Reach::Vm(own), Reach::Vm(machine)) => own.kernel == machine.kernel,
            (own, reach) => own == reach,
        })
    };
    let hosts = testbed.hosts.iter().filter(|host| !is_known(&host.reach));
    let line = |reach: &Reach| match reach {
        Reach::Local | Reach::Namespace => None,
        Reach::Ssh { destination } => Some(format!(
            "copy its own program to {destination:?} by ssh, and start it there"
        )),
        Reach::Vm(machine) => machine
            .kernel
            .as_ref()
            .map(|kernel| format!("boot the kernel {} in a virtual machine", kernel.display())),
    };
    hosts.filter_map(|host| line(&host.reach)).collect()
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
        "{} would have this machine do what stands in no stack or testbed of yours:",
        directory.display()
    ));
    for line in wanted {
        terminal::say(format!("  {line}"));
    }
    if !terminal::can_ask() {
        return Err(Failure::message(
            Code::Usage,
            format!(
                "nothing was run, and nobody is there to ask; if you trust the run's author, or made it yourself: {}",
                trusting()
            ),
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

/// The command that was given, with `--trust`, as a shell takes it.
fn trusting() -> String {
    let given = std::env::args().skip(1).map(|word| shell_word(&word));
    let words: Vec<String> = ["dyno".to_owned()].into_iter().chain(given).collect();
    format!("{} --trust", words.join(" "))
}

/// A word that no shell takes apart or executes.
fn shell_word(word: &str) -> String {
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
