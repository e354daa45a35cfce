//! A new run directory from a plan, for the commands that measure: `dyno run` and `dyno audit --measure`.

use crate::built;
use crate::commands::search::Climb;
use crate::exit::{self, Code, Failure, Result};
use crate::host::bare_machine;
use crate::progress::Progress;
use crate::terminal;
use dyno_model::plan::Refusal;
use dyno_model::record::{Environment, FORMAT, Run};
use dyno_model::{AdapterDescription, Plan, Request, RunManifest};
use dyno_plan::Catalog;
use dyno_runner::AgentCommand;
use dyno_store::{DEFAULT_RUNS_DIR, RunWriter};
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    let origin = catalog.origin(&request, &plan).map_err(exit::of_plan)?;
    let binaries =
        dyno_runner::binaries(agent, &plan, &adapters).map_err(Failure::with(Code::Error))?;
    let bare = bare_machine(progress)?;
    let started_unix_ms = unix_ms();
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
        command: terminal::arguments(),
        environment: Environment {
            commit: built::commit(),
            modified: built::modified(),
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

/// Milliseconds since the Unix epoch.
pub(super) fn unix_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}

fn since_epoch() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}
