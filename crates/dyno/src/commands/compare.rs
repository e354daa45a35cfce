//! `dyno compare`

use crate::cli::{CompareArgs, FailOn};
use crate::commands::judged::{conclude, read};
use crate::commands::show::render_options;
use crate::exit::{Code, Failure, Result};
use dyno_judge::CompareOptions;

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
    let judgement = args.fail_on.and_then(|FailOn::Slower| {
        let slower = comparison.has_slower().then_some(Code::Slower);
        slower.or_else(|| comparison.is_blind().then_some(Code::Undecided))
    });
    let text = comparison.render(args.format.into(), &render_options());
    conclude(&text, judgement, whole)
}
