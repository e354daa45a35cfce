//! `dyno show`

use crate::built::COMMIT;
use crate::cli::{FormatArg, NotesArg, ShowArgs, ShowFormat};
use crate::commands::export::FolderFormat;
use crate::commands::judged::more_trials;
use crate::commands::{imported, judged, requirements, search};
use crate::exit::{Code, Failure, Result};
use crate::output;
use crate::terminal;
use dyno_judge::ImportSheet;
use dyno_model::record::Run;
use dyno_report::{Columns, Format, Notes, RenderOptions, Summary, SummaryOptions, clean};
use dyno_store::Shown;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Reads a run and prints or exports it.
pub(crate) fn show(args: &ShowArgs) -> Result {
    if imported::is_output(&args.run, args.output.tool) {
        return show_output(args);
    }
    if args.growth && !matches!(args.format, ShowFormat::Table | ShowFormat::Markdown) {
        return Err(failure!(
            Usage,
            "--growth is a table for people: leave --format out, or take markdown; `--format json` without --growth has the laws in \
             its field `growth`"
        ));
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
    let directory = judged::located(&args.run)?;
    let whole = match folder {
        Some((format, target)) => {
            let (run, mut whole) =
                judged::read_directory(&directory).map_err(Failure::with(Code::Store))?;
            let summary = dyno_report::summarise(&run, &SummaryOptions::default());
            for left_out in format.write(&run, &summary, &directory, target)? {
                terminal::say(format!("warning: {left_out}"));
                whole = false;
            }
            whole
        }
        None => {
            let out = args.out.as_deref();
            let mut options = match output::named(out) {
                Some(_) => terminal::file_options(),
                None => terminal::render_options(),
            };
            asked(args, &mut options);
            let contents = match args.growth {
                true => Contents::Growth,
                false => Contents::Results,
            };
            let (text, whole) = text(&directory, (args.format, contents), &options)?;
            output::put(out, &text)?;
            whole
        }
    };
    Ok(judged::completeness(whole).into())
}

/// What is shown of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contents {
    Results,
    /// How figures change with the number of participants.
    Growth,
}

/// A run in a format that is one text, and whether all of the run could be read. The text of a large run is kept beside
/// it, and is what was kept where nothing that it is made of has changed.
fn text(
    directory: &Path,
    (format, contents): (ShowFormat, Contents),
    options: &RenderOptions,
) -> Result<(String, bool)> {
    // What cannot be read is told where the run is.
    let kept = program().and_then(|program| {
        let host = rustix::system::uname();
        let maker = format!("{program} {options:?} {directory:?} {:?}", host.nodename());
        let name = match contents {
            Contents::Results => format!("{format:?}"),
            Contents::Growth => format!("{format:?}{contents:?}"),
        };
        let name = name.to_lowercase();
        Shown::of(directory, &name, &maker).ok().flatten()
    });
    if let Some(text) = kept.as_ref().and_then(Shown::read) {
        return Ok((text, true));
    }
    let (text, whole) = made(directory, (format, contents), options)?;
    if whole && let Some(kept) = kept {
        // A directory that cannot be written to keeps nothing, and nothing is lost.
        let _ = kept.keep(&text);
    }
    Ok((text, whole))
}

/// What makes the text besides the run: this very program, told by its file.
fn program() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let changed = (file.ctime(), file.ctime_nsec());
    let version = env!("CARGO_PKG_VERSION");
    let place = (file.dev(), file.ino(), file.size());
    Some(format!("{version} {COMMIT} {place:?} {changed:?}"))
}

/// Pieces of memory from this size on, in bytes, go back to the system as soon as they are free: glibc raises that size to
/// the largest piece that was freed, and then small pieces keep the place of large ones taken.
#[cfg(target_env = "gnu")]
const GIVEN_BACK: libc::c_int = 1 << 20;

fn made(
    directory: &Path,
    (format, contents): (ShowFormat, Contents),
    options: &RenderOptions,
) -> Result<(String, bool)> {
    #[cfg(target_env = "gnu")]
    // SAFETY: it has no pointer, and no other thread of this process allocates yet, as mallopt(3) asks.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, GIVEN_BACK);
    }
    let stored = Failure::with(Code::Store);
    let manifest = dyno_store::read_manifest(directory).map_err(&stored)?;
    let is_table = matches!(format, ShowFormat::Table | ShowFormat::Markdown);
    let samples_of_trials = format == ShowFormat::Gbench
        || manifest.plan.search.is_some()
        || is_table && requirements::has(&manifest.plan.table);
    let how = SummaryOptions::default();
    let (run, mut summary, whole) = match samples_of_trials {
        true => {
            let (run, whole) = judged::read_directory(directory).map_err(&stored)?;
            let summary = dyno_report::summarise(&run, &how);
            (run, summary, whole)
        }
        false => {
            let read = dyno_store::read_run_light(directory).map_err(&stored)?;
            let whole = judged::told(&read);
            let histograms = |id| {
                let read = dyno_store::read_distributions(directory, id);
                read.map_err(|e| e.to_string())
            };
            let summary = dyno_report::summarise_light(&read.run, &histograms, &how);
            (read.run, summary, whole)
        }
    };
    if contents == Contents::Growth {
        let is_markdown = format == ShowFormat::Markdown;
        let text = dyno_report::render_growth(&summary, options, is_markdown);
        return Ok((text.ok_or_else(|| no_growth(directory))?, whole));
    }
    if is_table {
        requirements::judge(&run, &mut summary)?;
    }
    if matches!(format, ShowFormat::Json | ShowFormat::Markdown) {
        summary.answers = dyno_page::answers(&summary, &run.manifest);
    }
    let with_capacities = |format| -> Result<String> {
        let mut text = answers(&run, &summary, format, options);
        text.push_str(&dyno_report::render(&summary, format, options));
        if let Some(found) = search::of(&run)? {
            text.push('\n');
            text.push_str(&found.render(format, options));
        }
        text.push_str(&withheld(&run, &summary, format, directory));
        Ok(text)
    };
    let text = match format {
        ShowFormat::Table => with_capacities(Format::Table)?,
        ShowFormat::Markdown => with_capacities(Format::Markdown)?,
        ShowFormat::Json => {
            summary.capacity = search::of(&run)?.map(|found| found.document());
            dyno_report::render(&summary, Format::Json, options)
        }
        ShowFormat::Csv => dyno_report::render(&summary, Format::Csv, options),
        ShowFormat::Gbench => dyno_export::gbench::render(&run, &summary),
        ShowFormat::Openmetrics => dyno_export::openmetrics::render(&summary),
        ShowFormat::Junit => {
            dyno_export::junit::render(&run, &summary).map_err(Failure::with(Code::Error))?
        }
        ShowFormat::Parquet | ShowFormat::Hdr => {
            return Err(Failure::message(
                Code::Usage,
                "this format is several files: name a new directory with -o",
            ));
        }
    };
    Ok((text, whole))
}

fn no_growth(directory: &Path) -> Failure {
    failure!(
        Usage,
        "the run {} has no experiments with the workload `idle` that differ only in their number of participants, which --growth needs: \
         `dyno run growth` measures them",
        directory.display()
    )
}

/// The output of another tool, as far as it bears.
fn show_output(args: &ShowArgs) -> Result {
    let format = match args.format {
        ShowFormat::Table => Format::Table,
        ShowFormat::Markdown => Format::Markdown,
        ShowFormat::Json => Format::Json,
        ShowFormat::Csv => Format::Csv,
        _ => {
            return Err(failure!(
                Usage,
                "{} is the output of another tool, which Dyno cannot export: --format takes table, markdown, json or csv here",
                args.run.display()
            ));
        }
    };
    let of_runs = [
        ("--wide", args.wide),
        ("--columns", args.columns.is_some()),
        ("--growth", args.growth),
        ("--notes", args.notes.is_some()),
    ];
    if let Some((flag, _)) = of_runs.iter().find(|(_, given)| *given) {
        return Err(failure!(
            Usage,
            "{} is the output of another tool, and {flag} applies only to runs: leave {flag} out",
            args.run.display()
        ));
    }
    let statements = imported::read(&args.run, args.output.tool)?;
    let sheet = ImportSheet::new(&statements);
    let out = args.out.as_deref();
    let options = match output::named(out) {
        Some(_) => RenderOptions::default(),
        None => terminal::render_options(),
    };
    output::put(out, &sheet.render(format, &options))?;
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

/// Prints a run to standard output.
pub(crate) fn print(run: &Run, format: FormatArg, directory: &Path) -> Result<()> {
    let mut summary = dyno_report::summarise(run, &SummaryOptions::default());
    requirements::judge(run, &mut summary)?;
    if format == FormatArg::Json {
        summary.capacity = search::of(run)?.map(|found| found.document());
    }
    let format = format.into();
    if matches!(format, Format::Json | Format::Markdown) {
        summary.answers = dyno_page::answers(&summary, &run.manifest);
    }
    let mut options = terminal::render_options();
    if format == Format::Markdown {
        // GitHub's tables have no width to keep.
        options.columns = Columns::All;
    }
    let answers = answers(run, &summary, format, &options);
    let table = dyno_report::render(&summary, format, &options);
    let withheld = withheld(run, &summary, format, directory);
    terminal::print(&format!("{answers}{table}{withheld}"))
}

/// A last line below the table of stacks, if figures are withheld that more trials would give.
fn withheld(run: &Run, summary: &Summary, format: Format, directory: &Path) -> String {
    let lacking = summary.withheld();
    if format != Format::Table || !summary.run.is_of_stacks() || lacking.iter().all(Option::is_none)
    {
        return String::new();
    }
    let state = match lacking.len() {
        1 => "a p50 or p99 is withheld".to_owned(),
        n => format!("{n} p50s and p99s are withheld"),
    };
    let line = more_trials(directory, &run.manifest, (&state, "would give"), &lacking);
    line.map_or_else(String::new, |line| format!("\n{}\n", clean(&line)))
}

/// The answers that stand above the table of stacks, with a blank line below.
fn answers(run: &Run, summary: &Summary, format: Format, options: &RenderOptions) -> String {
    if format != Format::Table {
        return String::new();
    }
    let lines = dyno_page::brief(summary, &run.manifest, options.width, options.sparklines);
    match lines.is_empty() {
        true => lines,
        false => format!("{lines}\n"),
    }
}
