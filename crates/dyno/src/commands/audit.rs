//! `dyno audit`

mod measure;

use crate::cli::{AuditArgs, AuditFormat};
use crate::commands::{imported, judged};
use crate::exit::{Code, Failure, Result};
use crate::output;
use crate::terminal::render_options;
use dyno_audit::import::Tool;
use dyno_audit::{Audit, Options, Statements, Verdict};
use dyno_report::SummaryOptions;
use dyno_runner::Ending;
use std::path::Path;

/// Holds each source to arithmetic and prints what was found.
pub(crate) fn audit(args: &AuditArgs) -> Result {
    let mut read: Vec<(Statements, Audit)> = Vec::new();
    let mut whole = true;
    for source in &args.sources {
        let (statements, complete) = statements(source, args.output.tool)?;
        whole &= complete;
        let audit = Audit::of(&statements);
        read.push((statements, audit));
    }
    let ending = match args.measure {
        true => measure::measure(&mut read, args)?,
        false => Ending::Complete,
    };
    let text = rendered(&read, args)?;
    output::put(args.out.as_deref(), &text)?;
    if ending == Ending::Interrupted {
        return Ok(Code::Interrupted.into());
    }
    let worst = read
        .iter()
        .flat_map(|(_, audit)| audit.findings())
        .map(|o| o.verdict)
        .min();
    let limit = args.fail_on.map(Verdict::from);
    Ok(match (limit, worst) {
        (Some(limit), Some(worst)) if worst <= limit => Code::Objected,
        _ if !whole => Code::Store,
        _ => Code::Success,
    }
    .into())
}

fn rendered(read: &[(Statements, Audit)], args: &AuditArgs) -> Result<String> {
    let options = Options {
        all: args.all,
        color: args.out.is_none() && render_options().color,
    };
    let pairs: Vec<(&Statements, &Audit)> = read.iter().map(|(s, a)| (s, a)).collect();
    let each = |render: fn(&Statements, &Audit, Options) -> String| {
        let all: Vec<String> = pairs.iter().map(|(s, a)| render(s, a, options)).collect();
        all.join("\n")
    };
    Ok(match args.format {
        AuditFormat::Table => each(dyno_audit::text),
        AuditFormat::Markdown => each(dyno_audit::markdown),
        AuditFormat::Json => dyno_audit::json(&pairs),
        AuditFormat::Html => dyno_audit::page(&pairs).map_err(Failure::with(Code::Error))?,
    })
}

/// A run by its directory or name, a statement file by its ending, else the output of a tool; and whether all of it
/// could be read.
fn statements(source: &Path, tool: Option<Tool>) -> Result<(Statements, bool)> {
    let is_name = !source.exists() && source.extension().is_none();
    if tool.is_none() && (source.is_dir() || is_name) {
        let (run, whole) = judged::read(source)?;
        let summary = dyno_report::summarise(&run, &SummaryOptions::default());
        return Ok((Statements::of_run(&summary), whole));
    }
    if tool.is_none() && source.extension().is_some_and(|e| e == "toml") {
        let name = source.display().to_string();
        let text = std::fs::read_to_string(source)
            .map_err(|e| failure!(Error, "cannot read {name}: {e}"))?;
        let parsed = Statements::parse(&text, &name).map_err(Failure::with(Code::Plan))?;
        return Ok((parsed, true));
    }
    Ok((imported::read(source, tool)?, true))
}
