//! One limit against one experiment.

use super::finding::Finding;
use super::limits::{Bound, Limit};
use super::loss;
use super::measure::Measure;
use super::report::{CheckOptions, Checked, Status};
use crate::figure::{Figure, LARGEST, Trials, no_cost, rank};
use crate::number::{Unit, counted, latency, percent, same_number};
use crate::standing::{Found, Line, Standing};
use dyno_model::record::{Outcome, Run};
use dyno_model::{Experiment, ExperimentId, Metric, TrialFigure, TrialRecord};
use dyno_report::{Basis, Shortfall, good_sides, widened as of_clocks};
use dyno_stats::{
    Bootstrap, Estimate, Latency, POWER, Pairing, Quantile, TrialSamples, further_trials, quantile,
    quantile_ratio, ratio,
};

/// Holds a limit against an experiment. It is passed only as [`dyno_report::law`] has it.
pub(crate) fn judge(run: &Run, limit: &Limit, e: &Experiment, how: &CheckOptions) -> Checked {
    let counted = Case {
        run,
        limit,
        e,
        how,
        basis: Basis::COUNTED,
        below: Basis::COUNTED,
    };
    let trials = counted.trials();
    let finding = counted.finding(&trials);
    let (status, reason) = match Status::from(finding.standing) {
        Status::Pass => match counted.unsure(&trials, &finding) {
            Some(but) => (Status::Undecided, but),
            None => (Status::Pass, finding.reason),
        },
        // A host that takes the CPU away long enough makes a receiver deaf by itself.
        Status::Fail if limit.measure == Measure::Deaf && trials.all_disturbed() => (
            Status::Undecided,
            format!(
                "the host disturbed every trial; judged by these trials, the limit fails: {}",
                finding.reason
            ),
        ),
        // More trials of this kind make nothing pass, whatever their number.
        Status::Undecided if trials.all_disturbed() && finding.further.is_some() => {
            let without = match finding.found {
                Some(_) => "by these trials, its interval contains the limit",
                None => "and they have too few samples for the figure",
            };
            (
                Status::Undecided,
                format!("the host disturbed every trial, so the limit cannot pass; {without}"),
            )
        }
        other => (other, finding.reason),
    };
    let all_disturbed = trials.all_disturbed();
    let trials_used = trials.records().len();
    let mut remarks = trials.remarks;
    if all_disturbed && finding.found.is_some() {
        remarks.push(format!(
            "the host disturbed every trial ({trials_used}), so Dyno uses the disturbed trials"
        ));
    }
    Checked {
        limit: limit.clone(),
        experiment: e.clone(),
        status,
        standing: finding.standing,
        found: finding.found,
        reason,
        remarks,
        further: finding.further,
        all_disturbed,
    }
}

/// A limit, an experiment, and which of its trials are looked at.
#[derive(Clone, Copy)]
struct Case<'a> {
    run: &'a Run,
    limit: &'a Limit,
    e: &'a Experiment,
    how: &'a CheckOptions,
    basis: Basis,
    /// That of its floor.
    below: Basis,
}

impl<'a> Case<'a> {
    fn trials(&self) -> Trials<'a> {
        let metrics: &[Metric] = match &self.limit.measure {
            Measure::Latency(metric, _) => std::slice::from_ref(metric),
            _ => self.e.headline(),
        };
        Trials::read(self.run, self.e.id, metrics, self.basis)
    }

    fn finding(&self, trials: &Trials<'_>) -> Finding {
        let Case { limit, how, .. } = *self;
        let records = trials.records();
        if records.is_empty() {
            return Finding::unknown("no trial completed");
        }
        let figure = |figure: TrialFigure| move |t: &TrialRecord| figure.of(t);
        match limit.measure {
            Measure::Latency(metric, q) if q >= LARGEST => of_largest(trials, metric, limit),
            Measure::Latency(metric, q) => of_latency(trials, metric, q, limit, how),
            Measure::XFloor(q) => self.of_floor(trials, q),
            Measure::Loss => loss::judge(records, limit, how),
            Measure::Deaf => loss::judge_deaf(records, limit, how),
            Measure::CpuPerMessage => {
                let of = figure(TrialFigure::CpuPerMessage);
                each(records, limit, how, no_cost(records), of)
            }
            Measure::CpuShare => each(records, limit, how, no_cost(records), cpu_share),
            Measure::Tail => of_tail(trials, limit, how),
            Measure::Throughput => each(records, limit, how, "", figure(TrialFigure::DeliveredHz)),
            Measure::Memory => {
                let of = figure(TrialFigure::PssBytes);
                each(records, limit, how, no_cost(records), of)
            }
            Measure::IdlePss => {
                let of = figure(TrialFigure::PssEach);
                each(records, limit, how, no_cost(records), of)
            }
            Measure::Start(metric, q) => {
                let failed = self.run.trials_of(self.e.id).filter(is_failed).count();
                of_starts(trials, metric, q, failed, limit, how)
            }
        }
    }

    /// The floor, where the limit is on the ratio to it.
    fn floor(&self) -> Option<ExperimentId> {
        let is_ratio = matches!(self.limit.measure, Measure::XFloor(_));
        self.e.floor.filter(|_| is_ratio)
    }

    /// The experiments whose trials the limit is judged by.
    fn ids(&self) -> impl Iterator<Item = ExperimentId> {
        std::iter::once(self.e.id).chain(self.floor())
    }

    /// Why a limit that the trials that count keep is not passed.
    fn unsure(&self, trials: &Trials<'_>, finding: &Finding) -> Option<String> {
        if let Some(but) = &finding.but {
            return Some(but.clone());
        }
        let Case { run, e, .. } = *self;
        let kept = &finding.reason;
        for id in self.ids() {
            if let Some(short) = Shortfall::of(run, id) {
                let whose = if id == e.id { "" } else { " of the floor" };
                let short = short.text_of(whose);
                return Some(format!(
                    "{short}; judged by the other trials, the limit passes: {kept}"
                ));
            }
        }
        if trials.all_disturbed() {
            return Some(format!(
                "the host disturbed every trial; judged by these trials, the limit passes: {kept}"
            ));
        }
        let below = self
            .floor()
            .map_or_else(|| vec![Basis::COUNTED], |floor| Basis::all(run, floor));
        let others = Basis::others(&Basis::all(run, e.id), &below);
        others.into_iter().find_map(|(basis, below)| {
            let case = Case {
                basis,
                below,
                ..*self
            };
            let other = case.finding(&case.trials());
            let reason = match (other.standing, other.but) {
                (Standing::Keeps, None) => return None,
                (Standing::Keeps, Some(but)) => but,
                (_, _) => other.reason,
            };
            let phrase = match basis == Basis::COUNTED {
                true => format!("with its floor {}", below.phrase()),
                false => basis.phrase().to_owned(),
            };
            Some(format!("{kept}, but not {phrase}: {reason}"))
        })
    }

    fn of_floor(&self, trials: &Trials<'_>, q: f64) -> Finding {
        let Case { run, e, how, .. } = *self;
        let Some(floor) = e.floor else {
            return Finding::unknown("no floor was measured under its conditions");
        };
        let Some(metric) = trials.metric() else {
            return Finding::unknown("the trials hold no latencies");
        };
        if let Err(reason) = good_sides(run, e.id, floor) {
            return Finding::unknown(format!("there is no ratio, because {}", reason.as_str()));
        }
        let below = Trials::read(run, floor, &[metric], self.below);
        let both = trials
            .all_samples()
            .and_then(|own| Ok((own, below.all_samples().map_err(|r| format!("floor: {r}"))?)));
        match both {
            Err(reason) => Finding::unknown(reason),
            Ok((_, floor)) if floor.is_empty() => {
                Finding::unknown("no trial of its floor completed")
            }
            Ok((own, floor)) => match quantile_ratio(&own, &floor, q, &bootstrap(how)) {
                Some(e) => {
                    let share = |trials: &Trials<'_>, samples: &[TrialSamples]| {
                        clock_share(trials.slack(metric), samples, q, how)
                    };
                    let e = of_clocks(&e, (share(trials, &own), share(&below, &floor)));
                    interval(&e, self.limit, own.len().min(floor.len()), how.confidence)
                }
                None => Finding::unknown(format!(
                    "there is no ratio: too few samples of it or of its floor for {}",
                    rank(q)
                )),
            },
        }
    }
}

/// Which share of its quantile the clocks of hosts may have changed, by as many nanoseconds as `slack`; infinite where nobody knows.
fn clock_share(slack: f64, samples: &[TrialSamples], q: f64, how: &CheckOptions) -> f64 {
    if slack == 0.0 {
        return 0.0;
    }
    match quantile(samples, q, &bootstrap(how)) {
        Quantile::Estimated(e) | Quantile::Wide { interval: e, .. } => slack / latency(e.lo),
        Quantile::Refused { .. } => f64::INFINITY,
    }
}

fn is_failed(t: &&TrialRecord) -> bool {
    matches!(t.outcome, Outcome::Failed { .. })
}

fn bootstrap(how: &CheckOptions) -> Bootstrap {
    Bootstrap {
        confidence: how.confidence,
        ..Bootstrap::default()
    }
}

fn of_latency(
    trials: &Trials<'_>,
    metric: Metric,
    q: f64,
    limit: &Limit,
    how: &CheckOptions,
) -> Finding {
    if trials.metric().is_none() {
        return Finding::unknown(format!("the trials hold no {metric}"));
    }
    match trials.all_samples() {
        Err(reason) => Finding::unknown(reason),
        Ok(samples) => {
            let advice = "measure more or longer trials";
            let slack = trials.slack(metric);
            judge_quantile(&samples, q, slack, advice, limit, how)
        }
    }
}

/// The largest of all samples. One that is above breaks a limit; without one, the largest that there can be is still
/// not known, from however many.
fn of_largest(trials: &Trials<'_>, metric: Metric, limit: &Limit) -> Finding {
    if let Err(reason) = trials.all_samples() {
        return Finding::unknown(reason);
    }
    let records = trials.records();
    let all = || records.iter().filter_map(|t| t.distributions.get(&metric));
    let samples: u64 = all().map(|d| d.n.saturating_add(d.infinite)).sum();
    if samples == 0 {
        return Finding::unknown(format!("the trials hold no {metric}"));
    }
    let value = match all().any(|d| d.infinite > 0) {
        true => f64::INFINITY,
        false => all().map(|d| d.max as f64).fold(0.0, f64::max),
    };
    let found = Found {
        value,
        lo: (value - trials.slack(metric)).max(0.0),
        hi: f64::INFINITY,
    };
    let standing = limit.bound.line().standing(Some(&found));
    let of = counted(samples, "sample");
    let reason = match standing {
        Standing::Breaks => {
            format!("the largest of {of} is outside of the limit, and one such sample is enough")
        }
        _ if !limit.bound.line().is_kept_by(value) => {
            format!("the largest of {of} is above the limit by less than the clocks' bound")
        }
        _ => format!(
            "the largest of {of} is within the limit, but a later one may be larger: no number of \
             samples can prove such a limit"
        ),
    };
    Finding::new(standing, found, reason)
}

/// The interval of what it would have been with one clock.
fn widened(e: &Estimate, slack: f64) -> Estimate {
    let shifted = |end: Latency, by: f64| match end {
        Latency::Finite(ns) => Latency::Finite((ns + by).max(0.0)),
        Latency::Infinite => Latency::Infinite,
    };
    Estimate {
        value: e.value,
        lo: shifted(e.lo, -slack),
        hi: shifted(e.hi, slack),
    }
}

/// `advice`: what to do about too few samples.
fn judge_quantile(
    samples: &[TrialSamples],
    q: f64,
    slack: f64,
    advice: &str,
    limit: &Limit,
    how: &CheckOptions,
) -> Finding {
    match quantile(samples, q, &bootstrap(how)) {
        // An interval too wide for a figure may still lie on one side of a limit.
        Quantile::Estimated(e) | Quantile::Wide { interval: e, .. } => {
            interval(&widened(&e, slack), limit, samples.len(), how.confidence)
        }
        refused @ Quantile::Refused { have, need } => Finding {
            further: refused.further_trials(samples.len() as u64),
            ..Finding::unknown(format!(
                "{} needs {need} samples, but there are {have}: {advice}",
                rank(q)
            ))
        },
    }
}

/// CPU time of a round trip over the mean one of the trial.
pub(crate) fn cpu_share(t: &TrialRecord) -> Option<f64> {
    let trips = t.distributions.get(&Metric::Rtt).filter(|d| d.n > 0)?;
    let mean = trips.sum / trips.n as f64;
    Some(TrialFigure::CpuPerMessage.of(t)? / mean)
}

/// p99 less p50 of each trial.
fn of_tail(trials: &Trials<'_>, limit: &Limit, how: &CheckOptions) -> Finding {
    match tails(trials) {
        Ok(tails) => of_each(tails, limit, how, "the trials hold no latencies"),
        Err(reason) => Finding::unknown(reason),
    }
}

/// What the p99 is above the p50 in each trial, in nanoseconds.
pub(crate) fn tails(trials: &Trials<'_>) -> Result<Vec<f64>, String> {
    let metric = trials.metric().ok_or("the trials hold no latencies")?;
    let of = |q| trials.values(Figure::Quantile { metric, q });
    let (high, middle) = (of(0.99)?, of(0.5)?);
    // One below a nanosecond is one of a nanosecond, which is as fine as samples are. Where half of the messages were lost,
    // both are infinite, and the tail is no less.
    let tail = |p99: f64, p50: f64| match p50.is_finite() {
        true => (p99 - p50).max(1.0),
        false => f64::INFINITY,
    };
    let tails = high.iter().zip(&middle).map(|(a, b)| tail(a.1, b.1));
    Ok(tails.collect())
}

/// One positive figure of each trial.
fn each(
    records: &[&TrialRecord],
    limit: &Limit,
    how: &CheckOptions,
    nothing: &str,
    of: impl Fn(&TrialRecord) -> Option<f64>,
) -> Finding {
    let values: Vec<f64> = records.iter().filter_map(|t| of(t)).collect();
    let without = records.len() - values.len();
    let mut finding = of_each(values, limit, how, nothing);
    if without > 0 {
        let but = without_figure(without, records.len(), limit, &finding.reason);
        finding.but = Some(but);
    }
    finding
}

/// Their geometric mean over trials, with Student's interval on the logarithms.
fn of_each(values: Vec<f64>, limit: &Limit, how: &CheckOptions, nothing: &str) -> Finding {
    if values.is_empty() {
        return Finding::unknown(nothing);
    }
    if let (Line::AtLeast(_), true) = (limit.bound.line(), values.contains(&0.0)) {
        return with_nothing(&values, limit);
    }
    if values.contains(&0.0) {
        return Finding::unknown(format!(
            "{} is zero in a trial, so there is no ratio; look at its trials",
            limit.measure.text()
        ));
    }
    if values.len() < 2 {
        return Finding::unknown("an interval over trials needs two trials, but there is only one");
    }
    // Each figure over one: the ratio's interval is then that of the figures themselves.
    let ones = vec![1.0; values.len()];
    match ratio(&values, &ones, Pairing::Paired, how.confidence) {
        Some(r) => interval(&r.estimate, limit, values.len(), how.confidence),
        None => Finding::unknown("the trials' figures have no interval"),
    }
}

/// A rate of which some trials have nothing at all: the geometric mean is then zero, and the trials that
/// have some bound nothing above.
fn with_nothing(values: &[f64], limit: &Limit) -> Finding {
    let without = values.iter().filter(|v| **v == 0.0).count();
    let some = if without < values.len() {
        f64::INFINITY
    } else {
        0.0
    };
    let found = Found {
        value: 0.0,
        lo: 0.0,
        hi: some,
    };
    Finding {
        standing: limit.bound.line().standing(Some(&found)),
        found: Some(found),
        reason: format!(
            "{} is zero in {without} of {} trials",
            limit.measure.text(),
            values.len()
        ),
        but: None,
        further: None,
    }
}

/// The one sample of a trial, in nanoseconds; infinite where what it waits for never came. A recovery may take no time, and is then
/// one of a nanosecond, which is as fine as samples are. Runs that were measured before there was a first message know
/// when endpoints existed and were matched: what a message sent at once would have had to wait for.
pub(crate) fn start(t: &TrialRecord, metric: Metric) -> Option<f64> {
    let stored = t.distributions.get(&metric);
    if metric.info().of_faults {
        return stored.and_then(|d| match (d.n, d.infinite) {
            (1, 0) => Some(d.sum.max(1.0)),
            (0, 1) => Some(f64::INFINITY),
            _ => None,
        });
    }
    let known = stored.filter(|d| d.n == 1);
    let older = || match metric {
        Metric::FirstMessage => Some(t.open.saturating_add(t.matching)),
        Metric::Open => Some(t.open),
        Metric::Match => Some(t.matching),
        _ => None,
    };
    known
        .map(|d| d.sum)
        .or_else(|| older().map(|time| time.0 as f64))
}

/// What a trial has one sample of. A trial that failed is infinitely late.
fn of_starts(
    trials: &Trials<'_>,
    metric: Metric,
    q: Option<f64>,
    failed: usize,
    limit: &Limit,
    how: &CheckOptions,
) -> Finding {
    let records = trials.records();
    let Some(q) = q else {
        return mean_start(records, metric, limit, how);
    };
    let times: Vec<f64> = records.iter().filter_map(|t| start(t, metric)).collect();
    let without = records.len() - times.len();
    let one = |time: f64| match time.is_finite() {
        true => TrialSamples::from_values(&[vec![time]], 0),
        false => TrialSamples::from_values(&[Vec::new()], 1),
    };
    let never = std::iter::repeat_n(f64::INFINITY, failed);
    let samples: Vec<TrialSamples> = times.into_iter().chain(never).map(one).collect();
    let slack = trials.slack(metric);
    let finding = judge_quantile(&samples, q, slack, "measure more trials", limit, how);
    match without {
        0 => finding,
        _ => {
            let but = without_figure(without, records.len(), limit, &finding.reason);
            finding.unless(but)
        }
    }
}

/// Why trials that have no figure keep a limit from being passed.
fn without_figure(without: usize, of: usize, limit: &Limit, others: &str) -> String {
    format!(
        "{without} of {of} trials have no value of {}; the others: {others}",
        limit.measure.text()
    )
}

/// Each trial starts once, so a trial that breaks the limit is a start that broke it: nothing passes
/// beside it, whatever the mean.
fn mean_start(
    records: &[&TrialRecord],
    metric: Metric,
    limit: &Limit,
    how: &CheckOptions,
) -> Finding {
    let nothing = format!("the trials hold no {metric}");
    let mut finding = each(records, limit, how, &nothing, |t| start(t, metric));
    let times = records.iter().filter_map(|t| start(t, metric));
    let slowest = times.fold(0.0, f64::max);
    if let Bound::AtMost(bound) = limit.bound
        && !Line::AtMost(bound).is_kept_by(slowest)
    {
        let (what, time) = match (metric.info().of_faults, Unit::Time.text(slowest)) {
            (true, time) => ("the longest of a trial is", time),
            (false, time) if metric.info().of_idle => ("the highest of a trial is", time),
            (false, time) => ("the slowest start took", time),
        };
        finding.but = Some(format!("the mean is within the limit, but {what} {time}"));
    }
    finding
}

/// Holds a figure with its interval against the limit, and says why it stands where it does.
fn interval(e: &Estimate, limit: &Limit, trials: usize, confidence: f64) -> Finding {
    let [value, lo, hi] = [e.value, e.lo, e.hi].map(latency);
    let found = Found { value, lo, hi };
    let unit = limit.measure.unit();
    let line = limit.bound.line();
    let (bound, (good, bad)) = (line.bound(), line.good_and_bad(&found));
    // An end that rounds to the limit itself would read as if it were wrongly judged.
    let text = |end: f64| match unit.text(end) == unit.text(bound) && !same_number(end, bound) {
        true => format!("{} ({} from it)", unit.text(end), apart(end, bound)),
        false => unit.text(end),
    };
    let standing = line.standing(Some(&found));
    let mut more = None;
    let reason = match standing {
        Standing::Keeps => format!(
            "even the worst value of its interval, {}, is within the limit",
            text(bad)
        ),
        Standing::Breaks => format!(
            "even the best value of its interval, {}, is outside of the limit",
            text(good)
        ),
        Standing::Refused => "its figure contradicts its own interval: look at its trials".into(),
        Standing::Between => {
            // The end that must cross the limit for a decision.
            let end = if line.is_kept_by(value) { bad } else { good };
            more = further_trials(e, bound, trials, confidence);
            undecided([value, end, bound], trials, more, limit.measure)
        }
    };
    Finding {
        further: more,
        ..Finding::new(standing, found, reason)
    }
}

/// Why a limit at `bound` is undecided, which the interval's `end` of so many trials must cross, and what would decide it: `more` trials
/// where that is known.
fn undecided(
    [value, end, bound]: [f64; 3],
    trials: usize,
    more: Option<u64>,
    measure: Measure,
) -> String {
    if !value.is_finite() {
        return match measure {
            Measure::Latency(metric, _) if metric.info().of_faults => {
                "it is infinite in some trials, and too few were measured to bound it: measure more trials"
            }
            _ => {
                "more messages were lost than this quantile allows, but not in all trials: measure \
                 more trials"
            }
        }
        .into();
    }
    if end.is_infinite() || end <= 0.0 {
        let why = match measure {
            Measure::Latency(..) | Measure::XFloor(_) if end.is_infinite() => {
                "messages were lost, or trials are too few or too different"
            }
            _ => "trials are too few or too different",
        };
        return format!("{why}, so its interval has no end on this side: measure more trials");
    }
    match more {
        Some(more) => format!(
            "its interval contains the limit; about {} would decide with a chance of {}",
            counted(more, "more trial"),
            percent(POWER)
        ),
        None if value <= 0.0 || trials < 2 => {
            "its interval contains the limit: measure more trials".into()
        }
        None => format!(
            "too close to call: {} is {} from the limit",
            measure.unit().text(value),
            apart(value, bound)
        ),
    }
}

/// How far two positive figures are from each other, as a share of the smaller one.
fn apart(a: f64, b: f64) -> String {
    Unit::Share.text((a / b).ln().abs().exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    #[test]
    fn an_undecided_limit_says_why_and_what_would_decide() {
        let said = |value, end, more, measure| undecided([value, end, 105.0], 5, more, measure);
        assert_eq!(
            said(100.0, 110.0, Some(15), Measure::CpuPerMessage),
            "its interval contains the limit; about 15 more trials would decide with a chance of 80 %"
        );
        assert_eq!(
            undecided([100.0, 110.0, 100.0001], 5, None, Measure::CpuPerMessage),
            "too close to call: 100 ns is 0.000100 % from the limit"
        );
        let response = Measure::Latency(Metric::Response, 0.99);
        for (value, end, measure, begins) in [
            (100.0, INF, response, "messages were lost, or trials are"),
            (
                100.0,
                INF,
                Measure::CpuPerMessage,
                "trials are too few or too different",
            ),
            (100.0, 0.0, response, "trials are too few or too different"),
            (
                INF,
                INF,
                response,
                "more messages were lost than this quantile",
            ),
        ] {
            let text = said(value, end, None, measure);
            assert!(text.starts_with(begins), "{text}");
        }
    }

    #[test]
    fn a_limit_on_either_side_of_the_value_says_how_many_trials_decide() {
        let limit = |most: f64| Limit {
            name: "x".into(),
            measure: Measure::CpuPerMessage,
            bound: Bound::AtMost(most),
            selector: super::super::limits::Selector::default(),
            source: None,
            at: dyno_toml::Place::flag("--limits", "x.toml"),
        };
        let [value, lo, hi] = [100.0, 80.0, 110.0].map(Latency::Finite);
        for most in [105.0, 95.0] {
            let found = interval(&Estimate { value, lo, hi }, &limit(most), 5, 0.95);
            let more = found.further.unwrap();
            let said = format!("about {more} more trials would decide");
            assert!(found.reason.contains(&said), "{}", found.reason);
        }
    }
}
