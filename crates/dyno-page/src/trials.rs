//! What the page knows of each trial: how it ended, what it measured, what the host did to it.

use crate::curves;
use crate::number::Number;
use dyno_model::record::{Cost, Outcome, ProcessCost, Run};
use dyno_model::{HostNoise, Metric, Nanos, Outage, TrialRecord};
use dyno_report::{ExperimentSummary, counted_trials};
use dyno_stats::{Bootstrap, TrialSamples, extent, needed};
use serde::Serialize;
use std::collections::BTreeMap;

/// One trial, failed and disturbed ones included. What it has nothing of is left out: pages have thousands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// Its number within the experiment.
    pub number: u32,
    /// Its place in the run's random order.
    pub position: u32,
    /// `completed` or `failed`.
    pub outcome: &'static str,
    /// Whether the experiment's figures are made of it.
    pub counted: bool,
    /// What kind of failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The step in which it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What happened and to whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why it does not count: what the host did to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
    /// What could not be applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Seconds from the start of the run's first trial.
    pub start_s: Number,
    /// Seconds that it took in all.
    pub wall_s: Number,
    /// Latencies by metric.
    pub metrics: BTreeMap<&'static str, TrialMetric>,
    /// The headline metric at the ranks of the grid, as far as its samples bear them, in nanoseconds.
    pub curve: Vec<Number>,
    /// Median, p99 and largest of the headline metric in each block of the window, in nanoseconds; `null`
    /// for a block without a sample, and for a p99 of fewer than a hundred.
    pub blocks: Vec<Option<[Number; 3]>>,
    /// The host's part; `null` where it was not recorded.
    pub host: Option<HostShares>,
    /// Due messages per second.
    pub offered_hz: Number,
    /// Intact messages per second.
    pub delivered_hz: Number,
    /// Intact payload bytes per second.
    pub delivered_bytes_per_s: Number,
    /// Messages that never arrived.
    pub lost: u64,
    /// CPU time per message that arrived, in nanoseconds; of a first message, that of the start.
    pub cpu_ns_per_message: Option<Number>,
    /// Proportional set sizes of all processes together.
    pub pss_bytes: Option<u64>,
    /// Peak resident set sizes of all processes together.
    pub peak_rss_bytes: Option<u64>,
    /// Process by process.
    pub processes: Vec<Process>,
    /// From the start of its first fault to the end of its last one, in milliseconds; `null` where that was not reached. Left out
    /// of a trial without faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault_ms: Option<Number>,
    /// What came of its faults, receiver by receiver.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<TrialOutage>,
}

/// Results of the faults of a trial at one receiver.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialOutage {
    /// The participant.
    pub receiver: u16,
    /// The channel.
    pub channel: u16,
    /// From the end of the fault to the first newer message, in nanoseconds; `null` where none came.
    pub recovery_ns: Number,
    /// Arrivals around the fault, relative to its begin, in milliseconds: the first one of each of [`PIECES`] equal pieces of time.
    pub arrivals_ms: Vec<Number>,
}

/// One metric of one trial, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TrialMetric {
    /// Messages that arrived.
    pub n: u64,
    /// Messages that did not.
    pub infinite: u64,
    /// The smallest.
    pub min: Number,
    /// The largest that arrived.
    pub max: Number,
    /// The median; `null` where it is infinite, left out where too few samples bear it. Of a metric with one
    /// sample in each trial: that sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<Number>,
    /// The same of p90.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<Number>,
    /// The same of p99.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Number>,
}

/// What the host took, as shares of one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HostShares {
    /// Of the window: given to other machines by the hypervisor.
    pub stolen: Number,
    /// Of the window: used by processes that are not the trial's.
    pub foreign: Number,
    /// Of the spin-gap probe's time just before the trial: lost.
    pub gaps: Number,
}

/// The cost of one process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Process {
    /// Its roles, or the daemon's name.
    pub label: String,
    /// A daemon of the stack.
    pub daemon: bool,
    /// CPU time without Dyno's own pacing, in nanoseconds.
    pub cpu_ns: u64,
    /// Proportional set size.
    pub pss_bytes: u64,
}

/// The trials of one experiment, decoded once.
pub(crate) struct Decoded<'a> {
    trials: Vec<One<'a>>,
}

struct One<'a> {
    record: &'a TrialRecord,
    counted: bool,
    samples: BTreeMap<Metric, TrialSamples>,
    /// Why its histograms cannot be read.
    unreadable: Option<String>,
}

impl<'a> Decoded<'a> {
    /// All trials of an experiment, by number. What cannot be decoded counts as failed, as in the summary.
    pub(crate) fn read(run: &'a Run, e: &ExperimentSummary) -> Decoded<'a> {
        let id = e.experiment.id;
        let counted = counted_trials(run, id);
        let mut records: Vec<&TrialRecord> = run.trials_of(id).collect();
        records.sort_by_key(|t| t.id.number);
        let one = |record: &'a TrialRecord| {
            let mut samples = BTreeMap::new();
            let mut unreadable = None;
            for (metric, stored) in &record.distributions {
                match TrialSamples::from_distribution(stored) {
                    Ok(own) => {
                        samples.insert(*metric, own);
                    }
                    Err(e) => unreadable = Some(format!("{metric}: {e}")),
                }
            }
            One {
                counted: unreadable.is_none() && counted.iter().any(|c| c.id == record.id),
                record,
                samples,
                unreadable,
            }
        };
        Decoded {
            trials: records.into_iter().map(one).collect(),
        }
    }

    /// The samples of one metric in the trials that count.
    pub(crate) fn counted(&self, metric: Metric) -> Vec<TrialSamples> {
        let counted = self.trials.iter().filter(|t| t.counted);
        counted
            .filter_map(|t| t.samples.get(&metric).cloned())
            .collect()
    }

    /// As the page shows them. `first_ms` is the start of the run's first trial.
    pub(crate) fn shown(&self, headline: Metric, first_ms: u64) -> Vec<Trial> {
        let one = |t: &One<'a>| t.shown(headline, first_ms);
        self.trials.iter().map(one).collect()
    }
}

impl One<'_> {
    fn shown(&self, headline: Metric, first_ms: u64) -> Trial {
        let t = self.record;
        let failure = match (&t.outcome, &self.unreadable) {
            (
                Outcome::Failed {
                    kind, step, cause, ..
                },
                _,
            ) => Some((kind.to_string(), step.clone(), cause.to_string())),
            (Outcome::Completed, Some(reason)) => {
                Some(("unreadable".into(), "stored trial".into(), reason.clone()))
            }
            (Outcome::Completed, None) => None,
        };
        let outcome = match &failure {
            Some(_) => "failed",
            None => "completed",
        };
        let (kind, step, message) = match failure {
            Some((kind, step, message)) => (Some(kind), Some(step), Some(message)),
            None => (None, None, None),
        };
        let metrics = self
            .samples
            .iter()
            .map(|(metric, samples)| (metric.as_str(), trial_metric(*metric, samples)));
        let own = self.samples.get(&headline);
        let cost = Some(&t.cost).filter(|c| !c.processes.is_empty());
        Trial {
            number: t.id.number,
            position: t.position,
            outcome,
            counted: self.counted,
            kind,
            step,
            message,
            disturbed: t.disturbed.iter().map(ToString::to_string).collect(),
            warnings: t.warnings.iter().map(ToString::to_string).collect(),
            start_s: Number::tenths(t.started_unix_ms.saturating_sub(first_ms) as f64 / 1e3),
            wall_s: Number::short(t.wall.as_secs_f64()),
            metrics: metrics.collect(),
            curve: own.map_or_else(Vec::new, |s| curves::curve(&curves::pool([s]))),
            blocks: own
                .filter(|_| !headline.is_one_per_trial())
                .map_or_else(Vec::new, curves::blocks),
            host: host(&t.noise),
            offered_hz: Number::short(t.throughput.offered_hz),
            delivered_hz: Number::short(t.throughput.delivered_hz),
            delivered_bytes_per_s: Number::short(t.throughput.delivered_bytes_per_s),
            lost: t.counts.lost,
            cpu_ns_per_message: cost.and_then(|c| cpu(c, headline)).map(Number::short),
            pss_bytes: cost.map(|c| c.pss_bytes),
            peak_rss_bytes: cost.map(|c| c.peak_rss_bytes),
            processes: t.cost.processes.iter().map(process).collect(),
            fault_ms: fault_ms(t),
            outages: t.outages.iter().map(outage).collect(),
        }
    }
}

/// A start has no messages to share its cost among.
fn cpu(cost: &Cost, headline: Metric) -> Option<f64> {
    match headline.is_one_per_trial() && !headline.info().of_faults {
        true => Some(cost.cpu.0 as f64),
        false => cost.cpu_ns_per_message,
    }
}

fn trial_metric(metric: Metric, samples: &TrialSamples) -> TrialMetric {
    let how = Bootstrap::default();
    let pool = curves::pool([samples]);
    let ends = extent(std::slice::from_ref(samples));
    let end = |v: Option<f64>| Number::short(v.unwrap_or(f64::INFINITY));
    let quantile = |q: f64| {
        let single = metric.is_one_per_trial() && q == 0.5;
        let borne = single || pool.n() >= needed(q, &how);
        pool.quantile(q).filter(|_| borne).map(Number::short)
    };
    TrialMetric {
        n: samples.finite(),
        infinite: samples.infinite(),
        min: end(ends.min),
        max: end(ends.max),
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
    }
}

fn host(noise: &HostNoise) -> Option<HostShares> {
    if noise.window.is_none() && noise.gaps.is_empty() {
        return None;
    }
    let total = |of: fn(&dyno_model::CpuGaps) -> u64| {
        let all = noise.gaps.iter().map(of);
        all.fold(0, u64::saturating_add) as f64
    };
    let (lost, watched) = (total(|g| g.lost.0), total(|g| g.watched.0));
    let window = noise.window.as_ref();
    Some(HostShares {
        stolen: Number::short(window.map_or(0.0, |w| w.stolen_share())),
        foreign: Number::short(window.map_or(0.0, |w| w.foreign_share())),
        gaps: Number::short(if watched > 0.0 { lost / watched } else { 0.0 }),
    })
}

/// A line of a picture has no room for more.
const PIECES: usize = 200;

fn fault_ms(t: &TrialRecord) -> Option<Number> {
    let begin = t.faults.iter().map(|made| made.begin[0]).min()?;
    let ends = t.faults.iter().map(|made| made.end.map(|end| end[1]));
    // The one that begins last may end before another.
    let end = ends
        .collect::<Option<Vec<Nanos>>>()
        .and_then(|all| all.into_iter().max());
    let lasts = end.map_or(f64::INFINITY, |end| end.saturating_sub(begin).0 as f64);
    Some(Number::tenths(lasts / 1e6))
}

fn outage(o: &Outage) -> TrialOutage {
    let arrivals = &o.arrivals;
    let ends = (arrivals.iter().min(), arrivals.iter().max());
    let (least, most) = (ends.0.copied().unwrap_or(0), ends.1.copied().unwrap_or(0));
    let piece = (most.abs_diff(least) / PIECES as u64).max(1);
    let mut kept: Vec<Number> = Vec::new();
    let mut last = None;
    for at in arrivals {
        let place = at.abs_diff(least) / piece;
        if last != Some(place) {
            kept.push(Number::tenths(*at as f64 / 1e6));
            last = Some(place);
        }
    }
    TrialOutage {
        receiver: o.receiver,
        channel: o.channel,
        recovery_ns: Number::short(o.recovery.map_or(f64::INFINITY, |ns| ns.0 as f64)),
        arrivals_ms: kept,
    }
}

fn process(p: &ProcessCost) -> Process {
    Process {
        label: p.label.clone(),
        daemon: p.daemon,
        cpu_ns: p.user.saturating_add(p.system).saturating_sub(p.pacing).0,
        pss_bytes: p.pss_bytes,
    }
}
