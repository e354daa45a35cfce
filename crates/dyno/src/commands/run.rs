//! `dyno run`: a plan, its measurement, and what it shows, from the first argument to the exit code.

mod dry;
mod resume;
mod until;

#[cfg(not(feature = "live"))]
use crate::absent::view::{self, Live};
use crate::agents::{agent_command, report_sweep};
use crate::cli::{ClockArg, FormatArg, Part, RunArgs};
use crate::commands::init;
use crate::commands::judged::{UNDECIDED, more_trials};
use crate::commands::new_run::{Planned, create, seed};
use crate::commands::request::{request, same_build, testbed_of};
use crate::commands::search::{self, Climb};
use crate::commands::show::print;
use crate::commands::trust;
use crate::exit::{self, Code, Failure, Result};
use crate::files;
use crate::host::{bare_machine, host_facts};
use crate::interrupt::on_interrupt;
use crate::progress::Progress;
use crate::terminal;
use crate::terminal::render_options;
#[cfg(feature = "live")]
use crate::view::{self, Live};
use dyno_judge::{CompareOptions, Status};
use dyno_model::Request;
use dyno_model::event::RunEvent;
use dyno_model::record::{Outcome, Run};
use dyno_runner::{AgentCommand, Ending, RunOptions};
use dyno_store::RunWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Plans, measures, stores and prints.
pub(crate) fn run(mut args: RunArgs) -> Result {
    if args.live {
        let () = view::check_terminal("--live needs a terminal; leave it out")?;
    }
    // Arguments that conflict with --resume keep clap from asking for it.
    if (args.more.is_some() || args.until_decided.is_some()) && args.resume.is_none() {
        return Err(Failure::message(
            Code::Usage,
            "--more (a number of trials) and --until-decided (as many as decide the limits of a file) add trials to a stored run: name it with \
             --resume RUN; for a new run, set the number with --trials",
        ));
    }
    let mut progress = Progress::new(args.quiet, args.live);
    let interrupt = on_interrupt(args.live)?;
    if args.suite.is_none() && args.resume.is_none() && args.like.is_none() {
        let () = init::ask(&mut args, &interrupt)?;
    }
    let mut looks = until::Looks::new(&args)?;
    report_sweep(&progress);
    let agent = agent_command()?;
    let (writer, run) = match &args.resume {
        Some(directory) if args.dry_run => {
            let () = resume::describe(&args, directory, &agent)?;
            return Ok(Code::Success.into());
        }
        Some(directory) => resume::resume(&args, directory, &agent, &progress, &interrupt)?,
        None => match prepare(&args, &agent, &mut progress, &interrupt)? {
            Some(new) => new,
            None => return Ok(Code::Success.into()),
        },
    };
    let directory = writer.dir().to_path_buf();
    let mut ending = measure(&args, writer, run, &agent, &mut progress, &interrupt)?;
    if let Some(looks) = &mut looks {
        while ending == Ending::Complete
            && let Some(trials) = looks.more(&directory, &progress)?
        {
            let (writer, run) = resume::add(&args, &directory, trials, &progress)?;
            ending = measure(&args, writer, run, &agent, &mut progress, &interrupt)?;
        }
    }
    finish(&args, &directory, ending, &agent, &progress)
}

/// Measures a new run and prints nothing of it: its directory, and how it ended. `None` for a dry run.
pub(super) fn measured(args: &RunArgs) -> Result<Option<(PathBuf, Ending)>> {
    let mut progress = Progress::new(args.quiet, args.live);
    let interrupt = on_interrupt(args.live)?;
    report_sweep(&progress);
    let agent = agent_command()?;
    let Some((writer, run)) = prepare(args, &agent, &mut progress, &interrupt)? else {
        return Ok(None);
    };
    let directory = writer.dir().to_path_buf();
    let ending = measure(args, writer, run, &agent, &mut progress, &interrupt)?;
    Ok(Some((directory, ending)))
}

/// Measures and stores what the plan has and the run lacks.
fn measure(
    args: &RunArgs,
    writer: RunWriter,
    run: Run,
    agent: &AgentCommand,
    progress: &mut Progress,
    interrupt: &Arc<AtomicBool>,
) -> Result<Ending> {
    // A resumed run stamps with a clock calibrated now: ticks of another boot mean nothing.
    let origin = run.manifest.origin.as_ref();
    let stored = origin.and_then(|origin| origin.request.clock);
    let asked = args.clock.map(ClockArg::choice);
    let choice = asked.or(stored).unwrap_or_default();
    let (clock, _) = dyno_measure::calibrate(choice).map_err(Failure::with(Code::Error))?;
    let bare = match &run.manifest.bare {
        Some(bare) => bare.clone(),
        // A run of an older Dyno is resumed.
        None => bare_machine(progress)?,
    };
    let live = match args.live {
        true => Some(Live::start(&run.manifest, &run.trials, interrupt.clone())?),
        false => None,
    };
    let options = RunOptions {
        agent: agent.clone(),
        clock,
        interrupt: interrupt.clone(),
        bare,
        stored: run.trials,
    };
    let mut store = |record: &_| writer.write_trial(record);
    let mut on_event = |event: &RunEvent| match &live {
        Some(live) => live.on_event(event),
        None => progress.on_event(event),
    };
    let plan = &run.manifest.plan;
    exit::of_run(match Climb::new(&run.manifest)? {
        Some(mut climb) => {
            dyno_runner::run_guided(plan, &mut climb, &options, &mut store, &mut on_event)
        }
        None => dyno_runner::run(plan, &options, &mut store, &mut on_event),
    })
}

/// Plans and creates the run directory; nothing for a dry run.
fn prepare(
    args: &RunArgs,
    agent: &AgentCommand,
    progress: &mut Progress,
    interrupt: &AtomicBool,
) -> Result<Option<(RunWriter, Run)>> {
    let adapters = dyno_runner::describe_adapters(agent).map_err(Failure::with(Code::Error))?;
    let (catalog, mut request) = request(args, seed())?;
    let facts = host_facts(&catalog);
    let planned =
        |request: &_| dyno_plan::plan(&catalog, request, &adapters, &facts).map_err(exit::of_plan);
    if let Some(budget) = args.budget {
        let one = Request {
            trials: Some(1),
            ..request.clone()
        };
        request.trials = Some(dry::trials_within(budget, &planned(&one)?)?);
    }
    let mut plan = planned(&request)?;
    if let Some(Part { index, count }) = args.shard {
        let part = dyno_plan::shard(&plan, index, count).map_err(Failure::with(Code::Plan))?;
        plan.shard = Some(part);
        // Every part must have the same, and none knows of the others.
        plan.seed = args.seed.unwrap_or(dyno_plan::common_seed(&plan));
        request.seed = plan.seed;
    }
    for warning in &plan.warnings {
        progress.on_event(&RunEvent::Warning(warning.to_string()));
    }
    let wanted = match &args.like {
        Some(_) => {
            // What the command line itself names is the user's own.
            let mut present = files::catalog(&args.files)?;
            if let Some(testbed) = &args.testbed {
                testbed_of(testbed, &mut present)?;
            }
            let mut asked = plan.clone();
            if args.against.is_some() {
                asked.against = None;
            }
            trust::wanted(&asked, &present, &adapters)
        }
        None => Vec::new(),
    };
    if args.dry_run {
        terminal::print(&dry::describe(&plan, &wanted))?;
        return Ok(None);
    }
    if let Some(run) = &args.like {
        trust::permit(args, run, &wanted, interrupt)?;
        if let (Some(stored), None) = (&plan.against, &args.against) {
            same_build(stored, "name that build's program with --against")?;
        }
    }
    if !args.quiet && plan.search.is_none() {
        progress.say(dry::size(&plan));
    }
    let planned = Planned {
        catalog,
        request,
        plan,
        adapters,
    };
    create(planned, agent, args.out.as_deref(), progress).map(Some)
}

fn finish(
    args: &RunArgs,
    directory: &Path,
    ending: Ending,
    agent: &AgentCommand,
    progress: &Progress,
) -> Result {
    let read = dyno_store::read_run(directory).map_err(Failure::with(Code::Store))?;
    for problem in dyno_store::told(&read.problems) {
        progress.say(format!("warning: {problem}"));
    }
    print(&read.run, args.format, directory)?;
    let undecided = compare(&read.run, args.format, directory)?;
    let found = search::of(&read.run)?;
    if let Some(found) = &found {
        search::print(found, args.format)?;
    }
    let shown = directory.display();
    if ending == Ending::Interrupted {
        let own = trust::folders(&args.files);
        // Of a stack of the run that is repeated, or of a testbed that is given by its file.
        let trust = match resume::wanted(&read.run.manifest.plan, &args.files, agent)?.is_empty() {
            true => "",
            false => " --trust",
        };
        progress.say(format!(
            "interrupted; continue with: dyno run --resume {}{own}{trust}",
            trust::shell_word(&directory.to_string_lossy())
        ));
        return Ok(Code::Interrupted.into());
    }
    let failed = read
        .run
        .trials
        .iter()
        .filter(|t| matches!(t.outcome, Outcome::Failed { .. }))
        .count();
    if !args.quiet {
        progress.say(format!("stored in {shown}"));
        undecided
            .into_iter()
            .for_each(|command| progress.say(command));
    }
    if let Some(found) = &found {
        // Above its capacity a stack may fail; what counts is whether there is one.
        return Ok(search::code(found).unwrap_or(Code::Success).into());
    }
    if failed > 0 {
        let all = read.run.trials.len();
        progress.say(format!(
            "{failed} of {all} trials failed; the table names the reasons"
        ));
        return Ok(Code::FailedTrials.into());
    }
    Ok(Code::Success.into())
}

/// What `--against` was for; for people only, since programs ask `dyno compare`. With the command that would decide what is
/// undecided.
fn compare(run: &Run, format: FormatArg, directory: &Path) -> Result<Option<String>> {
    if matches!(format, FormatArg::Json | FormatArg::Csv) || run.manifest.plan.against.is_none() {
        return Ok(None);
    }
    let comparison = dyno_judge::compare_within(run, &CompareOptions::default());
    let text = comparison.render(format.into(), &render_options());
    terminal::print(&format!("\n{text}"))?;
    Ok(match comparison.status() {
        Status::Undecided => {
            more_trials(directory, &run.manifest, UNDECIDED, &comparison.further())
        }
        Status::Pass | Status::Fail => None,
    })
}
