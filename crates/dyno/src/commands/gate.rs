//! `dyno gate`: a preset of `dyno run --against` and `dyno compare --fail-on slower`.

use crate::cli::{CompareArgs, FailOn, GateArgs, JudgeFormat, OutputArgs};
use crate::commands::compare::compare;
use crate::commands::run::measured;
use crate::commands::trust::{folders, shell_word};
use crate::exit::{Code, Failure, Result};
use crate::terminal;
use dyno_judge::{CompareOptions, rank};
use dyno_model::record::Outcome;
use dyno_model::unit::counted;
use dyno_runner::Ending;
use std::process::ExitCode;

/// Measures both sides and judges the new one.
pub(crate) fn gate(args: GateArgs) -> Result {
    let GateArgs { base, new, .. } = &args;
    if base == new {
        return Err(failure!(
            Usage,
            "both sides are {new}: name two, or see what differs by chance with `dyno gate same {}`",
            shell_word(new)
        ));
    }
    if new.contains('/') || new == "same" {
        return Err(failure!(
            Usage,
            "{new} cannot be judged: NEW is a stack, which this build measures; another build judges itself with `OTHER/dyno gate BASE STACK`"
        ));
    }
    if base.contains('/') {
        apart(base)?;
    }
    let (smallest, quantiles) = (args.smallest, args.quantiles.clone());
    let allow_undecided = args.allow_undecided;
    let run = args.run();
    let Some((directory, ending)) = measured(&run)? else {
        return Ok(Code::Success.into());
    };
    let path = shell_word(&directory.to_string_lossy());
    let ranks: Vec<String> = quantiles.iter().map(|q| rank(*q)).collect();
    let again = format!(
        "dyno compare {path} --margin {smallest} --quantiles {} --fail-on slower{}",
        ranks.join(","),
        if allow_undecided {
            " --allow-undecided"
        } else {
            ""
        }
    );
    if ending == Ending::Interrupted {
        let own = folders(&run.files);
        terminal::say(format!(
            "interrupted, so there is no verdict; continue with: dyno run --resume {path}{own}; then: {again}"
        ));
        return Ok(Code::Interrupted.into());
    }
    let judged = compare(&CompareArgs {
        base: directory.clone(),
        new: None,
        output: OutputArgs { tool: None },
        margin: smallest,
        confidence: CompareOptions::default().confidence,
        quantiles,
        format: JudgeFormat::Table,
        history: Vec::new(),
        fail_on: Some(FailOn::Slower),
        allow_undecided,
    })?;
    if !run.quiet {
        terminal::say(format!("stored in {}", directory.display()));
    }
    let trials = dyno_store::read_run(&directory)
        .map_err(Failure::with(Code::Store))?
        .run
        .trials;
    let failed = trials.iter().filter(|t| t.outcome != Outcome::Completed);
    let failed = failed.count();
    if failed > 0 {
        let all = counted(trials.len(), "trial");
        terminal::say(format!(
            "{failed} of {all} failed; the remarks give the reasons"
        ));
    }
    match failed {
        1.. if judged == ExitCode::SUCCESS => Ok(Code::FailedTrials.into()),
        _ => {
            if judged == Code::Undecided.into() {
                terminal::say(format!(
                    "if you add trials, judge by the same rules with: {again}"
                ));
            }
            Ok(judged)
        }
    }
}

/// Where agents look for adapters before all other places.
const ADAPTER_PATH: &str = "DYNO_ADAPTER_PATH";

/// Another build must be another program, with adapters of its own.
fn apart(base: &str) -> Result<()> {
    let own = std::env::current_exe().and_then(std::fs::canonicalize);
    if let (Ok(own), Ok(other)) = (own, std::fs::canonicalize(base))
        && own == other
    {
        return Err(failure!(
            Usage,
            "{base} is this program itself: name the `dyno` of another build, or see what differs by chance with `dyno gate same STACK`"
        ));
    }
    if std::env::var_os(ADAPTER_PATH).is_some() {
        terminal::say(format!(
            "warning: {ADAPTER_PATH} is set, so both builds load adapters from there; unset it to compare those next to each program"
        ));
    }
    Ok(())
}
