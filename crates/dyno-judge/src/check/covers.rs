//! Which limits hold a ladder of a search, and which no search can hold.

use super::limits::{Limits, LimitsError, nothing_was_checked};
use super::measure::Measure;
use super::select::selects;
use dyno_model::{Ladder, Plan, Raised};
use dyno_toml::{Problem, Problems};

/// The limits that are put on a ladder, by their place in the file.
pub(crate) fn on(limits: &Limits, plan: &Plan, ladder: &Ladder) -> Vec<usize> {
    let first = ladder.experiments.first();
    let first = first.and_then(|id| plan.experiment(*id));
    let all = limits.limits.iter().enumerate();
    all.filter(|(_, limit)| first.is_some_and(|e| selects(limit, plan, e)))
        .map(|(n, _)| n)
        .collect()
}

/// Refuses limits that hold some rungs of a ladder and not others, and those that need what no search measures.
pub(crate) fn refuse(
    limits: &Limits,
    plan: &Plan,
    raise: Raised,
    ladders: &[Ladder],
) -> Result<(), LimitsError> {
    let mut problems = Problems::default();
    for limit in &limits.limits {
        let mut refuse = |message: String, help: &str| {
            let problem = Problem::at(&limit.at, message);
            problems.push(problem.label("this limit").help(help));
        };
        if let Measure::XFloor(_) = limit.measure {
            refuse(
                format!(
                    "the limit `{}` needs a floor, and a search measures none",
                    limit.name
                ),
                "put the limit on `response`, `service` or `rtt` instead",
            );
        }
        if let Measure::Latency(_, q) = limit.measure
            && q >= 1.0
        {
            refuse(
                format!(
                    "no number of samples can show that a largest value stays within the limit `{}`, so a search would find no value",
                    limit.name
                ),
                "ask for a quantile, such as `quantile = \"p99.9\"`",
            );
        }
        let some = |ladder: &Ladder| {
            let rungs = ladder.experiments.iter();
            let rungs = rungs.filter_map(|id| plan.experiment(*id));
            let held = rungs.filter(|e| selects(limit, plan, e)).count();
            held > 0 && held < ladder.experiments.len()
        };
        if ladders.iter().any(some) {
            refuse(
                format!(
                    "the limit `{}` selects some values of {raise}, but the search varies it",
                    limit.name
                ),
                &format!(
                    "leave the selector `{raise}` out: a search checks every value against the limit"
                ),
            );
        }
    }
    problems.check(nothing_was_checked)
}
