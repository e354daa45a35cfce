//! `dyno doctor`: what on this host hurts measurements, how much, and what would fix it. It measures on
//! the spot and changes nothing.

mod facts;
mod ground;
mod render;

use crate::cli::DoctorArgs;
use crate::exit::{self, Code, Failure, Result};
use dyno_doctor::{Facts, Finding, Verdict};
use serde::Serialize;

/// What `--json` prints; docs/reference/host-noise.md describes it.
#[derive(Serialize)]
struct Report {
    /// Within a format, fields may be added; none is renamed, removed or given another meaning.
    format: u32,
    verdict: Verdict,
    /// What hurts most first.
    findings: Vec<Finding>,
    #[serde(flatten)]
    facts: Facts,
}

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
        let json = serde_json::to_string_pretty(&report).map_err(Failure::with(Code::Error))?;
        format!("{json}\n")
    } else {
        render::render(&report)
    };
    exit::print(&text)?;
    Ok(Code::Success.into())
}
