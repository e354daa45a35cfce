//! `dyno run`

#[cfg(not(feature = "live"))]
use crate::absent::view::{self, Live};
use crate::cli::{ClockArg, FormatArg, Part, RunArgs};
use crate::commands::request::request;
use crate::commands::search::{self, Climb};
use crate::commands::show::{print, render_options};
use crate::exit::{self, Code, Failure, Result};
use crate::progress::{Progress, minutes};
#[cfg(feature = "live")]
use crate::view::{self, Live};
use dyno_judge::CompareOptions;
use dyno_measure::{Clock, ClockChoice, allowed_cores, allowed_cpus, isolated_cpus};
use dyno_model::event::RunEvent;
use dyno_model::plan::Refusal;
use dyno_model::record::{Environment, FORMAT, Outcome, Run};
use dyno_model::{AdapterDescription, BareMachine, Nanos, Plan, Request, RunManifest};
use dyno_plan::{Catalog, HostFacts, PlanError};
use dyno_report::Format;
use dyno_runner::{AgentCommand, Ending, RunError, RunOptions};
use dyno_store::{DEFAULT_RUNS_DIR, Redo, RunWriter, StoreError};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Plans, measures, stores and prints.
pub(crate) fn run(args: RunArgs) -> Result {
    if args.live {
        let () = view::check_terminal("--live needs a terminal; leave it out")?;
    }
    let mut progress = Progress::new(args.quiet, args.live);
    let interrupt = on_interrupt(args.live)?;
    report_sweep(&progress);
    let agent = agent_command()?;
    let (writer, run) = match &args.resume {
        Some(directory) => resume(&args, directory, &progress)?,
        None => match prepare(&args, &agent, &mut progress)? {
            Some(new) => new,
            None => return Ok(Code::Success.into()),
        },
    };
    // A resumed run stamps with a clock calibrated now: ticks of another boot mean nothing.
    let origin = run.manifest.origin.as_ref();
    let stored = origin.and_then(|origin| origin.request.clock);
    let asked = args.clock.map(ClockArg::choice);
    let choice = asked.or(stored).unwrap_or_default();
    let (clock, _) = dyno_measure::calibrate(choice).map_err(Failure::with(Code::Error))?;
    let bare = match &run.manifest.bare {
        Some(bare) => bare.clone(),
        // A run of an older Dyno is resumed.
        None => bare_machine(&progress)?,
    };
    let live = match args.live {
        true => Some(Live::start(&run.manifest, &run.trials, interrupt.clone())?),
        false => None,
    };
    let options = RunOptions {
        agent,
        clock,
        interrupt,
        bare,
        stored: run.trials,
    };
    let directory = writer.dir().to_path_buf();
    let mut store = |record: &_| writer.write_trial(record);
    let mut on_event = |event: &RunEvent| match &live {
        Some(live) => live.on_event(event),
        None => progress.on_event(event),
    };
    let plan = &run.manifest.plan;
    let ending = measured(match Climb::new(&run.manifest)? {
        Some(mut climb) => {
            dyno_runner::run_guided(plan, &mut climb, &options, &mut store, &mut on_event)
        }
        None => dyno_runner::run(plan, &options, &mut store, &mut on_event),
    });
    drop(live);
    let ending = ending?;
    drop(writer);
    finish(&args, &directory, ending, &progress)
}

/// How a run ended, with the code of what kept it from that.
pub(super) fn measured(
    ending: std::result::Result<Ending, RunError<StoreError>>,
) -> Result<Ending> {
    ending.map_err(|e| match e {
        RunError::Store(e) => Failure::with(Code::Store)(e),
        e @ (RunError::Session(_) | RunError::Hosts(_)) => Failure::with(Code::Error)(e),
    })
}

fn finish(args: &RunArgs, directory: &Path, ending: Ending, progress: &Progress) -> Result {
    let read = dyno_store::read_run(directory).map_err(Failure::with(Code::Store))?;
    for problem in dyno_store::told(&read.problems) {
        progress.say(format!("warning: {problem}"));
    }
    print(&read.run, args.format)?;
    compare(&read.run, args.format)?;
    let found = search::of(&read.run)?;
    if let Some(found) = &found {
        search::print(found, args.format)?;
    }
    let shown = directory.display();
    if ending == Ending::Interrupted {
        progress.say(format!(
            "interrupted; go on with: dyno run --resume {shown}"
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

/// What `--against` was for; for people only, since programs ask `dyno compare`.
fn compare(run: &Run, format: FormatArg) -> Result<()> {
    let format = match format {
        FormatArg::Table => Format::Table,
        FormatArg::Markdown => Format::Markdown,
        FormatArg::Json | FormatArg::Csv => return Ok(()),
    };
    if run.manifest.plan.against.is_none() {
        return Ok(());
    }
    let comparison = dyno_judge::compare_within(run, &CompareOptions::default());
    exit::print("\n")?;
    exit::print(&comparison.render(format, &render_options()))
}

/// How long the machine is watched before the first trial.
const BARE: Nanos = Nanos::from_millis(400);

/// How often the machine is watched again where others are at work on it: what is measured then would
/// excuse the same load later.
const LOOKS: u32 = 4;

/// Others that use more than this share of the CPUs are no part of the bare machine.
const AT_WORK: f64 = 0.02;

/// What the machine does while nothing of the run is on it: the calmest of a few looks.
pub(super) fn bare_machine(progress: &Progress) -> Result<BareMachine> {
    let choice = ClockChoice::Auto;
    let (clock, _) = dyno_measure::calibrate(choice).map_err(Failure::with(Code::Error))?;
    let clock = Clock::new(clock);
    let look = || {
        dyno_measure::bare_machine(clock, &allowed_cpus(), BARE).map_err(Failure::with(Code::Error))
    };
    let mut calmest = look()?;
    for _ in 1..LOOKS {
        if calmest.load.foreign_share() <= AT_WORK {
            return Ok(calmest);
        }
        let next = look()?;
        if next.load.foreign_share() < calmest.load.foreign_share() {
            calmest = next;
        }
    }
    let share = 100.0 * calmest.load.foreign_share();
    if share > 100.0 * AT_WORK {
        progress.say(format!(
            "warning: other processes use {share:.0} % of the CPUs before the first trial; end them, or \
             read the remarks on disturbed trials with care"
        ));
    }
    Ok(calmest)
}

/// A flag that Ctrl-C, SIGTERM and SIGHUP set. A second one ends the program at once; with a live view,
/// once the terminal is as it was.
pub(crate) fn on_interrupt(live: bool) -> Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];
    let flag = Arc::new(AtomicBool::new(false));
    let code = i32::from(Code::Interrupted as u8);
    for signal in SIGNALS.into_iter().filter(|_| !live) {
        signal_hook::flag::register_conditional_shutdown(signal, code, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .map_err(Failure::with(Code::Error))?;
    }
    #[cfg(feature = "live")]
    if live {
        let mut signals =
            signal_hook::iterator::Signals::new(SIGNALS).map_err(Failure::with(Code::Error))?;
        let flag = flag.clone();
        std::thread::spawn(move || {
            for _ in signals.forever() {
                if flag.swap(true, std::sync::atomic::Ordering::Relaxed) {
                    view::leave_at_once();
                }
            }
        });
    }
    Ok(flag)
}

pub(crate) fn report_sweep(progress: &Progress) {
    let swept = dyno_runner::sweep();
    if !swept.is_empty() {
        progress.say(format!(
            "cleared what an earlier run left behind: {} scratch places, {} processes, {} other",
            swept.places.len(),
            swept.killed.len(),
            swept.removed.len()
        ));
    }
}

/// Agents are this very program.
pub(crate) fn agent_command() -> Result<AgentCommand> {
    // Not the resolved path: it would name a file that a rebuild has replaced.
    let program = PathBuf::from("/proc/self/exe");
    let program = std::fs::read_link(&program).map_err(Failure::with(Code::Error))?;
    Ok(AgentCommand {
        program,
        arguments: vec!["agent".to_owned()],
    })
}

fn resume(args: &RunArgs, directory: &Path, progress: &Progress) -> Result<(RunWriter, Run)> {
    let directory = dyno_store::locate(directory, Path::new(DEFAULT_RUNS_DIR))
        .map_err(Failure::with(Code::Store))?;
    let redo = if args.retry_failed {
        Redo::Failed
    } else {
        Redo::Interrupted
    };
    let (writer, read) =
        RunWriter::open_for_resume(&directory, redo).map_err(Failure::with(Code::Store))?;
    for problem in dyno_store::told(&read.problems) {
        progress.say(format!("warning: {problem}"));
    }
    here_as_before(&directory, &read.run)?;
    if !args.quiet {
        progress.say(stored_already(&read.run));
    }
    Ok((writer, read.run))
}

/// A run has one machine: what another one measures would be left out by whoever reads it.
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
        return Ok(());
    }
    Err(Failure::message(
        Code::Usage,
        format!(
            "the run in {} was measured on {}, and this is {own}: a run has one machine; measure one here \
             with `dyno run` and compare the two with `dyno compare`, or deal a run out with \
             --shard and merge its parts",
            directory.display(),
            hosts[0]
        ),
    ))
}

/// How far the stored trials go.
fn stored_already(run: &Run) -> String {
    let plan = &run.manifest.plan;
    let is_planned = |t: &&dyno_model::TrialRecord| {
        let experiment = plan.experiment(t.id.experiment);
        experiment.is_some_and(|e| t.id.number < e.trials)
    };
    let planned = run.trials.iter().filter(is_planned).count();
    let more = match run.trials.len() - planned {
        0 => String::new(),
        n => format!(", and {n} that repeats or the precision added"),
    };
    format!(
        "{planned} of {} planned trials are stored already{more}",
        plan.trial_count()
    )
}

/// Plans and creates the run directory; nothing for a dry run.
fn prepare(
    args: &RunArgs,
    agent: &AgentCommand,
    progress: &mut Progress,
) -> Result<Option<(RunWriter, Run)>> {
    let adapters = dyno_runner::describe_adapters(agent).map_err(Failure::with(Code::Error))?;
    let (catalog, mut request) = request(args, seed())?;
    let facts = host_facts(&catalog);
    let mut plan = dyno_plan::plan(&catalog, &request, &adapters, &facts).map_err(refused)?;
    if let Some(Part { index, count }) = args.shard {
        let part = dyno_plan::shard(&plan, index, count).map_err(Failure::with(Code::Plan))?;
        plan.shard = Some(part);
        // Every part must have the same, and none knows of the others.
        plan.seed = args.seed.unwrap_or(dyno_plan::common_seed(&plan));
        request.seed = plan.seed;
    }
    for warning in &plan.warnings {
        progress.on_event(&RunEvent::Warning(warning.clone()));
    }
    if args.dry_run {
        exit::print(&describe(&plan))?;
        return Ok(None);
    }
    let planned = Planned {
        catalog,
        request,
        plan,
        adapters,
    };
    create(planned, agent, args.out.as_deref(), progress).map(Some)
}

/// A plan with what it was made from.
pub(super) struct Planned {
    pub(super) catalog: Catalog,
    pub(super) request: Request,
    pub(super) plan: Plan,
    /// All of this build; those that are not used are left out.
    pub(super) adapters: Vec<AdapterDescription>,
}

/// Creates the run directory: the one that is named, or one of its own below `runs`.
pub(super) fn create(
    planned: Planned,
    agent: &AgentCommand,
    out: Option<&Path>,
    progress: &Progress,
) -> Result<(RunWriter, Run)> {
    let Planned {
        catalog,
        request,
        mut plan,
        adapters,
    } = planned;
    let mut tell = |remark: String| progress.say(format!("warning: {remark}"));
    dyno_runner::check_hosts(&plan.testbed)
        .and_then(|()| dyno_runner::settle_hosts(&mut plan.testbed, &mut tell))
        .map_err(Failure::with(Code::Error))?;
    for line in Refusal::lines(&plan.refused) {
        progress.say(format!("left out: {line}"));
    }
    let choice = request.clock.unwrap_or_default();
    let (_, clock_facts) = dyno_measure::calibrate(choice).map_err(Failure::with(Code::Error))?;
    if cfg!(debug_assertions) {
        progress.say("warning: this is a debug build; its figures are not measurements");
    }
    let used: HashSet<&str> = plan.stacks.values().flat_map(|s| s.adapters()).collect();
    let adapters: Vec<AdapterDescription> = adapters
        .into_iter()
        .filter(|a| used.contains(a.name.as_str()))
        .collect();
    let origin = catalog.origin(&request, &plan).map_err(refused)?;
    let binaries =
        dyno_runner::binaries(agent, &plan, &adapters).map_err(Failure::with(Code::Error))?;
    let bare = bare_machine(progress)?;
    let started_unix_ms = u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX);
    let (name, directory) = match out {
        Some(directory) => {
            let name = directory
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            (name, directory.to_path_buf())
        }
        None => dyno_store::new_run_dir(Path::new(DEFAULT_RUNS_DIR), &plan.suite, started_unix_ms)
            .map_err(Failure::with(Code::Store))?,
    };
    let manifest = RunManifest {
        format: FORMAT,
        id: name,
        started_unix_ms,
        command: std::env::args().collect(),
        environment: Environment {
            commit: commit(),
            modified: MODIFIED.parse().ok(),
            emulated: plan.testbed.emulated(),
            binaries,
            ..dyno_measure::environment(&clock_facts)
        },
        adapters,
        plan,
        bare: Some(bare),
        origin: Some(origin),
    };
    // Limits that hold nothing of the plan are refused before anything is stored.
    Climb::new(&manifest)?;
    let writer = RunWriter::create(&directory, &manifest).map_err(Failure::with(Code::Store))?;
    Ok((
        writer,
        Run {
            manifest,
            trials: Vec::new(),
            machines: Default::default(),
        },
    ))
}

/// Any number serves as a seed; it is stored with the run.
pub(super) fn seed() -> u64 {
    since_epoch().subsec_nanos().into()
}

fn since_epoch() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}

pub(super) fn refused(e: PlanError) -> Failure {
    Failure {
        code: Code::Plan,
        report: miette::Report::new(e),
    }
}

/// The commit that this program was built from; empty where that is not known.
pub(super) const COMMIT: &str = env!("DYNO_COMMIT");

/// Whether its source differed from that commit: `true`, `false`, or empty where that is not known.
const MODIFIED: &str = env!("DYNO_MODIFIED");

fn commit() -> Option<String> {
    Some(COMMIT.to_owned()).filter(|commit| !commit.is_empty())
}

/// What planning must know of this machine.
pub(crate) fn host_facts(catalog: &Catalog) -> HostFacts {
    let shm = rustix::fs::statvfs("/dev/shm").ok();
    HostFacts {
        cpus: allowed_cpus(),
        cores: allowed_cores(),
        isolated: isolated_cpus(),
        shm_free_bytes: shm.map(|s| s.f_bavail * s.f_frsize),
        memory_bytes: available_memory(),
        missing_programs: catalog
            .programs()
            .into_iter()
            .filter(|p| !dyno_runner::is_installed(p))
            .collect(),
        vsock: dyno_runner::vsock_back_end(),
    }
}

/// MemAvailable of /proc/meminfo (proc(5)), in bytes.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// `1 trial`, `2 trials`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// The plan for people.
fn describe(plan: &Plan) -> String {
    let all = plan.experiments.len();
    let of = counted(all, "experiment");
    let experiments = match &plan.shard {
        Some(part) => format!("{part}, {} of {of}", part.experiments.len()),
        None => of,
    };
    let time = plan.here().map(|e| plan.nominal_time(e).0);
    let time = Nanos(time.fold(0, u64::saturating_add));
    let mut lines = vec![format!(
        "{} of {experiments}, about {}",
        counted(plan.trial_count(), "trial"),
        minutes(time.into())
    )];
    if plan.repeats > 0 {
        lines.push(format!(
            "  and at most {} more of each where the host disturbs them",
            plan.repeats
        ));
    }
    if let Some(p) = &plan.precision {
        lines.push(format!(
            "  and more, at most {} each, until p{} is known to ±{} %",
            p.max_trials,
            // Shares from the command line: their decimals are few.
            (p.quantile * 1e6).round() / 1e4,
            (p.within * 1e6).round() / 1e4
        ));
    }
    if let Some(search) = &plan.search {
        lines[0] = format!("search of {} until {}", search.raise, search.until.path);
        lines.extend(plan.ladders().iter().filter_map(|ladder| {
            let first = plan.experiment(*ladder.experiments.first()?)?;
            let text = |value: Option<&f64>| search.raise.text(*value.unwrap_or(&0.0));
            Some(format!(
                "  {:<12} {:<14} from {} to at most {}",
                first.name,
                first.stack,
                text(ladder.values.first()),
                text(ladder.values.last())
            ))
        }));
        lines.extend(
            Refusal::lines(&plan.refused)
                .iter()
                .map(|line| format!("  refused: {line}")),
        );
        return lines.join("\n") + "\n";
    }
    let bases = plan.bases();
    let legs = plan.legs();
    for e in plan.here() {
        let added = match e.added {
            true if e.counted => "  (counted with tracepoints)",
            true if e.workload.kind().is_probe() => "  (added for the ground)",
            true if legs.contains(&e.id) => "  (a leg alone)",
            true if e.flow.as_ref().is_some_and(|f| f.by_itself) => "  (a flow alone)",
            true => "  (added for the floor)",
            false if bases.contains(&e.id) => "  (base)",
            false => "",
        };
        let name = match e.flow_name() {
            Some(flow) => format!("{} {flow}", e.name),
            None => e.name.clone(),
        };
        lines.push(format!(
            "  {name:<12} {:<14} {}  {}  {}  {}  {}  {}{added}",
            e.stack,
            e.exchange(),
            e.payload_text(),
            e.wait,
            e.access,
            e.placement,
            e.topology
        ));
    }
    let refused = Refusal::lines(&plan.refused);
    lines.extend(refused.iter().map(|line| format!("  refused: {line}")));
    lines.join("\n") + "\n"
}
