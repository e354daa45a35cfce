//! `dyno merge`

use crate::cli::MergeArgs;
use crate::commands::judged::{completeness, located};
use crate::exit::{Code, Failure, Result};
use crate::terminal;
use dyno_model::unit::counted;
use dyno_store::MergeOptions;

/// Merges run directories into a new one and says what came of it.
pub(crate) fn merge(args: &MergeArgs) -> Result {
    let directories = args.directories.iter().map(|dir| located(dir));
    let directories = directories.collect::<Result<Vec<_>>>()?;
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
    Ok(completeness(merged.problems.is_empty()).into())
}
