//! `dyno conformance`: plays the cases one by one and says how each went.

use crate::agents::{agent_command, report_sweep};
use crate::cli::ConformanceArgs;
use crate::exit::{self, Code, Failure, Result};
use crate::files;
use crate::host::host_facts;
use crate::interrupt::on_interrupt;
use crate::progress::Progress;
use crate::terminal;
use dyno_model::conformance::{CaseVerdict, Examinee};
use dyno_model::{AdapterDescription, Nanos, Options, Stack};
use dyno_plan::{Catalog, missing_daemon};
use dyno_runner::{CaseError, Conformance};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What `--json` prints; docs/reference/conformance.md describes it.
#[derive(Serialize)]
struct Report {
    /// Within a format, fields may be added; none is renamed, removed or given another meaning.
    format: u32,
    adapter: String,
    version: String,
    library: Option<PathBuf>,
    options: Options,
    best_effort: bool,
    /// Whether all cases that were asked for were played.
    complete: bool,
    cases: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    case: &'static str,
    asks: String,
    #[serde(flatten)]
    verdict: CaseVerdict,
    took_ns: Nanos,
}

/// Plays the cases and prints how they went.
pub(crate) fn conformance(args: &ConformanceArgs) -> Result {
    let cases = chosen(&args.cases)?;
    let progress = Progress::new(args.quiet, false);
    report_sweep(&progress);
    let interrupt = on_interrupt(false)?;
    let (stack, adapter) = subject(args)?;
    let examinee = Examinee {
        adapter: adapter.name.clone(),
        library: adapter.library.clone(),
        options: stack.options.clone(),
        placements: stack.placements,
        asks: stack.asks,
        best_effort: args.best_effort,
    };
    let may_lose = adapter.capabilities.best_effort && !args.best_effort;
    let mut report = Report {
        format: 1,
        adapter: adapter.name,
        version: adapter.version,
        library: adapter.library,
        options: stack.options,
        best_effort: args.best_effort,
        complete: true,
        cases: Vec::new(),
    };
    let print = |text: String| match args.json {
        true => Ok(()),
        false => progress.apart(|| terminal::print(&text)),
    };
    print(heading(&report))?;
    let mut examination = Conformance::new(
        agent_command()?,
        examinee,
        stack.daemons,
        args.limit.into(),
        interrupt,
    )
    .map_err(Failure::with(Code::Error))?;
    for (i, (case, asks)) in cases.iter().enumerate() {
        progress.step(i, cases.len(), case);
        let start = Instant::now();
        let verdict = match examination.play(case) {
            Ok(verdict) => verdict,
            Err(CaseError::Interrupted) => {
                report.complete = false;
                break;
            }
            Err(e) => return Err(Failure::with(Code::Error)(e)),
        };
        let row = Row {
            case,
            asks: asks.clone(),
            verdict,
            took_ns: start.elapsed().into(),
        };
        print(line(&row))?;
        report.cases.push(row);
    }
    // Removes its place before the last word.
    drop(examination);
    progress.end();
    if args.json {
        terminal::print(&dyno_report::json_text(&report))?;
    } else {
        terminal::print(&summary(&report, cases.len()))?;
    }
    let failed = |row: &Row| matches!(row.verdict, CaseVerdict::Failed(_));
    if may_lose && !args.json && report.cases.iter().any(failed) {
        terminal::print("If messages may be lost with these options, say --best-effort.\n")?;
    }
    Ok(match report.complete {
        false => Code::Interrupted,
        true if report.cases.iter().any(failed) => Code::FailedTrials,
        true => Code::Success,
    }
    .into())
}

/// The cases of these names, or all.
fn chosen(names: &[String]) -> Result<Vec<(&'static str, String)>> {
    let mut cases = dyno_agent::conformance_cases();
    if let Some(unknown) = names
        .iter()
        .find(|name| cases.iter().all(|(case, _)| case != name))
    {
        let all: Vec<&str> = cases.iter().map(|(case, _)| *case).collect();
        let text = format!(
            "there is no conformance case `{unknown}`; there are {}",
            all.join(", ")
        );
        return Err(Failure::message(Code::Usage, text));
    }
    cases.retain(|(case, _)| names.is_empty() || names.iter().any(|name| name == case));
    Ok(cases)
}

/// What is to be examined: a stack by its name, or the adapter in a library.
fn subject(args: &ConformanceArgs) -> Result<(Stack, AdapterDescription)> {
    let mut catalog = files::catalog(&args.files)?;
    let path = Path::new(&args.of);
    let is_library = args.of.contains('/') || path.extension().is_some_and(|e| e == "so");
    let adapters = match is_library {
        true => vec![library(path, &mut catalog, &args.of)?],
        false => {
            dyno_runner::describe_adapters(&agent_command()?).map_err(Failure::with(Code::Error))?
        }
    };
    let stack = catalog
        .read_stack_with(&args.of, &adapters, &args.settings)
        .map_err(exit::of_plan)?;
    if stack.chain.is_some() {
        let reason = "it is a chain: check the stacks of its legs";
        return Err(unusable(&args.of, reason));
    }
    let adapter = adapters.into_iter().find(|a| a.name == stack.adapter);
    // A stack is read only where its adapter is known.
    let adapter = adapter.ok_or_else(|| unusable(&args.of, "it has no adapter"))?;
    if let Some(reason) = &adapter.unavailable {
        return Err(unusable(&args.of, reason));
    }
    if let Some(reason) = missing_daemon(&stack, &host_facts(&catalog)) {
        return Err(unusable(&args.of, &reason.to_string()));
    }
    Ok((stack, adapter))
}

/// Asks the library what it holds, and makes a stack of that with no options.
fn library(path: &Path, catalog: &mut Catalog, name: &str) -> Result<AdapterDescription> {
    let full = path
        .canonicalize()
        .map_err(|e| unusable(name, &format!("cannot read it: {e}")))?;
    let adapter = dyno_agent::ask_library(&full).map_err(|reason| unusable(name, &reason))?;
    // The loader refuses libraries without a wait strategy.
    let wait = adapter.capabilities.waits.first();
    let text = format!(
        "description = \"the library alone\"\nadapter = {:?}\nwaits = [{:?}]\n",
        adapter.name,
        wait.map_or("", |wait| wait.as_str())
    );
    catalog.add_stack(name, name, text);
    Ok(adapter)
}

fn unusable(name: &str, reason: &str) -> Failure {
    failure!(Plan, "{name} cannot be tested: {reason}")
}

fn heading(report: &Report) -> String {
    let mut text = format!("Conformance of {} {}", report.adapter, report.version);
    if let Some(library) = &report.library {
        text.push_str(&format!(" in {}", library.display()));
    }
    for (i, (name, value)) in report.options.iter().enumerate() {
        let word = if i == 0 { " with" } else { "," };
        text.push_str(&format!("{word} {name} = {value}"));
    }
    text.push('\n');
    text
}

fn line(row: &Row) -> String {
    let (word, reason) = match &row.verdict {
        CaseVerdict::Passed => return format!("passed   {}\n", row.case),
        CaseVerdict::Skipped(reason) => return format!("skipped  {}: {reason}\n", row.case),
        CaseVerdict::Failed(reason) => ("FAILED ", reason),
    };
    let mut text = format!("{word}  {}: {}\n", row.case, row.asks);
    for line in reason.lines() {
        text.push_str(&format!("         | {line}\n"));
    }
    text
}

fn summary(report: &Report, asked: usize) -> String {
    let count = |is: fn(&CaseVerdict) -> bool| {
        let rows = report.cases.iter();
        rows.filter(|row| is(&row.verdict)).count()
    };
    let mut text = format!(
        "{} passed, {} failed, {} skipped",
        count(|v| matches!(v, CaseVerdict::Passed)),
        count(|v| matches!(v, CaseVerdict::Failed(_))),
        count(|v| matches!(v, CaseVerdict::Skipped(_))),
    );
    if !report.complete {
        let left = asked - report.cases.len();
        text.push_str(&format!("; interrupted, {left} not run"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_reference_has_every_case_as_it_is_declared() {
        let page = include_str!("../../../../docs/reference/conformance.md");
        let rows =
            |line: &&str| line.starts_with("| `") && line.contains("_") && line.ends_with(". |");
        let shown: Vec<&str> = page.lines().filter(rows).collect();
        let declared: Vec<String> = dyno_agent::conformance_cases()
            .into_iter()
            .map(|(case, asks)| format!("| `{case}` | {asks} |"))
            .collect();
        assert_eq!(shown, declared);
    }
}
