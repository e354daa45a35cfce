//! What the reader of a plan should know: what the machine has too little of, and what is not measured as asked.

use super::refusal::RefusalReason;
use crate::adapter::Options;
use crate::factor::{Topology, Wait};
use crate::unit::{Nanos, PayloadSize, counted, with_prefix};
use crate::workload::WorkloadKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// A remark of a plan. Nobody reads the sentence, which is made from the values alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "cause", content = "values", rename_all = "kebab-case")]
pub enum PlanWarning {
    /// Participants that spin share CPUs.
    #[error(
        "{} of {} experiments have more spinning participants than CPUs (up to {} on {}): \
         they measure how the kernel shares a CPU, not the stack; use wait = block, or a \
         machine with more CPUs", .0.experiments, .0.of, .0.most, .0.cpus
    )]
    CrowdedSpin(Crowded),
    /// Floods of more participants than CPUs.
    #[error(
        "{} of {} experiments flood with more participants than CPUs (up to {} on {}): all \
         participants are busy at once, so the rates are those of shared CPUs", .0.experiments, .0.of, .0.most, .0.cpus
    )]
    CrowdedFlood(Crowded),
    /// Hosts that are namespaces share CPUs, which hosts apart do not.
    #[error(
        "{} of {} experiments have up to {} participants on hosts that share {} CPUs: latencies \
         include waits for a CPU, which separate hosts would not have", .0.experiments, .0.of, .0.most, .0.cpus
    )]
    CrowdedHosts(Crowded),
    /// Messages that are held at the same time are larger than the memory that is free.
    #[error(
        "experiment `{experiment}` with {} on {stack} holds at least {need} bytes of messages, and {store} has \
         {free} free: its trials will fail; use smaller payloads or fewer participants",
        payload.map_or("all of its flows".to_owned(), |p| p.to_string())
    )]
    TooLarge {
        /// The experiment's name.
        experiment: String,
        /// The stack by name.
        stack: String,
        /// The size of each message; `None` where several flows run at the same time.
        payload: Option<PayloadSize>,
        /// Bytes of messages under way and in the hands of receivers.
        need: u64,
        /// Where they lie.
        store: Store,
        /// Bytes that are free there.
        free: u64,
    },
    /// A link is offered more than it carries.
    #[error("{cells}: {overload}")]
    Overload {
        /// The cells concerned.
        cells: Cells,
        /// The link, and the load that it is offered.
        overload: Overload,
    },
    /// What waits for an overloaded link is more than the memory that is free.
    #[error(
        "{cells}: a stack that drops nothing has {} waiting for the link at the end of the window, and main \
         memory has {} free; shorten the window, or choose a stack that may drop",
        size(*waiting),
        size(*free)
    )]
    Backlog {
        /// The cells concerned.
        cells: Cells,
        /// Bytes at the end of the window.
        waiting: f64,
        /// Bytes of main memory that are free.
        free: f64,
    },
    /// A history may grow beyond the memory that is free.
    #[error(
        "{cells}: a history of {depth} may keep {} of messages at {} and {}, and main memory has {} free; lower the \
         stack's `history`",
        size(*kept),
        counted(*senders, "sender"),
        counted(*receivers, "receiver"),
        size(*free)
    )]
    History {
        /// The cells concerned.
        cells: Cells,
        /// The stack's option, in messages.
        depth: i64,
        /// Bytes of all histories together.
        kept: f64,
        /// Participants that send.
        senders: u16,
        /// Participants that receive.
        receivers: u16,
        /// Bytes of main memory that are free.
        free: f64,
    },
    /// Nobody looks for strangers on hosts that are reached by ssh.
    #[error(
        "the noise of {} is not measured: no trial is marked as disturbed, and participants are pinned \
         only where `cpus` lists them; run `dyno doctor` there",
        hosts.join(", ")
    )]
    NoiseNotMeasured {
        /// Their names.
        hosts: Vec<String>,
    },
    /// Experiments without × floor.
    #[error("{}: {reason}", match experiments {
        1 => "1 experiment has no × floor".to_owned(),
        n => format!("{n} experiments have no × floor"),
    })]
    NoFloor {
        /// How many.
        experiments: usize,
        /// Why.
        reason: NoFloor,
    },
    /// Chains whose legs have no figures of their own.
    #[error("the legs of {} are not measured alone: {reason}", counted(*experiments, "experiment"))]
    LegsNotAlone {
        /// How many.
        experiments: usize,
        /// Why.
        reason: NoLegs,
    },
    /// A leg alone has other settings than in its chain.
    #[error(
        "leg {leg} of {chain} is measured alone with the settings of {stack} in its own file, without {}",
        options.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    )]
    LegSetOtherwise {
        /// From 1.
        leg: usize,
        /// The chain's name.
        chain: String,
        /// The name of the leg's stack.
        stack: String,
        /// The options that the stack has only in this chain.
        options: Options,
    },
    /// Experiments that have nothing to be compared with.
    #[error(
        "{experiments} experiments have no counterpart: {base} has none with the same factors (a \
         reader that polls is not compared with one that blocks; --set wait=… gives all the same wait)"
    )]
    NoCounterpart {
        /// How many.
        experiments: usize,
        /// The stack that all are compared with.
        base: String,
    },
    /// A gate measures a pair in whole trials.
    #[error("whole trials instead of slices for {experiment} on {stack} and {base}: {reason}")]
    WholeTrials {
        /// The experiment's name.
        experiment: String,
        /// The stack by name.
        stack: String,
        /// The stack that it is compared with.
        base: String,
        /// Why the two cannot take turns.
        reason: NoSlices,
    },
    /// `--ground` has nothing to take apart.
    #[error(
        "--ground breaks down only round trips and calls within one machine, and this run has \
         none: reports will show the cost of system calls, wake-ups and copies, but no \
         breakdown"
    )]
    NoBreakdown,
    /// The parts of a merged run are not of one machine or build.
    #[error("the parts differ in {what}: {}",
        values.iter().map(|(value, parts)| format!("{value} ({})", parts.join(", "))).collect::<Vec<_>>().join("; ")
    )]
    PartsDiffer {
        /// The property that differs, such as `machine`.
        what: String,
        /// Each value, with the parts that have it.
        values: Vec<(String, Vec<String>)>,
    },
    /// Floors of a merged run that another machine measured.
    #[error("× floor is left out for {} floor was measured on another machine", match experiments {
        1 => "1 experiment: its".to_owned(),
        n => format!("{n} experiments: their"),
    })]
    FloorElsewhere {
        /// The number of experiments whose floor is left out.
        experiments: usize,
    },
}

/// Experiments with more participants than CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crowded {
    /// How many.
    pub experiments: usize,
    /// The number of all experiments.
    pub of: usize,
    /// The most participants of any of them.
    pub most: usize,
    /// The CPUs that Dyno may use.
    pub cpus: usize,
}

/// Where messages lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    /// `/dev/shm`.
    Shm,
    /// Main memory.
    Main,
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Store::Shm => "/dev/shm",
            Store::Main => "main memory",
        })
    }
}

/// The cells of one experiment and topology that a remark holds for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cells {
    /// The experiment's name.
    pub experiment: String,
    /// The topology of all of these cells.
    pub topology: Topology,
    /// Their stacks, in the order of the plan.
    pub stacks: Vec<String>,
}

impl Cells {
    /// Of more stacks only the first are named.
    const MOST_NAMED: usize = 3;
}

/// `camera 1-3 on udp, tcp, zenoh and 2 more`.
impl fmt::Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (named, rest) = self
            .stacks
            .split_at(self.stacks.len().min(Self::MOST_NAMED));
        let named = named.join(", ");
        write!(f, "{} {} on {named}", self.experiment, self.topology)?;
        match rest.len() {
            0 => Ok(()),
            n => write!(f, " and {n} more"),
        }
    }
}

/// Why an experiment has no × floor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "why", content = "values", rename_all = "kebab-case")]
pub enum NoFloor {
    /// A floor is measured alone.
    #[error("flows run at the same time, but a floor is measured alone")]
    Flows,
    /// Sockets lose messages of a flood, so the floor would have to be in shared memory.
    #[error("a flood between hosts has a floor only in shared memory")]
    FloodOverLink,
    /// Fragments are what a stack adds, and no bare datagram.
    #[error("over a link the floor is one datagram, of at most {most} B")]
    Fragments {
        /// Bytes.
        most: u64,
    },
    /// No stack is the floor of this wait.
    #[error("no stack with `floor = true` waits by {wait}")]
    Wait {
        /// The wait.
        wait: Wait,
    },
    /// The floor between hosts takes as long as a stack, so it is only measured if the user names it.
    #[error(
        "between hosts the floor is the stack {stack}; name it as well: `--stack YOURS,{stack}`"
    )]
    NotNamed {
        /// The floor over the link.
        stack: String,
    },
    /// Hosts without memory that both see.
    #[error("a floor between hosts needs memory that they share, and these share none")]
    NoSharedMemory,
    /// The floor's own stack cannot do it.
    #[error("{0}")]
    Refused(RefusalReason),
}

/// Why the legs of a chain are not measured alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "why", content = "values", rename_all = "kebab-case")]
pub enum NoLegs {
    /// The leg's stack has no file, or one with mistakes.
    #[error("the stack {stack} cannot be read")]
    NotRead {
        /// Its name.
        stack: String,
    },
    /// The chain sets options that the stack's own file does not.
    #[error(
        "{stack} has options in this chain that it does not have alone; write them into its own stack file"
    )]
    Options {
        /// Its name.
        stack: String,
    },
    /// Gateways have several channels.
    #[error("with {topology} a gateway has several channels, and a leg alone has no such sender")]
    Topology {
        /// The topology of the chain.
        topology: Topology,
    },
    /// A leg between other hosts.
    #[error("leg {leg} begins on another host, where nothing can be measured alone")]
    OtherHost {
        /// From 1.
        leg: usize,
    },
    /// A CPU for each participant is needed to give each leg its own.
    #[error(
        "{cpus} CPUs are too few for {participants} participants of their own; list more in `cpus`, or write \"none\""
    )]
    FewCpus {
        /// The number of CPUs in `cpus`.
        cpus: usize,
        /// The number of participants of the chain.
        participants: usize,
    },
    /// A leg whose ends take each other's CPU.
    #[error(
        "both ends of leg {leg} would spin on one CPU; wait by block, or on a machine with more CPUs"
    )]
    OneCpu {
        /// From 1.
        leg: usize,
    },
    /// The leg's own stack cannot do it.
    #[error("{0}")]
    Refused(RefusalReason),
}

/// Why two sides cannot take turns within a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "why", content = "values", rename_all = "kebab-case")]
pub enum NoSlices {
    /// Several stacks are compared with one.
    #[error("{stacks} stacks have the same base, {base}")]
    SharedBase {
        /// How many.
        stacks: usize,
        /// The base's stack.
        base: String,
    },
    /// Only a sender that waits for its reply stops between slices.
    #[error(
        "--slices works only for ping-pong and call: a {workload} does not stop sending between slices"
    )]
    Workload {
        /// The workload of the experiment.
        workload: WorkloadKind,
    },
    /// Flows, faults, starts and counted calls happen once in a trial.
    #[error("flows, faults, starts and counts of system calls need whole trials")]
    Whole,
    /// Messages too far apart.
    #[error("its messages are {gap} apart, and a slice of {slice} would count one or none of them")]
    Gap {
        /// The time from a reply to the next request.
        gap: Nanos,
        /// The length of a slice.
        slice: Nanos,
    },
    /// A reply waits longer than its timeout.
    #[error(
        "its timeout of {timeout} ends while a reply waits for the next slice of its side, and the message would count as lost"
    )]
    Timeout {
        /// The time that a reply may take.
        timeout: Nanos,
    },
    /// An echo that sleeps answers in slices of the other side.
    #[error(
        "its echo sleeps for {poll} after each answer, and replies would come in slices of the other side"
    )]
    EchoPoll {
        /// How long.
        poll: Nanos,
    },
    /// A warm-up of messages.
    #[error("the warm-up is a number of messages, and slices take a time: --set warmup='50 ms'")]
    WarmupOfMessages,
    /// A window of messages.
    #[error("the window is a number of messages, and slices take a time: --set window='1 s'")]
    WindowOfMessages,
    /// Too few or too many slices.
    #[error(
        "the window of {window} has {pairs} slices of {slice} for each side, and {least} to {most} are possible: choose another \
         --set window='…' or --slices=…"
    )]
    Pairs {
        /// As the suite says.
        window: Nanos,
        /// The length of a slice.
        slice: Nanos,
        /// The pairs of slices in the window.
        pairs: u64,
        /// The least number of pairs.
        least: u64,
        /// The largest number of pairs.
        most: u64,
    },
    /// The host would disturb one side more.
    #[error("its sides run on different CPUs, so the host does not disturb both equally")]
    OtherCpus,
    /// Who is elsewhere does not know whose turn it is.
    #[error("some of its participants are on other machines, which do not know whose turn it is")]
    OtherMachines,
    /// Participants beside initiator and echo.
    #[error("{stack} has participants that cannot pause")]
    CannotPause {
        /// Its name.
        stack: String,
    },
    /// One daemon for both.
    #[error("both need {daemon}, of which a machine can have only one")]
    OneDaemon {
        /// Its name.
        daemon: String,
    },
}

/// One direction of a host's link that is offered more than it carries. In bits per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overload {
    /// The host's name.
    pub host: String,
    /// Offered, with one copy of a message for all receivers.
    pub least: f64,
    /// Offered, with a copy for each receiver.
    pub copies: f64,
    /// What the link carries.
    pub capacity: f64,
    /// Headers are among what is offered.
    pub headers: bool,
}

/// In words, with the share that can arrive at best.
impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overload {
            ref host,
            least,
            copies,
            capacity,
            headers,
        } = *self;
        let with = if headers { " with headers" } else { "" };
        let link = format!("the {}bit/s link of {host}", with_prefix(capacity));
        let share = |offered: f64| format!("{:.0} %", (100.0 * capacity / offered).floor());
        let (lower, upper) = (with_prefix(least), with_prefix(copies));
        if least > capacity && copies > least {
            write!(
                f,
                "at least {lower}bit/s{with} offered on {link}, {upper}bit/s where each receiver gets a copy of \
                 its own: at most {} can arrive",
                share(least)
            )
        } else if least > capacity {
            write!(
                f,
                "{lower}bit/s{with} offered on {link}: at most {} can arrive",
                share(least)
            )
        } else {
            write!(
                f,
                "{upper}bit/s{with} offered on {link} where each receiver gets a copy of its own, of which at \
                 most {} can arrive; by multicast {lower}bit/s",
                share(copies)
            )
        }
    }
}

/// `4.8 GB`.
fn size(bytes: f64) -> String {
    format!("{}B", with_prefix(bytes))
}
