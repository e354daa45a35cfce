//! `dyno run --resume`: the rest of a run that is stored in part.

use super::dry;
use crate::cli::RunArgs;
use crate::commands::judged::located;
use crate::commands::new_run::unix_ms;
use crate::commands::request::same_build;
use crate::commands::trust;
use crate::exit::{Code, Failure, Result};
use crate::files::{self, FileArgs};
use crate::progress::{Progress, minutes};
use crate::terminal;
use dyno_measure::host;
use dyno_model::plan::More;
use dyno_model::record::{Environment, Run};
use dyno_model::unit::counted;
use dyno_model::{Experiment, Nanos, Plan};
use dyno_runner::AgentCommand;
use dyno_store::{Redo, RunWriter};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Opens the run directory to go on with, with what it holds; says how far that goes.
pub(super) fn resume(
    args: &RunArgs,
    directory: &Path,
    agent: &AgentCommand,
    progress: &Progress,
    interrupt: &AtomicBool,
) -> Result<(RunWriter, Run)> {
    let directory = located(directory)?;
    let manifest = dyno_store::read_manifest(&directory).map_err(Failure::with(Code::Store))?;
    sound(&manifest.plan, &directory)?;
    let asked = wanted(&manifest.plan, &args.files, agent)?;
    trust::permit(args, &directory, &asked, interrupt)?;
    if let Some(stored) = &manifest.plan.against {
        same_build(
            stored,
            "put it back; a run must end with the same builds with which it began",
        )?;
    }
    let redo = if args.retry_failed {
        Redo::Failed
    } else {
        Redo::Interrupted
    };
    let (writer, read) =
        RunWriter::open_for_resume(&directory, redo).map_err(Failure::with(Code::Store))?;
    // Whoever may write there may have done so since.
    if read.run.manifest.plan != manifest.plan {
        let text = format!(
            "the plan in {} changes; nothing was run",
            directory.display()
        );
        return Err(Failure::message(Code::Store, text));
    }
    for problem in dyno_store::told(&read.problems) {
        progress.say(format!("warning: {problem}"));
    }
    here_as_before(&directory, &read.run)?;
    lengthened(args, writer, read.run, args.more, progress)
}

/// Opens a run that was just measured here, with so many more trials of each experiment.
pub(super) fn add(
    args: &RunArgs,
    directory: &Path,
    trials: u32,
    progress: &Progress,
) -> Result<(RunWriter, Run)> {
    let (writer, read) = RunWriter::open_for_resume(directory, Redo::Interrupted)
        .map_err(Failure::with(Code::Store))?;
    lengthened(args, writer, read.run, Some(trials), progress)
}

fn lengthened(
    args: &RunArgs,
    writer: RunWriter,
    mut run: Run,
    more: Option<u32>,
    progress: &Progress,
) -> Result<(RunWriter, Run)> {
    if let Some(trials) = more {
        run.manifest.plan = with_more(&run.manifest.plan, trials, writer.dir())?;
        writer
            .write_plan(&run.manifest.plan)
            .map_err(Failure::with(Code::Store))?;
    }
    if !args.quiet {
        progress.say(stored_already(&run));
    }
    Ok((writer, run))
}

/// The plan with so many more trials of each experiment.
fn with_more(plan: &Plan, trials: u32, directory: &Path) -> Result<Plan> {
    let more = More {
        trials,
        asked_unix_ms: unix_ms(),
    };
    let refused = |why| format!("the run in {} {why}; nothing was run", directory.display());
    plan.with_more(more)
        .map_err(|why| Failure::message(Code::Usage, refused(why)))
}

/// `dyno run --resume RUN --dry-run`: the plan, how far the stored trials go, and what is asked first. Nothing is written.
pub(super) fn describe(args: &RunArgs, directory: &Path, agent: &AgentCommand) -> Result<()> {
    let directory = located(directory)?;
    let read = dyno_store::read_run(&directory).map_err(Failure::with(Code::Store))?;
    let mut run = read.run;
    if let Some(trials) = args.more {
        run.manifest.plan = with_more(&run.manifest.plan, trials, &directory)?;
    }
    let plan = &run.manifest.plan;
    sound(plan, &directory)?;
    let plan = dry::describe(plan, &wanted(plan, &args.files, agent)?);
    terminal::print(&format!("{}\n{plan}", stored_already(&run)))
}

/// A stored plan did not pass the reader of testbeds, and names and addresses of hosts become paths and words of commands.
fn sound(plan: &Plan, directory: &Path) -> Result<()> {
    match dyno_plan::impossible(&plan.testbed) {
        None => Ok(()),
        Some(host) => Err(failure!(
            Store,
            "the plan in {} has the host {:?} at {:?}, which no testbed can have, so somebody has changed the plan; nothing was run",
            directory.display(),
            host.name,
            host.address
        )),
    }
}

/// What whoever resumes a run of this plan is asked for, who has `own` files beside the built-in ones.
pub(super) fn wanted(plan: &Plan, own: &FileArgs, agent: &AgentCommand) -> Result<Vec<String>> {
    let adapters = dyno_runner::describe_adapters(agent).map_err(Failure::with(Code::Error))?;
    Ok(trust::wanted(plan, &files::catalog(own)?, &adapters))
}

/// A run has one machine, and one timer slack: what another one measures would be left out by whoever reads it, and trials with
/// another slack wait for another time.
fn here_as_before(directory: &Path, run: &Run) -> Result<()> {
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy();
    let parts = dyno_store::read_parts(directory).map_err(Failure::with(Code::Store))?;
    let hosts: Vec<&str> = std::iter::once(&run.manifest)
        .chain(&parts)
        .map(|m| m.environment.host.as_str())
        .filter(|host| !host.is_empty())
        .collect();
    if hosts.is_empty() || hosts.contains(&&*own) {
        return same_timer_slack(directory, &run.manifest.environment);
    }
    Err(failure!(
        Usage,
        "the run in {} was measured on {}, and this is {own}: a run belongs to one machine; \
             measure a run here with `dyno run` and compare the two with `dyno compare`, or divide \
             a run with --shard and merge its parts",
        directory.display(),
        hosts[0]
    ))
}

fn same_timer_slack(directory: &Path, stored: &Environment) -> Result<()> {
    let own = host::granted_timer_slack();
    if stored.timer_slack == own {
        return Ok(());
    }
    let own = own.map_or_else(|| "an unknown one".into(), |slack| slack.to_string());
    Err(Failure::message(
        Code::Usage,
        format!(
            "the run in {} was measured with another timer slack ({}) than participants have here ({own}), so its sleeps took \
             another time; measure a new run with `dyno run`",
            directory.display(),
            stored.timer_slack_text()
        ),
    ))
}

/// How far the stored trials go, and how long those that are left take.
fn stored_already(run: &Run) -> String {
    let plan = &run.manifest.plan;
    let is_planned = |t: &&dyno_model::TrialRecord| {
        let experiment = plan.experiment(t.id.experiment);
        experiment.is_some_and(|e| t.id.number < e.trials)
    };
    let stored = run.trials.iter().filter(is_planned);
    let planned = stored.clone().count();
    let nominal = |e: &Experiment| dyno_plan::nominal_trial(plan, e).0;
    let of_stored = stored.filter_map(|t| plan.experiment(t.id.experiment).map(nominal));
    let all = plan.here().map(|e| dyno_plan::nominal_time(plan, e).0);
    let left = all
        .fold(0, u64::saturating_add)
        .saturating_sub(of_stored.fold(0, u64::saturating_add));
    let more = match run.trials.len() - planned {
        0 => String::new(),
        n => format!(", and {n} that repeats or the precision added"),
    };
    let left = match plan.trial_count().saturating_sub(planned) {
        0 => String::new(),
        n => {
            let time = minutes(Nanos(left).into());
            format!("; {} left, about {time}", counted(n, "trial"))
        }
    };
    format!(
        "{planned} of {} planned trials are stored already{more}{left}",
        plan.trial_count()
    )
}
