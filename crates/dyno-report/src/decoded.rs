//! The samples of a run's trials, decoded once for each experiment and dropped: a run's histograms may be larger than
//! memory likes. They stand in its trials, or are read when they are needed.

use crate::counted::counted_trials;
use crate::measured::RANKS;
use crate::precision;
use dyno_model::record::{Distribution, Run};
use dyno_model::{ExperimentId, Metric, TrialId, TrialRecord};
use dyno_stats::TrialSamples;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Reads the distributions of one trial, histograms included; an error names the change.
pub type Histograms<'a> =
    dyn Fn(TrialId) -> Result<BTreeMap<Metric, Distribution>, String> + Sync + 'a;

/// The samples of a trial by metric, or why it has none.
pub(crate) type Decoded = Result<BTreeMap<Metric, TrialSamples>, String>;

/// A run, and where its histograms are.
#[derive(Clone, Copy)]
pub(crate) struct Samples<'a> {
    pub(crate) run: &'a Run,
    /// `None`: in its trials.
    pub(crate) elsewhere: Option<&'a Histograms<'a>>,
}

impl<'a> Samples<'a> {
    fn distributions(
        &self,
        trial: &'a TrialRecord,
    ) -> Result<Cow<'a, BTreeMap<Metric, Distribution>>, String> {
        let Some(read) = self.elsewhere else {
            return Ok(Cow::Borrowed(&trial.distributions));
        };
        let whole = read(trial.id)?;
        let light = |(m, d): (&Metric, &Distribution)| (*m, d.without_histograms());
        match whole.iter().map(light).collect::<BTreeMap<_, _>>() == trial.distributions {
            true => Ok(Cow::Owned(whole)),
            false => Err("it was measured again while Dyno read the run".into()),
        }
    }

    pub(crate) fn of_trial(&self, trial: &'a TrialRecord) -> Decoded {
        let decode =
            |(metric, d): (&Metric, &Distribution)| match TrialSamples::from_distribution(d) {
                Ok(samples) => Ok((*metric, samples)),
                Err(e) => Err(format!("{metric}: {e}")),
            };
        self.distributions(trial)?.iter().map(decode).collect()
    }

    /// The samples of one metric; `None` where the trial has none that decode.
    pub(crate) fn of_one(&self, trial: &'a TrialRecord, metric: Metric) -> Option<TrialSamples> {
        let all = self.distributions(trial).ok()?;
        TrialSamples::from_distribution(all.get(&metric)?).ok()
    }

    /// Number and samples of each counted trial that has the metric.
    pub(crate) fn of_metric(
        self,
        id: ExperimentId,
        metric: Metric,
    ) -> impl Iterator<Item = (u32, TrialSamples)> + 'a {
        let trials = counted_trials(self.run, id).into_iter();
        trials.filter_map(move |t| Some((t.id.number, self.of_trial(t).ok()?.remove(&metric)?)))
    }

    /// Mean and median of the metric in each counted trial that has it.
    pub(crate) fn medians(self, id: ExperimentId, metric: Metric) -> crate::chains::OfTrials {
        let one = |trial: &'a TrialRecord| {
            let stored = trial.distributions.get(&metric).filter(|d| d.n > 0)?;
            let samples = self.of_trial(trial).ok()?.remove(&metric)?;
            let own = precision::own_quantiles([(trial.id.number, &samples)], RANKS[0]);
            let (number, p50) = own.first()?;
            Some((*number, [stored.sum / stored.n as f64, *p50]))
        };
        let trials = counted_trials(self.run, id).into_iter();
        trials.filter_map(one).collect()
    }
}
