//! `dyno compare`

use crate::cli::{CompareArgs, FailOn, JudgeFormat};
use crate::commands::imported;
use crate::commands::judged::{
    UNDECIDED, conclude, directories, more_trials, read, read_directory,
};
use crate::exit::{Code, Failure, Result};
use crate::terminal::{self, render_options};
use dyno_judge::{CompareHistory, CompareOptions, Status};
use dyno_report::{escaped_markdown, wrap};
use std::path::{Path, PathBuf};

/// Compares two runs, or the two sides of one, and prints the table.
pub(crate) fn compare(args: &CompareArgs) -> Result {
    let how = CompareOptions {
        confidence: args.confidence,
        margin: args.margin,
        quantiles: args.quantiles.clone(),
    };
    if let Some(outputs) = outputs(args)? {
        return outputs_beside(args, outputs);
    }
    let (base, mut whole) = read(&args.base)?;
    let comparison = match &args.new {
        Some(new) => {
            let (new, complete) = read(new)?;
            whole &= complete;
            if let Some(reason) = dyno_judge::apart(&base, &new) {
                return Err(Failure::message(Code::Usage, reason));
            }
            match args.history.is_empty() {
                true => dyno_judge::compare(&base, &new, &how),
                false => {
                    let none = CompareHistory::new(&how, &base.manifest, &new.manifest);
                    let history = with_runs(none, &args.history)?;
                    dyno_judge::compare_with_history(&base, &new, &history)
                }
            }
        }
        None if base.manifest.plan.against.is_none() => {
            return Err(failure!(
                Usage,
                "{} was not measured with --against, so it has no second side: name a second \
                     run, or measure with `dyno run SUITE --against …`",
                args.base.display()
            ));
        }
        None => dyno_judge::compare_within(&base, &how),
    };
    let judgement = args
        .fail_on
        .and_then(|FailOn::Slower| match comparison.status() {
            Status::Pass => None,
            Status::Undecided => {
                let is_allowed = args.allow_undecided && comparison.is_open_by_scatter();
                (!is_allowed).then_some(Code::Undecided)
            }
            Status::Fail => Some(Code::Slower),
        });
    let options = render_options();
    let mut text = comparison.render(args.format.into(), &options);
    if args.fail_on.is_some() {
        let sentence = comparison.sentence();
        text += &match args.format {
            JudgeFormat::Table => format!("\n{}\n", wrap(&sentence, options.width, 2).join("\n")),
            JudgeFormat::Markdown => format!("\n{}\n", escaped_markdown(&sentence, false)),
            JudgeFormat::Json | JudgeFormat::Csv => String::new(),
        };
    }
    let concluded = conclude(&text, judgement, whole)?;
    if args.new.is_none()
        && comparison.status() == Status::Undecided
        && let Some(command) =
            more_trials(&args.base, &base.manifest, UNDECIDED, &comparison.further())
    {
        terminal::say(command);
    }
    Ok(concluded)
}

/// Adds the runs of --history. What cannot be read is left out by name.
fn with_runs(mut history: CompareHistory, of: &[PathBuf]) -> Result<CompareHistory> {
    for directory in directories(of)? {
        match read_directory(&directory) {
            Ok((run, _)) => history.add(&run),
            Err(e) => terminal::say(format!("warning: left out of the history: {e}")),
        }
    }
    Ok(history)
}

/// Both sides, where they are outputs of other tools.
fn outputs(args: &CompareArgs) -> Result<Option<[&Path; 2]>> {
    let is_output = |source: &Path| imported::is_output(source, args.output.tool);
    let base = args.base.as_path();
    match (args.new.as_deref(), is_output(base)) {
        (None, false) => Ok(None),
        (Some(new), is_base) => match (is_base, is_output(new)) {
            (true, true) => Ok(Some([base, new])),
            (false, false) => Ok(None),
            (true, false) => Err(imported::mixed(new, base)),
            (false, true) => Err(imported::mixed(base, new)),
        },
        (None, true) => Err(failure!(
            Usage,
            "{} is the output of another tool: name a second output to compare it with",
            base.display()
        )),
    }
}

/// Prints two outputs beside each other; nothing is judged of them.
fn outputs_beside(args: &CompareArgs, [base, new]: [&Path; 2]) -> Result {
    let tool = args.output.tool;
    let (base, new) = (imported::read(base, tool)?, imported::read(new, tool)?);
    let comparison = dyno_judge::compare_imported(&base, &new);
    let text = comparison.render(args.format.into(), &render_options());
    let judgement = args
        .fail_on
        .filter(|_| !args.allow_undecided)
        .map(|FailOn::Slower| Code::Undecided);
    conclude(&text, judgement, true)
}
