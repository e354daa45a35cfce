//! `dyno show`

use crate::cli::{FormatArg, NotesArg, ShowArgs, ShowFormat};
use crate::commands::export::FolderFormat;
use crate::commands::{imported, search};
use crate::exit::{self, Code, Failure, Result};
use crate::output;
use dyno_judge::ImportSheet;
use dyno_model::record::Run;
use dyno_report::{Columns, Format, Notes, RenderOptions, Summary, SummaryOptions};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;

/// Reads a run and prints or exports it.
pub(crate) fn show(args: &ShowArgs) -> Result {
    if imported::is_output(&args.run, args.output.tool) {
        return show_output(args);
    }
    let folder = match args.format {
        ShowFormat::Parquet => Some(FolderFormat::Parquet),
        ShowFormat::Hdr => Some(FolderFormat::Hdr),
        _ => None,
    };
    let folder = match folder {
        Some(format) => Some((format, format.target(args.out.as_deref())?)),
        None => None,
    };
    let directory = dyno_store::locate(&args.run, Path::new(dyno_store::DEFAULT_RUNS_DIR))
        .map_err(Failure::with(Code::Store))?;
    let read = dyno_store::read_run(&directory).map_err(Failure::with(Code::Store))?;
    for problem in dyno_store::told(&read.problems) {
        eprintln!("warning: {problem}");
    }
    let run = &read.run;
    let summary = dyno_report::summarise(run, &SummaryOptions::default());
    let mut whole = read.problems.is_empty();
    match folder {
        Some((format, target)) => {
            for left_out in format.write(run, &summary, &directory, target)? {
                eprintln!("warning: {left_out}");
                whole = false;
            }
        }
        None => {
            let out = args.out.as_deref().filter(|path| *path != Path::new("-"));
            let mut options = match out {
                Some(_) => RenderOptions::default(),
                None => render_options(),
            };
            asked(args, &mut options);
            let mut text = text(run, &summary, args.format, &options)?;
            let page = match args.format {
                ShowFormat::Table => Some(Format::Table),
                ShowFormat::Markdown => Some(Format::Markdown),
                _ => None,
            };
            if let (Some(format), Some(found)) = (page, search::of(run)?) {
                text.push('\n');
                text.push_str(&found.render(format, &options));
            }
            match out {
                Some(path) => output::write_file(path, text.as_bytes())?,
                None => exit::print(&text)?,
            }
        }
    }
    Ok(match whole {
        true => Code::Success,
        false => Code::Store,
    }
    .into())
}

/// The output of another tool, as far as it bears.
fn show_output(args: &ShowArgs) -> Result {
    let format = match args.format {
        ShowFormat::Table => Format::Table,
        ShowFormat::Markdown => Format::Markdown,
        ShowFormat::Json => Format::Json,
        ShowFormat::Csv => Format::Csv,
        _ => {
            return Err(Failure::message(
                Code::Usage,
                format!(
                    "{} is the output of another tool, which Dyno does not export anew: --format takes table, markdown, json or csv here",
                    args.run.display()
                ),
            ));
        }
    };
    let of_runs = [
        ("--wide", args.wide),
        ("--columns", args.columns.is_some()),
        ("--notes", args.notes.is_some()),
    ];
    if let Some((flag, _)) = of_runs.iter().find(|(_, given)| *given) {
        return Err(Failure::message(
            Code::Usage,
            format!(
                "{} is the output of another tool, whose table has one form: leave {flag} out, which is for runs",
                args.run.display()
            ),
        ));
    }
    let statements = imported::read(&args.run, args.output.tool)?;
    let sheet = ImportSheet::new(&statements);
    match args.out.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => {
            let text = sheet.render(format, &RenderOptions::default());
            output::write_file(path, text.as_bytes())?;
        }
        None => exit::print(&sheet.render(format, &render_options()))?,
    }
    Ok(Code::Success.into())
}

/// What the arguments ask for goes before what the output suggests.
fn asked(args: &ShowArgs, options: &mut RenderOptions) {
    match (&args.columns, args.wide) {
        (Some(columns), _) => options.columns = columns.clone(),
        // GitHub's tables have no width to keep.
        (None, true) => options.columns = Columns::All,
        (None, false) if args.format != ShowFormat::Table => options.columns = Columns::All,
        (None, false) => {}
    }
    match args.notes {
        Some(NotesArg::All) => options.notes = Notes::All,
        Some(NotesArg::Short) => options.notes = Notes::Short,
        None => {}
    }
}

/// The run in a format that is one text.
fn text(
    run: &Run,
    summary: &Summary,
    format: ShowFormat,
    options: &RenderOptions,
) -> Result<String> {
    let own = |format| Ok(dyno_report::render(summary, format, options));
    match format {
        ShowFormat::Table => own(Format::Table),
        ShowFormat::Markdown => own(Format::Markdown),
        ShowFormat::Json => own(Format::Json),
        ShowFormat::Csv => own(Format::Csv),
        ShowFormat::Gbench => Ok(dyno_export::gbench::render(run, summary)),
        ShowFormat::Openmetrics => Ok(dyno_export::openmetrics::render(summary)),
        ShowFormat::Junit => {
            dyno_export::junit::render(run, summary).map_err(Failure::with(Code::Error))
        }
        ShowFormat::Parquet | ShowFormat::Hdr => Err(Failure::message(
            Code::Usage,
            "this format is several files: name a new directory with -o",
        )),
    }
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
    let terminal = std::io::stdout().is_terminal().then(terminal_width);
    options_of(terminal, |name| std::env::var_os(name))
}

/// `terminal`: `None` where the output is none, else its width as far as that is known. Colours are left
/// out for `NO_COLOR` (no-color.org), `CLICOLOR=0` (bixense.com/clicolors), and together with bars for a
/// terminal that is `dumb`.
fn options_of(
    terminal: Option<Option<usize>>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> RenderOptions {
    let Some(width) = terminal else {
        return RenderOptions::default();
    };
    let is = |name: &str, value: &str| variable(name).is_some_and(|v| v == value);
    let dumb = is("TERM", "dumb");
    let unwanted = variable("NO_COLOR").is_some_and(|v| !v.is_empty()) || is("CLICOLOR", "0");
    RenderOptions {
        width,
        color: !dumb && !unwanted,
        sparklines: !dumb,
        columns: Columns::Brief,
        notes: Notes::Short,
    }
}

fn terminal_width() -> Option<usize> {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(terminal: Option<Option<usize>>, set: &[(&str, &str)]) -> RenderOptions {
        options_of(terminal, |name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn what_is_no_terminal_gets_plain_text_of_any_width() {
        let plain = options(None, &[("TERM", "xterm-256color"), ("CLICOLOR", "1")]);
        assert_eq!(plain, RenderOptions::default());
    }

    #[test]
    fn a_terminal_gets_colours_bars_and_its_width() {
        let full = RenderOptions {
            width: Some(100),
            color: true,
            sparklines: true,
            columns: Columns::Brief,
            notes: Notes::Short,
        };
        assert_eq!(options(Some(Some(100)), &[]), full);
        // An empty NO_COLOR asks for nothing.
        let set = [("TERM", "xterm"), ("NO_COLOR", ""), ("CLICOLOR", "1")];
        assert_eq!(options(Some(Some(100)), &set), full);
    }

    #[test]
    fn colours_can_be_refused_and_a_dumb_terminal_has_neither_colours_nor_bars() {
        for set in [("NO_COLOR", "1"), ("CLICOLOR", "0")] {
            let shown = options(Some(Some(80)), &[set]);
            assert_eq!((shown.color, shown.sparklines), (false, true), "{set:?}");
        }
        let dumb = options(Some(None), &[("TERM", "dumb")]);
        assert_eq!(
            (dumb.width, dumb.color, dumb.sparklines),
            (None, false, false)
        );
    }
}
