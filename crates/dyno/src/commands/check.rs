//! `dyno check`

use crate::cli::CheckArgs;
use crate::commands::compare::{ending, read};
use crate::commands::show::render_options;
use crate::exit::{self, Code, Failure, Result};
use dyno_judge::{CheckOptions, Limits, LimitsError, Status};

/// Holds the limits against the run, prints the result and writes JUnit XML where asked.
pub(crate) fn check(args: &CheckArgs) -> Result {
    let path = args.limits.display().to_string();
    let text = std::fs::read_to_string(&args.limits).map_err(|e| {
        Failure::message(Code::Error, format!("cannot read the limits {path}: {e}"))
    })?;
    let refused = |e: LimitsError| Failure {
        code: Code::Plan,
        report: miette::Report::new(e),
    };
    let limits = Limits::parse(&path, &text).map_err(refused)?;
    let (run, whole) = read(&args.run)?;
    let how = CheckOptions {
        confidence: args.confidence,
    };
    let report = dyno_judge::check(&run, &limits, &how).map_err(refused)?;
    if let Some(file) = &args.junit {
        let xml = report.junit().map_err(Failure::with(Code::Error))?;
        std::fs::write(file, xml).map_err(|e| {
            let shown = file.display();
            Failure::message(Code::Error, format!("cannot write {shown}: {e}"))
        })?;
    }
    exit::print(&report.render(args.format.into(), &render_options()))?;
    let judgement = match (report.count(Status::Fail), report.count(Status::Undecided)) {
        (0, 0) => None,
        (0, _) => Some(Code::Undecided),
        _ => Some(Code::LimitBroken),
    };
    Ok(ending(judgement, whole).into())
}
