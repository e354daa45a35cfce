//! Faults: what is broken on purpose within a trial, and what came of it.
//!
//! A trial with faults is of the workload `stream` or of `call`. Its participants tolerate failing calls and go on, each message's
//! sequence number is its place in the schedule that began with the window, and each receiving end keeps a log of events
//! that outlives its process ([`FaultEvent`]). The runner makes the faults, stamps them ([`FaultMade`]) and works out
//! of the logs what came of them ([`Outage`]).

use crate::unit::{Nanos, with_prefix};
use serde::{Deserialize, Serialize};
use std::fmt;

choice! {
    /// What is done.
    FaultKind, "kind of fault" {
        /// Nothing: a control, with all that is done for a fault but the fault.
        Nothing = "nothing",
        /// A process is killed with SIGKILL, and nobody takes its place.
        Kill = "kill",
        /// A process aborts (SIGABRT), and nobody takes its place.
        Crash = "crash",
        /// A participant closes its endpoints in order and its process ends; of a daemon: it is asked to end as its stack file says.
        Leave = "leave",
        /// A process is killed with SIGKILL; after the fault's time a new one takes its place under the same names.
        Restart = "restart",
        /// As [`Leave`](Self::Leave); after the fault's time a new process joins under the same names.
        Rejoin = "rejoin",
        /// A receiver that nobody waits for is not there before; its process, started with the others, joins them and
        /// leaves in order after the fault's time.
        Join = "join",
        /// As [`Restart`](Self::Restart), of all senders or all receivers at once: they start together.
        Storm = "storm",
        /// A process is stopped with SIGSTOP for the fault's time, then continued.
        Stop = "stop",
        /// All processes of a host are stopped with SIGSTOP for the fault's time.
        Freeze = "freeze",
        /// The host's own end of its link is switched off for the fault's time: its side sees it. Unlike with an unplugged cable its
        /// routes go too, so that sends fail at once.
        LinkDown = "link-down",
        /// All packets to or from the host are dropped for the fault's time, without a sign.
        Blackout = "blackout",
        /// A share of the packets to and from the host is dropped at random for the fault's time.
        Loss = "loss",
        /// The host's link has another rate for the fault's time, in both directions.
        Rate = "rate",
    }
}

impl FaultKind {
    /// Whether a new process takes the place of one that has ended.
    pub const fn restarts(self) -> bool {
        matches!(
            self,
            FaultKind::Restart | FaultKind::Rejoin | FaultKind::Storm
        )
    }

    /// Whether the process that it strikes ends, and nobody takes its place.
    pub const fn ends(self) -> bool {
        matches!(
            self,
            FaultKind::Kill | FaultKind::Crash | FaultKind::Leave | FaultKind::Join
        )
    }

    /// Its row of the table.
    pub const fn info(self) -> FaultInfo {
        const fn info(was: &'static str, done: &'static str, on: On, lasts: bool) -> FaultInfo {
            FaultInfo {
                was,
                done,
                on,
                lasts,
            }
        }
        match self {
            FaultKind::Nothing => info("was ", "left alone", On::Process, true),
            FaultKind::Kill => info("was ", "killed", On::Process, false),
            FaultKind::Crash => info("", "crashed", On::Process, false),
            FaultKind::Leave => info("", "left", On::Process, false),
            FaultKind::Restart => info("was ", "killed and restarted after", On::Process, true),
            FaultKind::Rejoin => info("", "left and rejoined after", On::Process, true),
            FaultKind::Join => info("", "joined and left after", On::Process, true),
            FaultKind::Storm => info(
                "was ",
                "killed and restarted with all others of its side after",
                On::Process,
                true,
            ),
            FaultKind::Stop => info("was ", "stopped for", On::Process, true),
            FaultKind::Freeze => info("was ", "frozen for", On::Host, true),
            FaultKind::LinkDown => info("was ", "without a link for", On::Link, true),
            FaultKind::Blackout => info("was ", "cut off without a sign for", On::Link, true),
            FaultKind::Loss => info("was ", "on a lossy link for", On::Link, true),
            FaultKind::Rate => info("was ", "on a link of another rate for", On::Link, true),
        }
    }
}

/// Static properties of a kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultInfo {
    /// The auxiliary of `done` in a sentence, with a blank: `was `; empty where `done` is a verb.
    pub was: &'static str,
    /// What happened to whom it strikes, before its duration: `without a link for`.
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

choice! {
    /// Which packets a blackout drops, seen from the host that it strikes.
    #[derive(Default)]
    Way, "way of packets" {
        /// All.
        #[default]
        Both = "both",
        /// Those that it would receive.
        In = "in",
        /// Those that it sends.
        Out = "out",
    }
}

/// A fault of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// What is done.
    pub what: FaultKind,
    /// To whom.
    pub who: Target,
    /// When, after the window begins; the runner adds up to a period of the stream, at random for each trial, and begins the
    /// trial at a random phase of the library's timers ([`Plan::longest_phase`](crate::Plan::longest_phase)).
    pub at: Nanos,
    /// For how long; zero where its kind has no time.
    #[serde(rename = "for", default)]
    pub lasts: Nanos,
    /// Of a loss: the share of packets that is dropped, above 0 and up to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Of a loss: how many packets in a row are dropped on average, from 1 on. `None`: each packet is dropped or not whatever
    /// happened to the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// Of a rate: bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bits: Option<u64>,
    /// Of a blackout.
    #[serde(default, skip_serializing_if = "is_both")]
    pub way: Way,
}

fn is_both(way: &Way) -> bool {
    *way == Way::Both
}

impl Fault {
    /// What is done, such as `without a link for 1 s`, without whom it strikes and when.
    pub fn done(&self) -> String {
        let info = self.what.info();
        let mut text = info.done.to_owned();
        if info.lasts && self.what != FaultKind::Nothing {
            text.push_str(&format!(" {}", self.lasts));
        }
        if let Some(share) = self.share {
            let row = self.burst.map(|burst| format!(", {burst} in a row"));
            let row = row.unwrap_or_default();
            text.push_str(&format!(" ({} % lost{row})", share * 100.0));
        }
        if let Some(rate) = self.rate_bits {
            text.push_str(&format!(" ({}bit/s)", with_prefix(rate as f64)));
        }
        text + match self.way {
            Way::Both => "",
            Way::In => " (inbound)",
            Way::Out => " (outbound)",
        }
    }
}

/// Such as `receiver without a link for 1 s`, without when.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.who, self.done())
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

/// An entry in the log of a participant. The order has no meaning; it only makes the sorting of equal logs unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

/// What a participant notes. A place in the schedule counts the due times since the window's begin, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Noted {
    /// An intact message of the window arrived.
    Arrival {
        /// Its place in the schedule.
        sequence: u64,
        /// When it was due; of an answer its call.
        due: Nanos,
        /// When it was sent; of an answer its call.
        sent: Nanos,
    },
    /// A message arrived with other content than was sent, or cut short.
    Damaged,
    /// The library took a message; `at` is when its send returned.
    Sent {
        /// Its place in the schedule.
        sequence: u64,
        /// When it was stamped, just before the send.
        sent: Nanos,
    },
    /// The library did not take a message: it refused it or its send failed.
    NotSent {
        /// Its place in the schedule.
        sequence: u64,
    },
    /// A call had no answer within its timeout, or taking the answer failed; `at` is when the caller gave it up.
    NoAnswer {
        /// Its place in the schedule.
        sequence: u64,
    },
    /// A take failed. Noted once until a take succeeds.
    TakeFailed,
    /// The library told with how many peers an end is matched: once first, then whenever that has changed.
    Peers {
        /// How many; of a receiver 1 where it knows its sender, else 0.
        matched: u32,
    },
}

/// How the library told of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetectedBy {
    /// The number of matched peers fell.
    Peers,
    /// A send failed or was refused.
    Send,
    /// A take failed.
    Take,
    /// A call had no answer in time.
    Call,
}

/// When an end first told of a fault in one of the ways, within the window. An end that told in that way also before the fault
/// has none: it would tell without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detection {
    /// Who told; not whom the fault struck.
    pub participant: u16,
    /// How.
    pub by: DetectedBy,
    /// After the fault's begin, by the earlier of its readings.
    pub after: Nanos,
}

/// Results of a trial's faults over one channel at one receiver. With several faults the first one's begin and the last one's
/// end count; a fault without an end counts from its begin. Of the two readings of an instant a time counts from the earlier
/// one, and what must have happened after it happened after the later one: so no figure is shorter than the truth.
///
/// A message is *newer* where its place in the schedule is behind those of all that arrived before it, so a repeated or an
/// overtaken message ends no silence. *Before the fault* are the messages of the window up to the newest one that had arrived
/// when it began. *In time* is a response time of at most the largest one before the fault plus [`Outage::TOLERANCE`]. The
/// *proof* is the longer of [`Outage::PROOF_PERIODS`] periods of the stream and [`Outage::PROOF`].
///
/// An end is *deaf* where nothing newer came for good: no message that was sent after the fault's end arrived newer, or all
/// messages are missing that were due in the last part of the window, which is as long as the proof or longer. At a deaf end silence, recovery and steady state are infinite, whatever came in between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outage {
    /// The channel.
    pub channel: u16,
    /// The receiving participant; of a call the caller, whose arrivals are the answers.
    pub receiver: u16,
    /// The longest time from one newer message to the next that ends after the fault's begin. Where a few of the last
    /// messages of the window are missing, the last one ends with the window. `None`: the end is deaf.
    pub silence: Option<Nanos>,
    /// From the fault's end until the first newer message that was sent after it. Zero where messages came all
    /// along: every one behind those before the fault, until the proof after its end, arrived once and in time. `None`: the end
    /// is deaf.
    pub recovery: Option<Nanos>,
    /// From the fault's end until the first arrival from which on, for the time of the proof, every due message arrives once
    /// and in time; not before the recovery, and behind the last silence that is longer than the proof. Zero where messages
    /// came all along and no such silence came later. `None`: never within the window, or the end is deaf.
    pub steady: Option<Nanos>,
    /// From the fault's end until the window's end: what comes later nobody sees. Zero in records that do not have it.
    #[serde(default)]
    pub seen: Nanos,
    /// Messages due from the fault's begin on that never arrived intact.
    pub lost: u64,
    /// Further copies of messages, from the fault's begin on.
    pub repeated: u64,
    /// Arrivals behind a later message, from the fault's begin on.
    pub reordered: u64,
    /// Messages that arrived within [`Outage::BURST`] of the one that ended the silence, that one included; 0 at a deaf end.
    pub burst: u64,
    /// The largest age (arrival less due time) among them.
    pub oldest: Nanos,
    /// The median response time before the fault. `None`: half of those messages or more never arrived, or there are none.
    pub before_p50: Option<Nanos>,
    /// The largest response time before the fault, of the messages that arrived. `None`: none did, and then nothing after it
    /// is known to be in time.
    pub before_max: Option<Nanos>,
    /// The largest response time from the steady state on, of the messages that arrived: beside `before_max` it shows what
    /// stays of the fault. `None`: there is no steady state.
    pub steady_max: Option<Nanos>,
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

    /// By how much a response time may exceed the largest one before the fault and still be in time.
    pub const TOLERANCE: Nanos = Nanos::from_millis(1);

    /// For how many periods messages must arrive in time for a steady state, at least.
    pub const PROOF_PERIODS: u64 = 10;

    /// For how long, at least.
    pub const PROOF: Nanos = Nanos::from_millis(100);

    /// For how long messages of a stream of this period must arrive in time until that counts as steady.
    pub fn proof(period: Nanos) -> Nanos {
        Nanos(period.0.saturating_mul(Outage::PROOF_PERIODS)).max(Outage::PROOF)
    }

    /// How long before the fault's begin, and after its end or the silence, arrivals are kept for the picture.
    pub const AROUND: Nanos = Nanos::from_secs(1);

    /// Whether the end never got anything newer again.
    pub const fn is_deaf(&self) -> bool {
        self.recovery.is_none()
    }
}
