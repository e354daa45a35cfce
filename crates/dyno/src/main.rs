//! `dyno`, the dynamometer for in-vehicle communication: the command line.

#![warn(clippy::too_many_lines)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod exit;

#[cfg(not(all(feature = "live", feature = "parquet", feature = "serve")))]
mod absent;
mod agents;
mod built;
mod cli;
mod commands;
mod files;
mod host;
mod interrupt;
mod output;
mod progress;
mod terminal;
#[cfg(feature = "live")]
mod view;

use clap::{CommandFactory as _, Parser};
use cli::{Cli, Command};
use dyno_runner::INIT;
use exit::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The first process of a virtual machine that the runner has booted.
    if rustix::process::getpid().is_init() && std::env::args().next().as_deref() == Some(INIT) {
        return dyno_runner::init();
    }
    // Answers a shell that asks for completions, and ends then; else it does nothing.
    clap_complete::CompleteEnv::with_factory(Cli::command).complete();
    terminal::lay_out_errors();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return terminal::usage(&e, terminal::wants_colors(e.use_stderr())).into(),
    };
    let result = match cli.command {
        Command::Run(args) => commands::run::run(*args),
        Command::Init(args) => commands::init::init(&args),
        #[cfg(feature = "live")]
        Command::Watch(args) => commands::watch::watch(&args),
        #[cfg(not(feature = "live"))]
        Command::Watch(_) => absent::view::check_terminal(""),
        Command::Show(args) => commands::show::show(&args),
        Command::Report(args) => commands::report::report(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::serve(&args),
        #[cfg(not(feature = "serve"))]
        Command::Serve(_) => absent::absent("`dyno serve`", "serve"),
        Command::Merge(args) => commands::merge::merge(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Gate(args) => commands::gate::gate(*args),
        Command::Check(args) => commands::check::check(&args),
        Command::Trend(args) => commands::trend::trend(&args),
        Command::Audit(args) => commands::audit::audit(&args),
        Command::List(args) => commands::list::list(&args),
        Command::NewAdapter(args) => commands::new_adapter::new_adapter(&args),
        Command::Conformance(args) => commands::conformance::conformance(&args),
        Command::Doctor(args) => commands::doctor::doctor(&args),
        Command::Man { of, out } => commands::man::man(of.as_deref(), out.as_deref()),
        Command::Completions { shell } => commands::man::completions(shell),
        Command::Agent(args) => {
            return match (args.keep, args.relay.as_deref()) {
                (true, _) => dyno_runner::keep(),
                (_, Some([socket, order])) => dyno_runner::relay(socket, order),
                _ => commands::agent::agent(&args),
            };
        }
    };
    match result {
        Ok(code) => code,
        Err(Failure { code, report }) => {
            terminal::fail(&report);
            code.into()
        }
    }
}
