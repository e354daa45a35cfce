//! Whether an experiment came as close as `--precision` asked.

use crate::summary::PrecisionSummary;
use dyno_model::{Metric, Precision};
use dyno_stats::{
    Bootstrap, Estimate, Latency, Pairing, TrialSamples, quantile, ratio, trial_quantiles, within,
};

/// A quantile of a trial by the trial's number, in nanoseconds; infinite where it is lost.
pub(crate) type OwnQuantiles = Vec<(u32, f64)>;

/// The quantile of each trial that has samples.
pub(crate) fn own_quantiles<'a>(
    trials: impl IntoIterator<Item = (u32, &'a TrialSamples)>,
    q: f64,
) -> OwnQuantiles {
    let own = |(number, samples): (u32, &TrialSamples)| {
        let found = trial_quantiles(std::slice::from_ref(samples), q);
        let value = found.first()?;
        Some((number, value.finite().unwrap_or(f64::INFINITY)))
    };
    trials.into_iter().filter_map(own).collect()
}

/// Held against the interval of the quantile itself.
pub(crate) fn of_quantile(
    asked: &Precision,
    metric: Metric,
    samples: &[TrialSamples],
    how: &Bootstrap,
) -> PrecisionSummary {
    let found = quantile(samples, asked.quantile, how);
    summary(asked, metric, found.interval(), false)
}

/// Held against the interval of the ratio to the base; trials of the same number are a pair.
pub(crate) fn of_ratio(
    asked: &Precision,
    metric: Metric,
    own: &OwnQuantiles,
    base: &OwnQuantiles,
    how: &Bootstrap,
) -> PrecisionSummary {
    let partner = |number| base.iter().find(|(n, _)| *n == number);
    let pairs = own
        .iter()
        .filter_map(|(number, value)| Some((*value, partner(*number)?.1)));
    let (new, base): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let found = ratio(&new, &base, Pairing::Paired, how.confidence);
    summary(asked, metric, found.map(|r| r.estimate).as_ref(), true)
}

fn summary(
    asked: &Precision,
    metric: Metric,
    found: Option<&Estimate>,
    of_ratio: bool,
) -> PrecisionSummary {
    // An infinite value is as uncertain as can be, whatever its interval.
    let share = |e: &Estimate| match e.value {
        Latency::Finite(_) => within(e),
        Latency::Infinite => f64::INFINITY,
    };
    PrecisionSummary {
        metric,
        quantile: asked.quantile,
        asked: asked.within,
        got: found.map(share),
        of_ratio,
    }
}
