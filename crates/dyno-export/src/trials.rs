//! Trials by themselves: what exports with a row for each trial need and summaries do not hold.

use dyno_model::record::{Outcome, Run};
use dyno_model::{Distribution, ExperimentId, Metric, TrialRecord};
use dyno_report::counted_trials;
use dyno_stats::{Latency, SampleError, TrialSamples, trial_quantiles};
use std::collections::BTreeMap;

/// Whether a trial has a measurement.
pub(crate) fn is_completed(trial: &TrialRecord) -> bool {
    matches!(trial.outcome, Outcome::Completed)
}

/// The samples of one trial by metric.
pub(crate) type Samples = BTreeMap<Metric, TrialSamples>;

/// Decodes a trial's histograms.
pub(crate) fn samples(trial: &TrialRecord) -> Result<Samples, SampleError> {
    let decode = |(metric, stored): (&Metric, &Distribution)| {
        Ok((*metric, TrialSamples::from_distribution(stored)?))
    };
    trial.distributions.iter().map(decode).collect()
}

/// The trials of an experiment that its summary is made of, with their samples: those that count and
/// can be decoded.
pub(crate) fn counted(run: &Run, id: ExperimentId) -> Vec<(&TrialRecord, Samples)> {
    let trials = counted_trials(run, id).into_iter();
    trials.filter_map(|t| Some((t, samples(t).ok()?))).collect()
}

/// Quantile `q` of one trial, lost messages included; `None` without any sample.
pub(crate) fn quantile(samples: &TrialSamples, q: f64) -> Option<Latency> {
    trial_quantiles(std::slice::from_ref(samples), q).pop()
}
