//! `dyno merge`

use crate::cli::MergeArgs;
use crate::exit::{Code, Failure, Result};
use crate::progress::counted;
use crate::terminal;
use dyno_store::{DEFAULT_RUNS_DIR, MergeOptions};
use std::path::Path;

/// Merges run directories into a new one and says what came of it.
pub(crate) fn merge(args: &MergeArgs) -> Result {
    let locate = |dir| dyno_store::locate(dir, Path::new(DEFAULT_RUNS_DIR));
    let directories = args
        .directories
        .iter()
        .map(|dir| locate(dir).map_err(Failure::with(Code::Store)))
        .collect::<Result<Vec<_>>>()?;
    let how = MergeOptions {
        partial: args.partial,
        command: terminal::arguments(),
    };
    let merged =
        dyno_store::merge(&directories, &args.out, &how).map_err(Failure::with(Code::Store))?;
    for problem in dyno_store::told(&merged.problems) {
        terminal::say(format!("warning: {problem}"));
    }
    for note in &merged.notes {
        terminal::say(format!("note: {note}"));
    }
    terminal::print(&format!(
        "{} of {} from {}, stored in {}\n",
        counted(merged.trials, "trial"),
        counted(merged.experiments, "experiment"),
        counted(merged.parts, "run"),
        args.out.display()
    ))?;
    Ok(match merged.problems.is_empty() {
        true => Code::Success,
        false => Code::Store,
    }
    .into())
}
