//! The messages between the runner and its agents: one JSON value per line over stdio.
//!
//! The runner sends [`Command`]s, the agent answers with [`Report`]s. The order of a trial:
//!
//! | runner | agent |
//! |---|---|
//! | | `hello` |
//! | `prepare` | `ready` (adapter loaded, pinned, scheduled, memory locked) |
//! | `go` | `matched` (endpoints exist and see each other; those that do exchange probes already) |
//! | `link` | `linked` (a probe message arrived over every channel it receives from) |
//! | `start` | `steady` (recording roles: the warm-up may end) |
//! | `window` | `done` (active roles: everything offered) |
//! | `drain` | `drained` (passive roles: all arrived, or the drain deadline passed) |
//! | `collect` | `result`, then the agent exits |
//!
//! Between them the runner of a host with another clock sends `tick` and gets `tock`.
//! At any time an agent may report `failed` and exit; `leave` has it close its endpoints in order and exit without a result.

use crate::adapter::Options;
use crate::cause::{AgentTrouble, StuckCall, Warning, Who};
use crate::chain::{Forwarded, Gateway};
use crate::factor::Wait;
use crate::graph::{Channel, Graph, Participant};
use crate::metric::Metric;
use crate::noise::Place;
use crate::plan::{Experiment, TrialId};
use crate::record::{CopyRecord, Distribution, FlowCounts, ProcessCost, RawSample};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub use crate::role::Role;

/// The version of this protocol. Runner and agent must agree exactly.
pub const VERSION: u32 = 14;

/// How raw clock readings become nanoseconds on the run's clock. Calibrated once by the runner
/// and handed to all participants, so that they convert alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "source")]
pub enum ClockSpec {
    /// The processor's counter, the invariant TSC or on arm64 CNTVCT: `ns = ns0 + ((ticks - ticks0) * mult) >> 32`.
    Tsc {
        /// Counter value at the origin.
        ticks0: u64,
        /// CLOCK_MONOTONIC at the origin, in nanoseconds.
        ns0: u64,
        /// Nanoseconds per tick, as a 32.32 fixed-point number.
        mult: u64,
    },
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    Monotonic,
    /// CLOCK_MONOTONIC of another machine, translated to the run's clock by the formula of `tsc` with
    /// its nanoseconds as ticks.
    Scaled {
        /// The host's CLOCK_MONOTONIC at the origin, in nanoseconds.
        ticks0: u64,
        /// The run's clock at the origin, in nanoseconds.
        ns0: u64,
        /// Nanoseconds of the run's clock per nanosecond of the host's, as a 32.32 fixed-point number.
        mult: u64,
    },
}

/// A counter of a host that can be translated to the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counter {
    /// The processor's counter: the invariant TSC, on arm64 CNTVCT.
    Tsc,
    /// CLOCK_MONOTONIC, in nanoseconds.
    Monotonic,
}

/// One receiver of a channel: who it is and where sockets may listen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The participant that receives.
    pub participant: u16,
    /// The IP address of its host.
    pub address: String,
    /// A port that no other endpoint of the trial has.
    pub port: u16,
}

/// One named, typed path for messages: one writer, one or several readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelSpec {
    /// Its number within the trial, also in each message's tag.
    pub id: u16,
    /// Unique on the machine: starts with the trial's session name. `[A-Za-z0-9._-]` only.
    pub name: String,
    /// The largest message in bytes.
    pub max_payload: usize,
    /// The participant that sends.
    pub writer: u16,
    /// The IP address of the writer's host.
    pub writer_address: String,
    /// The participants that receive.
    pub readers: Vec<Endpoint>,
    /// Plain messages, or one direction of a call.
    #[serde(default)]
    pub carries: Carries,
}

/// What a channel carries.
///
/// With the `request_response` capability the two directions of a call are two channels that name
/// each other: the caller has a sender of the requests' channel and a receiver (or subscription) of
/// the responses' channel, the provider the reverse, made in either order. A node joins its two ends
/// to one client or one server of the library. A sender of responses answers the request that was
/// taken, or handed to its callback, last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Carries {
    /// Messages that nobody answers.
    #[default]
    Messages,
    /// Requests; each is answered over the channel of that name.
    Requests {
        /// The name of the responses' channel.
        responses: String,
    },
    /// Responses to what comes over the channel of that name.
    Responses {
        /// The name of the requests' channel.
        requests: String,
    },
}

/// What carries the messages of one leg of a stack; a stack without legs is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// The adapter by name.
    pub adapter: String,
    /// Its options.
    pub options: Options,
    /// How receivers on it wait.
    pub wait: Wait,
    /// Each take of a receiver on it asks for what is kept, and returns when that is answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
}

/// Everything that an agent must know for one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Which trial.
    pub trial: TrialId,
    /// Unique on the machine; every name that the trial creates starts with it.
    pub session: String,
    /// A directory of the trial's own, for sockets, pipes and markers of what must be removed.
    pub scratch: PathBuf,
    /// The clock of the run.
    pub clock: ClockSpec,
    /// The legs of the stack, by their number.
    pub legs: Vec<Leg>,
    /// The gateways between them, by the number of the leg before each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<Gateway>,
    /// The cell that the trial replicates; of several flows the first, with what holds for all of them.
    pub experiment: Experiment,
    /// The flows that run at the same time as that one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Experiment>,
    /// The seed of this trial's random choices.
    pub seed: u64,
    /// Everybody who takes part, and all channels.
    pub graph: Graph,
    /// The process of the graph that this agent is.
    pub process: u16,
    /// The hosts whose CPUs are those of this agent's, its own among them.
    #[serde(default)]
    pub sharing_cpus: Vec<usize>,
    /// The channels as adapters are told of them, by their number.
    pub channels: Vec<ChannelSpec>,
    /// Of several processes that play these participants in turn, which: from 0. Above 0 only where a fault restarts them.
    #[serde(default, skip_serializing_if = "is_first")]
    pub generation: u16,
}

const fn is_first(generation: &u16) -> bool {
    *generation == 0
}

impl Assignment {
    /// The cell that a participant is part of.
    pub fn experiment_of(&self, participant: &Participant) -> &Experiment {
        let beside = usize::from(participant.flow).checked_sub(1);
        let beside = beside.and_then(|number| self.beside.get(number));
        beside.unwrap_or(&self.experiment)
    }

    /// Where a participant of this agent logs its events in a trial with faults.
    pub fn fault_log(&self, participant: u16) -> PathBuf {
        let generation = self.generation;
        self.scratch
            .join(format!("faults-{participant}-{generation}"))
    }

    /// The participants that this agent plays.
    pub fn participants(&self) -> impl Iterator<Item = &Participant> {
        let all = self.graph.participants.iter();
        all.filter(|p| p.process == self.process)
    }

    /// How receivers wait on the leg of `channel`.
    pub fn wait(&self, channel: &Channel) -> Wait {
        let leg = self.legs.get(usize::from(channel.leg_of_readers()));
        leg.map_or(self.experiment.wait, |leg| leg.wait)
    }

    /// How a participant waits that stands on one leg; a gateway waits on each of its legs in another way.
    pub fn wait_of(&self, participant: u16) -> Wait {
        let own = self.graph.incoming(participant);
        let mut own = own.chain(self.graph.outgoing(participant));
        own.next().map_or(self.experiment.wait, |c| self.wait(c))
    }

    /// Whether a participant of this process polls for messages.
    pub fn polls(&self) -> bool {
        let mut received = self
            .participants()
            .flat_map(|p| self.graph.incoming(p.index));
        received.any(|c| self.wait(c) == Wait::Spin)
    }
}

/// Runner to agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command")]
pub enum Command {
    /// Load, pin, lock; create nothing yet.
    Prepare(Box<Assignment>),
    /// Create nodes, senders and receivers once the run's clock passes `at`.
    Go {
        /// The instant, on the run's clock.
        at: Nanos,
    },
    /// All participants are matched: tell when every receiver has seen a probe. Probes are sent since
    /// each sender was matched itself: the time to the first message waits for no other command.
    Link,
    /// Begin the warm-up at `at`.
    Start {
        /// The instant, on the run's clock.
        at: Nanos,
    },
    /// The window begins with the first message that is due at or after `at`. Not sent where the
    /// warm-up is a number of messages: the window follows it without a pause.
    Window {
        /// The instant, on the run's clock.
        at: Nanos,
    },
    /// All active roles are done.
    Drain {
        /// What was sent over every channel.
        sent: Vec<Sent>,
    },
    /// Tear down and report the result.
    Collect {
        /// The end of the last send or the last arrival anywhere in the trial, whichever is later, on the
        /// run's clock: cost is counted until then.
        last: Nanos,
    },
    /// A fault of the experiment: close all endpoints in order and exit, without a result.
    Leave,
    /// A step takes too long: report where each participant is.
    Explain,
    /// Read a counter now: one half of a timestamped exchange. Answered at any time before the result.
    Tick {
        /// Of the answer.
        number: u32,
        /// Which counter.
        counter: Counter,
    },
}

/// What one participant offered on its channel, told when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The channel.
    pub channel: u16,
    /// Measured messages that were due.
    pub offered: u64,
    /// Those that the stack accepted.
    pub sent: u64,
}

/// The settings of a participant's threads that were applied, and those that were denied.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Applied {
    /// What could not be, such as SCHED_FIFO.
    pub warnings: Vec<Warning>,
    /// What linuxptp says of this host's clock, where the runner asked for its counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptp: Option<String>,
}

/// What an agent measured of one exchange in one trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AgentResult {
    /// Which of the exchanges that stand side by side.
    pub exchange: u16,
    /// Latency distributions of the window, merged over this agent's participants.
    pub distributions: BTreeMap<Metric, Distribution>,
    /// Counts by channel and receiver.
    pub flows: Vec<FlowCounts>,
    /// What this agent's senders offered.
    pub sources: Vec<SourceCounts>,
    /// The cost of this agent's process from the first due time to the trial's last arrival; with the first of its
    /// exchanges.
    pub cost: Option<ProcessCost>,
    /// Raw samples, at most as many as the experiment asks for.
    pub raw: Vec<RawSample>,
    /// What the reader of the result should know, such as a window that was cut short.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// From go until endpoints existed, the slowest participant's.
    pub open: Nanos,
    /// From endpoints existing until matched, the slowest participant's.
    pub matching: Nanos,
    /// The instants that the time to the first message is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<Startup>,
    /// Where participants that are not pinned ran.
    #[serde(default)]
    pub places: Vec<Place>,
    /// What the copies of a probe found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<CopyRecord>,
    /// What gateways carried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwarded: Vec<Forwarded>,
    /// When messages passed the participants of a chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<Passages>,
    /// When gateways stood still.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
}

/// A time for which a participant was not run at all, on the run's clock; it began up to some ms after `from` and ended
/// up to as much before `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// The participant.
    pub participant: u16,
    /// When it was last seen to run.
    pub from: Nanos,
    /// When it was seen to run again.
    pub to: Nanos,
}

/// When messages of the window passed one participant, of those that were first sent over one channel. Of who began an
/// exchange and of who received in the end: when they were sent and when they arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passages {
    /// The participant.
    pub participant: u16,
    /// The channel that the messages were first sent over.
    pub channel: u16,
    /// The messages that all participants recorded.
    pub passages: Vec<Passage>,
}

/// A message's number, when it came and when it went, on the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage(pub u64, pub Nanos, pub Nanos);

/// How the participants of one agent came to their first messages, on the run's clock.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Startup {
    /// Go.
    pub go: Nanos,
    /// When the last of them had made its endpoints.
    pub opened: Nanos,
    /// When the last of them saw its peers.
    pub matched: Nanos,
    /// The first message at each end that receives; a sender has none.
    pub first: Vec<FirstArrival>,
}

/// When the first message arrived at one receiver over one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstArrival {
    /// The channel.
    pub channel: u16,
    /// The receiving participant.
    pub receiver: u16,
    /// The arrival, on the run's clock.
    pub at: Nanos,
}

/// What one sender did in the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SourceCounts {
    /// The channel.
    pub channel: u16,
    /// Messages that were due.
    pub offered: u64,
    /// Those that the stack accepted.
    pub sent: u64,
    /// Those that the stack refused.
    pub refused: u64,
    /// Messages sent later than their due time by more than the pacing tolerance.
    pub late: u64,
    /// What blocked sends took beyond the fastest one.
    pub blocked: Nanos,
    /// A send that took longer was blocked. `None` where the time of a send is not measured (closed loops) or
    /// none was accepted.
    pub blocked_above: Option<Nanos>,
    /// The CPU time that Dyno itself used while it waited for due times.
    pub pacing: Waited,
    /// The first due time, on the run's clock.
    pub first: Nanos,
    /// The end of the last send, on the run's clock.
    pub last: Nanos,
}

/// What waiting for due times took of the sender's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Waited {
    /// Its CPU time: of spinning as it was measured, and of each sleep what such a one takes.
    pub cpu: Nanos,
    /// Sleeps: each is one system call and one context switch of its own will.
    pub sleeps: u64,
}

impl std::iter::Sum for Waited {
    fn sum<I: Iterator<Item = Waited>>(all: I) -> Waited {
        all.fold(Waited::default(), |a, b| Waited {
            cpu: a.cpu.saturating_add(b.cpu),
            sleeps: a.sleeps + b.sleeps,
        })
    }
}

/// Agent to runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "report")]
pub enum Report {
    /// The first line of every agent.
    Hello {
        /// Must equal [`VERSION`].
        protocol: u32,
        /// Its process id.
        pid: u32,
        /// The counter that is best translated to another machine's clock.
        counter: Counter,
    },
    /// Ready to go.
    Ready(Applied),
    /// All endpoints exist and see their peers.
    Matched,
    /// A probe message arrived over every channel that this agent receives from.
    Linked,
    /// The warm-up has lasted as long as it must, and what this agent records is steady, or the
    /// longest warm-up is over. Agents that record nothing of the warm-up send it as well.
    Steady {
        /// Whether every series of it is steady.
        steady: bool,
    },
    /// The active roles of this agent have offered everything.
    Done {
        /// By channel.
        sent: Vec<Sent>,
    },
    /// The passive roles of this agent have received everything, or waited long enough.
    Drained {
        /// The end of the last send or the last arrival at this agent, on the run's clock; zero where there
        /// was none.
        last: Nanos,
    },
    /// The measurement.
    Result {
        /// One for each exchange that this agent has a part in, and at least one.
        exchanges: Vec<AgentResult>,
    },
    /// The answer to `tick`.
    Tock {
        /// The number of the question.
        number: u32,
        /// The counter when the question was read.
        ticks: u64,
        /// CLOCK_MONOTONIC_RAW just after it: the nominal rate of the counter is that against its own
        /// kernel's clock, which no time daemon slews.
        raw: Nanos,
    },
    /// The answer to `explain`: each thread that does not return from a call into its adapter; empty if all of them
    /// move.
    Stuck {
        /// The calls.
        calls: Vec<StuckCall>,
    },
    /// The trial cannot go on.
    Failed {
        /// The step that failed, such as `open` or `send`.
        step: String,
        /// The participant, where it is one's.
        who: Option<Who>,
        /// What happened, where, and what to do.
        trouble: AgentTrouble,
        /// Only because a peer is gone: what made the peer go is the cause.
        #[serde(default)]
        peer_gone: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_single_lines_with_a_discriminator() {
        let line = serde_json::to_string(&Command::Go { at: Nanos(5) }).unwrap();
        assert_eq!(line, r#"{"command":"go","at":5}"#);
        let back: Command = serde_json::from_str(&line).unwrap();
        assert_eq!(back, Command::Go { at: Nanos(5) });
        let drain = Command::Drain {
            sent: vec![Sent {
                channel: 3,
                offered: 8,
                sent: 7,
            }],
        };
        let line = serde_json::to_string(&drain).unwrap();
        assert_eq!(serde_json::from_str::<Command>(&line).unwrap(), drain);
    }
}
