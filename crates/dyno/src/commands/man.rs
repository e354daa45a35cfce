//! `dyno man` and `dyno completions`

use crate::cli::Cli;
use crate::exit::{Code, Failure, Result};
use crate::terminal;
use clap::{Command, CommandFactory};
use clap_complete::env::Shells;
use std::path::Path;

/// Prints the manual page of a command, or writes those of all to the folder `out`.
pub(crate) fn man(of: Option<&str>, out: Option<&Path>) -> Result {
    let mut dyno = Cli::command();
    dyno.build();
    if let Some(folder) = out {
        let unwritable = |e: std::io::Error| {
            let place = folder.display();
            failure!(Error, "cannot write to {place}: {e}")
        };
        std::fs::create_dir_all(folder).map_err(unwritable)?;
        for command in std::iter::once(&dyno).chain(commands(&dyno)) {
            let page = page(command).map_err(Failure::with(Code::Error))?;
            let name = format!("{}.1", title(command));
            std::fs::write(folder.join(name), page).map_err(unwritable)?;
        }
        return Ok(Code::Success.into());
    }
    let command = match of {
        None => &dyno,
        Some(name) => commands(&dyno)
            .find(|c| c.get_name() == name)
            .ok_or_else(|| {
                let names: Vec<&str> = commands(&dyno).map(Command::get_name).collect();
                let all = names.join(", ");
                failure!(Usage, "there is no command `{name}`; commands: {all}")
            })?,
    };
    let page = page(command).map_err(Failure::with(Code::Error))?;
    terminal::print(&String::from_utf8_lossy(&page))?;
    Ok(Code::Success.into())
}

/// The commands that have a page.
fn commands(dyno: &Command) -> impl Iterator<Item = &Command> {
    dyno.get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help")
}

/// `dyno` or `dyno-run`: the name of a page, and what other pages refer to.
fn title(command: &Command) -> String {
    match command.get_name() {
        "dyno" => "dyno".to_owned(),
        sub => format!("dyno-{sub}"),
    }
}

fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let named = command.clone().disable_help_subcommand(true);
    clap_mangen::Man::new(named.display_name(title(command))).render(&mut page)?;
    Ok(page)
}

/// Prints a script that makes a shell ask dyno what may come next.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result {
    let name = shell.to_string();
    // Both know the same shells.
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(&name) else {
        return Err(failure!(Usage, "there are no completions for {name}"));
    };
    let mut script = Vec::new();
    completer
        .write_registration("COMPLETE", "dyno", "dyno", "dyno", &mut script)
        .map_err(Failure::with(Code::Error))?;
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(Code::Success.into())
}
