//! `dyno doctor`: what on this host hurts measurements, how much, and what would fix it. It measures on
//! the spot and changes nothing.

mod facts;
mod ground;
mod render;

use crate::cli::DoctorArgs;
use crate::exit::{Code, Result};
use crate::terminal;
use dyno_doctor::Verdict;
use render::Report;

/// Examines the host and prints the findings.
pub(crate) fn doctor(args: &DoctorArgs) -> Result {
    let facts = facts::examine(args.quiet)?;
    let findings = dyno_doctor::findings(&facts);
    let report = Report {
        format: 1,
        verdict: Verdict::of(&findings),
        findings,
        facts,
    };
    let text = if args.json {
        dyno_report::json_text(&report)
    } else {
        render::render(&report)
    };
    terminal::print(&text)?;
    Ok(Code::Success.into())
}
