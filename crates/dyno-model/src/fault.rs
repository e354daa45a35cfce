//! Faults: what is broken on purpose within a trial, and what came of it.
//!
//! A trial with faults is of the workload `stream`. Its participants tolerate failing calls and go on, each message's
//! sequence number is its place in the schedule that began with the window, and each receiving end keeps a log of events
//! that outlives its process ([`FaultEvent`]). The runner makes the faults, stamps them ([`FaultMade`]) and works out
//! of the logs what came of them ([`Outage`]).

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Nothing: a control, with all that is done for a fault but the fault.
    Nothing,
    /// A process is killed with SIGKILL, and nobody takes its place.
    Kill,
    /// A process aborts (SIGABRT), and nobody takes its place.
    Crash,
    /// A participant closes its endpoints in order and its process ends; of a daemon: it is asked to end as its stack file says.
    Leave,
    /// A process is killed with SIGKILL; after the fault's time a new one takes its place under the same names.
    Restart,
    /// A process is stopped with SIGSTOP for the fault's time, then continued.
    Stop,
    /// All processes of a host are stopped with SIGSTOP for the fault's time.
    Freeze,
    /// The host's link is taken down for the fault's time: its side sees it, as of an unplugged cable.
    LinkDown,
    /// All packets to or from the host are dropped for the fault's time, without a sign.
    Blackout,
    /// A share of the packets to and from the host is dropped at random for the fault's time.
    Loss,
}

impl FaultKind {
    /// Every kind, in the order of the reference.
    pub const ALL: [FaultKind; 10] = [
        FaultKind::Nothing,
        FaultKind::Kill,
        FaultKind::Crash,
        FaultKind::Leave,
        FaultKind::Restart,
        FaultKind::Stop,
        FaultKind::Freeze,
        FaultKind::LinkDown,
        FaultKind::Blackout,
        FaultKind::Loss,
    ];

    /// Its row of the table.
    pub const fn info(self) -> FaultInfo {
        const fn info(name: &'static str, done: &'static str, on: On, lasts: bool) -> FaultInfo {
            FaultInfo {
                name,
                done,
                on,
                lasts,
            }
        }
        match self {
            FaultKind::Nothing => info("nothing", "left alone", On::Process, true),
            FaultKind::Kill => info("kill", "killed", On::Process, false),
            FaultKind::Crash => info("crash", "crashed", On::Process, false),
            FaultKind::Leave => info("leave", "left", On::Process, false),
            FaultKind::Restart => info("restart", "killed and restarted after", On::Process, true),
            FaultKind::Stop => info("stop", "stopped for", On::Process, true),
            FaultKind::Freeze => info("freeze", "frozen for", On::Host, true),
            FaultKind::LinkDown => info("link-down", "unplugged for", On::Link, true),
            FaultKind::Blackout => info("blackout", "cut off without a sign for", On::Link, true),
            FaultKind::Loss => info("loss", "on a lossy link for", On::Link, true),
        }
    }
}

/// What is to be known of a kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultInfo {
    /// In suites and JSON.
    pub name: &'static str,
    /// What was done to whom it struck, in a sentence before its time: `unplugged for`.
    pub done: &'static str,
    /// What it strikes.
    pub on: On,
    /// Whether it has a time (`for`).
    pub lasts: bool,
}

/// What a kind of fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A process: of a participant or a daemon.
    Process,
    /// All processes of a host.
    Host,
    /// The link of a host of the testbed that is a namespace.
    Link,
}

/// Whom a fault strikes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Target {
    /// A sender, counted from 0, or its process, host or link.
    Sender {
        /// Which.
        number: u16,
    },
    /// A receiver, counted from 0, or its process, host or link.
    Receiver {
        /// Which.
        number: u16,
    },
    /// A daemon of the stack; of several with that name the first. Empty: its first one.
    Daemon {
        /// Its name in the stack file.
        name: String,
    },
}

/// As suites say it: `sender`, `receiver 2` (counted from 1 there), `daemon`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbered = |f: &mut fmt::Formatter<'_>, word: &str, number: u16| match number {
            0 => f.write_str(word),
            n => write!(f, "{word} {}", n + 1),
        };
        match self {
            Target::Sender { number } => numbered(f, "sender", *number),
            Target::Receiver { number } => numbered(f, "receiver", *number),
            Target::Daemon { name } if name.is_empty() => f.write_str("daemon"),
            Target::Daemon { name } => write!(f, "daemon {name}"),
        }
    }
}

/// Which packets a blackout drops, seen from the host that it strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// All.
    #[default]
    Both,
    /// Those that it would receive.
    In,
    /// Those that it sends.
    Out,
}

/// A fault of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// What is done.
    pub what: FaultKind,
    /// To whom.
    pub who: Target,
    /// When, after the window begins; the runner adds up to a period of the stream, at random for each trial, so that no
    /// phase is favoured.
    pub at: Nanos,
    /// For how long; zero where its kind has no time.
    #[serde(rename = "for", default)]
    pub lasts: Nanos,
    /// Of a loss: the share of packets that is dropped, above 0 and up to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Of a blackout.
    #[serde(default, skip_serializing_if = "is_both")]
    pub way: Way,
}

fn is_both(way: &Way) -> bool {
    *way == Way::Both
}

/// Such as `receiver unplugged for 1 s`, without when.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.what.info();
        write!(f, "{} {}", self.who, info.done)?;
        if info.lasts && self.what != FaultKind::Nothing {
            write!(f, " {}", self.lasts)?;
        }
        if let Some(share) = self.share {
            write!(f, " ({} % lost)", share * 100.0)?;
        }
        match self.way {
            Way::Both => Ok(()),
            Way::In => f.write_str(" (inbound)"),
            Way::Out => f.write_str(" (outbound)"),
        }
    }
}

/// A fault as it was made in a trial. Each instant is on the run's clock and has two readings of it, before and after the call that
/// did it: it lies between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultMade {
    /// Its place in the experiment's list.
    pub fault: u16,
    /// Whom it struck, such as `agent (sink 1) on h2 with adapter tcp`, or `link of h2`.
    pub who: String,
    /// When it began.
    pub begin: [Nanos; 2],
    /// When it ended: the process continued, the link was up, the new process had its order to open. The begin, where its kind
    /// has no time. `None`: its end was not reached, such as of a process that never came back.
    pub end: Option<[Nanos; 2]>,
}

/// An entry in the log of a participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultEvent {
    /// Who noted it.
    pub participant: u16,
    /// Of several processes that played it in turn, which; from 0.
    pub generation: u16,
    /// Over which channel.
    pub channel: u16,
    /// What happened.
    pub what: Noted,
    /// When, on the run's clock.
    pub at: Nanos,
}

/// What a participant notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Noted {
    /// An intact message arrived.
    Arrival {
        /// Its place in the schedule.
        sequence: u64,
        /// When it was due.
        due: Nanos,
        /// When it was sent.
        sent: Nanos,
    },
    /// A message arrived with other content than was sent, or cut short.
    Damaged,
    /// The library took a message; `at` is when its send returned.
    Sent {
        /// Its place in the schedule.
        sequence: u64,
    },
    /// The library did not take a message: it refused it or its send failed.
    NotSent {
        /// Its place in the schedule.
        sequence: u64,
    },
    /// A take failed. Noted once until a take succeeds.
    TakeFailed,
    /// The library told another number of peers, with which a sender or receiver is matched.
    Peers {
        /// How many.
        matched: u32,
    },
}

/// How the library told of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetectedBy {
    /// The number of matched peers fell.
    Peers,
    /// A send failed or was refused.
    Send,
    /// A take failed.
    Take,
}

/// When an end first told of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detection {
    /// Who told; not whom the fault struck.
    pub participant: u16,
    /// How.
    pub by: DetectedBy,
    /// After the fault's begin.
    pub after: Nanos,
}

/// What came of a trial's faults over one channel at one receiver. With several faults the first one's begin and the last one's
/// end count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outage {
    /// The channel.
    pub channel: u16,
    /// The receiving participant.
    pub receiver: u16,
    /// The longest time without a newer message that overlaps the time from the fault's begin on; where none came
    /// after the fault, `None`: it has no end.
    pub silence: Option<Nanos>,
    /// From the fault's end until the first newer message; zero where messages came all along. `None`: none came.
    pub recovery: Option<Nanos>,
    /// From the fault's end until rate and latency are as before it. `None`: never.
    pub steady: Option<Nanos>,
    /// Messages due from the fault's begin on that never arrived intact.
    pub lost: u64,
    /// Further copies of messages, from the fault's begin on.
    pub repeated: u64,
    /// Arrivals behind a later message, from the fault's begin on.
    pub reordered: u64,
    /// Messages that arrived within 10 ms of the first one after the silence, that one included.
    pub burst: u64,
    /// The largest age (arrival less due time) among them.
    pub oldest: Nanos,
    /// The response time's median before the fault, and the largest of those due after the fault's end and steady again.
    /// For what others see meanwhile.
    pub before_p50: Nanos,
    /// Arrivals around the fault for the picture, at most [`Outage::MOST_ARRIVALS`]: relative to the fault's begin, in ns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<i64>,
}

impl Outage {
    /// The most arrivals that a record keeps for the picture of one end; of more it keeps the first of each of so many
    /// equal pieces of time.
    pub const MOST_ARRIVALS: usize = 400;

    /// From the first message after the silence on, how long belongs to its burst.
    pub const BURST: Nanos = Nanos::from_millis(10);
}
