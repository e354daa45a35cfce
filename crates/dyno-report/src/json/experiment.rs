//! One element of `experiments` in the JSON interface.

use super::chain::ChainJson;
use super::evidence::{HostJson, ModesJson, PrecisionJson};
use super::figures::{DaemonJson, EstimateJson, SpreadJson};
use super::flow::FlowJson;
use super::outage::OutageJson;
use crate::causes::causes;
use crate::notes::instability;
use crate::number::exported;
use crate::summary::{
    CopySummary, ExperimentSummary, FailureGroup, HostClockSummary, LoadOutcome, MetricSummary,
    NetworkSummary, NoRatio, QUANTILES, RunSummary,
};
use dyno_model::cause::{Cause, Disturbance, FailureCause, Warning};
use dyno_model::factors::{self, Factor};
use dyno_model::figure::Group;
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::probe::Probe;
use dyno_model::{Counts, Metric, TrialFigure, Workload};
use dyno_stats::{Bootstrap, Latency, Quantile, needed};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Display;

#[derive(Serialize)]
pub(super) struct Experiment<'a> {
    id: u32,
    suite: &'a str,
    experiment: &'a str,
    stack: &'a str,
    testbed: &'a str,
    machine: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<FlowJson<'a>>,
    workload: &'static str,
    paired: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<ProbeJson<'a>>,
    at_once: u32,
    load: Load<'a>,
    #[serde(flatten)]
    factors: Factors<'a>,
    window: Window,
    is_floor: bool,
    is_leg: bool,
    is_loopback: bool,
    is_base: bool,
    base: Option<u32>,
    trials: u64,
    failed_trials: u64,
    planned_trials: u64,
    disturbed_trials: u64,
    all_disturbed: bool,
    disturbances: Vec<Remark<'a, Disturbance>>,
    failures: Vec<Failure<'a>>,
    headline: &'static str,
    metrics: BTreeMap<&'static str, MetricJson>,
    floor: Option<Floor<'a>>,
    undercut_by: &'a [String],
    with_disturbed: Option<WithDisturbedJson>,
    unstable: bool,
    unstable_reason: Option<String>,
    repeat_within: Option<f64>,
    counts: Counts,
    delivered_ratio: Option<f64>,
    in_window_ratio: Option<f64>,
    load_outcome: Option<&'static str>,
    backlog_growth: Option<f64>,
    link_overload: Option<&'a str>,
    throughput: Option<FiguresJson<'a>>,
    cost: Option<CostJson<'a>>,
    open_ns: Option<SpreadJson>,
    matching_ns: Option<SpreadJson>,
    warmup_ns: Option<SpreadJson>,
    unsteady_trials: Option<u64>,
    modes: Option<ModesJson<'a>>,
    drift: Option<EstimateJson>,
    host: Option<HostJson>,
    precision: Option<PrecisionJson>,
    clock_bound_ns: Option<u64>,
    one_way_resolvable: Option<bool>,
    clocks: Vec<ClockJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copies: Vec<CopyJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_over_copy: Option<EstimateJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_over_copy_of_other: Option<EstimateJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    made_of: Option<MadeOfJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<ChainJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outage: Option<OutageJson<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    networks: &'a [NetworkSummary],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes_of_loss: Vec<String>,
    warnings: Vec<Remark<'a, Warning>>,
}

/// Parts of a round trip, estimated from the probes.
#[derive(Serialize)]
struct MadeOfJson {
    wake_ups: f64,
    wake_up_ns: f64,
    probe: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    further: Option<FurtherJson>,
    ns: f64,
    share: f64,
}

/// System calls and copies of a round trip.
#[derive(Serialize)]
struct FurtherJson {
    calls: f64,
    call_ns: f64,
    copies: f64,
    copy_ns: f64,
}

/// What a probe measures.
#[derive(Serialize)]
struct ProbeJson<'a> {
    text: String,
    cpus_each: u32,
    #[serde(flatten)]
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

/// One copy of a probe, or one of several exchanges.
#[derive(Serialize)]
struct CopyJson<'a> {
    cpus: &'a [u32],
    p50_ns: SpreadJson,
    p99_ns: SpreadJson,
    own_ns: SpreadJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_s: Option<SpreadJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<SpreadJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    core_cycles: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<f64>,
}

impl<'a> From<&'a CopySummary> for CopyJson<'a> {
    fn from(c: &'a CopySummary) -> CopyJson<'a> {
        CopyJson {
            cpus: &c.cpus,
            p50_ns: c.p50_ns.into(),
            p99_ns: c.p99_ns.into(),
            own_ns: c.own_ns.into(),
            bytes_per_s: c.bytes_per_s.map(Into::into),
            share: c.share.map(Into::into),
            core_cycles: c.core.map(|[cycles, _]| exported(cycles)),
            instructions: c.core.map(|[_, instructions]| exported(instructions)),
        }
    }
}

/// The numbers of a workload, without those that it has not.
struct Load<'a>(&'a dyno_model::Experiment);

impl Serialize for Load<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let load = factors::all().filter(|f| f.title == "workload");
        let columns = load.flat_map(|f| f.columns);
        // These stand beside it.
        let is_number = |key| !["workload", "paired", "probe"].contains(&key);
        let numbers = columns.filter(|(key, _)| is_number(*key));
        out.collect_map(numbers.filter_map(|(key, of)| {
            let name = key.strip_prefix("burst_").unwrap_or(key);
            Some((name, of.value(self.0)?))
        }))
    }
}

/// The factors that are no objects of their own.
struct Factors<'a>(&'a dyno_model::Experiment);

impl Serialize for Factors<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let x = self.0;
        let mut map = out.serialize_map(None)?;
        let is_object = |title| ["workload", "window"].contains(&title);
        let plain = factors::all().filter(|f| !f.is_name() && !is_object(f.title));
        for (key, of) in plain.flat_map(Factor::plain) {
            match *key {
                "cpus" => {
                    map.serialize_entry("cpus", &x.cpus)?;
                    if !x.library_cpus.is_empty() {
                        map.serialize_entry("library_cpus", &x.library_cpus)?;
                    }
                    if !x.daemon_cpus.is_empty() {
                        map.serialize_entry("daemon_cpus", &x.daemon_cpus)?;
                    }
                }
                "scheduling" => {
                    let (class, priority) = match x.scheduling {
                        Scheduling::Other => ("other", None),
                        Scheduling::Fifo(priority) => ("fifo", Some(priority)),
                        Scheduling::Deadline => ("deadline", None),
                    };
                    map.serialize_entry("scheduling", class)?;
                    map.serialize_entry("fifo_priority", &priority)?;
                }
                key => {
                    if let Some(value) = of.value(x) {
                        map.serialize_entry(key, &value)?;
                    }
                }
            }
        }
        map.end()
    }
}

/// One of the two is a number.
#[derive(Serialize)]
struct Window {
    duration_ns: Option<u64>,
    messages: Option<u64>,
}

#[derive(Serialize)]
struct Failure<'a> {
    kind: String,
    step: &'a str,
    #[serde(flatten)]
    cause: Option<&'a FailureCause>,
    message: String,
    stderr: &'a [String],
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
struct MetricJson {
    n: u64,
    infinite: u64,
    saturated: u64,
    min: Option<u64>,
    mean: Option<f64>,
    max: Option<u64>,
    p50: Option<EstimateJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_refused: Option<RefusedQuantile>,
    p90: Option<EstimateJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_refused: Option<RefusedQuantile>,
    p99: Option<EstimateJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_refused: Option<RefusedQuantile>,
    p999: Option<EstimateJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p999_refused: Option<RefusedQuantile>,
}

impl From<&MetricSummary> for MetricJson {
    fn from(m: &MetricSummary) -> MetricJson {
        let [p50, p90, p99, p999] = &m.quantiles;
        let refused = |i: usize| refused(i, m);
        MetricJson {
            n: m.n,
            infinite: m.infinite,
            saturated: m.saturated,
            min: m.min,
            mean: m.mean.map(exported),
            max: m.max,
            p50: estimated(p50),
            p50_refused: refused(0),
            p90: estimated(p90),
            p90_refused: refused(1),
            p99: estimated(p99),
            p99_refused: refused(2),
            p999: estimated(p999),
            p999_refused: refused(3),
        }
    }
}

/// `wide` is there where the samples suffice and the interval is no figure.
#[derive(Serialize)]
struct RefusedQuantile {
    have: u64,
    need: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    wide: Option<WideJson>,
}

/// `null` stands for an end without a bound, and for trials that cannot be told.
#[derive(Serialize)]
struct WideJson {
    lo: Option<f64>,
    hi: Option<f64>,
    trials: u64,
    need_trials: Option<u64>,
}

fn estimated(q: &Quantile) -> Option<EstimateJson> {
    q.estimate().map(EstimateJson::from)
}

/// `i` is the quantile's place in [`QUANTILES`].
fn refused(i: usize, of: &MetricSummary) -> Option<RefusedQuantile> {
    let finite = |l: Latency| l.finite().map(exported);
    match of.quantiles[i] {
        Quantile::Estimated(_) => None,
        Quantile::Refused { have, need } => Some(RefusedQuantile {
            have,
            need,
            wide: None,
        }),
        Quantile::Wide {
            interval,
            trials,
            need,
        } => Some(RefusedQuantile {
            have: of.n + of.infinite,
            need: needed(QUANTILES[i].2, &Bootstrap::default()),
            wide: Some(WideJson {
                lo: finite(interval.lo),
                hi: finite(interval.hi),
                trials,
                need_trials: need,
            }),
        }),
    }
}

#[derive(Serialize)]
struct Floor<'a> {
    id: u32,
    stack: &'a str,
    p50_ratio: Option<EstimateJson>,
    why_none: Option<&'static str>,
    undercut_by: Vec<&'a str>,
}

/// The headline's figures with the trials that do not count.
#[derive(Serialize)]
struct WithDisturbedJson {
    trials: u64,
    figures: MetricJson,
}

/// The figures of a group, `null` where one is not known.
struct FiguresJson<'a>(&'a ExperimentSummary, Group);

impl Serialize for FiguresJson<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let shown = |f: TrialFigure| (f.as_str(), self.0.figure(f).map(SpreadJson::from));
        out.collect_map(TrialFigure::all_of(self.1).map(shown))
    }
}

#[derive(Serialize)]
struct CostJson<'a> {
    #[serde(flatten)]
    figures: FiguresJson<'a>,
    daemons: Vec<DaemonJson<'a>>,
}

/// What is known of one host's clock.
#[derive(Serialize)]
struct ClockJson<'a> {
    host: &'a str,
    bound_ns: SpreadJson,
    residual_ns: SpreadJson,
    drift_ppm: SpreadJson,
    shortest_ns: SpreadJson,
    exchanges: u64,
    ptp: Option<&'a str>,
}

impl<'a> From<&'a HostClockSummary> for ClockJson<'a> {
    fn from(c: &'a HostClockSummary) -> Self {
        ClockJson {
            host: &c.host,
            bound_ns: c.bound_ns.into(),
            residual_ns: c.residual_ns.into(),
            drift_ppm: c.drift_ppm.into(),
            shortest_ns: c.shortest_ns.into(),
            exchanges: c.exchanges,
            ptp: c.ptp.as_deref(),
        }
    }
}

/// What is said of so many trials.
#[derive(Serialize)]
struct Remark<'a, T> {
    #[serde(flatten)]
    cause: Option<&'a T>,
    text: String,
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
pub(super) fn experiment<'a>(run: &'a RunSummary, e: &'a ExperimentSummary) -> Experiment<'a> {
    let x = &e.experiment;
    let window = match x.window {
        Extent::Duration(d) => (Some(d.0), None),
        Extent::Messages(n) => (None, Some(n)),
    };
    let metric = |(metric, summary): (&Metric, &MetricSummary)| (metric.as_str(), summary.into());
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
        metrics: e.metrics.iter().map(metric).collect(),
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
            daemons: e.daemons.iter().map(Into::into).collect(),
        }),
        open_ns: e.open_ns.map(Into::into),
        matching_ns: e.matching_ns.map(Into::into),
        warmup_ns: e.warmup.map(|w| w.ns.into()),
        unsteady_trials: e.warmup.map(|w| w.unsteady),
        modes: e.modes.as_ref().map(Into::into),
        drift: e.drift.as_ref().map(Into::into),
        host: e.host.as_ref().map(Into::into),
        precision: e.precision.as_ref().map(Into::into),
        clock_bound_ns: e.clock_bound.map(|bound| bound.0),
        one_way_resolvable: e.is_resolvable(e.headline()),
        clocks: e.clocks.iter().map(Into::into).collect(),
        copies: e.copies.iter().map(Into::into).collect(),
        p50_over_copy: e.in_cached_copies.as_ref().map(Into::into),
        p50_over_copy_of_other: e.in_copies.as_ref().map(Into::into),
        made_of: e.made_of.map(|m| MadeOfJson {
            wake_ups: exported(m.wake_ups),
            wake_up_ns: exported(m.wake_up_ns),
            probe: m.probe.0,
            further: m.further.map(|f| FurtherJson {
                calls: exported(f.calls),
                call_ns: exported(f.call_ns),
                copies: exported(f.copies),
                copy_ns: exported(f.copy_ns),
            }),
            ns: exported(m.ns()),
            share: exported(m.share),
        }),
        chain: e.chain.as_ref().map(Into::into),
        outage: OutageJson::of(e),
        networks: &e.networks,
        causes_of_loss: causes(run, e),
        warnings: remarks(&e.warnings),
    }
}
