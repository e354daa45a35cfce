//! One cell of suite × stack × testbed, by itself or as one of several flows.

use super::number::ExperimentId;
use crate::factor::{Access, Pacing, Placement, Start, Topology, Wait};
use crate::fault::{Fault, FaultKind};
use crate::flow::Flow;
use crate::metric::Metric;
use crate::sizes::Sizes;
use crate::slices::Slices;
use crate::unit::{Nanos, PayloadSize};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How long the measured part of a trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// This much time.
    Duration(Nanos),
    /// This many messages of each sender (round trips for `ping-pong` and `call`).
    Messages(u64),
}

/// As tables print it: `300 ms` or `1000 messages`.
impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Duration(time) => time.fmt(f),
            Extent::Messages(n) => write!(f, "{n} messages"),
        }
    }
}

/// How the threads of participants are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// The default policy of the kernel.
    #[default]
    Other,
    /// SCHED_FIFO with this priority, 1 to 99.
    Fifo(u8),
    /// SCHED_DEADLINE with a deadline at each due time; of the timer probe alone.
    Deadline,
}

/// One cell of suite × stack × testbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Its number within the run.
    pub id: ExperimentId,
    /// Its name in the suite; many cells of a matrix share it.
    pub name: String,
    /// The stack by name; see [`Plan::stacks`](crate::Plan::stacks).
    pub stack: String,
    /// The shape of the exchange.
    pub workload: Workload,
    /// The size of each message.
    pub payload: PayloadSize,
    /// How receivers wait.
    pub wait: Wait,
    /// How much of the payload is touched.
    pub access: Access,
    /// Where the two sides live.
    pub placement: Placement,
    /// How many of each side.
    pub topology: Topology,
    /// Time (or messages) before the window; exchanged alike but not recorded.
    pub warmup: Extent,
    /// After `warmup` the window begins as soon as the series is steady, and at the latest after
    /// this much warm-up. `None`: after `warmup`, steady or not.
    pub settle: Option<Nanos>,
    /// The measured part.
    pub window: Extent,
    /// How long an echo sleeps after each answer; `None`: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo_poll: Option<Nanos>,
    /// How long a sink sleeps after each message; `None`: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink_pause: Option<Nanos>,
    /// How often a sink looks and takes all that is there; `None`: as its wait says, at all times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink_cycle: Option<Nanos>,
    /// How a sender waits until a message is due.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pacer: Pacing,
    /// How long sinks wait for what is still under way after the last send.
    pub drain: Nanos,
    /// The longest that any step of the trial (open, match, the window itself beyond its nominal
    /// length, collect) may take.
    pub deadline: Nanos,
    /// The CPU of each participant's own thread, by its number in the [graph](crate::graph); empty: not pinned. Of a
    /// probe the CPUs of its copies. Of an adapter that plays both sides itself those of the two that others would have;
    /// the first is used.
    pub cpus: Vec<u32>,
    /// Where the threads may run that a participant's library makes, one set for each participant, in
    /// ascending order; empty: they share the CPU of the participant's own thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub library_cpus: Vec<Vec<u32>>,
    /// Where the stack's daemons run; empty: wherever the kernel puts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemon_cpus: Vec<u32>,
    /// Whoever asked for the run listed these CPUs: a trial whose participants do not get them fails. False: Dyno chose
    /// them, and what the machine does not grant is a warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cpus_listed: bool,
    /// Scheduling class of the participants' threads.
    pub scheduling: Scheduling,
    /// Whether participants lock their memory.
    pub mlock: bool,
    /// Number of trials.
    pub trials: u32,
    /// At most this many raw samples are kept per participant and trial; 0: none.
    pub raw_samples: u32,
    /// The floor's experiment with the same factors; `None` for the floor itself.
    pub floor: Option<ExperimentId>,
    /// It was added for the sake of the floor, the ground or a chain's legs and is not part of the suite.
    #[serde(default)]
    pub added: bool,
    /// The experiment of the same factors that this one is compared with; trials of the same number
    /// of both belong together. See [`Plan::against`](crate::Plan::against).
    pub base: Option<ExperimentId>,
    /// It takes turns with its base, or with what it is the base of, within one trial; `None`: its trials are its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Slices>,
    /// Of a chain measured with `--legs`: the experiments of its legs alone, in their order. Trials of the same number
    /// belong together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub legs: Vec<ExperimentId>,
    /// What its agents ask of the kernel is counted, which makes every call slower: it is there for these counts, and no
    /// table shows its times. Its twin, which is not counted, has the same factors.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
    /// A `call` on a stack without request-response of its own: request and response are messages
    /// on a pair of channels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paired: bool,
    /// The host of the testbed, by its index, on which all participants are that share one.
    #[serde(default, skip_serializing_if = "is_first")]
    pub on_host: usize,
    /// The testbed's virtual machines are booted anew before each of its trials.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reboot: bool,
    /// What participants are started as, and that their start is measured; `None`: as processes, and it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// What is broken within each trial, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// What it is as one of several flows that run at the same time; `None`: it runs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// The machine that measured it, where the trials of a run are of several: a factor like the others.
    /// Never part of a plan; whoever reads a run that was merged sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

const fn is_first(host: &usize) -> bool {
    *host == 0
}

fn is_default(pacer: &Pacing) -> bool {
    *pacer == Pacing::default()
}

impl Experiment {
    /// The messages of the warm-up, where it is a number of messages and has some. A probe sends none.
    pub fn counted_warmup(&self) -> Option<u64> {
        match (self.settle, self.warmup) {
            (None, Extent::Messages(n)) if n > 0 && !self.workload.kind().is_probe() => Some(n),
            _ => None,
        }
    }

    /// One trial of a cell on no CPUs of its own, in which nothing takes any time, and nothing else said of it: what
    /// differs is set by whoever makes one.
    pub fn blank(
        id: ExperimentId,
        stack: &str,
        workload: Workload,
        payload: PayloadSize,
    ) -> Experiment {
        Experiment {
            id,
            name: workload.kind().to_string(),
            stack: stack.to_owned(),
            workload,
            payload,
            wait: Wait::Block,
            access: Access::Stamp,
            placement: Placement::Process,
            topology: Topology::ONE_TO_ONE,
            warmup: Extent::Duration(Nanos::ZERO),
            settle: None,
            window: Extent::Duration(Nanos::ZERO),
            echo_poll: None,
            sink_pause: None,
            sink_cycle: None,
            pacer: Pacing::Spin,
            drain: Nanos::ZERO,
            deadline: Nanos::ZERO,
            cpus: Vec::new(),
            library_cpus: Vec::new(),
            daemon_cpus: Vec::new(),
            cpus_listed: false,
            scheduling: Scheduling::Other,
            mlock: false,
            on_host: 0,
            reboot: false,
            start: None,
            faults: Vec::new(),
            trials: 1,
            raw_samples: 0,
            floor: None,
            added: false,
            base: None,
            slices: None,
            legs: Vec::new(),
            paired: false,
            counted: false,
            flow: None,
            machine: None,
        }
    }

    /// The metrics that stand for it, the best one first: the recovery where it has faults, else those of its workload.
    /// Beside newcomers there is nothing to recover from: there it is the silence of the others.
    pub fn headline(&self) -> &'static [Metric] {
        match self.faults.is_empty() {
            _ if self.only_joins() => &[Metric::Silence],
            false => &[Metric::Recovery],
            true => self.workload.kind().info().headline,
        }
    }

    /// Whether its faults strike nobody, but bring in newcomers.
    pub fn only_joins(&self) -> bool {
        let mut faults = self.faults.iter();
        !self.faults.is_empty() && faults.all(|fault| fault.what == FaultKind::Join)
    }

    /// Whether a trial of it has one sample of the headline: of a start, or of an outage.
    pub fn is_one_per_trial(&self) -> bool {
        self.headline().iter().all(|m| m.is_one_per_trial())
    }

    /// Whether its trials have samples of the metric.
    pub fn has(&self, metric: Metric) -> bool {
        self.workload.kind().has(metric) && (!metric.info().of_faults || !self.faults.is_empty())
    }

    /// Copies of the probe, or exchanges, that stand side by side.
    pub fn at_once(&self) -> u32 {
        match self.workload {
            Workload::Probe { copies, .. } => copies,
            _ => u32::from(self.topology.copies),
        }
    }

    /// The workload as tables print it: as the suite says, with a mark where it is [`paired`].
    ///
    /// [`paired`]: Experiment::paired
    pub fn exchange(&self) -> String {
        match self.paired {
            true => format!("{} (pair)", self.workload),
            false => self.workload.to_string(),
        }
    }

    /// The flow's name; nothing of an experiment that is not one of several flows.
    pub fn flow_name(&self) -> Option<&str> {
        self.flow.as_ref().map(|flow| flow.name.as_str())
    }

    /// The flow's name as tables print it: `control`, `control alone` where it runs by itself, or `slow reading control` where it has
    /// no sender of its own. Empty of an experiment
    /// that is not one of several flows.
    pub fn flow_text(&self) -> String {
        match &self.flow {
            Some(flow) if flow.by_itself => format!("{} alone", flow.name),
            Some(flow) => match &flow.reads {
                Some(read) => format!("{} reading {read}", flow.name),
                None => flow.name.clone(),
            },
            None => String::new(),
        }
    }

    /// The sizes of its messages, where they differ.
    pub fn sizes(&self) -> Option<&Sizes> {
        self.flow.as_ref()?.sizes.as_ref()
    }

    /// The payload as tables print it: `64 B`, or `32 B to 4 kB` where messages differ.
    pub fn payload_text(&self) -> String {
        let several = self.sizes().map(Sizes::to_string);
        several.unwrap_or_else(|| self.payload.to_string())
    }

    /// The mean size of its messages, in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let several = self.sizes().map(Sizes::mean);
        several.unwrap_or(self.payload.bytes() as f64)
    }

    /// The experiment whose trials are also its own: itself, unless it runs together with others and is not their first.
    pub fn lead(&self) -> ExperimentId {
        self.flow.as_ref().map_or(self.id, |flow| flow.group)
    }

    /// Whether its window begins and ends at given instants, which others of the same trial share, and not with its first
    /// message.
    pub const fn has_common_window(&self) -> bool {
        self.flow.is_some() || self.slices.is_some()
    }
}

/// Those of `all` that are measured in one trial with this one, itself among them, in their order.
pub fn together<'a>(all: &'a [Experiment], experiment: &'a Experiment) -> Vec<&'a Experiment> {
    if experiment.flow.is_none() {
        return vec![experiment];
    }
    let lead = experiment.lead();
    let same = |e: &&Experiment| e.flow.is_some() && e.lead() == lead;
    all.iter().filter(same).collect()
}
