//! What the run directory holds: manifest, environment and one record per trial.
//!
//! Writers write [`FORMAT`]; readers accept that and every older format, and refuse newer ones.

use crate::adapter::AdapterDescription;
use crate::asked::{Asked, AskedPerMessage};
use crate::cause::{Cause, Disturbance, FailureCause, Warning};
use crate::chain::{Forwarded, Parts};
use crate::fault::{Detection, FaultMade, Outage};
use crate::idle::Idle;
use crate::metric::Metric;
use crate::network::HostNetwork;
use crate::noise::{BareMachine, HostNoise, Place};
use crate::origin::{Binaries, Origin};
use crate::plan::{Experiment, ExperimentId, Plan, TrialId};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

pub use crate::host_clock::HostClock;
pub use crate::unit::HdrText;

/// The version of the run directory's files.
pub const FORMAT: u32 = 4;

/// The first format whose figures hold nothing of Dyno's own: before it each trial's first sample waited for a
/// reading of memory, and the cost ended with the last send.
pub const EMPTY_WINDOW_SINCE: u32 = 3;

/// The distribution of one metric in one trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// Finite samples: all blocks together.
    pub total: HdrText,
    /// The window cut into equal blocks of time, in order: for time series and for resampling.
    /// Blocks without a sample stand as empty histograms.
    pub blocks: Vec<HdrText>,
    /// Finite samples.
    pub n: u64,
    /// Messages that never arrived: infinitely late, in every quantile.
    pub infinite: u64,
    /// Samples above the histogram's upper bound, recorded as that bound.
    pub saturated: u64,
    /// The exact sum of the finite samples, for the mean.
    pub sum: f64,
    /// The smallest finite sample; 0 where there is none.
    pub min: u64,
    /// The largest finite sample; 0 where there is none.
    pub max: u64,
}

impl Distribution {
    /// What is known of it beside its histograms, which are most of its size.
    pub fn without_histograms(&self) -> Self {
        let (total, blocks) = Default::default();
        Distribution {
            total,
            blocks,
            ..*self
        }
    }
}

/// The messages that arrived at one receiver over one channel in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlowCounts {
    /// The channel.
    pub channel: u16,
    /// The receiving participant.
    pub receiver: u16,
    /// Distinct intact messages.
    pub received: u64,
    /// Bytes of those messages.
    pub bytes: u64,
    /// Further copies of a message that had arrived.
    pub duplicated: u64,
    /// Messages that arrived after one with a higher sequence number (RFC 4737, type P).
    pub reordered: u64,
    /// Messages whose content was not what was sent.
    pub corrupted: u64,
    /// Messages shorter than what was sent.
    pub truncated: u64,
    /// Arrival of the first message, on the run's clock; 0 where there is none.
    pub first: Nanos,
    /// Arrival of the last message.
    pub last: Nanos,
    /// Of `received`, those that had arrived when the window ended. `None` where the window has no
    /// length known beforehand, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_window: Option<u64>,
    /// Those that had arrived at the middle of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_half: Option<u64>,
    /// Messages of the warm-up that arrived after the reading with which the cost begins, and so are in it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lead_in: u64,
    /// Of the messages that did not arrive, those behind the last one that did, on a channel that was still
    /// delivering when the drain ended, be it messages of the warm-up, and no more than the adapter may hold: not
    /// lost, but still under way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub under_way: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The counts of a trial. A message counts once for each receiver that should get it; in
/// `ping-pong` a message is a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Due in the window.
    pub offered: u64,
    /// Accepted by the stack.
    pub sent: u64,
    /// Arrived intact, each counted once.
    pub received: u64,
    /// Offered and never arrived intact, for whatever reason: `offered - received`.
    pub lost: u64,
    /// Of `lost`: those that were still under way when the drain ended, since the channel was still delivering.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub under_way: u64,
    /// Further copies of a message that had arrived.
    pub duplicated: u64,
    /// Arrived after a later one.
    pub reordered: u64,
    /// Arrived with other content than was sent.
    pub corrupted: u64,
    /// Arrived shorter than sent.
    pub truncated: u64,
    /// Refused by the stack when sent.
    pub refused: u64,
    /// Sent later than due by more than the pacing tolerance. In older runs each send counts once, however many should
    /// get it.
    pub late: u64,
    /// Of `received`, those that had arrived when the window ended: by the last due time and not in
    /// the drain. `None` where nothing has a due time, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_window: Option<u64>,
}

/// Messages and bytes per wall second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Throughput {
    /// Due messages per second, all senders together.
    pub offered_hz: f64,
    /// Accepted messages per second, all senders together.
    pub sent_hz: f64,
    /// Intact messages per second, all receivers together.
    pub delivered_hz: f64,
    /// Intact payload bytes per second, all receivers together.
    pub delivered_bytes_per_s: f64,
    /// Share of the senders' time by which blocked sends took longer than the fastest one until then, 0 to 1. It
    /// means nothing without `blocked_above`.
    pub blocked_share: f64,
    /// A send that took longer was blocked, as it stood at the end of the trial: twice the sender's fastest accepted
    /// send until then, the warm-up included, and 10 µs; of several senders the largest. `None` where that is not
    /// known: in closed loops, where the stack sends later from a queue of its own, and in older runs, in which each
    /// adapter said for itself what it took for blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_above: Option<Nanos>,
    /// Intact messages per second of the window that arrived within it, all receivers together. `None`
    /// where nothing has a due time, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_window_hz: Option<f64>,
    /// Questions per second of the window that were asked within it and answered, all readers together. `None` where readers
    /// do not ask, where it is not known beforehand how long the window is, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_hz: Option<f64>,
}

impl Throughput {
    /// [`blocked_share`](Self::blocked_share) where it is known.
    pub fn blocked(&self) -> Option<f64> {
        self.blocked_above.map(|_| self.blocked_share)
    }
}

/// What one process used between the first due time and the last arrival of the trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessCost {
    /// Its roles, or the daemon's name, such as `source` or `daemon iox-roudi`.
    pub label: String,
    /// Time in user mode.
    pub user: Nanos,
    /// Time in the kernel.
    pub system: Nanos,
    /// The part of both that Dyno itself used waiting for due times: spinning, and its sleeps; of receivers of an idle trial
    /// what their timeouts take.
    pub pacing: Nanos,
    /// Length of the interval.
    pub wall: Nanos,
    /// Context switches of its own will: it waited. Without Dyno's own sleeps until due times.
    pub voluntary_switches: u64,
    /// Context switches forced on it.
    pub involuntary_switches: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// The highest resident set size of the process's life, in bytes.
    pub peak_rss_bytes: u64,
    /// Proportional set size after the last arrival, in bytes.
    pub pss_bytes: u64,
    /// The part of it that is shared memory, in bytes; 0 also where that was not looked at, as in older runs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared_bytes: u64,
    /// Open files and sockets then; 0: not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open_files: u64,
    /// Threads then, those of Dyno among them; 0: not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub threads: u64,
    /// What it asked of the kernel, where that was counted. Without Dyno's own sleeps until due times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// It is a daemon of the stack, not an agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub daemon: bool,
}

/// Memory before a trial's agents and with them, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryUse {
    /// What has it: a process of [`Cost::machines`], with its proportional set size; or `within NAME`, a virtual machine with
    /// what its kernel cannot give away (proc(5), MemTotal less MemAvailable).
    pub label: String,
    /// Before the trial's agents were started: with the machine up, and nobody at work in it.
    pub at_rest_bytes: u64,
    /// After the last arrival, with the agents still there.
    pub in_use_bytes: u64,
}

/// Time that one CPU spent in interrupts, which is in no process's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuInterrupts {
    /// The CPU.
    pub cpu: u32,
    /// In interrupts of devices and timers.
    pub irq: Nanos,
    /// In softirqs, where the kernel delivers what was sent and received.
    pub softirq: Nanos,
}

/// The cost of a trial: all processes of the stack, daemons included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Process by process.
    pub processes: Vec<ProcessCost>,
    /// Of virtual machines: the monitor, and the process that is a device. What runs in a machine runs within its
    /// monitor, so these are part of no sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<ProcessCost>,
    /// The memory of virtual machines and of what they are made of, before the trial and in it; part of no sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryUse>,
    /// Time in interrupts on each CPU of the host in the same interval, in the kernel's ticks. Empty where the kernel leaves it in the
    /// time of whatever process was interrupted, where the host is not this machine, and in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<CpuInterrupts>,
    /// User and system time of all of them without Dyno's own pacing; from [`Cost::LEAST_HOST_CPU`] on with the
    /// `interrupts` on the CPUs of the trial.
    pub cpu: Nanos,
    /// `cpu` per message that arrived, in nanoseconds; `None` where none arrived.
    pub cpu_ns_per_message: Option<f64>,
    /// Time in which the CPUs of the host did anything at all in the same interval, for whomever: also interrupts,
    /// kernel threads and Dyno's own runner, which are no process of the stack. `None` where the host
    /// is not this machine or its kernel does not measure idle time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_cpu: Option<Nanos>,
    /// `host_cpu` without Dyno's own pacing, per message that arrived, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_cpu_ns_per_message: Option<f64>,
    /// Context switches per message that arrived.
    pub switches_per_message: Option<f64>,
    /// What all agents asked of the kernel per message that arrived, where that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_per_message: Option<AskedPerMessage>,
    /// Sum of the proportional set sizes, in bytes.
    pub pss_bytes: u64,
    /// Sum of the peak resident set sizes, in bytes.
    pub peak_rss_bytes: u64,
}

impl Cost {
    /// The kernel tells what all CPUs of a host did, and what interrupts took, to some 20 ms: beside less than this,
    /// without pacing, that is no figure.
    pub const LEAST_HOST_CPU: Nanos = Nanos::from_millis(200);

    /// `host_cpu_ns_per_message` where the trial is long enough for the kernel's accounting.
    pub fn host_cpu_figure(&self) -> Option<f64> {
        let pacing = self.processes.iter().map(|p| p.pacing.0).sum::<u64>();
        let rest = self.host_cpu?.saturating_sub(Nanos(pacing));
        self.host_cpu_ns_per_message
            .filter(|_| rest >= Cost::LEAST_HOST_CPU)
    }
}

/// One raw sample, in arrival order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawSample {
    /// The channel.
    pub channel: u16,
    /// The receiving participant.
    pub receiver: u16,
    /// The sequence number within the window.
    pub sequence: u64,
    /// Due time on the run's clock.
    pub intended: Nanos,
    /// Real send time on the run's clock.
    pub sent: Nanos,
    /// Arrival on the run's clock.
    pub arrival: Nanos,
}

/// Why a trial failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// An agent reported an error of its adapter or of the machine.
    Error,
    /// A step did not end within its deadline.
    Hang,
    /// An agent ended by a signal or with an unexpected exit code, or a daemon ended at all.
    Crash,
    /// Counts of the participants contradict each other.
    Inconsistent,
    /// The user interrupted the run.
    Interrupted,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FailureKind::Error => "error",
            FailureKind::Hang => "hang",
            FailureKind::Crash => "crash",
            FailureKind::Inconsistent => "inconsistent",
            FailureKind::Interrupted => "interrupted",
        })
    }
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// It has a measurement.
    #[default]
    Completed,
    /// It has none, and is never averaged in.
    Failed {
        /// What kind of failure.
        kind: FailureKind,
        /// The step of the trial, such as `open` or `window`.
        step: String,
        /// What happened and to whom.
        #[serde(rename = "failure", alias = "message")]
        cause: Cause<FailureCause>,
        /// The last lines of the agents' standard error.
        stderr: Vec<String>,
    },
}

/// What one of several copies at once found in one trial, of a probe or of an exchange, beside the distribution of all
/// copies together. A probe alone is its one copy. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CopyRecord {
    /// The CPUs that it was on.
    pub cpus: Vec<u32>,
    /// Its samples.
    pub n: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Their median; what was lost counts as [`Nanos::MAX`], here and in `p99`.
    pub p50: Nanos,
    /// Their 99 % quantile.
    pub p99: Nanos,
    /// The largest.
    pub max: Nanos,
    /// What Dyno itself costs, which is taken out of each sample (of each batch, where there are batches); of an
    /// exchange nothing is.
    pub own_ns: f64,
    /// Calls, round trips, due times, rings, copies, turns of a spinning thread, touched pages; messages that arrived.
    pub done: u64,
    /// Due times that had passed when the thread woke for an earlier one; yields that led nowhere; huge pages that
    /// were none; messages that were lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// Bytes per second, where bytes are moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
    /// The share of a CPU that a spinning thread had, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Core cycles and instructions of one piece on the side that measures, where they can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<[f64; 2]>,
    /// The same of the other side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_core: Option<[f64; 2]>,
}

/// One trial as stored.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrialRecord {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// Which trial.
    #[serde(flatten)]
    pub id: TrialId,
    /// Its place in the run's random order, from zero.
    pub position: u32,
    /// The machines that took part, by their host names: the runner's first, then those of other hosts
    /// of the testbed as `NAME (DESTINATION)`. Empty in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<String>,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// How long it took in all.
    pub wall: Nanos,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Latencies by metric.
    #[serde(default)]
    pub distributions: BTreeMap<Metric, Distribution>,
    /// The counts.
    #[serde(default)]
    pub counts: Counts,
    /// Counts by channel and receiver.
    #[serde(default)]
    pub flows: Vec<FlowCounts>,
    /// Rates.
    #[serde(default)]
    pub throughput: Throughput,
    /// Cost of all processes.
    #[serde(default)]
    pub cost: Cost,
    /// Who was silent, and what the links carried. `None`: messages were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// From go until endpoints existed, the slowest participant's.
    #[serde(default)]
    pub open: Nanos,
    /// From endpoints existing until matched, the slowest participant's.
    #[serde(default)]
    pub matching: Nanos,
    /// Raw samples, bounded by the experiment.
    #[serde(default)]
    pub raw: Vec<RawSample>,
    /// What could not be applied, such as scheduling classes.
    #[serde(default)]
    pub warnings: Vec<Cause<Warning>>,
    /// How long the warm-up was, from the start to the window.
    #[serde(default)]
    pub warmup: Nanos,
    /// The warm-up ended at its limit with the series still moving.
    #[serde(default)]
    pub unsteady: bool,
    /// What the machine itself did.
    #[serde(default)]
    pub noise: HostNoise,
    /// Why the trial does not count: what the host did to it beyond what the idle host does. Empty: it counts.
    #[serde(default)]
    pub disturbed: Vec<Cause<Disturbance>>,
    /// Where participants that are not pinned ran, in order of time.
    #[serde(default)]
    pub places: Vec<Place>,
    /// The hosts whose stamps had to be translated to the run's clock. Empty: all share one clock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<HostClock>,
    /// A one-way latency of this trial is wrong by at most this because of clocks: the largest sum of
    /// the bounds of a sender's and a receiver's host. `None`: one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_bound: Option<Nanos>,
    /// The networks of the hosts that took part. Empty in runs of builds that did not look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<HostNetwork>,
    /// What each copy found: of a probe, and of exchanges that are several at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<CopyRecord>,
    /// What gateways carried over each channel that they read from. Empty where the stack is no chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwarded: Vec<Forwarded>,
    /// The parts of the way through a chain. `None`: the stack is no chain, or a way has no one end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    /// The faults as they were made. Empty where the experiment has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultMade>,
    /// Their results at each receiving end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// When ends first told of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detections: Vec<Detection>,
}

impl TrialRecord {
    /// A record of a trial of which only the outcome is known.
    pub fn blank(id: TrialId, position: u32, outcome: Outcome) -> Self {
        TrialRecord {
            format: FORMAT,
            id,
            position,
            outcome,
            ..TrialRecord::default()
        }
    }
}

/// The machine and the build that a run was measured with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Version of Dyno.
    pub dyno_version: String,
    /// `release` or `debug`.
    pub build_profile: String,
    /// The git commit that Dyno was built from, 40 hexadecimal digits; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether the source differed from that commit; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<bool>,
    /// What was executed, by SHA-256. Empty in older runs.
    #[serde(default, skip_serializing_if = "Binaries::is_empty")]
    pub binaries: Binaries,
    /// The distribution by os-release(5), such as `Debian GNU/Linux 13 (trixie)`; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// Host name.
    pub host: String,
    /// Model name of the CPU.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus: Vec<u32>,
    /// Memory of the machine in bytes.
    pub memory_bytes: u64,
    /// Release and version of the kernel.
    pub kernel: String,
    /// Its command line.
    pub kernel_cmdline: String,
    /// Whether the kernel counts the time of interrupts apart from that of processes (`CONFIG_IRQ_TIME_ACCOUNTING`); `None`: not
    /// known. CPU times of kernels that differ in it are not held against each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_time: Option<bool>,
    /// The timer slack of all participants' threads and of daemons, as the kernel granted it; `None` in runs of older builds: 1 ns on
    /// threads that wait for due times, the kernel's on all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_slack: Option<Nanos>,
    /// Frequency governor by CPU; empty where the kernel shows none.
    pub governors: BTreeMap<u32, String>,
    /// CPU vulnerabilities and their mitigations, as the kernel words them.
    pub mitigations: BTreeMap<String, String>,
    /// The kernel's clock source.
    pub clock_source: String,
    /// The clock that stamps were taken with, and its measured cost and resolution.
    pub clock: ClockFacts,
    /// The hypervisor, where one shows itself.
    pub hypervisor: Option<String>,
    /// What of the testbed is emulated in software, in words; `None`: nothing. Its figures are
    /// never compared with those of real machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
    /// Resource limits and kernel settings that bear on measurements, by name, as text.
    pub limits: BTreeMap<String, String>,
}

impl Environment {
    /// The timer slack as sentences name it.
    pub fn timer_slack_text(&self) -> String {
        match self.timer_slack {
            Some(slack) => slack.to_string(),
            None => "1 ns on threads that wait for due times, the kernel's on others".into(),
        }
    }
}

/// Measured properties of the clock.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockFacts {
    /// `tsc`, on arm64 `cntvct`, or `monotonic`.
    pub source: String,
    /// Cost of one reading in nanoseconds (median).
    pub cost_ns: f64,
    /// The smallest step between two different readings in nanoseconds.
    pub resolution_ns: f64,
    /// Ticks per second, of the processor's counter.
    pub frequency_hz: Option<f64>,
}

/// The head of a run directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunManifest {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// Unique name of the run: suite and start time.
    pub id: String,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// The command line that started it.
    pub command: Vec<String>,
    /// The full plan.
    pub plan: Plan,
    /// The machine.
    pub environment: Environment,
    /// The adapters used, with the versions that they report.
    pub adapters: Vec<AdapterDescription>,
    /// What the machine did just before the first trial; `None` in runs of format 1.
    pub bare: Option<BareMachine>,
    /// What was asked for, and the texts that it was planned from; `None` in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A run as read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its head.
    pub manifest: RunManifest,
    /// Its trials, ordered by experiment and number.
    pub trials: Vec<TrialRecord>,
    /// Where it was merged from runs of several machines: each of them by its name in
    /// [`Experiment::machine`](crate::Experiment::machine). Empty: all is of the manifest's.
    pub machines: BTreeMap<String, Environment>,
}

impl Run {
    /// The machine and the build that measured an experiment.
    pub fn environment_of(&self, e: &Experiment) -> &Environment {
        let own = e.machine.as_ref().and_then(|m| self.machines.get(m));
        own.unwrap_or(&self.manifest.environment)
    }

    /// The trials of one experiment, disturbed and failed ones included.
    pub fn trials_of(&self, id: ExperimentId) -> impl Iterator<Item = &TrialRecord> {
        self.trials.iter().filter(move |t| t.id.experiment == id)
    }
}
