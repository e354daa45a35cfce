//! Rows whose response time holds the lateness of Dyno's own sender. The response time stands for the row nevertheless: a headline
//! that followed from the trials would change with those that fail or are disturbed, and a failure could improve it (ADR 40).

use crate::number::{duration, latency_ns};
use crate::summary::ExperimentSummary;
use dyno_model::cause::Warning;
use dyno_model::{Cause, Metric, Pacing, Workload};

/// What a list of rows says whose sender only [`slept`].
pub(crate) const SLEPT: &str = "the sender slept until each message was due, so response times \
                                include its wake-ups; service times exclude them";
/// What a list of rows says whose sender [`was_late`].
pub(crate) const WAS_LATE: &str = "Dyno's sender was late, and its lateness is at least half of \
                                   the p50 response time; service times exclude it";

/// The part of the mean time between two messages up to which sends may last (p90) for a row to be named: a sender that is busy
/// for longer may be late for the stack's sake.
const MOST_SENDING: f64 = 0.1;

/// The places of p50 and p90 among the quantiles.
const P50: usize = 0;
const P90: usize = 1;

/// A quantile of a metric in nanoseconds, where it is known and finite.
fn quantile(e: &ExperimentSummary, metric: Metric, place: usize) -> Option<f64> {
    let found = e.metrics.get(&metric)?.quantiles.get(place)?.estimate()?;
    Some(latency_ns(&found.value)).filter(|ns| ns.is_finite())
}

/// Both figures of a row.
fn figures(e: &ExperimentSummary) -> Option<String> {
    let of = |metric| quantile(e, metric, P50).map(duration);
    let (response, service) = (of(Metric::Response)?, of(Metric::Service)?);
    Some(format!("p50 {response}, service {service}"))
}

/// What a row adds to the list of those whose sender only sleeps, as the plan asks for.
pub(crate) fn slept(e: &ExperimentSummary) -> Option<String> {
    let told = || figures(e).unwrap_or_else(|| "p50 withheld".to_owned());
    (e.experiment.pacer == Pacing::Sleep).then(told)
}

/// What a row adds to the list of those of the default pacer whose lateness is at least half of the response time at p50, although
/// its sends are short. A row with the warning `few-cpus` has its reason in that.
pub(crate) fn was_late(e: &ExperimentSummary) -> Option<String> {
    let Workload::Stream { rate, .. } = e.experiment.workload else {
        return None;
    };
    let late = quantile(e, Metric::Lateness, P50)?;
    let response = quantile(e, Metric::Response, P50)?;
    let sending = quantile(e, Metric::Send, P90)?;
    let has_few_cpus =
        |(w, _): &(Cause<Warning>, u64)| matches!(w, Cause::Known(Warning::FewCpus { .. }));
    if e.experiment.pacer == Pacing::Sleep || e.warnings.iter().any(has_few_cpus) {
        return None;
    }
    let is_named = late >= response / 2.0 && sending <= MOST_SENDING * rate.period_ns();
    is_named.then(|| figures(e))?
}
