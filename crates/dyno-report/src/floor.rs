//! How many times its floor a latency is, and floors that something real is below.

use crate::clocks::{clock_slack, widened};
use crate::counted::counted_trials;
use crate::decoded::Samples;
use crate::law::{Shortfall, loses};
use crate::measured::RANKS;
use crate::summary::{ExperimentSummary, FloorRatio, LEAST_TRIALS, NoRatio};
use dyno_model::record::Run;
use dyno_model::{ExperimentId, Metric, TrialRecord};
use dyno_stats::{Bootstrap, Estimate, Latency, RatioSide, TrialSamples, WIDEST, simultaneous_end};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What others are held against, each drawn by whoever needs it first.
pub(crate) struct Floors<'a> {
    samples: Samples<'a>,
    how: &'a Bootstrap,
    drawn: Mutex<Drawn>,
}

/// Each floor that ratios are to.
type Drawn = BTreeMap<(ExperimentId, Metric), Arc<OnceLock<Floor>>>;

struct Floor {
    /// Trials that have the metric.
    trials: usize,
    /// `None` where its p50 is refused.
    p50: Option<RatioSide>,
    /// What the clocks of hosts may have changed its times by, in nanoseconds.
    slack: f64,
}

impl<'a> Floors<'a> {
    pub(crate) fn new(samples: Samples<'a>, how: &'a Bootstrap) -> Self {
        Floors {
            samples,
            how,
            drawn: Mutex::default(),
        }
    }

    fn floor(&self, id: ExperimentId, metric: Metric) -> Arc<OnceLock<Floor>> {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let floor = Arc::clone(drawn.entry((id, metric)).or_default());
        // Others go on while this one is computed.
        drop(drawn);
        floor.get_or_init(|| {
            let samples = self.samples.of_metric(id, metric);
            let samples: Vec<TrialSamples> = samples.map(|(_, s)| s).collect();
            Floor {
                trials: samples.len(),
                p50: RatioSide::denominator(&samples, RANKS[0], self.how),
                slack: clock_slack(&counted_trials(self.samples.run, id), metric),
            }
        });
        floor
    }

    /// Draws what these trials will be held against, where both sides may be good: before their own samples take memory
    /// as well.
    pub(crate) fn draw_ahead(&self, own: &[&TrialRecord], floor: ExperimentId, of: Metric) {
        if self.undisturbed(own, floor).is_ok() {
            self.floor(floor, of);
        }
    }

    fn undisturbed(&self, own: &[&TrialRecord], floor: ExperimentId) -> Result<(), NoRatio> {
        let run = self.samples.run;
        match own.first() {
            Some(t) => undisturbed(run, t.id.experiment, floor),
            None => Ok(()),
        }
    }

    /// The ratio of a p50 of a metric, that of `own` trials, to that of `of` of the floor, or why there is none: both sides must be
    /// good. What clocks of hosts may have changed widens the interval.
    pub(crate) fn ratio(
        &self,
        own: &[&TrialRecord],
        (metric, p50): (Metric, Option<&RatioSide>),
        floor: ExperimentId,
        of: Metric,
    ) -> Result<Estimate, NoRatio> {
        self.undisturbed(own, floor)?;
        let floor = self.floor(floor, of);
        // What has no figure at all has that reason, before the number of its trials.
        let (Some(p50), Some(floor)) = (p50, floor.get().filter(|f| f.trials > 0)) else {
            return Err(NoRatio::Unknown);
        };
        if own.len() < LEAST_TRIALS {
            return Err(NoRatio::Few);
        }
        if floor.trials < LEAST_TRIALS {
            return Err(NoRatio::FloorFew);
        }
        let below = floor.p50.as_ref().ok_or(NoRatio::Unknown)?;
        let ratio = p50.over(below, self.how).ok_or(NoRatio::Unknown)?;
        let share = |slack: f64, of: &RatioSide| match slack {
            0.0 => 0.0,
            slack => slack / of.least(),
        };
        let above = share(clock_slack(own, metric), p50);
        let ratio = widened(&ratio, (above, share(floor.slack, below)));
        let is_wide = match (ratio.value, ratio.lo, ratio.hi) {
            // So many messages were lost, which is known.
            (Latency::Infinite, _, _) => false,
            (_, Latency::Finite(lo), Latency::Finite(hi)) => hi > WIDEST * lo,
            _ => true,
        };
        match is_wide {
            true => Err(NoRatio::Wide),
            false => Ok(ratio),
        }
    }
}

/// Whether the host left trials of both alone, none of either failed, and the floor lost nothing: its lost messages are infinitely late,
/// and would make the ratio to it better. Disturbed trials of the floor count for that as well (ADR 34).
fn undisturbed(run: &Run, own: ExperimentId, floor: ExperimentId) -> Result<(), NoRatio> {
    let all_disturbed = |id| {
        let counted = counted_trials(run, id);
        counted.iter().any(|t| !t.disturbed.is_empty())
    };
    let failed = |id| Shortfall::of(run, id).is_some_and(|short| short.failed() > 0);
    let reasons = [
        (all_disturbed(own), NoRatio::Disturbed),
        (all_disturbed(floor), NoRatio::FloorDisturbed),
        (failed(own), NoRatio::Failed),
        (failed(floor), NoRatio::FloorFailed),
        (run.trials_of(floor).any(loses), NoRatio::FloorLossy),
    ];
    let reason = reasons.into_iter().find(|(holds, _)| *holds);
    reason.map_or(Ok(()), |(_, reason)| Err(reason))
}

/// Whether the trials of an experiment and of its floor are two good sides of a ratio: undisturbed, several, and without losses of
/// the floor.
///
/// # Errors
///
/// Why they are not.
pub fn good_sides(run: &Run, own: ExperimentId, floor: ExperimentId) -> Result<(), NoRatio> {
    undisturbed(run, own, floor)?;
    let [own, floor] = [own, floor].map(|id| counted_trials(run, id));
    match (own.len() < LEAST_TRIALS, floor.len() < LEAST_TRIALS) {
        (true, _) => Err(NoRatio::Few),
        (false, true) => Err(NoRatio::FloorFew),
        (false, false) => Ok(()),
    }
}

/// A floor is what nothing real is below. Where the whole interval of a ratio is below 1, the floor's own row and
/// all that stand beside it are told. The intervals of all rows hold together with that confidence for this.
pub(crate) fn mark_undercut(experiments: &mut [ExperimentSummary], confidence: f64) {
    let has_ratio =
        |e: &&ExperimentSummary| e.floor.as_ref().is_some_and(|f| f.p50_ratio.is_some());
    let rows = experiments.iter().filter(has_ratio).count();
    let mut undercut: BTreeMap<ExperimentId, Vec<(String, Estimate)>> = BTreeMap::new();
    for e in experiments.iter() {
        if let Some(FloorRatio {
            id,
            p50_ratio: Some(ratio),
            ..
        }) = &e.floor
            && simultaneous_end(ratio, confidence, rows) < 1.0
        {
            let stack = e.experiment.stack.clone();
            undercut.entry(*id).or_default().push((stack, *ratio));
        }
    }
    for e in experiments {
        if let Some(by) = undercut.get(&e.experiment.id) {
            e.undercut_by = by.iter().map(|(stack, _)| stack.clone()).collect();
        }
        if let Some(floor) = &mut e.floor
            && let Some(by) = undercut.get(&floor.id)
        {
            floor.undercut_by.clone_from(by);
        }
    }
}
