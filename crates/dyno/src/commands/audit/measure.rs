//! `dyno audit --measure`: plans the experiments that statement files name as the nearest, runs them as `dyno run` does, and sets the
//! claims beside what they give.

use crate::agents::{agent_command, report_sweep};
use crate::cli::AuditArgs;
use crate::commands::new_run::{Planned, create, seed};
use crate::exit::{self, Code, Failure, Result};
use crate::files;
use crate::host::{bare_machine, host_facts};
use crate::interrupt::on_interrupt;
use crate::progress::Progress;
use dyno_audit::{Audit, Beside, Cell, Statements};
use dyno_model::event::RunEvent;
use dyno_model::{AdapterDescription, Plan, Request};
use dyno_plan::{Catalog, HostFacts, PlanError};
use dyno_report::{Summary, SummaryOptions};
use dyno_runner::{Ending, RunOptions};
use std::collections::BTreeSet;

/// The name of the suite that is made of the nearest experiments.
const SUITE: &str = "audit";

/// What plans are made with.
struct Planner {
    catalog: Catalog,
    adapters: Vec<AdapterDescription>,
    facts: HostFacts,
    request: Request,
}

impl Planner {
    /// A plan of these cells; `title` is of the source.
    fn plan(&mut self, title: &str, cells: &[&Cell]) -> std::result::Result<Plan, PlanError> {
        let text = dyno_audit::suite(title, cells);
        self.catalog.add_suite(SUITE, "what comes nearest", text);
        dyno_plan::plan(&self.catalog, &self.request, &self.adapters, &self.facts)
    }
}

/// Fills in what stands beside each claim that names its nearest experiment.
///
/// # Errors
/// No source names one, or the run cannot be made. An experiment that cannot be planned is no error: its reason stands
/// beside its claims.
pub(super) fn measure(read: &mut [(Statements, Audit)], args: &AuditArgs) -> Result<Ending> {
    if read.iter().all(|(s, _)| s.nearest.is_empty()) {
        return Err(Failure::message(
            Code::Usage,
            "there is nothing to measure, because none of the sources names an experiment that comes nearest to its figures; a statement \
             file names them as [[nearest]] (docs/reference/statements.md)",
        ));
    }
    let mut progress = Progress::new(false, false);
    let interrupt = on_interrupt(false)?;
    report_sweep(&progress);
    let agent = agent_command()?;
    let adapters = dyno_runner::describe_adapters(&agent).map_err(Failure::with(Code::Error))?;
    let catalog = files::catalog(&args.files)?;
    let mut planner = Planner {
        facts: host_facts(&catalog),
        catalog,
        adapters,
        request: Request {
            suite: SUITE.to_owned(),
            testbed: "local".to_owned(),
            seed: seed(),
            ..Request::default()
        },
    };
    let stacks: BTreeSet<String> = planner
        .catalog
        .stacks()
        .into_iter()
        .map(|s| s.name)
        .collect();
    let mut runnable: Vec<(usize, Cell)> = Vec::new();
    for (i, (statements, audit)) in read.iter_mut().enumerate() {
        let (cells, left_out) = statements.cells(&format!("source{i}-"));
        audit.measured.extend(left_out);
        for cell in cells {
            if !stacks.contains(&cell.stack) {
                let reason = format!("Dyno has no stack `{}`", cell.stack);
                audit.measured.extend(statements.refused(&cell, &reason));
                continue;
            }
            // By itself, so that one that cannot be run leaves the others alone.
            match planner.plan(&statements.source.title, &[&cell]) {
                Ok(_) => runnable.push((i, cell)),
                Err(e) => audit
                    .measured
                    .extend(statements.refused(&cell, &reason(&e))),
            }
        }
    }
    let mut ending = Ending::Complete;
    if !runnable.is_empty() {
        let titles: Vec<&str> = read.iter().map(|(s, _)| s.source.title.as_str()).collect();
        let cells: Vec<&Cell> = runnable.iter().map(|(_, cell)| cell).collect();
        let plan = planner
            .plan(&titles.join(", "), &cells)
            .map_err(exit::of_plan)?;
        let (summary, ended) = run(planner, plan, &agent, interrupt, &mut progress)?;
        ending = ended;
        for (i, cell) in &runnable {
            let (statements, audit) = &mut read[*i];
            audit.measured.extend(statements.beside(cell, &summary));
        }
    }
    for (statements, audit) in read {
        let place = |b: &Beside| statements.figures.iter().position(|f| f.id == b.figure);
        audit.measured.sort_by_key(place);
    }
    Ok(ending)
}

/// Why a cell cannot be run, with what the planner advises.
fn reason(error: &PlanError) -> String {
    let one = |p: &dyno_plan::Problem| match p.advice() {
        Some(advice) => format!("{p}: {}", advice.replace('\n', "; ")),
        None => p.to_string(),
    };
    let all: Vec<String> = error.problems().iter().map(one).collect();
    all.join("; ")
}

fn run(
    planner: Planner,
    plan: Plan,
    agent: &dyno_runner::AgentCommand,
    interrupt: std::sync::Arc<std::sync::atomic::AtomicBool>,
    progress: &mut Progress,
) -> Result<(Summary, Ending)> {
    for warning in &plan.warnings {
        progress.on_event(&RunEvent::Warning(warning.to_string()));
    }
    let planned = Planned {
        catalog: planner.catalog,
        request: planner.request,
        plan,
        adapters: planner.adapters,
    };
    let (writer, run) = create(planned, agent, None, progress)?;
    let choice = Default::default();
    let (clock, _) = dyno_measure::calibrate(choice).map_err(Failure::with(Code::Error))?;
    let options = RunOptions {
        agent: agent.clone(),
        clock,
        interrupt,
        bare: match &run.manifest.bare {
            Some(bare) => bare.clone(),
            None => bare_machine(progress)?,
        },
        stored: Vec::new(),
    };
    let directory = writer.dir().to_path_buf();
    let mut store = |record: &_| writer.write_trial(record);
    let mut on_event = |event: &RunEvent| progress.on_event(event);
    let plan = &run.manifest.plan;
    let ending = exit::of_run(dyno_runner::run(plan, &options, &mut store, &mut on_event))?;
    drop(writer);
    let read = dyno_store::read_run(&directory).map_err(Failure::with(Code::Store))?;
    for problem in dyno_store::told(&read.problems) {
        progress.say(format!("warning: {problem}"));
    }
    let shown = directory.display();
    match ending {
        Ending::Interrupted => {
            progress.say(format!("interrupted; what was measured is in {shown}"))
        }
        Ending::Complete => progress.say(format!("stored in {shown}")),
    }
    Ok((
        dyno_report::summarise(&read.run, &SummaryOptions::default()),
        ending,
    ))
}
