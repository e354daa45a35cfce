//! The values of a run that a history uses: one figure of each measure for each experiment.

use crate::check::{Measure, cpu_share, start, tails};
use crate::figure::{Figure, Trials};
use crate::number::latency;
use dyno_model::record::Run;
use dyno_model::{Experiment, ExperimentId, Loop, Metric, TrialFigure, TrialRecord};
use dyno_report::{Basis, clock_slack, good_sides, widened};
use dyno_stats::{Estimate, Latency};

/// One figure of one experiment in one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reading {
    /// The median over the trials that count, of losses the share over all of them; in the unit of the
    /// measure. Infinite where more messages were lost than the quantile allows.
    pub(crate) value: f64,
    /// Its natural logarithm: nights differ by factors. Infinite where it is infinite or zero.
    pub(crate) log: f64,
    /// Number of trials that count.
    pub(crate) trials: u64,
    /// How many of them lost something; of deaf trials how many are.
    pub(crate) lossy: u64,
    /// The variance of the trials' own logarithms, where two or more are finite.
    pub(crate) within: Option<f64>,
    /// What the clocks of hosts may have changed the value by, as a share of it; zero for what is no time between
    /// hosts.
    pub(crate) slack: f64,
}

/// The share by which clocks may have changed a level of values, each of which stands with its own share: how much
/// lower the level is if the clocks took its share from every value, or higher if they gave it, whichever is more.
pub(crate) fn slack_of(values: &[(f64, f64)], level: impl Fn(Vec<f64>) -> f64) -> f64 {
    if values.iter().all(|(_, slack)| *slack == 0.0) {
        return 0.0;
    }
    let of = |kept: fn(f64) -> f64| {
        let all = values.iter().map(|(v, slack)| v * kept(*slack));
        level(all.collect())
    };
    let (low, own, high) = (
        of(|slack| (1.0 - slack).max(0.0)),
        of(|_| 1.0),
        of(|slack| 1.0 + slack),
    );
    // An infinite level is infinite by any clock.
    (1.0 - low / own).max(high / own - 1.0).max(0.0)
}

/// The ends of a ratio of two figures of runs, by the shares that clocks may have changed them by.
pub(crate) fn by_clocks(ratio: f64, slacks: (f64, f64)) -> (f64, f64) {
    let value = match ratio.is_finite() {
        true => Latency::Finite(ratio),
        false => Latency::Infinite,
    };
    let (lo, hi) = (value, value);
    let ends = widened(&Estimate { value, lo, hi }, slacks);
    (latency(ends.lo), latency(ends.hi))
}

/// The measures that are watched where nobody says which: the headline at each of `quantiles`, losses, the
/// rate where it is not the headline once more, processor time and memory.
pub(crate) fn usual_measures(run: &Run, e: &Experiment, quantiles: &[f64]) -> Vec<Measure> {
    let kind = e.workload.kind();
    let candidates = e.headline();
    let has = |m: &&Metric| {
        let mut all = dyno_report::counted_trials(run, e.id).into_iter();
        all.any(|t| t.distributions.contains_key(*m))
    };
    let metric = *candidates.iter().find(has).unwrap_or(&candidates[0]);
    let mut all: Vec<Measure> = match metric.is_one_per_trial() {
        true => vec![Measure::Start(metric, None)],
        false => {
            let of = quantiles.iter();
            of.map(|q| Measure::Latency(metric, *q)).collect()
        }
    };
    if kind.is_idle() {
        all.push(Measure::IdlePss);
        return all;
    }
    let is_rate = kind.info().loop_kind == Loop::Open;
    all.push(Measure::Loss);
    match e.faults.is_empty() {
        true => all.extend(is_rate.then_some(Measure::Throughput)),
        false => {
            let silence = Measure::Start(Metric::Silence, None);
            all.extend((metric != Metric::Silence).then_some(silence));
            all.push(Measure::Deaf);
        }
    }
    all.extend([Measure::CpuPerMessage, Measure::Memory]);
    all
}

/// The figure of a measure on a basis, or why there is none.
pub(crate) fn read(
    run: &Run,
    e: &Experiment,
    measure: Measure,
    basis: Basis,
) -> Result<Reading, String> {
    let records = basis.trials(run, e.id);
    let figure = |figure: TrialFigure| move |t: &TrialRecord| figure.of(t);
    if records.is_empty() {
        return Err("no trial completed".into());
    }
    let mut of_floor = 0.0;
    let values = match measure {
        Measure::Latency(metric, q) => latencies(run, e.id, metric, q, basis)?,
        Measure::XFloor(q) => {
            let (values, slack) = over_floor(run, e, q, basis)?;
            of_floor = slack;
            values
        }
        Measure::Loss => return loss(&records),
        Measure::Deaf => return deaf(&records),
        Measure::CpuPerMessage => each(&records, figure(TrialFigure::CpuPerMessage)),
        Measure::CpuShare => each(&records, cpu_share),
        Measure::Tail => {
            let candidates = e.headline();
            tails(&Trials::read(run, e.id, candidates, basis))?
        }
        Measure::Throughput => each(&records, figure(TrialFigure::DeliveredHz)),
        Measure::Memory => each(&records, figure(TrialFigure::PssBytes)),
        Measure::IdlePss => each(&records, figure(TrialFigure::PssEach)),
        Measure::Start(metric, None) => each(&records, |t| start(t, metric)),
        Measure::Start(metric, Some(q)) => {
            let mut all = each(&records, |t| start(t, metric));
            all.sort_by(f64::total_cmp);
            let rank = ((q * all.len() as f64).ceil() as usize).clamp(1, all.len().max(1));
            all.get(rank - 1).copied().into_iter().collect()
        }
    };
    if values.is_empty() {
        return Err(format!("no trial has {}", measure.text()));
    }
    let value = median(values.clone());
    // A rate of zero is the worst there is; any other zero was not measured.
    if value.is_nan() || value < 0.0 || (value == 0.0 && measure != Measure::Throughput) {
        return Err(format!("{} is {value} in its trials", measure.text()));
    }
    Ok(Reading {
        value,
        log: value.ln(),
        trials: values.len() as u64,
        lossy: 0,
        within: variance(values.iter().map(|v| v.ln())),
        slack: match measure {
            Measure::Latency(metric, _) | Measure::Start(metric, _) => {
                share_of_clocks(run, e.id, metric, value)
            }
            _ => of_floor,
        },
    })
}

/// A quantile of each trial.
fn latencies(
    run: &Run,
    id: ExperimentId,
    metric: Metric,
    q: f64,
    basis: Basis,
) -> Result<Vec<f64>, String> {
    let trials = Trials::read(run, id, &[metric], basis);
    if trials.metric().is_none() {
        return Err(format!("the trials hold no {metric}"));
    }
    let values = trials.values(Figure::Quantile { metric, q })?;
    Ok(values.into_iter().map(|(_, v)| v).collect())
}

/// A quantile of each trial over that of the floor, and the share by which clocks may have changed it.
fn over_floor(run: &Run, e: &Experiment, q: f64, basis: Basis) -> Result<(Vec<f64>, f64), String> {
    let metric = Trials::read(run, e.id, e.headline(), basis)
        .metric()
        .ok_or("the trials hold no latencies")?;
    let floor = e
        .floor
        .ok_or("no floor was measured under its conditions")?;
    good_sides(run, e.id, floor)
        .map_err(|reason| format!("there is no ratio, because {}", reason.as_str()))?;
    let below = latencies(run, floor, metric, q, basis).map_err(|e| format!("floor: {e}"))?;
    let (own, below) = (latencies(run, e.id, metric, q, basis)?, median(below));
    let above = share_of_clocks(run, e.id, metric, median(own.clone()));
    let (_, most) = by_clocks(1.0, (above, share_of_clocks(run, floor, metric, below)));
    Ok((own.into_iter().map(|v| v / below).collect(), most - 1.0))
}

/// What clocks may have changed a time of an experiment by, as a share of it. The trials that the host disturbed
/// count, so that leaving them out makes it no smaller.
fn share_of_clocks(run: &Run, id: ExperimentId, metric: Metric, time: f64) -> f64 {
    let all = Basis {
        with_disturbed: true,
        ..Basis::COUNTED
    };
    match clock_slack(&all.trials(run, id), metric) {
        0.0 => 0.0,
        slack => slack / time,
    }
}

fn each(records: &[&TrialRecord], of: impl Fn(&TrialRecord) -> Option<f64>) -> Vec<f64> {
    records.iter().filter_map(|t| of(t)).collect()
}

/// The logarithm is that of the share with half a message more lost, so that none lost has one too (the
/// correction of Haldane, Annals of Human Genetics 20, 1956).
fn loss(records: &[&TrialRecord]) -> Result<Reading, String> {
    let sum = |of: fn(&TrialRecord) -> u64| {
        let all = records.iter().map(|t| of(t));
        all.fold(0u64, u64::saturating_add) as f64
    };
    let (lost, offered) = (sum(|t| t.counts.lost), sum(|t| t.counts.offered));
    if offered == 0.0 {
        return Err("no message was offered".into());
    }
    let lossy = records.iter().filter(|t| t.counts.lost > 0).count() as u64;
    Ok(share(lost, offered, records.len() as u64, lossy))
}

/// The same of the trials in which a receiver never got a newer message.
fn deaf(records: &[&TrialRecord]) -> Result<Reading, String> {
    let told = records.iter().filter(|t| !t.outages.is_empty()).count() as u64;
    if told == 0 {
        return Err("no trial says whether a receiver got a newer message after the fault".into());
    }
    let deaf = records.iter().filter(|t| dyno_report::is_deaf(t)).count() as u64;
    Ok(share(deaf as f64, told as f64, told, deaf))
}

fn share(hit: f64, of: f64, trials: u64, lossy: u64) -> Reading {
    Reading {
        value: hit / of,
        log: ((hit + 0.5) / (of + 1.0)).ln(),
        trials,
        lossy,
        within: None,
        slack: 0.0,
    }
}

fn variance(values: impl Iterator<Item = f64>) -> Option<f64> {
    let finite: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    let n = finite.len() as f64;
    let mean = finite.iter().sum::<f64>() / n;
    let squares: f64 = finite.iter().map(|v| (v - mean).powi(2)).sum();
    (finite.len() >= 2).then(|| squares / (n - 1.0))
}

/// The middle value, or the mean of the two in the middle; infinite for none.
pub(crate) fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    let n = all.len();
    match n % 2 {
        1 => all[n / 2],
        _ if n == 0 => f64::INFINITY,
        _ => f64::midpoint(all[n / 2 - 1], all[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![3.0, 1.0]), 2.0);
        assert_eq!(
            median(vec![f64::INFINITY, 1.0, f64::INFINITY]),
            f64::INFINITY
        );
    }

    #[test]
    fn clocks_change_a_level_by_no_more_than_most_of_its_values() {
        let slack = |values: &[(f64, f64)]| slack_of(values, median);
        assert_eq!(slack(&[(2.0, 0.0), (4.0, 0.0)]), 0.0);
        assert!((slack(&[(2.0, 0.25), (2.0, 0.25), (8.0, 0.5)]) - 0.25).abs() < 1e-12);
        // A bad clock may also have made a value lower than it is.
        let low = slack(&[(10.0, 0.5), (11.0, 0.0), (12.0, 0.0)]);
        assert!((low - 1.0 / 11.0).abs() < 1e-12, "{low}");
        // One with a bad clock does not move the median.
        assert_eq!(slack(&[(2.0, 0.0), (2.0, 0.0), (8.0, 0.5)]), 0.0);
        assert_eq!(
            slack(&[(f64::INFINITY, 0.0), (f64::INFINITY, 0.0), (8.0, 0.5)]),
            0.0
        );
        assert_eq!(by_clocks(2.0, (0.5, 0.0)), (1.0, 3.0));
        assert_eq!(by_clocks(2.0, (0.0, 1.0)), (1.0, f64::INFINITY));
        assert_eq!(by_clocks(f64::INFINITY, (0.0, 0.5)).0, f64::INFINITY);
    }

    #[test]
    fn a_variance_takes_two_finite_values() {
        assert_eq!(variance([1.0, 3.0].into_iter()), Some(2.0));
        assert_eq!(variance([1.0, f64::INFINITY].into_iter()), None);
    }
}
