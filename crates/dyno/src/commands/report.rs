//! `dyno report`

use crate::cli::ReportArgs;
use crate::commands::check::{read_limits, refused};
use crate::commands::imported;
use crate::exit::{Code, Failure, Result};
use crate::progress::Patience;
use crate::terminal;
use dyno_judge::{CheckOptions, CheckReport, Limits};
use dyno_page::{Document, Options, Source, Step};
use dyno_store::{DEFAULT_RUNS_DIR, ReadRun, RunFollower, StoreError};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A run as far as it could be read.
struct Read {
    name: String,
    found: std::result::Result<(ReadRun, bool), StoreError>,
}

/// Reads the runs and writes one page of them.
pub(crate) fn report(args: &ReportArgs) -> Result {
    if let Some(page) = page_of_outputs(args)? {
        return written(args, page);
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
        made_unix_ms: now_unix_ms(),
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
    if args.out == Path::new("-") {
        terminal::print(&page)?;
    } else {
        write_page(&args.out, &page)?;
        let mut said = said(&args.out, page.len(), &document);
        for (run, counts) in document.runs.iter().zip(counts) {
            said.push_str(&format!("\nlimits, run {}: {counts}", run.name));
        }
        terminal::print(&format!("{said}\n"))?;
    }
    Ok(match whole {
        true => Code::Success,
        false => Code::Store,
    }
    .into())
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
        (Some(output), None) if args.limits.is_some() => Err(Failure::message(
            Code::Usage,
            format!(
                "the report on {} cannot check limits; `dyno check {0} LIMITS` does",
                output.display()
            ),
        )),
        (Some(_), None) => imported::page(&outputs, args.output.tool).map(Some),
    }
}

fn written(args: &ReportArgs, page: String) -> Result {
    match args.out == Path::new("-") {
        true => terminal::print(&page)?,
        false => {
            write_page(&args.out, &page)?;
            let bytes = dyno_report::with_prefix(page.len() as f64, "B");
            terminal::print(&format!("{}: {bytes}\n", args.out.display()))?;
        }
    }
    Ok(Code::Success.into())
}

fn write_page(path: &Path, page: &str) -> Result<()> {
    write_whole(path, page.as_bytes()).map_err(|e| {
        let shown = path.display();
        Failure::message(
            Code::Error,
            format!("cannot write {shown}: {e}; name another file with -o"),
        )
    })
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
            report.map(Some).map_err(refused)
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

fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 is no reason to have no page.
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// `report.html: 1.92 MB, 1 run, 48 experiments`.
fn said(path: &Path, bytes: usize, document: &Document) -> String {
    let count = |n: usize, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    let experiments = document.runs.iter().map(|r| r.details.len()).sum();
    format!(
        "{}: {}, {}, {}",
        path.display(),
        dyno_report::with_prefix(bytes as f64, "B"),
        count(document.runs.len(), "run"),
        count(experiments, "experiment")
    )
}

/// Writes a file so that it is there whole or as it was: into a temporary file beside it, renamed over it.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A symbolic link stays one; what is no file (a device, a pipe) cannot be renamed over.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        Ok(known) if known.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(known) if !known.is_file() => return fs::write(&target, bytes),
        _ => {}
    }
    let temporary = beside(&target)?;
    let written = File::create(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // The write's own error matters.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// A hidden name in the same directory.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut hidden = OsString::from(format!(".tmp-{}-", std::process::id()));
    hidden.push(name);
    Ok(path.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_replaces_another_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.html");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let e = write_whole(dir.path(), b"page").unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::IsADirectory);
        assert!(write_whole(&dir.path().join("none/report.html"), b"page").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_to_a_page_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let (page, link) = (dir.path().join("page.html"), dir.path().join("link.html"));
        fs::write(&page, "old").unwrap();
        std::os::unix::fs::symlink(&page, &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert_eq!(fs::read(&page).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
