//! `dyno show`

use crate::cli::{FormatArg, ShowArgs};
use crate::exit::{self, Code, Failure, Result};
use dyno_model::record::Run;
use dyno_report::{Format, RenderOptions, SummaryOptions};
use std::io::IsTerminal;
use std::path::Path;

/// Reads a run and prints it.
pub(crate) fn show(args: &ShowArgs) -> Result {
    let directory = dyno_store::locate(&args.run, Path::new(dyno_store::DEFAULT_RUNS_DIR))
        .map_err(Failure::with(Code::Store))?;
    let read = dyno_store::read_run(&directory).map_err(Failure::with(Code::Store))?;
    for problem in &read.problems {
        eprintln!("warning: {problem}");
    }
    print(&read.run, args.format)?;
    Ok(if read.problems.is_empty() {
        Code::Success
    } else {
        Code::Store
    }
    .into())
}

/// Prints a run to standard output.
pub(crate) fn print(run: &Run, format: FormatArg) -> Result<()> {
    let summary = dyno_report::summarise(run, &SummaryOptions::default());
    let format = match format {
        FormatArg::Table => Format::Table,
        FormatArg::Markdown => Format::Markdown,
        FormatArg::Json => Format::Json,
        FormatArg::Csv => Format::Csv,
    };
    exit::print(&dyno_report::render(&summary, format, &render_options()))
}

/// How text for people is laid out on this standard output.
pub(crate) fn render_options() -> RenderOptions {
    let terminal = std::io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let width = if terminal { terminal_width() } else { None };
    RenderOptions { width, color }
}

fn terminal_width() -> Option<usize> {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
}
