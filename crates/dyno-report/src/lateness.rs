//! Where most of a response time is the lateness of Dyno's own sender. The response time stands for the row nevertheless, unless the
//! plan asks for a pacer that sleeps: a headline that followed from the trials would change with those that fail or are
//! disturbed, and a failure could improve it (ADR 40).

use crate::number::{duration, latency_ns};
use crate::summary::ExperimentSummary;
use dyno_model::{Metric, Pacing, Workload};

/// What a list of [`remark`]s says of its rows.
pub(crate) const MEANING: &str = "at least half of the response time is the lateness of Dyno's own sender, which woke up late, so the service \
                                  time says more of the stack";

/// The part of the mean time between two messages that lateness and send may take together, for the sender to have waited when
/// nearly every message was due.
const MOST_BUSY: f64 = 0.1;

/// The places of p50 and p90 among the quantiles.
const P50: usize = 0;
const P90: usize = 1;

/// What a row adds to the list: where the lateness is at least half of the response time at p50, although the sender, which was
/// never busy for long, was not held up by its stack.
pub(crate) fn remark(e: &ExperimentSummary) -> Option<String> {
    let Workload::Stream { rate, .. } = e.experiment.workload else {
        return None;
    };
    let of = |metric, place: usize| {
        let found = e.metrics.get(&metric)?.quantiles.get(place)?.estimate()?;
        Some(latency_ns(&found.value)).filter(|ns| ns.is_finite())
    };
    let late = of(Metric::Lateness, P50)?;
    let (response, service) = (of(Metric::Response, P50)?, of(Metric::Service, P50)?);
    let busy = of(Metric::Lateness, P90)? + of(Metric::Send, P90)?;
    let dominates = late >= response / 2.0 && busy <= MOST_BUSY * rate.period_ns();
    let is_asked_for = e.experiment.pacer == Pacing::Sleep;
    (dominates && !is_asked_for).then(|| {
        let [response, service] = [response, service].map(duration);
        format!("p50 {response}, service {service}")
    })
}
