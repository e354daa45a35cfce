//! Why a trial failed, and who of those that took part.

use super::daemon::{DaemonTrouble, Exit};
use super::granted::NotGranted;
use super::who::Who;
use crate::metric::Metric;
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What happened and to whom. `agent` is what plays roles, such as `agent (source 0) with adapter uds`; `error` is what the
/// system or a library said, `said` the last line of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "cause", content = "values", rename_all = "kebab-case")]
pub enum FailureCause {
    /// Whoever started the run ended it.
    #[error("interrupted")]
    Interrupted,
    /// Participants are on a host that is not there.
    #[error("the testbed has no host {number}")]
    NoHost {
        /// From 1.
        number: usize,
    },
    /// The plan lacks the stack of the experiment.
    #[error("the plan has no stack {stack:?}")]
    NoStack {
        /// By name.
        stack: String,
    },
    /// Channels need ports, and all are taken.
    #[error("no free port between 20000 and 31999; end what listens there")]
    NoPort,
    /// The other side of a trial in slices failed.
    #[error("the other side of the trial failed: {error}")]
    OtherSide {
        /// Why.
        error: String,
    },
    /// A host, or what joins hosts, could not be made ready or asked.
    #[error("{error}")]
    Host {
        /// Which one, and why.
        error: String,
    },
    /// A namespace was cut off.
    #[error("the link of host {host} went down")]
    LinkDown {
        /// By its name in the testbed.
        host: String,
    },
    /// A fault of the experiment cannot be made.
    #[error("cannot make the fault `{fault}`: {error}")]
    FaultNotMade {
        /// As the experiment says it.
        fault: String,
        /// Why, and what to do.
        error: String,
    },
    /// A process does not end that a fault is to end.
    #[error("{process} did not end within {:.1} s of the fault `{fault}`", within.as_secs_f64())]
    Survived {
        /// Such as `agent (sink 1) with adapter tcp`.
        process: String,
        /// As the experiment says it.
        fault: String,
        /// The deadline.
        within: Nanos,
    },
    /// A process did not come back that a fault had ended.
    #[error("{process} did not come back after the fault `{fault}`: {error}")]
    NotBack {
        /// Such as `daemon RouDi on h1`.
        process: String,
        /// As the experiment says it.
        fault: String,
        /// What became of the new process.
        error: String,
    },
    /// A receiver that joins while others run has failed, or has received no message before it had to leave.
    #[error("the newcomer of the fault `{fault}` failed: {error}")]
    NotJoined {
        /// As the experiment says it.
        fault: String,
        /// Which process, and what its library or the system said.
        error: String,
    },
    /// A link did not come up that a fault had taken down.
    #[error("the link of host {host} did not come up again after a fault: {error}")]
    LinkStaysDown {
        /// By its name in the testbed.
        host: String,
        /// By the system.
        error: String,
    },
    /// Another machine was cut off.
    #[error("the connection to host {host} ({destination}) was lost: {said}")]
    ConnectionLost {
        /// By its name in the testbed.
        host: String,
        /// As ssh was told.
        destination: String,
        /// By ssh, or by Dyno there.
        said: String,
    },
    /// A virtual machine ended.
    #[error("virtual machine {machine} is gone: {said}")]
    MachineGone {
        /// By its name in the testbed.
        machine: String,
        /// Of its monitor or its kernel.
        said: String,
    },
    /// A virtual machine stands still.
    #[error("virtual machine {machine} does not answer: {error}")]
    MachineSilent {
        /// By its name in the testbed.
        machine: String,
        /// What became of the question.
        error: String,
    },
    /// The process that is the vsock device of virtual machines ended.
    #[error("{program} ended with {exit}{}", said.as_ref().map(|s| format!("; it said last: {s}")).unwrap_or_default())]
    VsockEnded {
        /// By name.
        program: String,
        /// How.
        exit: Exit,
        /// Last, if anything.
        said: Option<String>,
    },
    /// A daemon of the stack belongs where none is started.
    #[error(
        "daemon {daemon} cannot be started on {host}: dyno starts daemons on its own machine only; leave the stack out \
         there, or use a testbed of namespaces"
    )]
    DaemonElsewhere {
        /// By name.
        daemon: String,
        /// By name or address.
        host: String,
    },
    /// Several hosts need a daemon of which one machine has one.
    #[error(
        "daemon {daemon} cannot be started on each host: a machine can run only one instance, and \
         all hosts are one machine; leave the stack out there"
    )]
    DaemonTwice {
        /// By name.
        daemon: String,
    },
    /// A daemon could not be started, or ended.
    #[error("{daemon}{trouble}{}", said.as_ref().map(|s| format!(": {s}")).unwrap_or_default())]
    Daemon {
        /// Such as `daemon RouDi on h1`.
        daemon: String,
        /// What it was.
        trouble: DaemonTrouble,
        /// Last, if anything.
        said: Option<String>,
    },
    /// An agent could not be started.
    #[error(
        "cannot start {program}: {error}{}",
        if *container {
            " in a container of its own; that takes CAP_SYS_ADMIN, which root has (not in every container): choose `start \
             = \"process\"` without it"
        } else {
            ""
        }
    )]
    AgentNotStarted {
        /// Its file.
        program: String,
        /// By the system.
        error: String,
        /// It was to run in one.
        container: bool,
    },
    /// An agent is of another build.
    #[error(
        "the agent speaks protocol {agent} and this runner {runner}, so the agent may ignore requests; use the same build of Dyno on all hosts"
    )]
    OtherProtocol {
        /// The agent's version.
        agent: u32,
        /// The runner's.
        runner: u32,
    },
    /// A host's counter cannot be translated.
    #[error("the counter of host {host} does not advance: {exchanges} exchanges show no rate")]
    CounterStands {
        /// By its name in the testbed.
        host: String,
        /// How often it was read.
        exchanges: usize,
    },
    /// A host did not answer for its clock.
    #[error(
        "host {host} answered none of {questions} questions for its clock within {:.1} s: does its \
         agent, or the connection to it, stand still?", within.as_secs_f64()
    )]
    ClockSilent {
        /// By its name in the testbed.
        host: String,
        /// How many.
        questions: u32,
        /// For how long.
        within: Nanos,
    },
    /// A step took too long.
    #[error("step `{step}` did not end within {:.1} s for {}; {}{}", within.as_secs_f64(), agents.join(", "),
        calls_in_doubt(stuck), bridges(daemons))]
    StepTooLong {
        /// Of the trial.
        step: String,
        /// Its deadline.
        within: Nanos,
        /// Those that have not ended it.
        agents: Vec<String>,
        /// Calls into adapters that do not return.
        stuck: Vec<StuckCall>,
        /// Those that join legs, where ends do not see each other.
        daemons: Vec<String>,
    },
    /// An agent ended.
    #[error("{agent} {}ended with {exit}{}", if *connection { "lost its connection: the program that carried it " } else { "" },
        if *after_result { " after its result" } else { "" })]
    AgentEnded {
        /// Which.
        agent: String,
        /// How; of its connection where that ended.
        exit: Exit,
        /// It is on another machine, and how it ended itself is not known.
        connection: bool,
        /// It had told its result.
        after_result: bool,
    },
    /// An agent does not end.
    #[error("{agent} does not exit after its result")]
    AgentStays {
        /// Which.
        agent: String,
    },
    /// An agent tells nothing more.
    #[error("{agent} closed its output without a result")]
    AgentSilent {
        /// Which.
        agent: String,
    },
    /// An agent sent a report that the runner did not ask for.
    #[error("{agent} sent a report out of order")]
    OutOfOrder {
        /// Which.
        agent: String,
    },
    /// An agent reported what cannot be read.
    #[error("{agent} sent an invalid report: {error}")]
    NoReport {
        /// Which.
        agent: String,
        /// In what it is none.
        error: String,
    },
    /// An agent could not go on.
    #[error("{}{trouble} (in `{step}`)", who.map(|who| format!("{who}: ")).unwrap_or_default())]
    Agent {
        /// Whose thread, if a participant's.
        who: Option<Who>,
        /// What it was.
        trouble: AgentTrouble,
        /// Of the agent, such as `open` or `send`.
        step: String,
    },
    /// Results name an exchange that the trial does not have.
    #[error("there is no exchange {exchange}")]
    NoExchange {
        /// Its number.
        exchange: u16,
    },
    /// Messages came over a channel that nobody writes to.
    #[error("channel {channel} has a receiver but no sender")]
    NoSender {
        /// Its number.
        channel: u16,
    },
    /// More messages came than were sent.
    #[error(
        "participant {receiver} received {received} distinct messages over channel {channel}, of which only {offered} \
         were offered"
    )]
    MoreThanOffered {
        /// Who.
        receiver: u16,
        /// Messages.
        received: u64,
        /// Its number.
        channel: u16,
        /// Messages.
        offered: u64,
    },
    /// Samples and counts contradict each other.
    #[error(
        "{metric} has {samples} samples and {infinite} lost, the counts say {received} received and {lost} lost"
    )]
    CountsDiffer {
        /// Of which metric.
        metric: Metric,
        /// Finite samples.
        samples: u64,
        /// Lost messages among its samples.
        infinite: u64,
        /// By the counts.
        received: u64,
        /// By the counts.
        lost: u64,
    },
    /// A participant logged a message that the schedule does not have.
    #[error(
        "participant {receiver} received message {sequence} of channel {channel} as due at {due} of the run's clock, and \
         the schedule has no such message"
    )]
    NotScheduled {
        /// Who.
        receiver: u16,
        /// Over which.
        channel: u16,
        /// Its place in the schedule, as it said.
        sequence: u64,
        /// When it was due, as it said.
        due: Nanos,
    },
    /// The workload of a trial with faults has no due times.
    #[error("the workload has no due times, which faults need: choose `workload = \"stream\"`")]
    NoSchedule,
    /// Results cannot be merged, or a stored histogram cannot be decoded.
    #[error("{error}")]
    Record {
        /// Why.
        error: String,
    },
}

/// Why an agent could not go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "trouble", rename_all = "kebab-case")]
pub enum AgentTrouble {
    /// The adapter, or its library, reported an error.
    #[error("{error}")]
    Adapter {
        /// In its own words.
        error: String,
    },
    /// The adapter cannot be loaded.
    #[error("{error}")]
    AdapterNotLoaded {
        /// Why, and what to do.
        error: String,
    },
    /// A probe cannot be measured there.
    #[error("{error}")]
    Probe {
        /// Why.
        error: String,
    },
    /// The results cannot be written.
    #[error("{error}")]
    Record {
        /// Why.
        error: String,
    },
    /// A CPU that was asked for is not to be had.
    #[error("{refused}{}", if *listed { ", or let dyno choose with `cpus = \"auto\"`" } else { "" })]
    NotGranted {
        /// What the host refused.
        refused: NotGranted,
        /// Whoever asked for the run listed the CPUs.
        listed: bool,
    },
    /// Runner and agent disagree on what the participant is.
    #[error("{what}")]
    Misassigned {
        /// What is missing or does not fit.
        what: String,
    },
    /// A thread of Dyno's own panicked; its standard error says where.
    #[error("a thread panicked")]
    Panicked,
    /// A callback came back from the library in no time.
    #[error("the library keeps the callback of a dropped subscription")]
    CallbackKept,
    /// The system gave no thread.
    #[error("cannot start a thread: {error}")]
    NoThread {
        /// Why.
        error: String,
    },
    /// The runner sent an invalid command.
    #[error("cannot read {line:?}: {error}")]
    NoCommand {
        /// What it sent.
        line: String,
        /// In what it is none.
        error: String,
    },
    /// The runner sent a command that does not belong there.
    #[error("{command} came out of order")]
    OutOfOrder {
        /// Which.
        command: String,
    },
    /// The host has no counter for its clock.
    #[error("this host has no counter that Dyno can use")]
    NoCounter,
}

/// A thread that does not return from a call into its adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("participant {participant} ({role}) does not return from `{call}`")]
pub struct StuckCall {
    /// Its number in the graph.
    pub participant: u16,
    /// What it does, or its thread.
    pub role: String,
    /// Of the adapter.
    pub call: String,
}

fn calls_in_doubt(stuck: &[StuckCall]) -> String {
    match stuck {
        [] => "no call hangs: if it is only slow, raise `deadline`".to_owned(),
        stuck => stuck
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; "),
    }
}

fn bridges(daemons: &[String]) -> String {
    match daemons {
        [] => String::new(),
        daemons => {
            let names: Vec<String> = daemons
                .iter()
                .map(|name| format!("daemon {name}"))
                .collect();
            format!(
                "; messages go through {}: does it reach both legs?",
                names.join(", ")
            )
        }
    }
}
