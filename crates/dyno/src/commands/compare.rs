//! `dyno compare`

use crate::cli::{CompareArgs, FailOn};
use crate::commands::show::render_options;
use crate::exit::{self, Code, Failure, Result};
use dyno_judge::CompareOptions;
use dyno_model::record::Run;
use std::path::Path;

/// Compares two runs, or the two sides of one, and prints the table.
pub(crate) fn compare(args: &CompareArgs) -> Result {
    let how = CompareOptions {
        confidence: args.confidence,
        margin: args.margin,
        quantiles: args.quantiles.clone(),
    };
    let (base, mut whole) = read(&args.base)?;
    let comparison = match &args.new {
        Some(new) => {
            let (new, complete) = read(new)?;
            whole &= complete;
            dyno_judge::compare(&base, &new, &how)
        }
        None if base.manifest.plan.against.is_none() => {
            return Err(Failure::message(
                Code::Usage,
                format!(
                    "{} was not measured with --against, so it has nothing to compare within it: name \
                     a second run, or measure with `dyno run SUITE --against …`",
                    args.base.display()
                ),
            ));
        }
        None => dyno_judge::compare_within(&base, &how),
    };
    exit::print(&comparison.render(args.format.into(), &render_options()))?;
    let judgement = args.fail_on.and_then(|FailOn::Slower| {
        let slower = comparison.has_slower().then_some(Code::Slower);
        slower.or_else(|| comparison.is_blind().then_some(Code::Undecided))
    });
    Ok(ending(judgement, whole).into())
}

/// Reads a run by path, name or `latest`; damaged trials are named on standard error. With whether
/// all of it could be read.
pub(crate) fn read(which: &Path) -> Result<(Run, bool)> {
    let runs = Path::new(dyno_store::DEFAULT_RUNS_DIR);
    let directory = dyno_store::locate(which, runs).map_err(Failure::with(Code::Store))?;
    let read = dyno_store::read_run(&directory).map_err(Failure::with(Code::Store))?;
    for problem in dyno_store::told(&read.problems) {
        eprintln!("warning: {problem}");
    }
    Ok((read.run, read.problems.is_empty()))
}

/// The judgement's own code comes first; without one, trials that could not be read make the rest
/// incomplete.
pub(crate) fn ending(judgement: Option<Code>, whole: bool) -> Code {
    judgement.unwrap_or(match whole {
        true => Code::Success,
        false => Code::Store,
    })
}
