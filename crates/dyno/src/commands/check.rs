//! `dyno check`

use crate::cli::CheckArgs;
use crate::commands::imported;
use crate::commands::judged::{
    UNDECIDED, WITHOUT_FIGURES, conclude, directories, more_trials, read, read_directory,
};
use crate::commands::search;
use crate::exit::{self, Code, Failure, Result};
use crate::terminal;
use crate::terminal::render_options;
use dyno_judge::{CheckOptions, Limits, NightlyOptions, Nights, Status};
use dyno_model::origin::Text;
use std::collections::BTreeSet;
use std::path::Path;

/// Holds the run against limits or against its history, prints the result and writes JUnit XML where asked.
pub(crate) fn check(args: &CheckArgs) -> Result {
    match (&args.run, &args.limits) {
        (Some(run), Some(limits)) => against_limits(args, run, limits),
        (Some(run), None) if args.history.is_empty() => of_search(args, run),
        (run, _) => against_history(args, run.as_deref()),
    }
}

fn against_limits(args: &CheckArgs, run: &Path, limits: &Path) -> Result {
    let limits = read_limits(limits)?;
    if imported::is_output(run, args.output.tool) {
        let output = imported::read(run, args.output.tool)?;
        if let Some(reason) = limits.unfit_output(&output) {
            return Err(Failure::message(Code::Usage, reason));
        }
        let report = dyno_judge::check_imported(&output, &limits).map_err(exit::of_plan)?;
        junit(args, || report.junit())?;
        let text = report.render(args.format.into(), &render_options());
        return conclude(&text, judgement(0, true), true);
    }
    let which = run;
    let (run, whole) = read(which)?;
    if let Some(reason) = limits.unfit(&run) {
        return Err(Failure::message(Code::Usage, reason));
    }
    let how = CheckOptions {
        confidence: args.confidence,
    };
    let report = dyno_judge::check(&run, &limits, &how).map_err(exit::of_plan)?;
    junit(args, || report.junit())?;
    let judgement = judgement(
        report.count(Status::Fail),
        report.count(Status::Undecided) > 0,
    );
    let text = report.render(args.format.into(), &render_options());
    let concluded = conclude(&text, judgement, whole)?;
    let lack = match report.lacks_figures() {
        true => WITHOUT_FIGURES,
        false => UNDECIDED,
    };
    if matches!(judgement, Some(Code::Undecided))
        && let Some(command) = more_trials(which, &run.manifest, lack, &report.further())
    {
        terminal::say(command);
    }
    Ok(concluded)
}

/// What a search has found, by the limits that it was given.
fn of_search(args: &CheckArgs, which: &Path) -> Result {
    let (run, whole) = read(which)?;
    let Some(found) = search::of(&run)? else {
        return Err(failure!(
            Usage,
            "{} was not measured with --search, so it has no limits of its own: name a limits file, or give --history",
            which.display()
        ));
    };
    if args.junit.is_some() {
        return Err(Failure::message(
            Code::Usage,
            "--junit needs verdicts, and a capacity has none; leave --junit out, or name a limits file",
        ));
    }
    let text = found.render(args.format.into(), &render_options());
    conclude(&text, search::code(&found), whole)
}

/// The limits of a file.
pub(crate) fn read_limits(file: &Path) -> Result<Limits> {
    let Text { path, text } = limits_text(file)?;
    Limits::parse(&path, &text).map_err(exit::of_plan)
}

/// The same as they are written.
pub(super) fn limits_text(file: &Path) -> Result<Text> {
    let path = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|e| failure!(Error, "cannot read the limits {path}: {e}"))?;
    Ok(Text { path, text })
}

/// What cannot be read of the history is left out of it by name; the judged run itself must be readable.
fn against_history(args: &CheckArgs, run: Option<&Path>) -> Result {
    let mut nights = Nights::new(NightlyOptions {
        level: args.level,
        margin: args.margin,
        quantiles: args.quantiles.clone(),
        last: args.last.map(|n| n as usize),
        ..NightlyOptions::default()
    });
    let judged = match run {
        Some(run) => {
            let (run, whole) = read(run)?;
            nights.add(&run);
            Some((run.manifest, whole))
        }
        None => None,
    };
    // An earlier run that misses trials has fewer figures; only the judged one must be whole.
    let mut damaged = BTreeSet::new();
    for directory in directories(&args.history)? {
        let name = directory.display().to_string();
        match read_directory(&directory) {
            Ok((run, complete)) => {
                if !complete {
                    damaged.insert(run.manifest.id.clone());
                }
                nights.add(&run);
            }
            Err(e) => nights.leave_out(name, unreadable(&e).into()),
        }
    }
    let Some(report) = nights.judge(judged.as_ref().map(|(manifest, _)| manifest)) else {
        return Err(Failure::message(
            Code::Store,
            "no run of the history can be read, so there is nothing to judge",
        ));
    };
    junit(args, || report.junit())?;
    let whole = judged.map_or(!damaged.contains(&report.run.id), |(_, whole)| whole);
    let judgement = judgement(report.count(Status::Fail), report.is_blind());
    let text = report.render(args.format.into(), &render_options());
    conclude(&text, judgement, whole)
}

/// Why a directory is no part of a history.
fn unreadable(error: &dyno_store::StoreError) -> &'static str {
    match error {
        dyno_store::StoreError::Newer { .. } => "a format that only a newer Dyno reads",
        _ => "damaged or unreadable",
    }
}

fn judgement(failed: usize, undecided: bool) -> Option<Code> {
    match (failed, undecided) {
        (0, false) => None,
        (0, true) => Some(Code::Undecided),
        _ => Some(Code::LimitBroken),
    }
}

fn junit(args: &CheckArgs, xml: impl FnOnce() -> std::io::Result<String>) -> Result<()> {
    let Some(file) = &args.junit else {
        return Ok(());
    };
    let xml = xml().map_err(Failure::with(Code::Error))?;
    std::fs::write(file, xml).map_err(|e| {
        let shown = file.display();
        failure!(Error, "cannot write {shown}: {e}")
    })
}
