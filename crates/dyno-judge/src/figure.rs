//! One figure per trial: the trial is the unit of replication, so comparisons use these values.

use crate::number::{Unit, latency};
use dyno_model::record::Outcome;
use dyno_model::{Distribution, ExperimentId, Metric, TrialFigure, TrialRecord, record::Run};
use dyno_report::Basis;
use dyno_stats::{Bootstrap, TrialSamples, needed, slice_quantiles, trial_quantiles};

/// A figure with one value for each trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// A quantile of a latency metric, in nanoseconds.
    Quantile {
        /// The metric.
        metric: Metric,
        /// The quantile, 0 to 1.
        q: f64,
    },
    /// Messages per second that arrived, all receivers together.
    Delivered,
    /// Processor time of all processes of the stack per message that arrived, in nanoseconds.
    CpuPerMessage,
    /// Messages that did not arrive, as a share of those that were offered.
    Lost,
    /// Trials in which a receiver never got a newer message after the faults, as a share of those that tell.
    Deaf,
    /// Trials that failed or are missing, as a share of all that there should be.
    Failed,
}

impl Figure {
    /// Whether it is made of CPU time, which kernels count in two ways.
    pub(crate) const fn is_cpu_time(self) -> bool {
        match self {
            Figure::CpuPerMessage => true,
            Figure::Quantile { metric, .. } => metric.info().of_idle,
            Figure::Delivered | Figure::Lost | Figure::Deaf | Figure::Failed => false,
        }
    }

    /// For tables: `p99 response`, `delivered`, `CPU/msg`.
    pub(crate) fn text(self) -> String {
        match self {
            Figure::Quantile { metric, q } => format!("{} {}", rank(q), metric.info().short),
            Figure::Delivered => "delivered".into(),
            Figure::CpuPerMessage => "CPU/msg".into(),
            Figure::Lost => "lost".into(),
            Figure::Deaf => "deaf trials".into(),
            Figure::Failed => "failed trials".into(),
        }
    }

    /// For JSON and CSV: `response_ns p99`, `delivered_hz`, `cpu_ns_per_message`, `lost_share`, `deaf_share`, `failed_share`.
    pub(crate) fn name(self) -> String {
        match self {
            Figure::Quantile { metric, q } => format!("{metric} {}", rank(q)),
            Figure::Delivered => TrialFigure::DeliveredHz.to_string(),
            Figure::CpuPerMessage => TrialFigure::CpuPerMessage.to_string(),
            Figure::Lost => "lost_share".into(),
            Figure::Deaf => "deaf_share".into(),
            Figure::Failed => "failed_share".into(),
        }
    }

    pub(crate) fn unit(self) -> Unit {
        match self {
            Figure::Delivered => Unit::Rate,
            Figure::Quantile { .. } | Figure::CpuPerMessage => Unit::Time,
            Figure::Lost | Figure::Deaf | Figure::Failed => Unit::Share,
        }
    }

    /// Whether more of it is better.
    pub(crate) const fn is_better_higher(self) -> bool {
        matches!(self, Figure::Delivered)
    }

    /// Whether it has a ratio with an interval.
    pub(crate) const fn has_ratio(self) -> bool {
        !matches!(self, Figure::Lost | Figure::Deaf | Figure::Failed)
    }

    /// Whether a history tells what runs of one build differ by in it.
    pub(crate) const fn is_of_runs(self) -> bool {
        !matches!(self, Figure::Deaf | Figure::Failed)
    }
}

/// Of the largest of all, which has no interval: a sample more may be larger.
pub(crate) const LARGEST: f64 = 1.0;

/// `p50`, `p99.9`; `max` of the largest.
pub fn rank(q: f64) -> String {
    if q >= LARGEST {
        return "max".to_owned();
    }
    // Six decimals of a percent are more than any run has samples for.
    let text = format!("{:.6}", 100.0 * q);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The trials of one experiment on one basis, with the samples of one metric.
pub(crate) struct Trials<'a> {
    records: Vec<&'a TrialRecord>,
    /// The metric's samples by trial, or why they cannot be read; empty without the metric.
    samples: Vec<Result<TrialSamples, String>>,
    metric: Option<Metric>,
    /// Numbers of the trials that failed: of what a trial has one of, such as a start, these are infinitely late.
    failed: Vec<u32>,
    /// What must be known of them: failures, trials that were left out, warm-ups that never settled.
    pub(crate) remarks: Vec<String>,
}

/// Why none of these trials tells what it cost.
pub(crate) fn no_cost(trials: &[&TrialRecord]) -> &'static str {
    match trials.iter().all(|t| t.cost.processes.is_empty()) {
        true => "no trial has costs; its warnings say why, and trials in slices have none",
        false => "no message arrived",
    }
}

impl<'a> Trials<'a> {
    /// The trials of a basis, with the first of `metrics` that they have.
    pub(crate) fn read(
        run: &'a Run,
        id: ExperimentId,
        metrics: &[Metric],
        basis: Basis,
    ) -> Trials<'a> {
        let records = basis.trials(run, id);
        let has = |m: &&Metric| {
            let mut all = records.iter();
            all.any(|t| t.distributions.contains_key(*m))
        };
        let metric = metrics.iter().find(has).copied();
        let samples = match metric {
            None => Vec::new(),
            Some(metric) => records
                .iter()
                .map(|t| match t.distributions.get(&metric) {
                    Some(d) => samples(d, basis).map_err(|e| format!("trial {}: {e}", t.id.number)),
                    None => Err(format!("trial {} has no {metric}", t.id.number)),
                })
                .collect(),
        };
        let failed = run
            .trials_of(id)
            .filter(|t| t.outcome != Outcome::Completed);
        let failed = failed.map(|t| t.id.number);
        let mut trials = Trials {
            remarks: remarks(run, id, &records),
            records,
            samples,
            metric,
            failed: failed.collect(),
        };
        match trials.clocks() {
            None => {}
            Some(Ok(remark)) => trials.remarks.push(remark),
            Some(Err(reason)) => {
                for samples in &mut trials.samples {
                    *samples = Err(reason.clone());
                }
            }
        }
        trials
    }

    /// Of times between hosts: how well their clocks are known, or that this is not well enough.
    fn clocks(&self) -> Option<Result<String, String>> {
        self.metric.filter(|m| m.is_between_hosts())?;
        let bound = dyno_report::clock_bound(&self.records)?;
        let medians = self.samples.iter().filter_map(|s| {
            let own = trial_quantiles(std::slice::from_ref(s.as_ref().ok()?), 0.5);
            own.first().map(|v| latency(*v))
        });
        let mut medians: Vec<f64> = medians.collect();
        medians.sort_by(f64::total_cmp);
        let p50 = *medians.get(medians.len() / 2)?;
        Some(match dyno_report::is_too_wide(bound, p50) {
            false => Ok(format!(
                "times between hosts: their clocks are known to ±{bound}"
            )),
            true => Err(format!(
                "one-way latency cannot be resolved: the hosts' clocks are known to ±{bound}, and the median is {}",
                Unit::Time.text(p50)
            )),
        })
    }

    /// The metric that was found.
    pub(crate) fn metric(&self) -> Option<Metric> {
        self.metric
    }

    pub(crate) fn records(&self) -> &[&'a TrialRecord] {
        &self.records
    }

    /// Whether the host disturbed every one of them: they are all that there is, and no side of a ratio.
    pub(crate) fn all_disturbed(&self) -> bool {
        all_disturbed(&self.records)
    }

    /// All samples, or why there are none.
    pub(crate) fn all_samples(&self) -> Result<Vec<TrialSamples>, String> {
        self.samples.iter().cloned().collect()
    }

    /// The figure of each trial with the trial's number, in that order; or why there is none.
    pub(crate) fn values(&self, figure: Figure) -> Result<Vec<(u32, f64)>, String> {
        if self.records.is_empty() {
            return Err("no trial completed".into());
        }
        match figure {
            Figure::Quantile { q, .. } => self.quantile(q),
            Figure::Delivered => Ok(self.each(TrialFigure::DeliveredHz)),
            Figure::CpuPerMessage => {
                let values = self.each(TrialFigure::CpuPerMessage);
                match values.is_empty() {
                    true => Err(no_cost(&self.records).into()),
                    false => Ok(values),
                }
            }
            Figure::Lost => {
                let offered = self.records.iter().filter(|t| t.counts.offered > 0);
                let share = |t: &TrialRecord| t.counts.lost as f64 / t.counts.offered as f64;
                let all: Vec<_> = offered.map(|t| (t.id.number, share(t))).collect();
                match all.is_empty() {
                    true => Err("no message was offered".into()),
                    false => Ok(all),
                }
            }
            Figure::Deaf | Figure::Failed => {
                Err("it is a count of trials, so a single trial has no value of it".into())
            }
        }
    }

    /// Quantile `q` of both sides of the trial of that number, in which this base and the `new` side took turns: base, new.
    pub(crate) fn in_slices(&self, new: &Trials<'_>, number: u32, q: f64) -> Option<(f64, f64)> {
        let (new, base) = slice_quantiles(new.of_number(number)?, self.of_number(number)?, q)?;
        Some((base, new))
    }

    fn of_number(&self, number: u32) -> Option<&TrialSamples> {
        let place = self.records.iter().position(|t| t.id.number == number)?;
        self.samples.get(place)?.as_ref().ok()
    }

    fn each(&self, figure: TrialFigure) -> Vec<(u32, f64)> {
        let records = self.records.iter();
        records
            .filter_map(|t| Some((t.id.number, figure.of(t)?)))
            .collect()
    }

    /// What the clocks of hosts may have added to a time between them or taken from it, in nanoseconds.
    pub(crate) fn slack(&self, metric: Metric) -> f64 {
        dyno_report::clock_slack(&self.records, metric)
    }

    fn quantile(&self, q: f64) -> Result<Vec<(u32, f64)>, String> {
        let of_faults = self.metric.is_some_and(|m| m.info().of_faults);
        let of_idle = self.metric.is_some_and(|m| m.info().of_idle);
        let need = match self.metric {
            Some(metric) if metric.is_one_per_trial() => {
                if q != 0.5 {
                    return Err(format!(
                        "a trial has only one {}, so only its p50 can be followed from trial to trial",
                        metric.info().short
                    ));
                }
                1
            }
            _ => needed(q, &Bootstrap::default()),
        };
        let mut values = Vec::with_capacity(self.records.len());
        let mut least = u64::MAX;
        for (record, samples) in self.records.iter().zip(&self.samples) {
            let samples = samples.as_ref().map_err(Clone::clone)?;
            // Of what came of faults, one that never came is left out of the trials without what was lost.
            if of_faults && samples.n() == 0 {
                continue;
            }
            least = least.min(samples.n());
            let own = trial_quantiles(std::slice::from_ref(samples), q);
            // A recovery may take no time, and who is idle no CPU, of which no ratio is.
            let value = |v| match of_faults || of_idle {
                true => latency(v).max(1.0),
                false => latency(v),
            };
            values.extend(own.first().map(|v| (record.id.number, value(*v))));
        }
        if self.samples.is_empty() {
            return Err("the trials hold no samples of it".into());
        }
        if least < need {
            return Err(format!(
                "a trial has {least} samples, but {} needs {need}: lengthen the window",
                rank(q)
            ));
        }
        if self.metric.is_some_and(Metric::is_one_per_trial) {
            values.extend(self.failed.iter().map(|n| (*n, f64::INFINITY)));
        }
        Ok(values)
    }
}

fn samples(stored: &Distribution, basis: Basis) -> Result<TrialSamples, dyno_stats::SampleError> {
    match basis.without_lost && stored.infinite > 0 {
        true => TrialSamples::from_distribution(&Distribution {
            infinite: 0,
            ..stored.clone()
        }),
        false => TrialSamples::from_distribution(stored),
    }
}

/// Whether there are only trials that the host disturbed.
pub(crate) fn all_disturbed(counted: &[&TrialRecord]) -> bool {
    !counted.is_empty() && counted.iter().all(|t| !t.disturbed.is_empty())
}

/// What a reader must know of an experiment's trials.
fn remarks(run: &Run, id: ExperimentId, counted: &[&TrialRecord]) -> Vec<String> {
    let mut remarks = Vec::new();
    let all = run.trials_of(id).count();
    if all == 0 {
        remarks.push("it was not run".into());
    }
    let failures: Vec<String> = run
        .trials_of(id)
        .filter_map(|t| match &t.outcome {
            Outcome::Failed {
                kind, step, cause, ..
            } => Some(format!("{kind} in {step}: {cause}")),
            Outcome::Completed => None,
        })
        .collect();
    if let Some(first) = failures.first() {
        remarks.push(format!(
            "{} of {all} trials failed ({first})",
            failures.len()
        ));
    }
    let completed = all - failures.len();
    if !all_disturbed(counted) && completed > counted.len() {
        let out = completed - counted.len();
        remarks.push(format!(
            "{out} of {completed} completed trials left out: the host disturbed them"
        ));
    }
    let unsteady = counted.iter().filter(|t| t.unsteady).count();
    if unsteady > 0 {
        remarks.push(format!(
            "{unsteady} of {} trials began before the series was steady",
            counted.len()
        ));
    }
    remarks
}
