//! Chains: stacks made of legs that gateways join.

use crate::adapter::Options;
use crate::daemon::Daemon;
use crate::factor::{Placement, Wait};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;

/// How many legs a chain may have. With one there is nothing to join.
pub const LEGS: RangeInclusive<usize> = 2..=8;

/// The legs of a stack, in the order of a message's way from sender to receiver, and what stands between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chain {
    /// As many as [`LEGS`] allows.
    pub legs: Vec<ChainLeg>,
    /// One less than legs: the gateway of number `i` joins the legs `i` and `i + 1`.
    pub gateways: Vec<Gateway>,
}

/// One leg of a chain: a stack between two participants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainLeg {
    /// The stack that it is.
    pub stack: String,
    /// The adapter of that stack.
    pub adapter: String,
    /// The adapter's options.
    pub options: Options,
    /// How its receivers wait; `None`: as the experiment says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Whether it stays on a host or leads to the next one.
    pub placement: Placement,
    /// What the stack needs beside the participants, on each host that the leg touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<Daemon>,
}

/// What joins two legs: a gateway of Dyno with its settings, or a third-party program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gateway {
    /// The program that bridges the legs instead of a gateway of Dyno; empty: nothing does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Daemon>,
    /// What stands between the two legs in each direction; `None`: nothing, so that a full leg holds up the one
    /// before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// `None`: one thread where all that it reads from is polled, else one for each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<Threads>,
    /// A planted fault: it keeps each message for so long. For studies of what shows where, never for measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Nanos>,
}

/// Messages that a gateway has taken and not yet sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The maximum number for each channel.
    pub depth: u32,
    /// What happens to a message that finds no room.
    pub full: Full,
}

choice! {
    /// What a full queue does.
    #[derive(Default)]
    Full, "full queue" {
        /// Takes no further message until there is room.
        #[default]
        HoldUp = "hold-up",
        /// Loses the message that has waited longest.
        DropOldest = "drop-oldest",
        /// Loses the message that has just come.
        DropNewest = "drop-newest",
    }
}

choice! {
    /// Who carries messages through a gateway.
    Threads, "number of threads" {
        /// One thread for both directions.
        One = "one",
        /// One for each direction; where it blocks, one for each channel that it reads from.
        Direction = "direction",
    }
}

impl Gateway {
    /// It is no participant of the trial: a third-party program bridges the legs, so its work is not visible.
    pub fn is_foreign(&self) -> bool {
        !self.programs.is_empty()
    }
}

impl Chain {
    /// For each gateway, whether it is a third-party program.
    pub fn foreign(&self) -> Vec<bool> {
        self.gateways.iter().map(Gateway::is_foreign).collect()
    }

    /// The programs that bridge legs on a host, by its number on the way.
    pub fn programs_on(&self, host: usize) -> impl Iterator<Item = &Daemon> {
        let placements = self.placements();
        let here = move |number: usize| crossings(&placements[..=number]) == host;
        let all = self.gateways.iter().enumerate();
        all.filter(move |(number, _)| here(*number))
            .flat_map(|(_, gateway)| &gateway.programs)
    }

    /// Where each leg leads.
    pub fn placements(&self) -> Vec<Placement> {
        self.legs.iter().map(|leg| leg.placement).collect()
    }

    /// The hosts that it stands on.
    pub fn hosts(&self) -> usize {
        1 + crossings(&self.placements())
    }
}

/// How many of these legs lead to another host.
pub(crate) fn crossings(legs: &[Placement]) -> usize {
    legs.iter().filter(|leg| **leg == Placement::Host).count()
}

/// What a gateway did with the messages of the window that came over one channel. It reads each where the library put
/// it, and writes it once into the memory that the next leg's library gives it; only copies beyond this are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forwarded {
    /// The participant.
    pub gateway: u16,
    /// The channel over which they came.
    pub from: u16,
    /// The one over which they were sent on.
    pub onto: u16,
    /// Messages that it took.
    pub taken: u64,
    /// Messages that the next leg accepted.
    pub sent: u64,
    /// Messages that the next leg refused.
    pub refused: u64,
    /// Messages that the gateway's own queue lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// Copies of a payload into memory of the gateway's own: into its queue, and of a request that it took, which may be
    /// answered only once the library is done with giving it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub copied: u64,
    /// The next leg lends the memory that it sends; where not, its library or the kernel copies once more.
    pub lent: bool,
}

/// The parts of the way through a chain, of those messages of the window that everybody on the way has kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// How many messages these are.
    pub messages: u64,
    /// The smallest part of any message, in ns. Parts add up by how they are made; a part below zero by more than the
    /// bounds of the clocks says that notes of different messages were put together.
    pub least: i64,
    /// The most by which the parts of any message miss its whole time, in ns; runs of an older Dyno lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual: Option<u64>,
    /// In the order of the way, there and back.
    pub parts: Vec<Part>,
}

/// One part, in ns. Over hosts with clocks of their own it may be below zero, by no more than their bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Where.
    #[serde(flatten)]
    pub stage: Stage,
    /// On the way back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub back: bool,
    /// Of all messages.
    pub mean: f64,
    /// Quantiles of all messages, each the value of one of them.
    pub p50: i64,
    /// Nine of ten.
    pub p90: i64,
    /// 99 of 100.
    pub p99: i64,
    /// The mean of the messages whose whole time is nearest to the median, a tenth of all.
    pub at_median: f64,
    /// The mean of the messages whose whole time is longest, a hundredth of all.
    pub in_tail: f64,
}

/// Where a message is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "stage", content = "number")]
pub enum Stage {
    /// On the leg of this number, from 1.
    Leg(u16),
    /// In the gateway of this number, from 1: that behind the leg of the same number.
    Gateway(u16),
    /// At the echo, which answers it.
    Echo,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Leg(number) => write!(f, "leg {number}"),
            Stage::Gateway(number) => write!(f, "gateway {number}"),
            Stage::Echo => write!(f, "echo"),
        }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
