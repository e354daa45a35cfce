//! `dyno man` and `dyno completions`

use crate::cli::Cli;
use crate::exit::{self, Code, Failure, Result};
use clap::CommandFactory;
use std::io::Write;

/// Prints the manual page: the command and each of its subcommands in one document.
pub(crate) fn man() -> Result {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    render(command, &mut page).map_err(Failure::with(Code::Error))?;
    exit::print(&String::from_utf8_lossy(&page))?;
    Ok(Code::Success.into())
}

fn render(command: clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let man = clap_mangen::Man::new(command.clone());
    man.render(page)?;
    for sub in command
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help")
    {
        let title = format!("dyno {}", sub.get_name());
        writeln!(page, ".SH {}", title.to_uppercase())?;
        let man = clap_mangen::Man::new(sub.clone().display_name(title));
        man.render_description_section(page)?;
        man.render_options_section(page)?;
        man.render_extra_section(page)?;
    }
    Ok(())
}

/// Prints a completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "dyno", &mut script);
    exit::print(&String::from_utf8_lossy(&script))?;
    Ok(Code::Success.into())
}
