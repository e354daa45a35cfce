//! `dyno report`

use crate::cli::ReportArgs;
use crate::commands::check::read_limits;
use crate::commands::imported;
use crate::commands::judged::completeness;
use crate::commands::new_run::unix_ms;
use crate::exit::{self, Code, Failure, Result};
use crate::output;
use crate::progress::Patience;
use crate::terminal;
use dyno_judge::{CheckOptions, CheckReport, Limits};
use dyno_model::unit::counted;
use dyno_page::{Document, Options, Source, Step};
use dyno_store::{DEFAULT_RUNS_DIR, ReadRun, RunFollower, StoreError};
use std::path::{Path, PathBuf};

/// A run as far as it could be read.
struct Read {
    name: String,
    found: std::result::Result<(ReadRun, bool), StoreError>,
}

/// Reads the runs and writes one page of them.
pub(crate) fn report(args: &ReportArgs) -> Result {
    if let Some(page) = page_of_outputs(args)? {
        return written(args, &page);
    }
    let patience = Patience::new(args.quiet);
    let limits = args.limits.as_deref().map(read_limits).transpose()?;
    let mut read = Vec::new();
    for which in &args.runs {
        patience.now(format!("reading {}", which.display()));
        read.push(Read {
            name: which.display().to_string(),
            found: find(which),
        });
    }
    if let [Read { found: Err(e), .. }] = read.as_slice() {
        return Err(Failure::message(Code::Store, e.to_string()));
    }
    let mut whole = true;
    for one in &read {
        match &one.found {
            Ok((run, _)) => {
                whole &= run.problems.is_empty();
                for problem in dyno_store::told(&run.problems) {
                    patience.say(&format!("warning: {problem}"));
                }
            }
            Err(e) => {
                whole = false;
                patience.say(&format!("warning: {e}"));
            }
        }
    }
    if read.iter().all(|one| one.found.is_err()) {
        return Err(Failure::message(
            Code::Store,
            "none of the runs can be read, so there is no report to write",
        ));
    }
    let checks = held_against(limits.as_ref(), &read)?;
    let counts: Vec<String> = checks.iter().flatten().map(CheckReport::counts).collect();
    let sources: Vec<Source<'_>> = read.iter().zip(checks).map(source).collect();
    let options = Options {
        made_unix_ms: unix_ms(),
        ..Options::default()
    };
    let document = Document::with_steps(&sources, &options, &mut |step| {
        patience.now(match step {
            Step::Summarise(run) => format!("computing the intervals of {run}"),
            Step::Draw(run) => format!("drawing the distributions of {run}"),
            Step::Compare(run) => format!("comparing {run}"),
        });
    });
    patience.now("writing the page".into());
    let page = dyno_page::render(&document).map_err(Failure::with(Code::Error))?;
    drop(patience);
    output::put(Some(&args.out), &page)?;
    if output::named(Some(&args.out)).is_some() {
        let mut said = said(&args.out, page.len(), &document);
        for (run, counts) in document.runs.iter().zip(counts) {
            said.push_str(&format!("\nlimits, run {}: {counts}", run.name));
        }
        terminal::print(&format!("{said}\n"))?;
    }
    Ok(completeness(whole).into())
}

/// The page of outputs of other tools, where the sources are such.
fn page_of_outputs(args: &ReportArgs) -> Result<Option<String>> {
    let (outputs, runs): (Vec<&PathBuf>, Vec<&PathBuf>) = args
        .runs
        .iter()
        .partition(|source| imported::is_output(source, args.output.tool));
    match (outputs.first(), runs.first()) {
        (None, _) => Ok(None),
        (Some(output), Some(run)) => Err(imported::mixed(run, output)),
        (Some(output), None) if args.limits.is_some() => Err(failure!(
            Usage,
            "the report on {} cannot check limits; `dyno check {0} LIMITS` does",
            output.display()
        )),
        (Some(_), None) => imported::page(&outputs, args.output.tool).map(Some),
    }
}

fn written(args: &ReportArgs, page: &str) -> Result {
    output::put(Some(&args.out), page)?;
    if output::named(Some(&args.out)).is_some() {
        let bytes = dyno_report::with_prefix(page.len() as f64, "B");
        terminal::print(&format!("{}: {bytes}\n", args.out.display()))?;
    }
    Ok(Code::Success.into())
}

fn find(which: &Path) -> std::result::Result<(ReadRun, bool), StoreError> {
    let directory = dyno_store::locate(which, Path::new(DEFAULT_RUNS_DIR))?;
    let read = dyno_store::read_run(&directory)?;
    let running = RunFollower::open(&directory)?.has_runner() == Some(true);
    Ok((read, running))
}

/// What came of the limits on each run; a limit that selects nothing in one of them is refused, as by `dyno check`.
fn held_against(limits: Option<&Limits>, read: &[Read]) -> Result<Vec<Option<CheckReport>>> {
    let one = |read: &Read| match (limits, &read.found) {
        (Some(limits), Ok((found, _))) => {
            if let Some(reason) = limits.unfit(&found.run) {
                return Err(Failure::message(Code::Usage, reason));
            }
            let report = dyno_judge::check(&found.run, limits, &CheckOptions::default());
            report.map(Some).map_err(exit::of_plan)
        }
        _ => Ok(None),
    };
    read.iter().map(one).collect()
}

fn source((read, check): (&Read, Option<CheckReport>)) -> Source<'_> {
    match &read.found {
        Ok((found, running)) => Source::Run {
            run: &found.run,
            problems: dyno_store::told(&found.problems),
            running: *running,
            check,
        },
        Err(e) => Source::Unreadable {
            name: read.name.clone(),
            reason: e.to_string(),
        },
    }
}

/// `report.html: 1.92 MB, 1 run, 48 experiments`.
fn said(path: &Path, bytes: usize, document: &Document) -> String {
    let experiments: usize = document.runs.iter().map(|r| r.details.len()).sum();
    format!(
        "{}: {}, {}, {}",
        path.display(),
        dyno_report::with_prefix(bytes as f64, "B"),
        counted(document.runs.len(), "run"),
        counted(experiments, "experiment")
    )
}
