//! `dyno check`

use crate::cli::{CheckArgs, MAX_TRIALS};
use crate::commands::imported;
use crate::commands::judged::{
    QUIETER, UNDECIDED, WITHOUT_FIGURES, conclude, directories, located, more_trials, read,
    read_directory,
};
use crate::commands::search;
use crate::commands::trust::shell_word;
use crate::exit::{self, Code, Failure, Result};
use crate::output;
use crate::terminal;
use crate::terminal::render_options;
use dyno_judge::{CheckOptions, CheckReport, Limits, NightlyOptions, Nights, Status};
use dyno_model::origin::Text;
use dyno_model::record::RunManifest;
use dyno_model::unit::counted;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Holds the run against limits or against its history, prints the result and writes JUnit XML where asked.
pub(crate) fn check(args: &CheckArgs) -> Result {
    judged(args).inspect_err(|failure| error_as_junit(args, failure))
}

fn judged(args: &CheckArgs) -> Result {
    if args.allow_undecided {
        return Err(Failure::message(
            Code::Usage,
            "dyno check has no --allow-undecided: code 7 says that limits are undecided. To accept that as a warning, append `|| test $? = 7`",
        ));
    }
    match (&args.run, &args.limits) {
        (Some(run), Some(limits)) => against_limits(args, run, limits),
        (Some(run), None) if args.history.is_empty() => of_search(args, run),
        (run, _) => against_history(args, run.as_deref()),
    }
}

fn against_limits(args: &CheckArgs, run: &Path, file: &Path) -> Result {
    let () = in_order(run, file)?;
    let limits = read_limits(file)?;
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
    if matches!(judgement, Some(Code::Undecided)) {
        advise(args, which, file, &run.manifest, &report);
    }
    Ok(concluded)
}

/// Says what would decide the undecided limits: more trials, or a quieter host.
fn advise(
    args: &CheckArgs,
    which: &Path,
    file: &Path,
    manifest: &RunManifest,
    report: &CheckReport,
) {
    let lack = match report.lacks_figures() {
        true => WITHOUT_FIGURES,
        false => UNDECIDED,
    };
    if let Some(command) = more_trials(which, manifest, lack, &report.further()) {
        terminal::say(command);
        // As many as `--until-decided` adds without `--max-trials`.
        let had = manifest.plan.here().map(|e| u64::from(e.trials)).max();
        let known = report.further().into_iter().flatten().max();
        let is_within = had
            .zip(known)
            .is_some_and(|(had, more)| had + more <= u64::from(MAX_TRIALS));
        if is_within && args.confidence == CheckOptions::default().confidence {
            let [run, file] = [which, file].map(|path| shell_word(&path.to_string_lossy()));
            terminal::say(format!(
                "or let Dyno choose the number, and keep the confidence of the verdicts: dyno run --resume {run} --until-decided {file}"
            ));
        }
    }
    if report.disturbed() > 0 {
        let results = counted(report.disturbed(), "undecided result");
        terminal::say(format!(
            "the host disturbed every trial of {results}: {QUIETER}. In CI, code 7 says that this host cannot tell; to accept it as a warning, \
             append `|| test $? = 7`"
        ));
    }
}

/// Refuses a limits file and a run in the wrong order, and a directory as a limits file.
fn in_order(run: &Path, limits: &Path) -> Result<()> {
    if limits.is_file() || !limits.is_dir() && located(limits).is_err() {
        return Ok(());
    }
    let [run_word, limits_word] = [run, limits].map(|path| shell_word(&path.to_string_lossy()));
    let is_toml = run.extension().is_some_and(|end| end == "toml");
    Err(match is_toml && run.is_file() {
        true => failure!(
            Usage,
            "the run comes first, and {} is no limits file: dyno check {limits_word} {run_word}",
            limits.display()
        ),
        false => failure!(
            Usage,
            "{} is no limits file; write dyno check {run_word} LIMITS.TOML, or compare two runs with dyno compare {run_word} {limits_word}",
            limits.display()
        ),
    })
}

/// Replaces the result of an earlier check, which would be shown as that of this one. A file that is no such result stays as it
/// is: the name may be a mistake. A file that cannot be written is a warning beside the error of the check.
fn error_as_junit(args: &CheckArgs, failure: &Failure) {
    let is_other = |file: &PathBuf| {
        let text = std::fs::read_to_string(file);
        file.exists() && !text.is_ok_and(|text| text.contains("<testsuite"))
    };
    if args.junit.as_ref().is_some_and(is_other) {
        return;
    }
    let name = |path: &Option<PathBuf>, without: &str| {
        let named = path.as_ref().map(|path| path.display().to_string());
        named.unwrap_or_else(|| without.to_owned())
    };
    let limits = name(&args.limits, "history");
    let run = name(&args.run, "the newest run");
    let message = format!("{:?}", failure.report);
    if let Err(e) = junit(args, || dyno_judge::junit_of_error(&limits, &run, message)) {
        terminal::say(format!("warning: {}", e.report));
    }
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
    output::write_file(file, xml.as_bytes())
}
