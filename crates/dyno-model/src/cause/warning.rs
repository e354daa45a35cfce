//! What the reader of a trial should know: what could not be applied, looked at or counted.

use super::daemon::Exit;
use super::failure::AgentTrouble;
use super::granted::NotGranted;
use super::who::Who;
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A remark of a trial. `error` is what the system or the file at fault said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "cause", content = "values", rename_all = "kebab-case")]
pub enum Warning {
    /// The host denied a setting of a thread or process.
    #[error("{who}: {refused}")]
    NotGranted {
        /// Whose thread.
        who: Who,
        /// What the host refused.
        refused: NotGranted,
    },
    /// A probe was measured without the scheduling class that was asked for.
    #[error("measured in SCHED_OTHER: {refused}")]
    OtherClass {
        /// What the host refused.
        refused: NotGranted,
    },
    /// Calls, copies and wake-ups of the agents are not known.
    #[error("what it asks of the kernel is not counted: {error}")]
    NotCounted {
        /// Why the tracepoints cannot be read.
        error: String,
    },
    /// An agent had no CPU for the reading with which its cost begins.
    #[error(
        "the cost of {agent} could not be read before the window, because the reading thread had no CPU until {late} after the window \
         began; the trial has no costs"
    )]
    AgentReadLate {
        /// The roles that it plays.
        agent: String,
        /// After the start of the window.
        late: Nanos,
    },
    /// The window ended before an agent's reading with which its cost begins.
    #[error(
        "the cost of {agent} could not be read before the window, because the window had already ended; the trial has no costs"
    )]
    AgentNotRead {
        /// The roles that it plays.
        agent: String,
    },
    /// Threads of a library may run on no CPU but those on which senders spin.
    #[error(
        "all CPUs of the {threads} library threads of {agent} ({}) are also used by senders that \
         spin until messages are due; in an application the threads may be faster, so also measure \
         with `pacer = \"sleep\"`",
        crate::cpus::ranges(cpus)
    )]
    FewCpus {
        /// The roles that the agent plays.
        agent: String,
        /// That its libraries have made.
        threads: u64,
        /// The CPUs of the library, all of them those of such senders.
        cpus: Vec<u32>,
    },
    /// The runner read late what daemons and the host use.
    #[error(
        "the cost of daemons and host was read {late} after the window began instead of before it; the trial has no costs"
    )]
    RunnerReadLate {
        /// After the start of the window.
        late: Nanos,
    },
    /// Replies that were waited for in vain have used up the trial's deadline.
    #[error(
        "{who}: stopped after {offered} round trips, {lost} of them lost, because the deadline of {deadline} has passed"
    )]
    CutShort {
        /// Who sent.
        who: Who,
        /// What was sent until then.
        offered: u64,
        /// What was not answered of it.
        lost: u64,
        /// Of each step of the trial.
        deadline: Nanos,
    },
    /// A participant could not go on, in a trial with faults, which tolerates that.
    #[error("{who}: {trouble} (in `{step}`); the trial has faults and went on without it")]
    Tolerated {
        /// Who.
        who: Who,
        /// What it was.
        trouble: AgentTrouble,
        /// The call into the adapter, such as `open`.
        step: String,
    },
    /// How long the participants took to start is not known.
    #[error("the start of its participants is not recorded: {error}")]
    StartNotRecorded {
        /// Why.
        error: String,
    },
    /// How long its virtual machine took to boot is not known.
    #[error("the boot of its machine is not recorded: {error}")]
    BootNotRecorded {
        /// Why.
        error: String,
    },
    /// The CPUs could not be probed before the trial.
    #[error("host noise: {error}")]
    NotProbed {
        /// Why.
        error: String,
    },
    /// The stored gaps of the host cannot be decoded.
    #[error("the host's own noise is not known: {error}")]
    NoiseNotKnown {
        /// Why.
        error: String,
    },
    /// The counters of a host's network cannot be read.
    #[error("{host}: its network counters cannot be read: {error}")]
    NetworkUnseen {
        /// By its name in the testbed.
        host: String,
        /// Why.
        error: String,
    },
    /// The queues of the switch between namespaces cannot be read.
    #[error("the queues of the switch cannot be read: {error}")]
    SwitchUnseen {
        /// Why.
        error: String,
    },
    /// A host's network held something of before the trial.
    #[error("{host} was not clean before the trial: {left}")]
    NotClean {
        /// By its name in the testbed.
        host: String,
        /// What.
        left: Residue,
    },
    /// Earlier trials left files that no session clears.
    #[error(
        "shared memory or queues appeared after the run began and before this trial: {}{}", named.join(", "),
        if *more > 0 { format!(" and {more} more") } else { String::new() }
    )]
    Leavings {
        /// The first of them.
        named: Vec<String>,
        /// How many further ones.
        more: u64,
    },
    /// A process ended that no fault was to end, after one had been made.
    #[error(
        "{process} ended with {exit} after the fault{}", said.as_ref().map(|s| format!("; it said last: {s}")).unwrap_or_default()
    )]
    EndedAfterFault {
        /// Such as `daemon RouDi on h1`.
        process: String,
        /// How.
        exit: Exit,
        /// Last, if anything.
        said: Option<String>,
    },
    /// An agent could not go on after a fault.
    #[error("{agent} failed after the fault (in `{step}`): {trouble}")]
    FailedAfterFault {
        /// Such as `agent (sink 1) with adapter tcp`.
        agent: String,
        /// Of the agent, such as `open`.
        step: String,
        /// What it was.
        trouble: AgentTrouble,
    },
    /// An agent did not answer after a fault.
    #[error("{agent} did not answer in step `{step}` within {:.1} s after the fault, and was ended", within.as_secs_f64())]
    SilentAfterFault {
        /// Such as `agent (sink 1) with adapter tcp`.
        agent: String,
        /// Of the trial.
        step: String,
        /// The deadline.
        within: Nanos,
    },
    /// Samples are so short that the step of the clock shows in their quantiles.
    #[error(
        "an operation takes {mean_ns:.1} ns, and samples have whole nanoseconds after Dyno's own cost is subtracted: below {short} a \
         quantile is accurate only to a nanosecond or two"
    )]
    ShortPieces {
        /// The shortest mean of any copy.
        mean_ns: f64,
        /// Pieces are short below this.
        short: Nanos,
    },
    /// Cycles and instructions are not known.
    #[error("no core cycles or instructions: {error}")]
    NoCycles {
        /// Why.
        error: String,
    },
    /// A timer's thread could not be pinned.
    #[error(
        "the kernel grants SCHED_DEADLINE only to threads that may use all CPUs, so the timer's thread was not pinned"
    )]
    NotPinned,
    /// A timer's period is too short for what else the CPU does.
    #[error(
        "{missed} of {done} due times had passed when the thread woke for an earlier one: a period \
         of {period} is too short for this CPU and its other work"
    )]
    DueTimesMissed {
        /// Passed.
        missed: u64,
        /// All.
        done: u64,
        /// Between due times.
        period: Nanos,
    },
    /// The kernel does not use the slack that was asked for.
    #[error("slack applies only to nanosleep in SCHED_OTHER")]
    SlackUnused,
    /// Pages that were to be huge are small.
    #[error(
        "{missed} of {done} pages were not huge: the kernel had no memory in one piece for them"
    )]
    PagesNotHuge {
        /// Small ones.
        missed: u64,
        /// All.
        done: u64,
    },
    /// Nobody can say what caused a timer's longest delay: tracefs is not mounted or may not be read.
    #[error(
        "the cause of the longest delay is not known: the kernel's tracers cannot be read (mount tracefs as root: `mount \
         -t tracefs none /sys/kernel/tracing`)"
    )]
    TracersUnread,
    /// The same: the kernel lacks tracers.
    #[error(
        "the cause of the longest delay is not known: this kernel is built without the tracers {}{}", missing.join(", "),
        if there.is_empty() { String::new() } else { format!("; {} are there and can run beside a repeat", there.join(", ")) }
    )]
    TracersMissing {
        /// By name.
        missing: Vec<String>,
        /// Those that the kernel has.
        there: Vec<String>,
    },
    /// What the clock of a host showed whose counter was told to lie, in a build for the study of clocks.
    #[error(
        "clock lie: {} clock showed {} at {} and {} at {}, told with {told}",
        if *translated { "translated" } else { "the run's" }, first.1.0, first.0, last.1.0, last.0
    )]
    ClockLie {
        /// It is a translated clock, not the run's.
        translated: bool,
        /// The machine's counter and what the clock showed, first.
        first: (u64, Nanos),
        /// The same, last.
        last: (u64, Nanos),
        /// How the counter lied.
        told: String,
    },
}

/// Leftovers of earlier traffic in a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "residue", rename_all = "kebab-case")]
pub enum Residue {
    /// Fragments that wait for the rest of their datagram.
    #[error("fragments of earlier datagrams take {} of the {} KiB for reassembly", bytes >> 10, limit >> 10)]
    Fragments {
        /// Their size.
        bytes: u64,
        /// What the kernel keeps at most, in bytes.
        limit: u64,
    },
    /// Ports of connections that have ended.
    #[error("{connections} earlier connections in TIME_WAIT take more than half of {ports} ports")]
    TimeWait {
        /// Such connections.
        connections: u64,
        /// Ports that there are.
        ports: u64,
    },
    /// Frames in front of links.
    #[error("{bytes} bytes wait in front of its links")]
    Queued {
        /// Their size.
        bytes: u64,
    },
    /// Neighbours that could not be found.
    #[error("{neighbours} neighbours do not answer")]
    LostNeighbours {
        /// How many.
        neighbours: u64,
    },
}
