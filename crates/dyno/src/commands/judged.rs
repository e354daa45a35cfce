//! What the commands that judge stored runs share: how runs are found and read, how the result is printed, and
//! the code that it ends with.

use crate::commands::trust;
use crate::exit::{Code, Failure, Result};
use crate::progress::minutes;
use crate::terminal;
use dyno_model::plan::More;
use dyno_model::record::{Run, RunManifest};
use dyno_model::unit::{counted, percent};
use dyno_model::{Nanos, Plan};
use dyno_stats::POWER;
use dyno_store::{ReadRun, StoreError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The directory of a run by path, name or `latest`.
pub(super) fn located(which: &Path) -> Result<PathBuf> {
    dyno_store::locate(which, Path::new(dyno_store::DEFAULT_RUNS_DIR))
        .map_err(Failure::with(Code::Store))
}

/// Reads a run by path, name or `latest`. With whether all of it could be read.
pub(super) fn read(which: &Path) -> Result<(Run, bool)> {
    read_directory(&located(which)?).map_err(Failure::with(Code::Store))
}

/// Reads a run directory; damaged trials are named on standard error.
pub(super) fn read_directory(directory: &Path) -> std::result::Result<(Run, bool), StoreError> {
    let read = dyno_store::read_run(directory)?;
    let whole = told(&read);
    Ok((read.run, whole))
}

/// Whether all of a run could be read; what could not is named on standard error.
pub(super) fn told(read: &ReadRun) -> bool {
    for problem in dyno_store::told(&read.problems) {
        terminal::say(format!("warning: {problem}"));
    }
    read.problems.is_empty()
}

/// Every run directory that is named or lies right inside one that is named, each once.
pub(super) fn directories(named: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
    let is_run = |dir: &Path| dir.join(dyno_store::MANIFEST).is_file();
    let mut all = BTreeSet::new();
    for dir in named {
        let unreadable = |e: std::io::Error| failure!(Store, "cannot read {}: {e}", dir.display());
        let before = all.len();
        let whole = dir.canonicalize().map_err(unreadable)?;
        if is_run(&whole) {
            all.insert(whole);
            continue;
        }
        for entry in std::fs::read_dir(&whole).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if is_run(&path) {
                all.insert(path.canonicalize().map_err(unreadable)?);
            }
        }
        if all.len() == before {
            return Err(failure!(
                Store,
                "{} is not a run directory and contains no further ones; name directories that \
                     `dyno run` wrote, or a folder that contains them",
                dir.display()
            ));
        }
    }
    Ok(all)
}

/// What would end a lack of trials in a run; `further`: for each figure or verdict that lacks some, how many, where that is known.
/// `state` says what is so, and `verb` what more trials do. With the command, and the time that it takes. `None` where the run
/// cannot have more trials, as one of another machine.
pub(super) fn more_trials(
    which: &Path,
    run: &RunManifest,
    (state, verb): (&str, &str),
    further: &[Option<u64>],
) -> Option<String> {
    let plan = &run.plan;
    let known: Vec<u64> = further.iter().copied().flatten().collect();
    let most = known.iter().max().and_then(|n| u32::try_from(*n).ok());
    let more = More {
        trials: most.unwrap_or(1),
        asked_unix_ms: 0,
    };
    let is_here = run.environment.host == rustix::system::uname().nodename().to_string_lossy();
    if !is_here || further.is_empty() || plan.with_more(more).is_err() {
        return None;
    }
    let path = trust::shell_word(&which.to_string_lossy());
    let command = format!("dyno run --resume {path} --more");
    let Some(most) = most else {
        return Some(format!("{state}; add trials to this run with: {command} N"));
    };
    let time = round_time(plan).0.saturating_mul(most.into());
    let chance = match (verb == WOULD_DECIDE, known.len()) {
        (false, _) => String::new(),
        (true, 1) => format!(" with a chance of {}", percent(POWER)),
        (true, _) => format!(" with a chance of {} each", percent(POWER)),
    };
    let these = match (known.len(), further.len()) {
        (1, 1) => "it".to_owned(),
        (known, all) if known == all => "all of them".to_owned(),
        (known, all) => format!("{known} of these {all}"),
    };
    Some(format!(
        "{state}; about {} {verb} {these}{chance}, in about {}: {command} {most}",
        counted(most as usize, "more trial"),
        minutes(Nanos(time).into())
    ))
}

/// The time that one trial of each experiment takes.
pub(super) fn round_time(plan: &Plan) -> Nanos {
    let round = plan.here().map(|e| dyno_plan::nominal_trial(plan, e).0);
    Nanos(round.fold(0, u64::saturating_add))
}

/// What helps where the host disturbed every trial.
pub(super) const QUIETER: &str = "more trials here are likely to be disturbed as well; use a quieter machine, isolated CPUs or a dedicated \
     runner (`dyno doctor` says what disturbs)";

const WOULD_DECIDE: &str = "would decide";

/// Where verdicts lack trials; see [`more_trials`].
pub(super) const UNDECIDED: (&str, &str) = ("undecided", WOULD_DECIDE);

/// Where verdicts lack trials, of some even for a figure.
pub(super) const WITHOUT_FIGURES: (&str, &str) = ("undecided", "may decide");

/// Prints what came of it. The judgement's own code comes first; without one, trials that could not be read
/// make the rest incomplete.
pub(super) fn conclude(text: &str, judgement: Option<Code>, whole: bool) -> Result {
    terminal::print(text)?;
    Ok(judgement.unwrap_or(completeness(whole)).into())
}

/// The code of a command that could read the whole of its runs, or could not.
pub(super) const fn completeness(whole: bool) -> Code {
    match whole {
        true => Code::Success,
        false => Code::Store,
    }
}
