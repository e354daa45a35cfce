//! Cells that cannot be measured, and the reasons in words.

use crate::factor::{Placement, Start, Topology, Wait};
use crate::probe::GROUND;
use crate::unit::{Nanos, PayloadSize, counted};
use crate::workload::WorkloadKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use thiserror::Error;

/// A cell that the suite asks for and that cannot be measured, with the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Refusal {
    /// The experiment's name in the suite.
    pub experiment: String,
    /// The stack by name.
    pub stack: String,
    /// The factors of the cell, as tables print them.
    pub factors: String,
    /// Why it cannot be measured.
    pub reason: RefusalReason,
}

/// A [`Refusal`] as files hold it: the cause with its values, beside the sentence for people and for older readers.
#[derive(Serialize, Deserialize)]
struct Stored {
    experiment: String,
    stack: String,
    factors: String,
    reason: String,
    #[serde(flatten)]
    cause: Option<RefusalReason>,
}

impl From<Stored> for Refusal {
    fn from(stored: Stored) -> Self {
        Refusal {
            experiment: stored.experiment,
            stack: stored.stack,
            factors: stored.factors,
            reason: stored.cause.unwrap_or(RefusalReason::Told(stored.reason)),
        }
    }
}

impl From<Refusal> for Stored {
    fn from(refusal: Refusal) -> Self {
        Stored {
            experiment: refusal.experiment,
            stack: refusal.stack,
            factors: refusal.factors,
            reason: refusal.reason.to_string(),
            cause: Some(refusal.reason).filter(|r| !matches!(r, RefusalReason::Told(_))),
        }
    }
}

/// Why a cell cannot be measured. Nobody reads the sentence, which is made from the values alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "cause", content = "values", rename_all = "kebab-case")]
pub enum RefusalReason {
    /// The sentence of a plan that was stored without the cause, or whose cause this build does not know.
    #[error("{0}")]
    #[serde(skip)]
    Told(String),
    /// The adapter cannot be loaded or used on this machine.
    #[error("{adapter} cannot be used here: {why}")]
    Unusable {
        /// The adapter by name.
        adapter: String,
        /// What its library or loader says.
        why: String,
    },
    /// The adapter has no such wait.
    #[error("{adapter} does not support wait {wait}, only {}", listed(can))]
    Wait {
        /// The adapter by name.
        adapter: String,
        /// The wait asked for.
        wait: Wait,
        /// The waits that it has.
        can: Vec<Wait>,
    },
    /// The stack is the floor of other waits.
    #[error("{stack} is the floor for wait {}, not for {wait}", listed(of))]
    FloorWait {
        /// The stack by name.
        stack: String,
        /// The wait asked for.
        wait: Wait,
        /// The waits that it is the floor of.
        of: Vec<Wait>,
    },
    /// The adapter has no such placement.
    #[error(
        "{adapter} cannot run with placement {placement}, only {}",
        listed(can)
    )]
    Placement {
        /// The adapter by name.
        adapter: String,
        /// The placement asked for.
        placement: Placement,
        /// The placements that it has.
        can: Vec<Placement>,
    },
    /// The stack file names other placements.
    #[error("{stack} is meant for placement {}, not {placement}", listed(meant))]
    StackPlacement {
        /// The stack by name.
        stack: String,
        /// The placement asked for.
        placement: Placement,
        /// Those that it names.
        meant: Vec<Placement>,
    },
    /// A placement on several hosts, and a testbed of one.
    #[error("the testbed has one host; choose for example --testbed netns-1gbe")]
    OneHost,
    /// Both sides are one participant, which knows no other topology.
    #[error("{adapter} plays both sides in one participant and supports only topology 1-1")]
    LoopbackTopology {
        /// The adapter by name.
        adapter: String,
    },
    /// Both sides are one participant, and the workload needs two.
    #[error("{adapter} has no second participant that {}", workload.info().needs_peer.unwrap_or_default())]
    NoPeer {
        /// The adapter by name.
        adapter: String,
        /// The workload asked for.
        workload: WorkloadKind,
    },
    /// Both sides are one participant, and a flow is read by another.
    #[error("{stack} has no second participant that could read")]
    NoReader {
        /// The stack by name.
        stack: String,
    },
    /// Both sides are one participant, and `sink_pause` slows one of two.
    #[error("{stack} has no second participant that could be slow, as `sink_pause` requires")]
    NoSlowPeer {
        /// The stack by name.
        stack: String,
    },
    /// The workload has one receiver only.
    #[error("{}: topology {}-1, not {topology}", workload.info().one_receiver.unwrap_or_default(), topology.senders)]
    OneReceiver {
        /// The workload asked for.
        workload: WorkloadKind,
        /// The topology asked for.
        topology: Topology,
    },
    /// A channel of the adapter has fewer receivers.
    #[error("a channel of {adapter} has at most {}, not {receivers}", counted(*most, "receiver"))]
    Receivers {
        /// The adapter by name.
        adapter: String,
        /// The receivers asked for.
        receivers: u16,
        /// The most that a channel has.
        most: u16,
    },
    /// A message of the adapter is smaller.
    #[error("a message of {adapter} has at most {most} B, not {bytes} B")]
    MessageBytes {
        /// The adapter by name.
        adapter: String,
        /// The payload asked for.
        bytes: u64,
        /// The most that a message holds, in bytes.
        most: u64,
    },
    /// The chain leads over more hosts than there are.
    #[error("{stack} needs {needs} hosts, and the testbed has {hosts}")]
    ChainHosts {
        /// The stack by name.
        stack: String,
        /// The hosts that it leads over.
        needs: usize,
        /// Those of the testbed.
        hosts: usize,
    },
    /// No leg of the chain takes the wait that was asked for.
    #[error("every leg of {stack} has its own wait; the last leg has {last}")]
    LegWaits {
        /// The stack by name.
        stack: String,
        /// The wait of its last leg.
        last: Wait,
    },
    /// A program bridges the legs, and there are several receivers.
    #[error(
        "a program bridges the legs of {stack}, so a sender cannot see how many receivers there are, and {topology} has {}",
        topology.receivers
    )]
    BridgedReceivers {
        /// The stack by name.
        stack: String,
        /// The topology asked for.
        topology: Topology,
    },
    /// One leg of a chain stands in the way.
    #[error("leg {leg} ({stack}): {why}")]
    Leg {
        /// Its number, from 1.
        leg: usize,
        /// The stack by name.
        stack: String,
        /// Why the leg cannot be measured.
        why: Box<RefusalReason>,
    },
    /// One thread of a gateway cannot sleep for several channels.
    #[error(
        "gateway {gateway} reads all its channels in one thread, which must poll, but {leg} has wait {wait}"
    )]
    OneThread {
        /// Its number, from 1.
        gateway: usize,
        /// The stack of the leg that sleeps.
        leg: String,
        /// How the leg waits.
        wait: Wait,
    },
    /// The stack has no adapter.
    #[error("{stack} has no adapter")]
    NoAdapter {
        /// The stack by name.
        stack: String,
    },
    /// `sink_pause` with a sink that spins.
    #[error("`sink_pause` is for a sink that sleeps, and this one spins")]
    SinkSpins,
    /// `sink_cycle` on a stack of one participant.
    #[error("{stack} has no second participant that could poll, as `sink_cycle` requires")]
    NobodyLooks {
        /// By name.
        stack: String,
    },
    /// `sink_cycle` is longer than the drain.
    #[error(
        "messages that arrive after the sink has polled for the last time are lost: `sink_cycle` is {cycle} and `drain` {drain}; lengthen the \
         drain"
    )]
    CycleBeyondDrain {
        /// Of the sink.
        cycle: Nanos,
        /// Of the trial.
        drain: Nanos,
    },
    /// `sink_cycle` with a sink that waits in the kernel or is called.
    #[error(
        "`sink_cycle` is for a sink that polls; write `wait = \"spin\"`: the sink sleeps between two polls"
    )]
    SinkWaits,
    /// `echo_poll` with an echo that is called.
    #[error("`echo_poll` is for an echo that polls for messages, and this one has a callback")]
    EchoCalled,
    /// `reboot` on a testbed without virtual machines.
    #[error("the testbed has no virtual machine to boot anew; choose for example --testbed vm")]
    NothingToBoot,
    /// The testbed has no host of that name.
    #[error("the testbed has no host {host}; its hosts: {}", listed(hosts))]
    NoSuchHost {
        /// The name.
        host: String,
        /// The names that there are.
        hosts: Vec<String>,
    },
    /// A flow names a host.
    #[error("a flow has no `host` of its own")]
    HostOfFlow,
    /// `start` with another workload than first-message.
    #[error("`start` is only for first-message: all other workloads end long after the start")]
    StartOfOthers,
    /// Both `start` and `reboot`.
    #[error("both `start` and `reboot` are recorded as `boot`; choose one")]
    StartAndReboot,
    /// Participants of another machine are started there.
    #[error(
        "participants on {host} are not started as a {start} of this machine; leave `start` out there, or choose another `host`"
    )]
    StartElsewhere {
        /// The host.
        host: String,
        /// The start asked for.
        start: Start,
    },
    /// Participants in containers do not share what the stack needs.
    #[error(
        "{stack} needs processes that see each other, and processes in containers do not; choose a stack that works between hosts"
    )]
    Containers {
        /// The stack by name.
        stack: String,
    },
    /// No host of the testbed shares memory with another, since none is a virtual machine.
    #[error(
        "{stack} needs two hosts that share memory, such as a virtual machine and its host; choose for example --testbed vm"
    )]
    NoMachine {
        /// The stack by name.
        stack: String,
    },
    /// The testbed says that its hosts share no memory.
    #[error(
        "{stack} needs two hosts that share memory, and the testbed says `shared_memory = \"none\"`; \
         write for example `shared_memory = \"64 MiB\"`"
    )]
    NoSharedMemory {
        /// The stack by name.
        stack: String,
    },
    /// A futex wakes nobody on another machine.
    #[error(
        "{stack} sleeps on a futex (wait {wait}), which works only within one machine; choose floor-spin between machines"
    )]
    Futex {
        /// The stack by name.
        stack: String,
        /// The wait asked for.
        wait: Wait,
    },
    /// vsock without a virtual machine.
    #[error(
        "{stack} crosses the border of a virtual machine, and the testbed has none; choose for example --testbed vm"
    )]
    VsockWithoutMachine {
        /// The stack by name.
        stack: String,
    },
    /// vsock between two guests, and a back end in the kernel.
    #[error(
        "here {stack} connects only a guest with its host; between two guests its back end must be a process"
    )]
    VsockOfGuests {
        /// The stack by name.
        stack: String,
    },
    /// vsock with several hosts beside the guests.
    #[error(
        "{stack} connects each guest with one host, and the testbed has several hosts besides its guests"
    )]
    VsockOfHosts {
        /// The stack by name.
        stack: String,
    },
    /// vsock without a back end on this machine.
    #[error(
        "{stack} has no back end here: /dev/vhost-vsock is missing, and vhost-device-vsock is not installed; run \
         `cargo xtask daemons vsock`"
    )]
    NoVsock {
        /// The stack by name.
        stack: String,
    },
    /// Daemons are started on the runner's machine only.
    #[error(
        "{stack} needs the daemon {daemon}, and dyno starts daemons on its own machine only; use a testbed of \
         namespaces"
    )]
    DaemonElsewhere {
        /// The stack by name.
        stack: String,
        /// The daemon by name.
        daemon: String,
    },
    /// A program of a daemon is not installed.
    #[error(
        "{} is not installed; {}{}",
        match program == daemon {
            true => format!("its daemon {program}"),
            false => format!("the program {program} of its daemon {daemon}"),
        },
        match install {
            Some(command) => format!("run `{command}`"),
            None => "install it, or add its directory to PATH".to_owned(),
        },
        variable.as_ref().map_or(String::new(), |v| format!(", or set {v} to its path"))
    )]
    NoProgram {
        /// The daemon by name.
        daemon: String,
        /// The program.
        program: String,
        /// The environment variable that may name it.
        variable: Option<String>,
        /// The command that installs it.
        install: Option<String>,
    },
    /// One flow of an experiment stands in the way.
    #[error("flow {flow}: {why}")]
    Flow {
        /// The flow by name.
        flow: String,
        /// Why it cannot be measured.
        why: Box<RefusalReason>,
    },
    /// Flows on a chain.
    #[error("flows cannot use gateways; choose a stack without legs")]
    FlowsOverLegs,
    /// A flow is read by more receivers than a channel has.
    #[error("a channel of {stack} has at most {}, and {flow} is read by {receivers}", counted(*most, "receiver"))]
    FlowReceivers {
        /// The stack by name.
        stack: String,
        /// The flow by name.
        flow: String,
        /// Its receivers and its readers.
        receivers: u16,
        /// The most that a channel has.
        most: u16,
    },
    /// Flows take more channels than there can be.
    #[error(
        "the flows take {channels} channels, and {} has at most {most}; lower `count`, or leave flows out",
        stack.as_deref().unwrap_or("a trial")
    )]
    FlowChannels {
        /// The stack whose files name so many; none: no trial has more.
        stack: Option<String>,
        /// The channels that they take.
        channels: usize,
        /// The most that there can be.
        most: u16,
    },
    /// Both sides are one participant, which stands there once.
    #[error(
        "{stack} plays both sides in one participant, which cannot run several times at once; leave `parallel` out"
    )]
    LoopbackCopies {
        /// The stack by name.
        stack: String,
    },
    /// Exchanges at once on a chain.
    #[error(
        "parallel exchanges cannot use gateways; leave `parallel` out, or choose a stack without legs"
    )]
    CopiesOverLegs,
    /// Exchanges at once between hosts.
    #[error(
        "parallel exchanges must run on one machine; write placement \"process\" or \"thread\", or leave `parallel` out"
    )]
    CopiesOfHosts,
    /// Exchanges at once take more CPUs than there are.
    #[error(
        "{wanted} CPUs at once are more than the {cpus} available; lower `parallel`, or list fewer CPUs in `cpus`, which \
         is for one exchange"
    )]
    CopiesCpus {
        /// The CPUs that they take.
        wanted: usize,
        /// Those that there are.
        cpus: usize,
    },
    /// Exchanges at once take more channels than a trial has.
    #[error("{channels} channels are more than the {most} of a trial")]
    CopiesChannels {
        /// The channels that they take.
        channels: usize,
        /// The most that a trial has.
        most: usize,
    },
    /// The stack's files name fewer channels.
    #[error(
        "{stack} has {most} channels, but {channels} are needed; use fewer senders, or write a stack file with more channels"
    )]
    StackChannels {
        /// The stack by name.
        stack: String,
        /// The channels asked for.
        channels: usize,
        /// Those that the files name.
        most: usize,
    },
    /// A probe on a stack that carries messages.
    #[error("a probe measures the machine without a stack: it runs on `{GROUND}`")]
    ProbeOfStack,
    /// Messages on the stack of probes.
    #[error("`{GROUND}` carries no messages: it runs only probes")]
    MessagesOfGround,
    /// Copies of a probe take more CPUs than there are.
    #[error(
        "{wanted} CPUs at once are more than the {cpus} available; lower `parallel`, probe on `one`, or leave out what another CPU \
         writes (`by = \"other\"`)"
    )]
    ProbeCpus {
        /// The CPUs that they take.
        wanted: usize,
        /// Those that there are.
        cpus: usize,
    },
    /// A hand-over by sched_yield between CPUs.
    #[error("sched_yield hands over on one CPU only")]
    YieldBetweenCpus,
    /// SCHED_DEADLINE for another probe than a timer.
    #[error("SCHED_DEADLINE is for timers: a thread of that class cannot start the other side")]
    DeadlineOfOthers,
    /// A share of CPU over a number of messages.
    #[error("the share of spinning threads is measured over a time; write `window`")]
    ShareOfMessages,
    /// Faults on a stack of one participant.
    #[error("{stack} plays both sides in one participant, and a fault strikes one of two")]
    FaultLoopback {
        /// The stack by name.
        stack: String,
    },
    /// Faults on a chain.
    #[error("{stack} has legs, and faults are made on stacks without legs")]
    FaultOverLegs {
        /// The stack by name.
        stack: String,
    },
    /// A setting that participants of an experiment with faults do not have.
    #[error("`{setting}` is not for experiments with faults; leave it out")]
    FaultBeside {
        /// The setting.
        setting: String,
    },
    /// A host is another machine, or has a clock of its own.
    #[error(
        "a {what} is made and seen on this machine and by its clock, and {host} is {reach}; use a testbed of namespaces, such as \
         netns-1gbe"
    )]
    FaultElsewhere {
        /// The kind of the first fault.
        what: String,
        /// The host by name.
        host: String,
        /// What it is instead, such as `a virtual machine`.
        reach: String,
    },
    /// No participant has that number.
    #[error("the topology {topology} has no {who} that a fault could strike")]
    FaultNobody {
        /// As the suite says it.
        who: String,
        /// The topology.
        topology: Topology,
    },
    /// A newcomer without others.
    #[error(
        "a join brings a receiver to others of a stream that are there before; write for example `topology = \"1-2\"`"
    )]
    FaultJoinsNobody,
    /// Sender and receiver are one process.
    #[error(
        "a {what} strikes a process, and with placement thread one process is both sender and receiver"
    )]
    FaultThread {
        /// The kind of fault.
        what: String,
    },
    /// All participants are on one host.
    #[error(
        "a {what} strikes the link of a host, and all participants share one host; choose placement host on a testbed of \
         namespaces, such as netns-1gbe"
    )]
    FaultOneHost {
        /// The kind of fault.
        what: String,
    },
    /// Calls without a schedule.
    #[error(
        "calls with faults are due on a schedule, and these follow each other at once; write a `gap`"
    )]
    FaultNoGap,
    /// The testbed gives the link no rate.
    #[error(
        "a {what} changes the rate that the testbed gives a link, and the link of {host} has none; write `[link]` with a `rate` in \
         the testbed"
    )]
    FaultNoRate {
        /// The kind of fault.
        what: String,
        /// The host by name.
        host: String,
    },
    /// Too little of the stream comes before a fault.
    #[error(
        "a {what} {at} after the window begins has too little of the stream before it to tell what is usual; set `at` to {least} or \
         later"
    )]
    FaultEarly {
        /// The kind of fault.
        what: String,
        /// When it begins.
        at: Nanos,
        /// When it may begin at the earliest.
        least: Nanos,
    },
    /// Calls wait longer for their answer than a fault lasts.
    #[error(
        "calls wait {timeout} for an answer and the {what} lasts {lasts}, so recovery would be the wait; set `timeout` well below {lasts}"
    )]
    FaultPatient {
        /// The kind of fault.
        what: String,
        /// After which a call is lost.
        timeout: Nanos,
        /// How long the fault lasts.
        lasts: Nanos,
    },
    /// Too little of the window comes after a fault.
    #[error(
        "a {what} leaves too little of the window of {window} to see the stream steady again; set `window` to {least} or longer"
    )]
    FaultLate {
        /// The kind of fault.
        what: String,
        /// How long the window is.
        window: Nanos,
        /// How long it must be at least.
        least: Nanos,
    },
    /// The stack has no daemon.
    #[error("the stack has no daemon that a fault could strike")]
    FaultNoDaemon,
    /// The stack has no daemon of that name.
    #[error("{stack} has no daemon {daemon}; its daemons: {}", listed(there))]
    FaultOtherDaemon {
        /// The stack by name.
        stack: String,
        /// The name asked for.
        daemon: String,
        /// The daemons that it has.
        there: Vec<String>,
    },
    /// Buffers larger than free memory.
    #[error(
        "{copies} × 2 buffers of {payload} do not fit into the {free_bytes} bytes of free memory"
    )]
    Buffers {
        /// The copies at once, each with two buffers.
        copies: u64,
        /// The size of one buffer.
        payload: PayloadSize,
        /// Free memory.
        free_bytes: u64,
    },
}

/// For a reason that is only told, as an old plan has it.
impl From<&str> for RefusalReason {
    fn from(sentence: &str) -> Self {
        RefusalReason::Told(sentence.to_owned())
    }
}

fn listed<T: ToString>(values: &[T]) -> String {
    let texts: Vec<String> = values.iter().map(T::to_string).collect();
    texts.join(", ")
}

/// Of how many adapters the reason why they cannot be used is told one by one.
const TOLD_APART: usize = 2;

impl Refusal {
    /// One line for each reason, in the order of its first cell: the cell, or the number of cells and their stacks. Where several
    /// adapters cannot be used, as after a first build, they share the first line.
    pub fn lines(refused: &[Refusal]) -> Vec<String> {
        let adapter = |r: &'_ Refusal| match &r.reason {
            RefusalReason::Unusable { adapter, .. } => Some(adapter.clone()),
            _ => None,
        };
        let without: BTreeSet<String> = refused.iter().filter_map(adapter).collect();
        if without.len() > TOLD_APART {
            let (unusable, others): (Vec<Refusal>, Vec<Refusal>) =
                refused.iter().cloned().partition(|r| adapter(r).is_some());
            let stacks: BTreeSet<&str> = unusable.iter().map(|r| r.stack.as_str()).collect();
            let mut lines = vec![format!(
                "{} cells of {} stacks are refused, because these adapters cannot be used here: {}; install their packages (dyno-{}) or run \
                 `cargo xtask adapters` in Dyno's source; `dyno list adapters` says what each of them needs",
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
        let mut reasons: Vec<(&RefusalReason, Vec<&Refusal>)> = Vec::new();
        for r in refused {
            match reasons.iter_mut().find(|(reason, _)| **reason == r.reason) {
                Some((_, cells)) => cells.push(r),
                None => reasons.push((&r.reason, vec![r])),
            }
        }
        let line = |(reason, cells): (&RefusalReason, Vec<&Refusal>)| match cells.as_slice() {
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
            reason: RefusalReason::Unusable {
                adapter: adapter.into(),
                why: format!("there is no lib{adapter}.so"),
            },
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
        let first = "4 cells of 3 stacks are refused, because these adapters cannot be used here: dbus, mqtt, nats; install";
        assert!(lines[0].starts_with(first), "{lines:#?}");
        assert_eq!(lines[1..], ["rtt on tcp-udp (64 B): too large"]);
    }

    #[test]
    fn a_refusal_is_stored_as_its_cause_beside_the_sentence() {
        let wait = RefusalReason::Wait {
            adapter: "tcp".into(),
            wait: Wait::Callback,
            can: vec![Wait::Spin, Wait::Block],
        };
        let on_leg = RefusalReason::Leg {
            leg: 2,
            stack: "tcp".into(),
            why: Box::new(wait),
        };
        for reason in [on_leg, RefusalReason::OneHost] {
            let refusal = Refusal {
                experiment: "rtt".into(),
                stack: "chain".into(),
                factors: "64 B".into(),
                reason,
            };
            let text = serde_json::to_string(&refusal).unwrap();
            assert_eq!(serde_json::from_str::<Refusal>(&text).unwrap(), refusal);
        }
        let refusal = Refusal {
            experiment: "copy".into(),
            stack: "ground".into(),
            factors: "64 B".into(),
            reason: RefusalReason::ProbeCpus { wanted: 4, cpus: 2 },
        };
        let json = serde_json::to_value(&refusal).unwrap();
        assert_eq!(json["cause"], "probe-cpus");
        assert_eq!(json["values"], serde_json::json!({"wanted": 4, "cpus": 2}));
        assert_eq!(json["reason"], refusal.reason.to_string());
    }

    #[test]
    fn a_sentence_without_a_cause_that_is_known_is_kept() {
        for cause in ["", r#", "cause": "moon-phase", "values": {"days": 3}"#] {
            let old = format!(
                r#"{{"experiment": "rtt", "stack": "tcp", "factors": "64 B", "reason": "too late"{cause}}}"#
            );
            let refusal: Refusal = serde_json::from_str(&old).unwrap();
            assert_eq!(refusal.reason, RefusalReason::from("too late"));
            let json = serde_json::to_value(&refusal).unwrap();
            assert_eq!(json["reason"], "too late");
            assert!(json.get("cause").is_none());
        }
    }
}
