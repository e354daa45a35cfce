//! The values of a run that a history uses: one figure of each measure for each experiment.

use crate::check::{Measure, cpu_share, start, tails};
use crate::figure::{Figure, Trials};
use dyno_model::record::Run;
use dyno_model::{Experiment, Loop, Metric, TrialFigure, TrialRecord};
use dyno_report::{Basis, good_sides};

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
    let latency = |metric, q| {
        let trials = Trials::read(run, e.id, &[metric], basis);
        match trials.metric() {
            Some(_) => trials.values(Figure::Quantile { metric, q }),
            None => Err(format!("the trials hold no {metric}")),
        }
    };
    let values = match measure {
        Measure::Latency(metric, q) => latency(metric, q).map(only_values)?,
        Measure::XFloor(q) => {
            let candidates = e.headline();
            let metric = Trials::read(run, e.id, candidates, basis)
                .metric()
                .ok_or("the trials hold no latencies")?;
            let floor = e
                .floor
                .ok_or("no floor was measured under its conditions")?;
            good_sides(run, e.id, floor)
                .map_err(|reason| format!("there is no ratio, because {}", reason.as_str()))?;
            let below = Trials::read(run, floor, &[metric], basis);
            let below = below.values(Figure::Quantile { metric, q });
            let below = median(only_values(below.map_err(|e| format!("floor: {e}"))?));
            let own = only_values(latency(metric, q)?);
            own.into_iter().map(|v| v / below).collect()
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
    })
}

fn each(records: &[&TrialRecord], of: impl Fn(&TrialRecord) -> Option<f64>) -> Vec<f64> {
    records.iter().filter_map(|t| of(t)).collect()
}

fn only_values(values: Vec<(u32, f64)>) -> Vec<f64> {
    values.into_iter().map(|(_, v)| v).collect()
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
    fn a_variance_takes_two_finite_values() {
        assert_eq!(variance([1.0, 3.0].into_iter()), Some(2.0));
        assert_eq!(variance([1.0, f64::INFINITY].into_iter()), None);
    }
}
