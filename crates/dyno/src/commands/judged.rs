//! What the commands that judge stored runs share: how runs are found and read, how the result is printed, and
//! the code that it ends with.

use crate::commands::trust;
use crate::exit::{Code, Failure, Result};
use crate::progress::{counted, minutes};
use crate::terminal;
use dyno_model::plan::More;
use dyno_model::record::Run;
use dyno_model::{Nanos, Plan};
use dyno_store::{ReadRun, StoreError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Reads a run by path, name or `latest`. With whether all of it could be read.
pub(super) fn read(which: &Path) -> Result<(Run, bool)> {
    let runs = Path::new(dyno_store::DEFAULT_RUNS_DIR);
    dyno_store::locate(which, runs)
        .and_then(|directory| read_directory(&directory))
        .map_err(Failure::with(Code::Store))
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
        let unreadable = |e: std::io::Error| {
            Failure::message(Code::Store, format!("cannot read {}: {e}", dir.display()))
        };
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
            return Err(Failure::message(
                Code::Store,
                format!(
                    "{} is not a run directory and contains no further ones; name directories that \
                     `dyno run` wrote, or a folder that contains them",
                    dir.display()
                ),
            ));
        }
    }
    Ok(all)
}

/// What would decide what is undecided; `further`: for each of those, how many more trials, where that is known. With the command
/// and how long it takes. `None` where the run cannot have more trials.
pub(super) fn undecided(which: &Path, plan: &Plan, further: &[Option<u64>]) -> Option<String> {
    let known: Vec<u64> = further.iter().copied().flatten().collect();
    let most = known.iter().max().and_then(|n| u32::try_from(*n).ok());
    let more = More {
        trials: most.unwrap_or(1),
        asked_unix_ms: 0,
    };
    plan.with_more(more).ok()?;
    let run = trust::shell_word(&which.to_string_lossy());
    let command = format!("dyno run --resume {run} --more");
    let Some(most) = most else {
        return Some(format!(
            "undecided; add trials to this run with: {command} N"
        ));
    };
    let round = plan.here().map(|e| plan.nominal_trial(e).0);
    let time = round
        .fold(0, u64::saturating_add)
        .saturating_mul(most.into());
    let these = match further.len() {
        all if all == known.len() => String::new(),
        all => format!(" {} of {all} results", known.len()),
    };
    Some(format!(
        "undecided; about {} would decide{these}, in about {}: {command} {most}",
        counted(most as usize, "more trial"),
        minutes(Nanos(time).into())
    ))
}

/// Prints what came of it. The judgement's own code comes first; without one, trials that could not be read
/// make the rest incomplete.
pub(super) fn conclude(text: &str, judgement: Option<Code>, whole: bool) -> Result {
    terminal::print(text)?;
    let without = match whole {
        true => Code::Success,
        false => Code::Store,
    };
    Ok(judgement.unwrap_or(without).into())
}
