//! `dyno learn`

use crate::cli::{LearnArgs, LearnFormat};
use crate::commands::trust;
use crate::exit::{Code, Failure, Result};
use crate::files;
use crate::output;
use crate::terminal;
use dyno_learn::{Learnt, SuiteOptions, Traffic};
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

/// Reads the files, and prints or writes what was learnt.
pub(crate) fn learn(args: &LearnArgs) -> Result {
    check(args)?;
    let mut traffic = Traffic::default();
    for file in &args.files {
        read(file, &mut traffic)?;
    }
    let mut learnt = Learnt::of(&traffic);
    if args.rename {
        learnt = learnt.renamed();
    }
    if args.explain {
        terminal::print(&match args.format {
            LearnFormat::Table => dyno_learn::explain(&learnt),
            LearnFormat::Json => dyno_report::json_text(&learnt),
        })?;
        if args.out.is_none() {
            return Ok(Code::Success.into());
        }
    }
    if learnt.flows.is_empty() {
        return Err(failure!(
            Error,
            "no topic has enough messages for a flow; `dyno learn --explain` says why each one is left out"
        ));
    }
    let options = SuiteOptions {
        stacks: args.stack.clone(),
    };
    output::put(args.out.as_deref(), &dyno_learn::suite(&learnt, &options))?;
    tell(&learnt, args);
    Ok(Code::Success.into())
}

/// Refuses names that no suite can have, before anything is read.
fn check(args: &LearnArgs) -> Result<()> {
    let catalog = files::catalog(&args.own)?;
    for stack in &args.stack {
        catalog
            .has_stack(stack)
            .map_err(|why| Failure::message(Code::Usage, why))?;
    }
    let file = output::named(args.out.as_deref());
    match file.filter(|file| file.extension().is_none_or(|e| e != "toml")) {
        Some(file) => Err(failure!(
            Usage,
            "the name of a suite file ends in .toml, unlike {}; write for example -o learnt.toml",
            file.display()
        )),
        None => Ok(()),
    }
}

fn read(path: &Path, traffic: &mut Traffic) -> Result<()> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| failure!(Error, "cannot read {name}: {e}"))?;
    let mut source = BufReader::new(file);
    match dyno_learn::read(&mut source, &name, traffic) {
        Ok(_) => Ok(()),
        Err(dyno_learn::LearnError::Io { cause, .. })
            if cause.kind() == ErrorKind::IsADirectory =>
        {
            Err(failure!(
                Error,
                "{name} is a directory: name the files in it"
            ))
        }
        Err(e) => Err(Failure::with(Code::Error)(e)),
    }
}

/// What came of it, on standard error: the suite may be on standard output.
fn tell(learnt: &Learnt, args: &LearnArgs) {
    if !args.explain {
        for file in &learnt.files {
            for problem in &file.problems {
                let (name, at) = (&file.name, problem.first);
                terminal::say(format!(
                    "{name}, {at}: {} ({} in all)",
                    problem.what, problem.times
                ));
            }
        }
        let (flows, left) = (learnt.flows.len(), learnt.left_out.len());
        let kinds: u64 = learnt.files.iter().flat_map(|f| f.left_out.values()).sum();
        terminal::say(format!(
            "{flows} flows learnt; {left} topics and {kinds} other messages left out (--explain says why)"
        ));
    }
    if let Some(file) = output::named(args.out.as_deref()) {
        let word = trust::shell_word(&file.to_string_lossy());
        terminal::say(format!("next: dyno run {word} --dry-run"));
    }
}
