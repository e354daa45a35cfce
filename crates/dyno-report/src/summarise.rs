//! From a stored run to its [`Summary`]: adds up, takes medians, and asks `dyno-stats` for
//! everything that has an interval. Failed trials are counted and never averaged in, nor are those
//! that the host disturbed: [`counted_trials`] says which count.

use crate::counted::{
    Failures, KEPT, counted_trials, failures, is_completed, is_deaf, trial_counts,
};
use crate::counts::add_counts;
use crate::decoded::{Histograms, Samples};
use crate::floor::{Floors, mark_undercut};
use crate::law::Shortfall;
use crate::measured::{RANKS, metric_summary};
use crate::summary::{
    AloneRatio, ChainSummary, ExperimentSummary, FailedAs, FloorRatio, MetricSummary, NoRatio,
    PrecisionSummary, QUANTILES, RunSummary, Spread, Summary, TrialCounts, WarmupSummary,
    WithDisturbed,
};
use crate::totals::{figures, processes};
use crate::{
    carry_over, causes, chains, clocks, flows, growth, host, in_copies, modes, precision, scaling,
};
use dyno_model::TrialId;
use dyno_model::cause::{Cause, FailureCause, Warning};
use dyno_model::probe::Writer;
use dyno_model::record::{EMPTY_WINDOW_SINCE, FlowCounts, Run};
use dyno_model::{
    AdapterDescription, Distribution, Experiment, ExperimentId, Metric, Options, TrialRecord,
    Workload,
};
use dyno_stats::{
    Bootstrap, RatioSide, SecondHalf, Stability, TrialSamples, quantiles, quantiles_and_numerator,
};
use std::collections::{BTreeMap, BTreeSet};

/// How a run is summarised.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SummaryOptions {
    /// How intervals are made.
    pub bootstrap: Bootstrap,
}

/// Summarises a run. Equal runs and equal options give equal summaries.
///
/// A trial whose histograms do not decode counts as failed, with [`FailedAs::Unreadable`].
pub fn summarise(run: &Run, options: &SummaryOptions) -> Summary {
    let elsewhere = None;
    of_samples(Samples { run, elsewhere }, options)
}

/// [`summarise`] of a run whose trials were read without their histograms, which `histograms` reads: the same, in less
/// memory.
pub fn summarise_light(
    run: &Run,
    histograms: &Histograms<'_>,
    options: &SummaryOptions,
) -> Summary {
    let elsewhere = Some(histograms);
    of_samples(Samples { run, elsewhere }, options)
}

fn of_samples(samples: Samples<'_>, options: &SummaryOptions) -> Summary {
    let run = samples.run;
    let plan = &run.manifest.plan;
    let shared = Shared {
        samples,
        floors: Floors::new(samples, &options.bootstrap),
        machine: host::Machine::new(run),
        legs: plan.legs(),
        bases: plan.bases(),
    };
    // Of a search only some rungs get trials.
    let has_trials =
        |e: &&Experiment| plan.search.is_none() || run.trials_of(e.id).next().is_some();
    let here: Vec<&Experiment> = plan.here().filter(has_trials).collect();
    let found = dyno_parallel::map_within(
        AT_ONCE,
        &here,
        |e| most_values(run, e.id),
        |e| summarise_experiment(e, &shared, options),
    );
    let (experiments, medians): (Vec<ExperimentSummary>, Vec<_>) = found.into_iter().unzip();
    let medians: BTreeMap<TrialId, f64> = medians.into_iter().flatten().collect();
    // They stand last in a plan.
    let (mut experiments, counted): (Vec<_>, Vec<_>) =
        experiments.into_iter().partition(|e| !e.experiment.counted);
    mark_undercut(&mut experiments, options.bootstrap.confidence);
    crate::made_of::link(&mut experiments, &counted);
    let mut trials = TrialCounts::default();
    for e in &experiments {
        trials.planned += e.trials.planned;
        trials.completed += e.trials.completed;
        trials.failed += e.trials.failed;
        trials.disturbed += e.trials.disturbed;
        trials.counted += e.trials.counted;
    }
    Summary {
        plan_warnings: plan.warnings.iter().take(KEPT).cloned().collect(),
        warnings: run_warnings(run)
            .into_iter()
            .chain(
                crate::made_of::not_counted(&counted)
                    .iter()
                    .map(ToString::to_string),
            )
            .collect(),
        carry_over: carry_over::summarise(samples, &medians, options.bootstrap.seed),
        run: of_run(run, trials),
        experiments,
        refused: plan.refused.clone(),
        requirements: Vec::new(),
        capacity: None,
        answers: None,
        scaling: scaling::summarise(samples, &options.bootstrap),
        growth: growth::summarise(run),
    }
}

/// The run as a whole, with the trials of all its experiments.
fn of_run(run: &Run, trials: TrialCounts) -> RunSummary {
    let plan = &run.manifest.plan;
    RunSummary {
        id: run.manifest.id.clone(),
        started_unix_ms: run.manifest.started_unix_ms,
        command: run.manifest.command.clone(),
        suite: plan.suite.clone(),
        title: plan.title.clone(),
        testbed: plan.testbed.name.clone(),
        has_rated_links: plan.testbed.hosts.iter().any(|h| h.link.is_some()),
        table: plan.table.clone(),
        study: run.manifest.origin.as_ref().and_then(|o| o.study.clone()),
        hosts: plan.testbed.hosts.iter().map(|h| h.name.clone()).collect(),
        guests: plan
            .testbed
            .machines()
            .map(|(n, m)| format!("{n}: {m}"))
            .collect(),
        emulated_hosts: plan
            .testbed
            .machines()
            .filter(|(_, m)| m.emulated_by().is_some())
            .map(|(name, _)| name.to_owned())
            .collect(),
        seed: plan.seed,
        shard: plan.shard.clone(),
        more: plan.more.clone(),
        environment: run.manifest.environment.clone(),
        machines: run.machines.clone(),
        adapters: run
            .manifest
            .adapters
            .iter()
            .map(|a| (a.name.clone(), a.version.clone()))
            .collect(),
        option_defaults: run
            .manifest
            .adapters
            .iter()
            .map(|a| (a.name.clone(), defaults(a)))
            .collect(),
        stacks: plan.stacks.clone(),
        against: plan.against.clone(),
        precision: plan.precision,
        bare: run.manifest.bare.as_ref().map(host::bare),
        trials,
    }
}

/// Values that are summarised at once on all CPUs, some 30 bytes each, unless one experiment alone has more.
const AT_ONCE: u64 = 4_000_000;

/// Distinct values of a trial that a histogram can tell apart where latencies scatter as they usually do.
const TOLD_APART: u64 = 10_000;

/// How many distinct values the trials of an experiment have at most, or a bit more: what their samples take in memory.
fn most_values(run: &Run, id: ExperimentId) -> u64 {
    let trials = run.trials_of(id);
    let distributions = trials.flat_map(|t| t.distributions.values());
    distributions.map(|d| d.n.min(TOLD_APART)).sum()
}

fn defaults(adapter: &AdapterDescription) -> Options {
    let set = adapter.options.iter();
    set.filter_map(|o| Some((o.name.clone(), o.default.clone()?)))
        .collect()
}

fn run_warnings(run: &Run) -> Vec<String> {
    let plan = &run.manifest.plan;
    let mut warnings: Vec<String> = Vec::new();
    // Two that differ in digits that are not shown are one line.
    for warning in plan.warnings.iter().take(KEPT).map(ToString::to_string) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    if plan.warnings.len() > KEPT {
        let more = Cause::<Warning>::More((plan.warnings.len() - KEPT) as u64);
        warnings.push(more.to_string());
    }
    if run.manifest.environment.build_profile == "debug" {
        warnings.push(
            "measured with a debug build of Dyno: its own overhead is in every figure".into(),
        );
    }
    if plan.testbed.keeps_state {
        warnings.push(
            "the testbed has `keeps_state`, a planted fault: trials found the leftovers of earlier trials".into(),
        );
    }
    for stack in plan.stacks.values() {
        let mut gateways = stack.chain.iter().flat_map(|chain| &chain.gateways);
        if let Some(delay) = gateways.find_map(|gateway| gateway.delay) {
            warnings.push(format!(
                "{} has `delay`, a planted fault: its gateways keep each message for {delay}",
                stack.name
            ));
        }
    }
    match run.trials.iter().filter(|t| may_have_full_window(t)).count() {
        0 => {}
        n => warnings.push(format!(
            "{n} trials were measured by an older Dyno: the first sample of each may be up to 0.5 ms \
             too long, which also affects the maximum, and the mean and tail of few samples; the cost may \
             not include CPU time after the last send"
        )),
    }
    let strays = run
        .trials
        .iter()
        .filter(|t| plan.experiment(t.id.experiment).is_none());
    match strays.count() {
        0 => {}
        n => warnings.push(format!(
            "{n} stored trials belong to no experiment of the plan and are left out"
        )),
    }
    warnings
}

/// Whether Dyno may have read its own memory within the window. The last builds before [`EMPTY_WINDOW_SINCE`] no
/// longer did; what they stored beyond their format tells most of their trials.
fn may_have_full_window(trial: &TrialRecord) -> bool {
    let mut flows = trial.flows.iter();
    let newer = trial.cost.host_cpu.is_some()
        || !trial.networks.is_empty()
        || flows.any(|f| f.by_half.is_some() || f.lead_in > 0);
    trial.format < EMPTY_WINDOW_SINCE && is_completed(trial) && !newer
}

/// The first format that says when a warm-up ended and what the machine did. Of older runs nothing
/// is claimed that was not looked for when they were measured.
const LOOKED_FOR_SINCE: u32 = 2;

/// What several experiments of a run refer to.
struct Shared<'a> {
    samples: Samples<'a>,
    floors: Floors<'a>,
    /// What the run's CPUs did by themselves.
    machine: host::Machine<'a>,
    legs: BTreeSet<ExperimentId>,
    bases: BTreeSet<ExperimentId>,
}

/// The trials of an experiment that count, with their samples, and how the others failed.
struct Read<'a> {
    trials: Vec<&'a TrialRecord>,
    series: BTreeMap<Metric, Series<'a>>,
    failures: Failures,
}

/// The samples of one metric, trial by trial.
#[derive(Default)]
struct Series<'a> {
    trials: Vec<&'a TrialRecord>,
    /// `samples[i]` are those of `trials[i]`.
    samples: Vec<TrialSamples>,
}

/// Reads the trials of an experiment. Where it is held to a floor, the floor's samples are drawn first.
fn read<'a>(experiment: &Experiment, floor: Option<&Experiment>, shared: &Shared<'a>) -> Read<'a> {
    let run = shared.samples.run;
    let counted = counted_trials(run, experiment.id);
    let is_measured = |m: &&Metric| counted.iter().any(|t| t.distributions.contains_key(m));
    if let Some(floor) = floor.filter(|floor| floor.wait == experiment.wait)
        && let Some(metric) = experiment.headline().iter().find(is_measured)
    {
        shared.floors.draw_ahead(&counted, floor.id, *metric);
    }
    let mut read = Read {
        trials: Vec::new(),
        series: BTreeMap::new(),
        failures: failures(run, experiment.id),
    };
    for trial in counted {
        match shared.samples.of_trial(trial) {
            Ok(metrics) => {
                read.trials.push(trial);
                for (metric, samples) in metrics {
                    let own = read.series.entry(metric).or_default();
                    own.trials.push(trial);
                    own.samples.push(samples);
                }
            }
            Err(error) => {
                let cause = FailureCause::Record { error }.into();
                let failures = &mut read.failures;
                failures.add(FailedAs::Unreadable, "stored trial", &cause, &[]);
            }
        }
    }
    read
}

impl<'a> Series<'a> {
    /// What the trials store of the metric.
    fn stored(&self, metric: Metric) -> impl Iterator<Item = &'a Distribution> + Clone {
        let trials = self.trials.iter();
        trials.filter_map(move |t| t.distributions.get(&metric))
    }
}

/// The summaries of all metrics, and the p50 of the headline for ratios: what is refused, or too wide for a figure, makes none.
fn metric_summaries(
    series: &BTreeMap<Metric, Series<'_>>,
    headline: Option<&Metric>,
    how: &Bootstrap,
) -> (BTreeMap<Metric, MetricSummary>, Option<RatioSide>) {
    let mut numerator = None;
    let summaries = series.iter().map(|(metric, own)| {
        let estimated = match headline == Some(metric) {
            false => quantiles(&own.samples, &RANKS, how),
            true => {
                let (estimated, p50) = quantiles_and_numerator(&own.samples, &RANKS, how);
                numerator = p50.filter(|_| estimated[0].estimate().is_some());
                estimated
            }
        };
        let stored = own.stored(*metric);
        (*metric, metric_summary(&own.samples, stored, estimated))
    });
    (summaries.collect(), numerator)
}

/// The values of metrics of which each trial has one.
fn medians(series: &BTreeMap<Metric, Series<'_>>) -> BTreeMap<Metric, Spread> {
    let of_trials = |(metric, own): (&Metric, &Series<'_>)| {
        let own = own.stored(*metric).filter(|d| d.n + d.infinite == 1);
        // What never came is later than everything else.
        let value = |d: &Distribution| if d.n == 1 { d.sum } else { f64::INFINITY };
        let spread = Spread::with_infinite(own.map(value))?;
        metric.is_one_per_trial().then_some((*metric, spread))
    };
    series.iter().filter_map(of_trials).collect()
}

/// The way through a chain, with what it adds to its legs.
fn chain(
    experiment: &Experiment,
    shared: &Shared<'_>,
    trials: &[&TrialRecord],
    headline: Option<&Metric>,
    how: &Bootstrap,
) -> Option<ChainSummary> {
    let plan = &shared.samples.run.manifest.plan;
    let mut chain = chains::summarise(plan, experiment, trials)?;
    if let Some(metric) = headline {
        let legs = experiment.legs.iter();
        let legs: Vec<_> = legs
            .map(|id| shared.samples.medians(*id, *metric))
            .collect();
        // A flood's response time is that of its own queue, and disturbed trials make no ratio either.
        let calm = trials.iter().all(|t| t.disturbed.is_empty());
        if !legs.is_empty() && calm && !matches!(experiment.workload, Workload::Flood) {
            let whole = shared.samples.medians(experiment.id, *metric);
            chain.added = chains::added(*metric, &whole, &legs, how);
        }
    }
    Some(chain)
}

/// The summary of an experiment, and the median of the headline metric in each trial that has it.
#[expect(
    clippy::too_many_lines,
    reason = "one row for each field of the summary"
)]
fn summarise_experiment(
    experiment: &Experiment,
    shared: &Shared<'_>,
    options: &SummaryOptions,
) -> (ExperimentSummary, Vec<(TrialId, f64)>) {
    let (run, how) = (shared.samples.run, &options.bootstrap);
    let plan = &run.manifest.plan;
    // Of a part, the floor may be elsewhere.
    let floor = experiment.floor.filter(|id| plan.is_here(*id));
    let floor = floor.and_then(|id| plan.experiment(id));
    let Read {
        trials,
        series,
        failures,
    } = read(experiment, floor, shared);
    let mut candidates = experiment.headline().iter();
    let headline = candidates.find(|m| series.contains_key(m));
    let (metrics, numerator) = metric_summaries(&series, headline, how);
    let medians = medians(&series);
    let none = Series::default();
    let own = headline.map_or(&none, |m| &series[m]);
    let floor = floor.map(|floor| {
        let ratio = match headline {
            _ if floor.wait != experiment.wait => Err(NoRatio::OtherWait),
            None => Err(NoRatio::Unknown),
            Some(metric) => shared.floors.ratio(
                &own.trials,
                (*metric, numerator.as_ref()),
                floor.id,
                *metric,
            ),
        };
        FloorRatio {
            id: floor.id,
            stack: floor.stack.clone(),
            p50_ratio: ratio.ok(),
            without: ratio.err(),
            undercut_by: Vec::new(),
        }
    });
    let over_copy = |writer| {
        let metric = *headline?;
        let copy = in_copies::probe(plan, experiment, Some(metric), writer)?;
        let ratio = shared.floors.ratio(
            &own.trials,
            (metric, numerator.as_ref()),
            copy.id,
            Metric::Probe,
        );
        ratio.ok()
    };
    let in_copies = over_copy(Writer::Other);
    let in_cached_copies = over_copy(Writer::Own);
    let with_disturbed =
        headline.and_then(|m| with_disturbed(shared.samples, experiment.id, *m, how));
    let stack = plan.stacks.get(&experiment.stack);
    let disturbed: Vec<&TrialRecord> = run
        .trials_of(experiment.id)
        .filter(|t| is_completed(t) && !t.disturbed.is_empty())
        .collect();
    let looked_for = trials.iter().all(|t| t.format >= LOOKED_FOR_SINCE);
    let has_window = looked_for && !experiment.is_one_per_trial();
    let mut warnings = grouped(run.trials_of(experiment.id).flat_map(|t| &t.warnings));
    let own_metric = headline.filter(|m| !m.info().of_faults);
    let own_metric = own_metric.map(|m| &metrics[m]);
    let host = host::summarise(&shared.machine, experiment.workload, &trials, own_metric);
    let host = host.unwrap_or_else(|e| {
        let error = e.to_string();
        warnings.push((Warning::NoiseNotKnown { error }.into(), 1));
        None
    });
    let numbered = own.trials.iter().map(|t| t.id.number);
    let trial_medians = precision::own_quantiles(numbered.zip(&own.samples), 0.5);
    let id = |number| TrialId {
        experiment: experiment.id,
        number,
    };
    let trial_medians = trial_medians.into_iter().map(|(n, p50)| (id(n), p50));
    let trial_medians = trial_medians.collect();
    let summary = ExperimentSummary {
        experiment: experiment.clone(),
        is_floor: stack.is_some_and(|s| s.floor),
        is_leg: experiment.added && shared.legs.contains(&experiment.id),
        is_loopback: stack.is_some_and(|s| s.loopback),
        is_base: shared.bases.contains(&experiment.id),
        trials: trial_counts(run, experiment, &trials, &failures, &disturbed),
        failures: failures.0,
        missing: Shortfall::of(run, experiment.id).map_or(0, |s| s.missing() as u64),
        disturbances: grouped(disturbed.iter().flat_map(|t| &t.disturbed)),
        with_disturbed,
        alone: alone(shared.samples, experiment, headline, own, how),
        floor,
        in_copies,
        in_cached_copies,
        undercut_by: Vec::new(),
        counts: add_counts(trials.iter().map(|t| &t.counts)),
        figures: figures(&trials),
        daemons: processes(&trials, |p| p.daemon),
        agents: processes(&trials, |p| !p.daemon),
        machines: crate::totals::machines(&trials),
        memory: crate::totals::memory(&trials),
        open_ns: Spread::of(trials.iter().map(|t| t.open.0 as f64)),
        matching_ns: Spread::of(trials.iter().map(|t| t.matching.0 as f64)),
        warnings,
        stability: headline.and_then(|m| stability(&own.samples, &metrics[m])),
        warmup: warmup(&trials).filter(|_| has_window),
        modes: match has_window {
            true => modes::summarise(experiment, &own.trials, &own.samples, how.seed),
            false => None,
        },
        drift: match has_window {
            true => dyno_stats::drift(&own.samples, 0.5).map(|d| d.ratio),
            false => None,
        },
        host,
        precision: precision(shared, experiment, headline, &series, how),
        overload: dyno_model::load::overload(
            &plan.together(experiment),
            stack,
            &plan.graph(experiment),
            &plan.testbed,
        )
        .map(|o| o.to_string()),
        outage: crate::outage::summarise(experiment, stack, &trials),
        saturated: experiment.paced_window().and_then(|_| {
            if !experiment.faults.is_empty() {
                return None;
            }
            let responses = series.get(&Metric::Response)?;
            backlog(&responses.trials, &responses.samples)
        }),
        clock_bound: clocks::bound_of(experiment, &trials),
        clocks: clocks::hosts(&trials),
        networks: causes::networks(&trials),
        copies: crate::copies::copies(experiment, &trials),
        wake_ups: crate::made_of::wake_ups(&trials),
        asked: trials.iter().find_map(|t| t.cost.asked_per_message),
        made_of: None,
        chain: chain(experiment, shared, &trials, headline, how),
        metrics,
        medians,
    };
    (summary, trial_medians)
}

/// What the other flows cost this one, where it was measured by itself as well.
fn alone(
    samples: Samples<'_>,
    experiment: &Experiment,
    headline: Option<&Metric>,
    own: &Series<'_>,
    how: &Bootstrap,
) -> Option<AloneRatio> {
    let id = experiment.flow.as_ref()?.alone?;
    let calm = |t: &&TrialRecord| t.disturbed.is_empty();
    if !own.trials.iter().all(calm) || !counted_trials(samples.run, id).iter().all(calm) {
        return Some(AloneRatio::unknown(id));
    }
    let numbers = own.trials.iter().map(|t| t.id.number);
    let beside: Vec<(u32, &TrialSamples)> = numbers.zip(&own.samples).collect();
    let alone: Vec<(u32, TrialSamples)> = samples.of_metric(id, *headline?).collect();
    Some(flows::against_alone(id, &beside, &alone, how))
}

/// The headline of all completed trials that can be read, where some of them do not count.
fn with_disturbed<'a>(
    samples: Samples<'a>,
    id: ExperimentId,
    metric: Metric,
    how: &Bootstrap,
) -> Option<WithDisturbed> {
    let trials = samples.run.trials_of(id);
    let completed: Vec<&TrialRecord> = trials.filter(|t| is_completed(t)).collect();
    if completed.len() == counted_trials(samples.run, id).len() {
        return None;
    }
    let one = |&t: &&'a TrialRecord| {
        let own = samples.of_trial(t).ok()?.remove(&metric)?;
        Some((t.distributions.get(&metric)?, own))
    };
    let (stored, samples): (Vec<&Distribution>, Vec<TrialSamples>) =
        completed.iter().filter_map(one).unzip();
    Some(WithDisturbed {
        counts: add_counts(completed.iter().map(|t| &t.counts)),
        deaf: completed.iter().filter(|t| is_deaf(t)).count() as u64,
        trials: samples.len() as u64,
        metric: metric_summary(
            &samples,
            stored.into_iter(),
            quantiles(&samples, &RANKS, how),
        ),
    })
}

fn warmup(trials: &[&TrialRecord]) -> Option<WarmupSummary> {
    Some(WarmupSummary {
        ns: Spread::of(trials.iter().map(|t| t.warmup.0 as f64))?,
        unsteady: trials.iter().filter(|t| t.unsteady).count() as u64,
    })
}

/// The growth of the backlog in the second half of the window, where it grew; see
/// [`dyno_stats::backlog_growth`]. `None` as well where arrivals were not counted by then.
fn backlog(trials: &[&TrialRecord], samples: &[TrialSamples]) -> Option<f64> {
    let halves = trials.iter().zip(samples).map(|(trial, samples)| {
        if trial.flows.is_empty() {
            return None;
        }
        let sum = |of: fn(&FlowCounts) -> Option<u64>| trial.flows.iter().map(of).sum();
        let by_half: Option<u64> = sum(|f| f.by_half);
        let in_window: Option<u64> = sum(|f| f.in_window);
        let blocks = samples.by_block();
        let later = blocks.iter().skip(blocks.len() / 2);
        Some(SecondHalf {
            due: later.map(TrialSamples::finite).sum(),
            arrived: in_window?.saturating_sub(by_half?),
        })
    });
    dyno_stats::backlog_growth(&halves.collect::<Option<Vec<_>>>()?)
}

/// What came of the plan's precision. A base has none of its own, as in the runner's schedule.
fn precision(
    shared: &Shared<'_>,
    experiment: &Experiment,
    headline: Option<&Metric>,
    series: &BTreeMap<Metric, Series<'_>>,
    how: &Bootstrap,
) -> Option<PrecisionSummary> {
    let samples = shared.samples;
    let plan = &samples.run.manifest.plan;
    let asked = plan.precision.as_ref()?;
    if shared.bases.contains(&experiment.id) {
        return None;
    }
    let candidates = experiment.headline();
    let metric = asked.metric.or(headline.copied()).unwrap_or(candidates[0]);
    let none = Series::default();
    let own = series.get(&metric).unwrap_or(&none);
    let Some(base) = experiment.base else {
        let found = precision::of_quantile(asked, metric, &own.samples, how);
        return Some(found);
    };
    let numbers = own.trials.iter().map(|t| t.id.number);
    let q = asked.quantile;
    let new = precision::own_quantiles(numbers.zip(&own.samples), q);
    let others: Vec<(u32, TrialSamples)> = samples.of_metric(base, metric).collect();
    let base = precision::own_quantiles(others.iter().map(|(n, s)| (*n, s)), q);
    Some(precision::of_ratio(asked, metric, &new, &base, how))
}

fn stability(samples: &[TrialSamples], metric: &MetricSummary) -> Option<Stability> {
    let p50 = metric.quantiles[0].interval()?;
    Some(dyno_stats::stability(samples, QUANTILES[0].2, p50))
}

/// Equal causes together, each with how often it occurs, in the order of their first; of more than [`KEPT`] different
/// ones, how many more causes there are.
fn grouped<'a, T: Clone + PartialEq + 'a>(
    causes: impl IntoIterator<Item = &'a Cause<T>>,
) -> Vec<(Cause<T>, u64)> {
    let mut grouped: Vec<(Cause<T>, u64)> = Vec::new();
    let mut more = 0u64;
    for cause in causes {
        match grouped.iter().position(|(known, _)| known == cause) {
            Some(place) => grouped[place].1 += 1,
            None if grouped.len() == KEPT => more += 1,
            None => grouped.push((cause.clone(), 1)),
        }
    }
    grouped.extend((more > 0).then_some((Cause::More(more), 1)));
    grouped
}
