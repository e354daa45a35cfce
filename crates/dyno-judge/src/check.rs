//! Requirements held against a run. A limit is passed only where the bad end of the figure's interval
//! keeps it, and broken only where even the good end does not; everything between is undecided, which
//! is not a pass. Where trials failed nothing is passed.

pub(crate) mod covers;
mod export;
mod finding;
mod judge;
mod junit;
mod limits;
mod loss;
mod measure;
mod quantity;
mod read;
mod refused;
mod render;
mod report;
mod requirements;
mod scorecard;
mod select;

pub(crate) use judge::{cpu_share, judge as judge_one, start, tails};
pub use junit::junit_of_error;
pub(crate) use junit::{junit_case, junit_suite};
pub(crate) use limits::nothing_was_checked;
pub use limits::{Bound, Limit, Limits, LimitsError};
pub use measure::Measure;
pub use quantity::{parse_quantile, parse_share};
pub use report::{CheckOptions, CheckReport, Checked, Status};
pub use requirements::requirements;
pub use scorecard::{Candidate, Score, Scorecard};

use crate::cell;
use crate::origin::added_later;
use dyno_model::Experiment;
use dyno_model::record::Run;
use dyno_toml::{Problem, Problems};
use select::{is_yardstick, nothing_selected, selects, strangers};

/// Holds `limits` against `run`.
///
/// # Errors
/// A selector, or a limit as a whole, that selects nothing in this run.
pub fn check(run: &Run, limits: &Limits, how: &CheckOptions) -> Result<CheckReport, LimitsError> {
    let plan = &run.manifest.plan;
    let mut problems = Problems::default();
    let own: Vec<&Experiment> = cell::own(plan).collect();
    let mut selected = Vec::new();
    for limit in &limits.limits {
        let before = problems.len();
        strangers(limit, plan, &own, &mut problems);
        let chosen: Vec<&Experiment> = own
            .iter()
            .copied()
            .filter(|e| selects(limit, plan, e))
            .collect();
        if chosen.is_empty() && problems.len() == before {
            let message = format!(
                "the limit `{}` selects no experiment of this run",
                limit.name
            );
            problems.push(
                Problem::at(&limit.at, message)
                    .label("this limit")
                    .help(nothing_selected(limit, plan)),
            );
        }
        selected.extend(chosen.into_iter().map(|e| (limit, e)));
    }
    problems.check(nothing_was_checked)?;
    let mut results: Vec<Checked> = selected
        .into_iter()
        .map(|(limit, e)| judge::judge(run, limit, e, how))
        .collect();
    let measured = results.len();
    results.extend(refused::results(plan, &limits.limits, &results));
    Ok(CheckReport {
        run: run.manifest.id.clone(),
        suite: plan.suite.clone(),
        started_unix_ms: run.manifest.started_unix_ms,
        added_later: added_later(&run.manifest),
        limits: limits.name().to_owned(),
        confidence: how.confidence,
        results,
        measured,
        refused: plan.refused.clone(),
        yardsticks: plan
            .experiments
            .iter()
            .filter(|e| is_yardstick(plan, e))
            .map(|e| e.stack.clone())
            .collect(),
    })
}
