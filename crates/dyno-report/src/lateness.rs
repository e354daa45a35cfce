//! Where most of a response time is the lateness of Dyno's own sender. The response time stands for the row nevertheless, unless the plan
//! asks for a pacer that sleeps: a headline that followed from the trials would change with those that fail or are disturbed, and a
//! failure could improve it.

use crate::number::{duration, latency_ns};
use crate::summary::ExperimentSummary;
use dyno_model::{Metric, Workload};

/// What a list of [`remark`]s says of its rows.
pub(crate) const MEANING: &str = "most of the response time is the lateness of Dyno's sender, which slept and woke up late; the service time is the stack's own";

/// The part of the mean time between two messages that lateness and send may take together, for the sender to have waited when
/// nearly every message was due.
const MOST_BUSY: f64 = 0.1;

/// The places of p50 and p90 among the quantiles.
const P50: usize = 0;
const P90: usize = 1;

/// p50 of the lateness and of the response time in nanoseconds, where the one is at least half of the other and the sender, which is
/// never busy for long, was not held up by its stack.
pub(crate) fn dominates(e: &ExperimentSummary) -> Option<(f64, f64)> {
    let Workload::Stream { rate, .. } = e.experiment.workload else {
        return None;
    };
    let of = |metric, place: usize| {
        let found = e.metrics.get(&metric)?.quantiles.get(place)?.estimate()?;
        Some(latency_ns(&found.value)).filter(|ns| ns.is_finite())
    };
    let [late, response] = [Metric::Lateness, Metric::Response].map(|m| of(m, P50));
    let (late, response) = (late?, response?);
    let busy = of(Metric::Lateness, P90)? + of(Metric::Send, P90)?;
    let has_waited = busy <= MOST_BUSY * rate.period_ns();
    (has_waited && late >= response / 2.0).then_some((late, response))
}

/// What a row adds to the list.
pub(crate) fn remark(e: &ExperimentSummary) -> Option<String> {
    let (late, response) = dominates(e)?;
    let figures = (duration(late), duration(response));
    Some(format!("p50 {} of {}", figures.0, figures.1))
}
