//! What a run will do, fully resolved: nothing is left to decide after planning.

use crate::adapter::Options;
use crate::chain::Chain;
use crate::daemon::Daemon;
use crate::factor::{Access, Placement, Topology, Wait};
use crate::flow::Flow;
use crate::machine::Machine;
use crate::metric::Metric;
use crate::search::Search;
use crate::unit::{Nanos, PayloadSize};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

/// The number of an experiment within its run, counted from zero in the suite's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExperimentId(pub u32);

/// One trial: the experiment and the number of the trial within it, both from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    /// The experiment it replicates.
    pub experiment: ExperimentId,
    /// Its number within the experiment.
    pub number: u32,
}

impl fmt::Display for TrialId {
    /// `e0012-t003`: also the stem of the trial's file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{:04}-t{:03}", self.experiment.0, self.number)
    }
}

/// A named, ready configuration of an adapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Its name, the stem of its file.
    pub name: String,
    /// The adapter it configures; of a chain those of its legs, joined by ` > `.
    pub adapter: String,
    /// One line on what it is.
    pub description: String,
    /// The waits that a suite's `wait = "natural"` stands for.
    pub waits: Vec<Wait>,
    /// The adapter's options.
    pub options: Options,
    /// A yardstick: it can stand as × floor for experiments with its wait strategies.
    #[serde(default)]
    pub floor: bool,
    /// Its adapter has the `loopback` capability: one participant plays both sides.
    #[serde(default)]
    pub loopback: bool,
    /// A send only puts the message into a queue of the library's: how long senders were blocked is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sends_later: bool,
    /// The most channels that one trial can have on it; `None`: as many as there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u16>,
    /// Where it is meant to run; empty: wherever its adapter can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    /// The processes that it needs beside the participants, in the order of their start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<Daemon>,
    /// The command that installs what it needs, where the stack file names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// Its legs, where it is made of other stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
}

/// How a host is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reach {
    /// The machine that the runner is on.
    Local,
    /// A network namespace of the runner's machine, which Dyno makes for the run and removes. It has
    /// the machine's clock and memory, and a network of its own.
    Namespace,
    /// Another machine, through the user's own OpenSSH.
    Ssh {
        /// What `ssh` is given: `host`, `user@host`, or a name of the user's `ssh_config`.
        destination: String,
    },
    /// A virtual machine, which Dyno boots for the run and removes.
    Vm(Machine),
}

impl Reach {
    /// Whether the host has the runner's clock, so that stamps need no translation.
    pub const fn shares_clock(&self) -> bool {
        matches!(self, Reach::Local | Reach::Namespace)
    }
}

/// A host's link to the others: full duplex, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Bits per second, all bytes of a frame counted. Namespaces are shaped to it; of other hosts it
    /// is what the testbed says.
    pub rate_bits: u64,
    /// Bytes that may wait for the link before frames are dropped; for shaped links.
    pub buffer_bytes: u64,
}

/// One host of a testbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name within the testbed.
    pub name: String,
    /// How agents are started on it.
    pub reach: Reach,
    /// The address at which participants on other hosts reach it.
    pub address: String,
    /// Its link to the other hosts, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Whatever its reach says, it is not trusted to have the runner's clock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_clock: bool,
}

impl Host {
    /// Whether stamps of the host are on the run's clock without translation.
    pub const fn shares_clock(&self) -> bool {
        self.reach.shares_clock() && !self.own_clock
    }
}

/// Where a run takes place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Testbed {
    /// Its name, the stem of its file.
    pub name: String,
    /// One line on what it is.
    pub description: String,
    /// At least one host.
    pub hosts: Vec<Host>,
    /// A planted fault: trials find their hosts as the trial before left them. For studies of whether
    /// what ran before is seen in figures, never for measurements.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_state: bool,
}

impl Testbed {
    /// The virtual machines, by the names of their hosts.
    pub fn machines(&self) -> impl Iterator<Item = (&str, &Machine)> {
        self.hosts.iter().filter_map(|host| match &host.reach {
            Reach::Vm(machine) => Some((host.name.as_str(), machine)),
            _ => None,
        })
    }

    /// What of it is emulated in software, in words; nothing where all of it is real or virtualised by the processor.
    /// Times of emulated machines are ratios at best: nothing holds them against real ones.
    pub fn emulated(&self) -> Option<String> {
        let of = |(name, machine): (&str, &Machine)| {
            let by = machine.emulated_by()?;
            Some(format!("{name} by {by}"))
        };
        let all: Vec<String> = self.machines().filter_map(of).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// How long the measured part of a trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// This much time.
    Duration(Nanos),
    /// This many messages of each sender (round trips for `ping-pong` and `call`).
    Messages(u64),
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
    /// The stack by name; see [`Plan::stacks`].
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
    #[serde(default)]
    pub settle: Option<Nanos>,
    /// The measured part.
    pub window: Extent,
    /// How long an echo sleeps after each answer; `None`: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo_poll: Option<Nanos>,
    /// How long a sink sleeps after each message; `None`: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink_pause: Option<Nanos>,
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
    /// of both belong together. See [`Plan::against`].
    #[serde(default)]
    pub base: Option<ExperimentId>,
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

impl Experiment {
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
}

/// A cell that the suite asks for and that cannot be measured, with the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The experiment's name in the suite.
    pub experiment: String,
    /// The stack by name.
    pub stack: String,
    /// The factors of the cell, as tables print them.
    pub factors: String,
    /// What the stack cannot do.
    pub reason: String,
}

/// Of how many adapters the reason why they cannot be used is told one by one.
const TOLD_APART: usize = 2;

impl Refusal {
    /// What stands between an adapter's name and the reason why nothing can be measured with it.
    pub const UNUSABLE: &str = " cannot be used here: ";

    /// One line for each reason, in the order of its first cell: the cell, or how many of which stacks. Where several
    /// adapters cannot be used, as after a first build, they share the first line.
    pub fn lines(refused: &[Refusal]) -> Vec<String> {
        let adapter = |r: &Refusal| Some(r.reason.split_once(Refusal::UNUSABLE)?.0.to_owned());
        let without: BTreeSet<String> = refused.iter().filter_map(adapter).collect();
        if without.len() > TOLD_APART {
            let (unusable, others): (Vec<Refusal>, Vec<Refusal>) =
                refused.iter().cloned().partition(|r| adapter(r).is_some());
            let stacks: BTreeSet<&str> = unusable.iter().map(|r| r.stack.as_str()).collect();
            let mut lines = vec![format!(
                "{} cells of {} stacks, whose adapters cannot be used here: {}; install their packages (dyno-{}) or run \
                 `cargo xtask adapters` in Dyno's source; `dyno list adapters` says what each of them lacks",
                unusable.len(),
                stacks.len(),
                without
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", "),
                without.first().map_or("", String::as_str),
            )];
            lines.extend(Refusal::lines(&others));
            return lines;
        }
        let mut reasons: Vec<(&str, Vec<&Refusal>)> = Vec::new();
        for r in refused {
            match reasons.iter_mut().find(|(reason, _)| *reason == r.reason) {
                Some((_, cells)) => cells.push(r),
                None => reasons.push((&r.reason, vec![r])),
            }
        }
        let line = |(reason, cells): (&str, Vec<&Refusal>)| match cells.as_slice() {
            [r] => format!("{} on {} ({}): {reason}", r.experiment, r.stack, r.factors),
            several => {
                let mut stacks: Vec<&str> = several.iter().map(|r| r.stack.as_str()).collect();
                stacks.sort_unstable();
                stacks.dedup();
                format!("{} cells on {}: {reason}", several.len(), stacks.join(", "))
            }
        };
        reasons.into_iter().map(line).collect()
    }
}

/// Which table `dyno show` prints first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableKind {
    /// One row per experiment.
    #[default]
    Stacks,
    /// iceperf's table: one table per stack, a row per payload size, RTT/2 in µs.
    Iceperf,
    /// The RWTH comparison's tables: first message and communication time by topology, beside the
    /// paper's figures.
    Rwth,
    /// L4Re's table: a message within and between address spaces and a system call, beside its figures.
    #[serde(rename = "l4re")]
    L4re,
    /// The tables of S-CORE's study of its gateway: round trips, throughput and the parts of the way, beside its figures.
    #[serde(rename = "s-core")]
    SCore,
    /// The table of AGL SoDeV's section on its signal broker, and closed and open loop side by side.
    Signals,
    /// All tables of AGL SoDeV's document, across the border of a virtual machine.
    Sodev,
}

/// What the runs of `dyno run --against` compare with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Against {
    /// The same once more: what this host makes of no difference at all.
    Same,
    /// Another stack.
    Stack {
        /// Its name.
        name: String,
    },
    /// The same stacks in another build of Dyno.
    Build {
        /// Its program.
        program: PathBuf,
        /// What it says of itself.
        version: String,
    },
}

/// When a run has enough trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// The interval's ends are to be within this share of the value: 0.05 for ±5 %. With
    /// [`Plan::against`] the interval is that of the ratio.
    pub within: f64,
    /// The metric; `None`: the headline of each experiment.
    pub metric: Option<Metric>,
    /// The quantile, 0 to 1.
    pub quantile: f64,
    /// The most trials of one experiment, disturbed ones not counted.
    pub max_trials: u32,
    /// No trial begins later than this after the run's start.
    pub max_time: Option<Nanos>,
}

/// Everything that a run does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The suite's name.
    pub suite: String,
    /// One line on what the suite answers.
    pub title: String,
    /// The table that shows it best.
    pub table: TableKind,
    /// The seed of every random choice: trial order, Poisson gaps.
    pub seed: u64,
    /// Where it runs.
    pub testbed: Testbed,
    /// The stacks by name.
    pub stacks: BTreeMap<String, Stack>,
    /// The cells; `experiments[i].id == i`.
    pub experiments: Vec<Experiment>,
    /// The cells that were left out.
    pub refused: Vec<Refusal>,
    /// Remarks to show before the run, such as more spinning roles than CPUs.
    pub warnings: Vec<String>,
    /// What the experiments with a [`Experiment::base`] are compared with.
    #[serde(default)]
    pub against: Option<Against>,
    /// Trials beyond [`Experiment::trials`] follow until this is reached.
    #[serde(default)]
    pub precision: Option<Precision>,
    /// What is searched: the experiments are the rungs of ladders, and only some of them get trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// A trial that the host disturbed is repeated, at most so many of each experiment.
    #[serde(default)]
    pub repeats: u32,
    /// Only a part of the plan's trials is run here; the others are run elsewhere, from the same plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// One of several parts of a run that take about equally long. A part holds whole experiments; those
/// that are compared with each other stay together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which one, from 1.
    pub index: u32,
    /// Of how many.
    pub count: u32,
    /// The experiments that are run here, in ascending order.
    pub experiments: Vec<ExperimentId>,
}

impl fmt::Display for Shard {
    /// `part 1 of 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of {}", self.index, self.count)
    }
}

impl Plan {
    /// The experiment of that number.
    pub fn experiment(&self, id: ExperimentId) -> Option<&Experiment> {
        self.experiments.get(id.0 as usize)
    }
    /// All experiments that are the base of another one; for who asks about many.
    pub fn bases(&self) -> BTreeSet<ExperimentId> {
        self.experiments.iter().filter_map(|e| e.base).collect()
    }
    /// Whether the experiment is the base of another one.
    pub fn is_base(&self, id: ExperimentId) -> bool {
        self.experiments.iter().any(|e| e.base == Some(id))
    }
    /// Whether the experiment is a leg of a chain alone, which was added beside the chain and says nothing of the stack that it is a
    /// leg of: its ends are where the chain's are.
    pub fn is_leg(&self, e: &Experiment) -> bool {
        e.added && self.experiments.iter().any(|x| x.legs.contains(&e.id))
    }
    /// Whether the experiment is run here: always, unless the run is a part and it is in another one.
    pub fn is_here(&self, id: ExperimentId) -> bool {
        let part = self.shard.as_ref();
        part.is_none_or(|part| part.experiments.contains(&id))
    }
    /// The experiments that are run here, in the plan's order.
    pub fn here(&self) -> impl Iterator<Item = &Experiment> + Clone {
        self.experiments.iter().filter(|e| self.is_here(e.id))
    }
    /// Number of trials of the experiments that are run here, without those that precision or repeats
    /// may add. Of a search none is known before.
    pub fn trial_count(&self) -> usize {
        let sure = self.here().filter(|_| self.search.is_none());
        sure.map(|e| e.trials as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_one_reason_are_one_line() {
        let refusal = |stack: &str, experiment: &str, reason: &str| Refusal {
            experiment: experiment.into(),
            stack: stack.into(),
            factors: "64 B".into(),
            reason: reason.into(),
        };
        let all = [
            refusal("b", "rtt", "not built"),
            refusal("c", "rtt", "too large"),
            refusal("a", "rtt", "not built"),
            refusal("b", "one-way", "not built"),
        ];
        assert_eq!(
            Refusal::lines(&all),
            ["3 cells on a, b: not built", "rtt on c (64 B): too large"]
        );
    }

    #[test]
    fn adapters_that_are_not_there_share_a_line_where_they_are_many() {
        let refusal = |adapter: &str| Refusal {
            experiment: "rtt".into(),
            stack: format!("{adapter}-udp"),
            factors: "64 B".into(),
            reason: format!("{adapter} cannot be used here: there is no lib{adapter}.so"),
        };
        let two = [refusal("nats"), refusal("mqtt")];
        assert_eq!(Refusal::lines(&two).len(), 2);
        let other = Refusal {
            reason: "too large".into(),
            ..refusal("tcp")
        };
        let all = [
            refusal("nats"),
            other,
            refusal("mqtt"),
            refusal("nats"),
            refusal("dbus"),
        ];
        let lines = Refusal::lines(&all);
        let first =
            "4 cells of 3 stacks, whose adapters cannot be used here: dbus, mqtt, nats; install";
        assert!(lines[0].starts_with(first), "{lines:#?}");
        assert_eq!(lines[1..], ["rtt on tcp-udp (64 B): too large"]);
    }
}
