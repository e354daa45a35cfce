//! The factors of an experiment: what may vary between two cells of a suite.

use crate::unit::UnitError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

choice! {
    /// How a receiver waits for a message.
    Wait, "wait strategy" {
        /// The role's own thread polls without pause and never sleeps.
        Spin = "spin",
        /// The role's own thread sleeps until the mechanism wakes it.
        Block = "block",
        /// The library calls us from a thread of its own.
        Callback = "callback",
    }
}

choice! {
    /// How much of the payload the roles touch.
    Access, "payload access" {
        /// Only the header of at most 32 bytes is written and read.
        Stamp = "stamp",
        /// Every byte is written by the source and verified by the sink, within the latency.
        All = "all",
    }
}

choice! {
    /// How the processes of participants are started, if their start is measured.
    Start, "start" {
        /// A process.
        Process = "process",
        /// A process alone in namespaces of its own for processes, mounts, names of the host, message queues and System V's
        /// shared memory; its files and its network are those of its host.
        Container = "container",
    }
}

choice! {
    /// How a sender waits until a message is due.
    #[derive(Default)]
    Pacing, "pacer" {
        /// It sleeps until shortly before the due time, then spins: messages are sent on time, and the sender keeps its CPU
        /// busy.
        #[default]
        Spin = "spin",
        /// It sleeps until the due time, as applications do: its CPU is free until then, and each message is late by the
        /// wake-up.
        Sleep = "sleep",
    }
}

choice! {
    /// Where the two sides of an exchange live, relative to each other.
    Placement, "placement" {
        /// Threads of one process.
        Thread = "thread",
        /// Processes of one host.
        Process = "process",
        /// Processes of different hosts.
        Host = "host",
    }
}

/// How many senders face how many receivers, written `1-1`, `3-1`, `2-2`, and how often the whole exchange stands there at
/// once, side by side: `1-1x4` is four times `1-1`.
///
/// Each sender has one channel of its own and every receiver of its exchange receives from all of its senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Topology {
    /// Participants that start an exchange: sources or initiators.
    pub senders: u16,
    /// Participants that answer or receive: sinks or echoes.
    pub receivers: u16,
    /// Exchanges at once, at least 1; both sides are those of one of them.
    pub copies: u16,
}

impl Topology {
    /// One sender, one receiver.
    pub const ONE_TO_ONE: Topology = Topology {
        senders: 1,
        receivers: 1,
        copies: 1,
    };
    /// The most participants on one side.
    pub const MAX_SIDE: u16 = 64;
    /// The most exchanges at once.
    pub const MAX_COPIES: u16 = 4096;
    /// Both sides of one exchange together.
    pub const fn participants(self) -> usize {
        self.senders as usize + self.receivers as usize
    }
    /// One of its exchanges, alone.
    pub const fn alone(self) -> Topology {
        Topology { copies: 1, ..self }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.senders, self.receivers)?;
        match self.copies {
            1 => Ok(()),
            n => write!(f, "x{n}"),
        }
    }
}

impl FromStr for Topology {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let err = |reason: &str| UnitError {
            what: "topology",
            found: text.to_owned(),
            reason: reason.into(),
            example: "\"1-1\", \"3-1\" or \"2-2\" (senders-receivers)",
        };
        let (one, copies) = match text.split_once('x') {
            Some((one, n)) => (one, n.trim().parse::<u16>().ok()),
            None => (text, Some(1)),
        };
        let copies = copies.filter(|n| (1..=Self::MAX_COPIES).contains(n));
        let copies = copies.ok_or_else(|| err("there are 1 to 4096 exchanges at once"))?;
        let (s, r) = one
            .split_once('-')
            .ok_or_else(|| err("the dash is missing"))?;
        let side = |t: &str| {
            t.trim()
                .parse::<u16>()
                .map_err(|_| err("a side is not a number"))
        };
        let (senders, receivers) = (side(s)?, side(r)?);
        if senders == 0 || receivers == 0 {
            return Err(err("each side has at least one participant"));
        }
        if senders > Self::MAX_SIDE || receivers > Self::MAX_SIDE {
            return Err(err("a side has at most 64 participants"));
        }
        Ok(Topology {
            senders,
            receivers,
            copies,
        })
    }
}

impl TryFrom<String> for Topology {
    type Error = UnitError;
    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<Topology> for String {
    fn from(t: Topology) -> String {
        t.to_string()
    }
}

choice! {
    /// When the messages of a stream are due.
    Arrivals, "arrival process" {
        /// Equal gaps.
        Fixed = "fixed",
        /// Exponentially distributed gaps with the same mean (a Poisson process), seeded.
        Poisson = "poisson",
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topologies_round_trip_and_refuse_empty_sides() {
        for t in ["1-1", "3-1", "1-3", "2-2", "1-1x4"] {
            assert_eq!(t.parse::<Topology>().unwrap().to_string(), t);
        }
        for t in [
            "0-1", "1-0", "1", "a-b", "1-99", "1-1x0", "1-1x", "1-1x5000",
        ] {
            assert!(t.parse::<Topology>().is_err(), "{t}");
        }
    }

    #[test]
    fn factor_texts_round_trip() {
        for w in Wait::ALL {
            assert_eq!(w.as_str().parse::<Wait>().as_ref(), Ok(w));
        }
        let e = "poll".parse::<Wait>().unwrap_err().to_string();
        assert!(e.contains("spin") && e.contains("callback"), "{e}");
    }
}
