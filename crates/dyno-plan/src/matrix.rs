//! Multiplying out: one experiment of a suite becomes its cells, one for each combination of
//! factors.
//!
//! Cells come in a fixed order: stack, wait, topology, placement, access, scheduling, times of faults, load,
//! payload; the last varies fastest.

use crate::cell::Cell;
use crate::fault::{self, FaultSpec};
use crate::flow::{self, FlowSpec};
use crate::host::HostFacts;
use crate::parallel::{self, Parallel};
use crate::probe;
use crate::quantity::{At, HEADER_BYTES, WaitChoice};
use crate::sets::Cpus;
use crate::settings::{Levels, Settings};
use crate::spec::ExperimentSpec;
use crate::suite::Suite;
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::unit::{Nanos, PayloadSize, RateHz};
use dyno_model::workload::{IDLE_WARMUP, IDLE_WINDOW};
use dyno_model::{
    Access, Experiment, ExperimentId, Placement, Topology, Wait, Workload, WorkloadKind,
};
use dyno_toml::{Problem, Problems};

/// The most cells that one run may have.
pub(crate) const MOST_CELLS: usize = 100_000;

/// One experiment with all of its factors, before stacks are chosen.
pub(crate) struct Matrix<'a> {
    pub(crate) name: &'a str,
    /// What it is as a flow.
    pub(crate) flow: Option<&'a FlowSpec>,
    /// What is broken within each trial.
    pub(crate) faults: &'a [FaultSpec],
    kind: WorkloadKind,
    pub(crate) workloads: Vec<Workload>,
    waits: Vec<WaitChoice>,
    pub(crate) topologies: Vec<Topology>,
    placements: Vec<Placement>,
    accesses: Vec<Access>,
    schedulings: Vec<Scheduling>,
    pub(crate) payloads: Vec<PayloadSize>,
    pub(crate) conditions: Conditions<'a>,
}

/// What holds for every cell of an experiment.
pub(crate) struct Conditions<'a> {
    /// An experiment that has what they have in common.
    pub(crate) common: Experiment,
    pub(crate) cpus: &'a At<Cpus>,
    pub(crate) host: Option<&'a str>,
}

impl<'a> Matrix<'a> {
    /// Resolves the settings of one experiment; mistakes go to `problems`. `hosts` is the
    /// testbed's number of hosts, `facts` what is known of its CPUs.
    pub(crate) fn new(
        suite: &'a Suite,
        spec: &'a ExperimentSpec,
        built_in: &'a Settings,
        hosts: usize,
        facts: &HostFacts,
        problems: &mut Problems,
    ) -> Option<Self> {
        let levels: Vec<&Settings> = std::iter::once(&suite.overrides)
            .chain(&spec.presets)
            .chain([&spec.own, &suite.defaults, built_in])
            .collect();
        let levels = Levels(levels);
        let kind = spec.workload.value;
        let payloads = levels.pick(|s| &s.payload)?;
        if !kind.is_closed_loop() && !kind.is_probe() {
            for p in payloads {
                refuse_small(p, spec, problems);
            }
        }
        let placements = levels.pick(|s| &s.placement)?;
        refuse_one_host(placements, hosts, problems);
        let window = levels.window(kind)?;
        fault::check_window(&spec.faults, &levels, kind, problems);
        let workloads = match kind.is_probe() {
            true => probe::workloads(&levels, spec, payloads, problems)?,
            false => workloads(&levels, spec, &window, problems)?,
        };
        let (warmup, settle, window) = extents(&levels, spec, window)?;
        let cpus = levels.pick(|s| &s.cpus)?;
        if let Some(flow) = &spec.flow {
            let extents = [&levels.window(kind)?, &levels.warmup()?];
            flow::check(flow, &workloads, extents, cpus, problems);
        }
        let topologies = topologies(&levels, spec, &cpus.value, facts)?;
        // Their workload and payload are those of each cell.
        let blank = Experiment::blank(
            ExperimentId(0),
            "",
            Workload::Flood,
            payloads.first()?.value,
        );
        let mut common = Experiment {
            name: spec.name.clone(),
            warmup,
            settle,
            window,
            drain: levels.pick(|s| &s.drain)?.value,
            deadline: levels.pick(|s| &s.deadline)?.value,
            cpus_listed: matches!(cpus.value, Cpus::Listed(_)),
            trials: levels.pick(|s| &s.trials)?.value,
            raw_samples: levels.pick(|s| &s.raw_samples)?.value,
            ..blank
        };
        levels.set_factors(&mut common, kind);
        let (waits, placements, payloads) = match kind.is_probe() {
            // They follow from the probe.
            true => (
                vec![WaitChoice::Exactly(Wait::Block)],
                vec![Placement::Thread],
                values(&payloads[..1]),
            ),
            false => (
                values(levels.pick(|s| &s.wait)?),
                values(placements),
                values(payloads),
            ),
        };
        Some(Matrix {
            name: &spec.name,
            flow: spec.flow.as_ref(),
            faults: &spec.faults,
            kind,
            workloads,
            waits,
            topologies,
            placements,
            accesses: values(levels.pick(|s| &s.access)?),
            schedulings: levels
                .pick(|s| &s.scheduling)?
                .iter()
                .map(|s| s.value.0)
                .collect(),
            payloads,
            conditions: Conditions {
                common,
                cpus,
                host: levels.pick(|s| &s.host).map(|host| host.value.as_str()),
            },
        })
    }

    /// The number of cells on one stack that has `natural` waits of its own.
    pub(crate) fn size(&self, natural: &[Wait]) -> usize {
        [
            self.workloads.len(),
            self.waits(natural).len(),
            self.topologies.len(),
            self.placements.len(),
            self.accesses.len(),
            self.schedulings.len(),
            self.payloads.len(),
            fault::scenarios(self.faults),
        ]
        .into_iter()
        .fold(1, usize::saturating_mul)
    }

    /// Whether its cells are probes.
    pub(crate) fn is_probe(&self) -> bool {
        self.kind.is_probe()
    }

    /// The topologies, for checks that do not depend on other factors.
    pub(crate) fn topologies(&self) -> &[Topology] {
        &self.topologies
    }

    /// The cells on one stack that has `natural` waits of its own.
    pub(crate) fn cells(&self, natural: &[Wait]) -> Vec<Cell> {
        let mut cells = Vec::with_capacity(self.size(natural));
        for &wait in &self.waits(natural) {
            for &topology in &self.topologies {
                for &placement in &self.placements {
                    for &access in &self.accesses {
                        for &scheduling in &self.schedulings {
                            let all = self.loads().map(|(scenario, workload, payload)| Cell {
                                workload,
                                wait,
                                topology,
                                placement,
                                access,
                                scheduling,
                                payload,
                                scenario,
                            });
                            cells.extend(all.map(probe::settled));
                        }
                    }
                }
            }
        }
        cells
    }

    /// Every scenario of faults under every load with every payload.
    fn loads(&self) -> impl Iterator<Item = (usize, Workload, PayloadSize)> {
        let of_load = move |scenario, workload| {
            let payloads = self.payloads.iter();
            payloads.map(move |payload| (scenario, workload, *payload))
        };
        (0..fault::scenarios(self.faults)).flat_map(move |scenario| {
            let loads = self.workloads.iter();
            loads.flat_map(move |workload| of_load(scenario, *workload))
        })
    }

    fn waits(&self, natural: &[Wait]) -> Vec<Wait> {
        let mut waits: Vec<Wait> = Vec::new();
        for choice in &self.waits {
            let these = match choice {
                WaitChoice::Natural => natural,
                WaitChoice::Exactly(wait) => std::slice::from_ref(wait),
            };
            for wait in these {
                if !waits.contains(wait) {
                    waits.push(*wait);
                }
            }
        }
        waits
    }
}

fn values<T: Copy>(list: &[At<T>]) -> Vec<T> {
    list.iter().map(|v| v.value).collect()
}

/// Refuses two hosts of a testbed that has one.
fn refuse_one_host(placements: &[At<Placement>], hosts: usize, problems: &mut Problems) {
    if let ([only], true) = (placements, hosts < 2)
        && only.value == Placement::Host
    {
        Problem::at(
            &only.at,
            "placement \"host\" needs a testbed with two hosts",
        )
        .label("this testbed has one")
        .help("choose one with --testbed, such as netns-1gbe, or write \"process\"")
        .note(problems);
    }
}

fn refuse_small(payload: &At<PayloadSize>, spec: &ExperimentSpec, problems: &mut Problems) {
    if payload.value.bytes() >= HEADER_BYTES {
        return;
    }
    Problem::at(
        &payload.at,
        format!(
            "a payload of {} has no room for the stamps of {}",
            payload.value,
            spec.workload.value.with_article()
        ),
    )
    .label(format!("used by experiment `{}`", spec.name))
    .help(format!(
        "one-way messages carry {HEADER_BYTES} B of tag and stamps; write at least \
             \"{HEADER_BYTES} B\", or measure round trips with workload = \"ping-pong\""
    ))
    .note(problems);
}

/// A closed loop with each of its gaps.
fn closed(levels: &Levels<'_>, of: fn(Nanos, Nanos) -> Workload) -> Option<Vec<Workload>> {
    let timeout = levels.pick(|s| &s.timeout)?.value;
    let gaps = levels.pick(|s| &s.gap)?;
    Some(gaps.iter().map(|gap| of(gap.value, timeout)).collect())
}

/// The shapes of the exchange, each with its copies at once.
fn topologies(
    levels: &Levels<'_>,
    spec: &ExperimentSpec,
    cpus: &Cpus,
    facts: &HostFacts,
) -> Option<Vec<Topology>> {
    let alone = values(levels.pick(|s| &s.topology)?);
    match (spec.workload.value.is_probe(), &spec.flow) {
        // Its copies are its own.
        (true, _) => Some(alone),
        (false, Some(flow)) => {
            let readers = flow.reads.as_ref().map(|reads| reads.readers);
            let alike = |one: Topology| Topology {
                copies: flow.count,
                receivers: readers.unwrap_or(one.receivers),
                ..one
            };
            Some(alone.into_iter().map(alike).collect())
        }
        (false, None) => {
            let asked = levels.pick(|s| &s.parallel);
            let asked = probe::choices(asked, Parallel::Copies(1));
            Some(parallel::topologies(alone, &asked, cpus, facts))
        }
    }
}

/// The warm-up with what it must reach, and the window.
fn extents(
    levels: &Levels<'_>,
    spec: &ExperimentSpec,
    window: At<Extent>,
) -> Option<(Extent, Option<Nanos>, Extent)> {
    let kind = spec.workload.value;
    Some(match kind.is_start() {
        // Its one message is the first: nothing comes before it, and nothing after.
        true => (Extent::Duration(Nanos::ZERO), None, Extent::Messages(1)),
        false if kind.is_probe() => (levels.warmup()?.value, None, window.value),
        false if kind.is_idle() => {
            let warmup = levels.said(|s| &s.warmup, IDLE_WARMUP);
            let window = levels.said(|s| &s.window, IDLE_WINDOW);
            (Extent::Duration(warmup), None, Extent::Duration(window))
        }
        // A trial with faults begins its window when it is due, as each of its twins does.
        false if !spec.faults.is_empty() => (levels.warmup()?.value, None, window.value),
        false => (levels.warmup()?.value, levels.settle()?, window.value),
    })
}

/// A stream of each rate with each kind of arrivals.
fn streams(
    levels: &Levels<'_>,
    spec: &ExperimentSpec,
    rates: &[At<RateHz>],
    window: &At<Extent>,
    problems: &mut Problems,
) -> Option<Vec<Workload>> {
    if let Extent::Duration(time) = window.value {
        for rate in rates {
            if time.as_secs_f64() * rate.value.hz() < 1.0 {
                Problem::at(
                    &rate.at,
                    format!("no message is due in a window of {time} at {}", rate.value),
                )
                .label(format!("used by experiment `{}`", spec.name))
                .help("raise the rate or lengthen `window`")
                .note(problems);
            }
        }
    }
    let mut all = Vec::new();
    for arrivals in levels.pick(|s| &s.arrivals)? {
        all.extend(rates.iter().map(|rate| Workload::Stream {
            rate: rate.value,
            arrivals: arrivals.value,
        }));
    }
    Some(all)
}

/// Every load that the experiment's workload is put under.
fn workloads(
    levels: &Levels<'_>,
    spec: &ExperimentSpec,
    window: &At<Extent>,
    problems: &mut Problems,
) -> Option<Vec<Workload>> {
    let mut missing = |key: &str, advice: &str| {
        Problem::at(
            &spec.workload.at,
            format!("the {} `{}` has no `{key}`", spec.workload.value, spec.name),
        )
        .label(format!("needs `{key}`"))
        .help(advice)
        .note(problems);
    };
    match spec.workload.value {
        WorkloadKind::Flood => Some(vec![Workload::Flood]),
        WorkloadKind::Idle => Some(vec![Workload::Idle]),
        // Of keys of their own.
        WorkloadKind::Probe => Some(Vec::new()),
        WorkloadKind::FirstMessage => {
            let periods = levels.pick(|s| &s.period);
            let periods = periods.map_or(vec![Nanos::from_millis(1)], |all| {
                all.iter().map(|period| period.value).collect()
            });
            let of = |period| Workload::FirstMessage { period };
            Some(periods.into_iter().map(of).collect())
        }
        WorkloadKind::PingPong => {
            closed(levels, |gap, timeout| Workload::PingPong { gap, timeout })
        }
        WorkloadKind::Call => closed(levels, |gap, timeout| Workload::Call { gap, timeout }),
        WorkloadKind::Stream => {
            let Some(rates) = levels.pick(|s| &s.rate) else {
                missing(
                    "rate",
                    "write for example `rate = \"1 kHz\"`, or use a flood",
                );
                return None;
            };
            streams(levels, spec, rates, window, problems)
        }
        WorkloadKind::Burst => {
            let (groups, periods) = (levels.pick(|s| &s.group), levels.pick(|s| &s.period));
            if groups.is_none() {
                missing(
                    "group",
                    "write the messages of one group, such as `group = 16`",
                );
            }
            if periods.is_none() {
                missing(
                    "period",
                    "write the time from group to group, such as `period = \"10 ms\"`",
                );
            }
            let periods = periods?;
            Some(
                groups?
                    .iter()
                    .flat_map(|group| {
                        periods.iter().map(|period| Workload::Burst {
                            messages: group.value.0,
                            period: period.value,
                        })
                    })
                    .collect(),
            )
        }
    }
}
