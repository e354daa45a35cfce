//! One element of `experiments` in the JSON interface.

use super::evidence::{ModesJson, PrecisionJson};
use super::factors::{Factors, Load};
use super::flow::FlowJson;
use super::metric::MetricJson;
use super::outage::OutageJson;
use crate::causes::causes;
use crate::estimates::EstimateJson;
use crate::notes::instability;
use crate::number::exported;
use crate::summary::{
    ChainSummary, CopySummary, DaemonCost, ExperimentSummary, FailureGroup, HostClockSummary,
    HostSummary, LoadOutcome, MadeOf, NetworkSummary, NoRatio, RunSummary, Spread,
};
use dyno_model::cause::{Cause, Disturbance, FailureCause, Warning};
use dyno_model::figure::Group;
use dyno_model::plan::Extent;
use dyno_model::probe::Probe;
use dyno_model::{Counts, TrialFigure, Workload};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Display;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "experiment"))]
pub(super) struct Experiment<'a> {
    /// Number within the run.
    id: u32,
    suite: &'a str,
    /// Name in the suite; cells of a matrix share it.
    experiment: &'a str,
    stack: &'a str,
    testbed: &'a str,
    /// The host name of the machine that measured it. Rows of different machines are never compared with each other.
    machine: &'a str,
    /// What it is as one of several flows that run at the same time. Absent of an experiment that is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<FlowJson<'a>>,
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::WorkloadName"))]
    workload: &'static str,
    /// A call over a pair of channels, because the stack has no request-response of its own.
    paired: bool,
    /// What a probe measures; absent of an exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<ProbeJson<'a>>,
    /// Copies of the probe, or exchanges, that stand side by side; 1: alone.
    at_once: u32,
    /// Numbers of the workload: gap_ns and timeout_ns of ping-pong and call, rate_hz and arrivals of stream, messages and
    /// period_ns of burst, period_ns of first-message.
    load: Load<'a>,
    #[serde(flatten)]
    factors: Factors<'a>,
    /// Length of the measured part: one of the two is a number.
    window: Window,
    /// The stack is a yardstick.
    is_floor: bool,
    /// It was added for a chain, one of whose legs it is alone.
    is_leg: bool,
    /// The stack gives each message back to its sender.
    is_loopback: bool,
    /// Other experiments are compared with it.
    is_base: bool,
    /// The experiment that it is compared with; trials of the same number ran next to each other.
    base: Option<u32>,
    /// Completed trials that count: every figure comes from these. Those that the host disturbed do not, unless it disturbed
    /// all.
    trials: u64,
    /// Trials without a measurement; they enter no other field.
    failed_trials: u64,
    planned_trials: u64,
    /// Completed trials that the host disturbed. They are left out of every figure, unless all_disturbed.
    disturbed_trials: u64,
    /// Every completed trial was disturbed, so all are used.
    all_disturbed: bool,
    /// Why trials were disturbed.
    disturbances: Vec<Remark<'a, Disturbance>>,
    /// Failed trials, equal failures together.
    failures: Vec<Failure<'a>>,
    /// The metric that stands for the experiment; absent from metrics where no trial recorded it.
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::MetricName"))]
    headline: &'static str,
    /// Latencies over all trials that count.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::metrics"))]
    metrics: BTreeMap<&'static str, MetricJson<'a>>,
    /// p50 of the headline metric over that of the floor; null for experiments without one.
    floor: Option<Floor<'a>>,
    /// Of a floor: stacks that are faster in this run with 95 % confidence.
    undercut_by: &'a [String],
    /// The headline metric of all completed trials, those among them that the host disturbed and that do not count; null where
    /// none was left out.
    with_disturbed: Option<WithDisturbedJson<'a>>,
    /// A repeat of the run may show another p50.
    unstable: bool,
    unstable_reason: Option<String>,
    /// Share by which the p50 of a repeat may differ; null where it is not known or not bounded.
    repeat_within: Option<f64>,
    /// Messages of all trials that count; a message counts once for each receiver, a round trip once.
    counts: Counts,
    /// received / offered; null where nothing was offered.
    delivered_ratio: Option<f64>,
    /// Share of the offered messages that had arrived when the window ended; null where nothing has a due time, and in older
    /// runs.
    in_window_ratio: Option<f64>,
    /// What became of a load on a schedule: all arrived (`fits`), some never did (`loses`), or the backlog still grew when the
    /// window ended (`saturated`); null where there is no schedule.
    load_outcome: Option<&'static str>,
    /// Where saturated: the growth of the backlog in the second half of the window, as a share of what was due then.
    backlog_growth: Option<f64>,
    /// The link that is offered more than it carries, as the plan says; null where there is none.
    link_overload: Option<&'a str>,
    /// Null without a completed trial.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<super::schema::Throughput>")
    )]
    throughput: Option<FiguresJson<'a>>,
    /// All processes of the stack in one trial's window; null without a completed trial, and of experiments with faults.
    cost: Option<CostJson<'a>>,
    /// What was used and sent while nobody had anything to send; absent where messages are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<super::schema::IdleFigures>")
    )]
    idle: Option<FiguresJson<'a>>,
    /// From go until endpoints existed.
    open_ns: Option<Spread>,
    /// From endpoints existing until matched.
    matching_ns: Option<Spread>,
    /// Length of the warm-up; null where it was not recorded.
    warmup_ns: Option<Spread>,
    /// Trials whose warm-up ended at its limit with the series still moving.
    unsteady_trials: Option<u64>,
    /// The blocks of the window fall into a fast and a slow mode by the p50 of the headline metric; null where they do not.
    modes: Option<ModesJson<'a>>,
    /// The p50 of the headline metric in the last half of the window over that in its first half, median trial, with a 99 %
    /// interval; null where it does not drift.
    drift: Option<EstimateJson>,
    /// The host's part in the trials; null where nothing was recorded of it.
    host: Option<&'a HostSummary>,
    /// The precision that was asked for; null where none was, and for bases.
    precision: Option<PrecisionJson>,
    /// One-way times are wrong by at most this, because they begin and end on hosts with different clocks, however the delay
    /// between the hosts is split; the largest of the trials that count. Null where both sides have one clock, and for closed
    /// loops.
    clock_bound_ns: Option<u64>,
    /// Whether clock_bound_ns is at most a tenth of the p50 of the headline; tables show no one-way figures where it is not.
    /// Null without a bound or a p50.
    one_way_resolvable: Option<bool>,
    /// What is known of the hosts' clocks that are not the run's.
    clocks: &'a [HostClockSummary],
    /// What each copy of a probe found, or each of several exchanges at once, each value a spread over the counted trials.
    /// Absent of an exchange that is alone.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    copies: &'a [CopySummary],
    /// p50 of the headline metric over the time that one CPU takes to copy the payload once, from 1 KiB on, where the payload
    /// lies in its caches as far as it fits. Absent where the run does not hold that probe (`dyno run --ground`), or one of the
    /// two sides is not good enough for a ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_over_copy: Option<EstimateJson>,
    /// The same after another CPU has written the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_over_copy_of_other: Option<EstimateJson>,
    /// What a round trip is made of, at the probes' cost. Absent where the run does not hold the probe for it
    /// (`dyno run --ground`).
    #[serde(skip_serializing_if = "Option::is_none")]
    made_of: Option<MadeOf>,
    /// The way through a chain. Absent where the stack is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<&'a ChainSummary>,
    /// Results of the faults, over the trials that count. Absent where the experiment has none. The times are `metrics`.
    #[serde(skip_serializing_if = "Option::is_none")]
    outage: Option<OutageJson<'a>>,
    /// What the kernels of its hosts counted. Absent where nothing was recorded, as by an older Dyno.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    networks: &'a [NetworkSummary],
    /// The likely causes of its lost messages, in sentences, the most telling first. Absent without a loss or a cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes_of_loss: Vec<String>,
    warnings: Vec<Remark<'a, Warning>>,
}

/// What a probe measures.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "probe"))]
struct ProbeJson<'a> {
    /// As tables have it.
    text: String,
    /// CPUs of one copy.
    cpus_each: u32,
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::ProbeOptions"))]
    options: &'a Probe,
}

impl<'a> ProbeJson<'a> {
    fn of(workload: &'a Workload) -> Option<ProbeJson<'a>> {
        let Workload::Probe { probe, each, .. } = workload else {
            return None;
        };
        Some(ProbeJson {
            text: probe.to_string(),
            cpus_each: *each,
            options: probe,
        })
    }
}

/// One of the two is a number.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Window {
    duration_ns: Option<u64>,
    messages: Option<u64>,
}

/// Failed trials that failed alike.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Failure<'a> {
    /// `error`, `hang`, `crash`, `inconsistent`, `interrupted` or `unreadable`.
    kind: String,
    step: &'a str,
    #[serde(flatten)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<super::schema::CauseFields>")
    )]
    cause: Option<&'a FailureCause>,
    message: String,
    stderr: &'a [String],
    /// Trials that failed so.
    count: u64,
}

impl<'a> From<&'a FailureGroup> for Failure<'a> {
    fn from(f: &'a FailureGroup) -> Self {
        Failure {
            kind: f.kind.to_string(),
            step: &f.step,
            cause: f.cause.known(),
            message: f.cause.to_string(),
            stderr: &f.stderr,
            count: f.count,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "floor"))]
struct Floor<'a> {
    /// The floor's experiment.
    id: u32,
    stack: &'a str,
    /// Null where one of the two sides is not good enough for a ratio.
    p50_ratio: Option<EstimateJson>,
    /// Why p50_ratio is null.
    why_none: Option<&'static str>,
    /// The stacks that are surely faster than it in this run: where there is one, it is a reference and no floor.
    undercut_by: Vec<&'a str>,
}

/// The headline's figures with the trials that do not count.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WithDisturbedJson<'a> {
    /// Trials that the figures are made of.
    trials: u64,
    figures: MetricJson<'a>,
}

/// The figures of a group, `null` where one is not known.
struct FiguresJson<'a>(&'a ExperimentSummary, Group);

impl Serialize for FiguresJson<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let shown = |f: TrialFigure| (f.as_str(), self.0.figure(f));
        out.collect_map(TrialFigure::all_of(self.1).map(shown))
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "cost"))]
struct CostJson<'a> {
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::CostFigures"))]
    figures: FiguresJson<'a>,
    /// The part of each daemon of the stack; empty where it has none.
    daemons: &'a [DaemonCost],
}

/// What is said of so many trials.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "remark"))]
struct Remark<'a, T> {
    #[serde(flatten)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<super::schema::CauseFields>")
    )]
    cause: Option<&'a T>,
    text: String,
    /// Trials of which it is said.
    trials: u64,
}

fn remarks<T: Display>(causes: &[(Cause<T>, u64)]) -> Vec<Remark<'_, T>> {
    let causes = causes.iter();
    causes
        .map(|(cause, trials)| Remark {
            cause: cause.known(),
            text: cause.to_string(),
            trials: *trials,
        })
        .collect()
}

/// One element of `experiments`.
#[expect(clippy::too_many_lines, reason = "one row for each field")]
pub(super) fn experiment<'a>(run: &'a RunSummary, e: &'a ExperimentSummary) -> Experiment<'a> {
    let x = &e.experiment;
    let window = match x.window {
        Extent::Duration(d) => (Some(d.0), None),
        Extent::Messages(n) => (None, Some(n)),
    };
    let unstable = e.stability.as_ref().filter(|s| s.is_unstable());
    let is_counted = !e.figures.is_empty();
    Experiment {
        id: x.id.0,
        suite: &run.suite,
        experiment: &x.name,
        stack: &x.stack,
        testbed: &run.testbed,
        machine: run.machine_of(x),
        flow: FlowJson::of(e),
        workload: x.workload.kind().as_str(),
        paired: x.paired,
        probe: ProbeJson::of(&x.workload),
        at_once: x.at_once(),
        load: Load(x),
        factors: Factors(x),
        window: Window {
            duration_ns: window.0,
            messages: window.1,
        },
        is_floor: e.is_floor,
        is_leg: e.is_leg,
        is_loopback: e.is_loopback,
        is_base: e.is_base,
        base: x.base.map(|id| id.0),
        trials: e.trials.counted,
        failed_trials: e.trials.failed,
        planned_trials: e.trials.planned,
        disturbed_trials: e.trials.disturbed,
        all_disturbed: e.trials.all_disturbed(),
        disturbances: remarks(&e.disturbances),
        failures: e.failures.iter().map(Into::into).collect(),
        headline: e.headline().as_str(),
        metrics: e
            .metrics
            .iter()
            .map(|(metric, summary)| (metric.as_str(), summary.into()))
            .collect(),
        floor: e.floor.as_ref().map(|f| Floor {
            id: f.id.0,
            stack: &f.stack,
            p50_ratio: f.p50_ratio.as_ref().map(Into::into),
            why_none: f.without.map(NoRatio::as_str),
            undercut_by: f.undercut_by.iter().map(|(s, _)| s.as_str()).collect(),
        }),
        undercut_by: &e.undercut_by,
        with_disturbed: e.with_disturbed.as_ref().map(|w| WithDisturbedJson {
            trials: w.trials,
            figures: (&w.metric).into(),
        }),
        unstable: unstable.is_some(),
        unstable_reason: unstable.map(instability),
        repeat_within: e
            .stability
            .as_ref()
            .map(|s| s.repeat_within)
            .filter(|r| r.is_finite())
            .map(exported),
        counts: e.counts,
        delivered_ratio: e.delivered_ratio().map(exported),
        in_window_ratio: e.in_window_ratio().map(exported),
        load_outcome: e.load().map(LoadOutcome::as_str),
        backlog_growth: e.saturated.map(exported),
        link_overload: e.overload.as_deref(),
        throughput: is_counted.then_some(FiguresJson(e, Group::Throughput)),
        // Trials with faults have no cost: who is killed tells of none.
        cost: (is_counted && e.experiment.faults.is_empty()).then(|| CostJson {
            figures: FiguresJson(e, Group::Cost),
            daemons: &e.daemons,
        }),
        idle: (is_counted && x.workload.kind().is_idle()).then_some(FiguresJson(e, Group::Idle)),
        open_ns: e.open_ns,
        matching_ns: e.matching_ns,
        warmup_ns: e.warmup.map(|w| w.ns),
        unsteady_trials: e.warmup.map(|w| w.unsteady),
        modes: e.modes.as_ref().map(Into::into),
        drift: e.drift.as_ref().map(Into::into),
        host: e.host.as_ref(),
        precision: e.precision.as_ref().map(Into::into),
        clock_bound_ns: e.clock_bound.map(|bound| bound.0),
        one_way_resolvable: e.is_resolvable(e.headline()),
        clocks: &e.clocks,
        copies: &e.copies,
        p50_over_copy: e.in_cached_copies.as_ref().map(Into::into),
        p50_over_copy_of_other: e.in_copies.as_ref().map(Into::into),
        made_of: e.made_of,
        chain: e.chain.as_ref(),
        outage: OutageJson::of(e),
        networks: &e.networks,
        causes_of_loss: causes(run, e),
        warnings: remarks(&e.warnings),
    }
}
