//! What a probe measures: the ground that stacks stand on. A probe has no channel and no stack; each kind has its
//! own few options, declared here once for whoever plans, runs and shows them.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The stack that probes run on, and nothing else does: no stack at all.
pub const GROUND: &str = "ground";

/// The shortest period of a timer that is measured: a sleep, a wake-up and a record take several microseconds, and a
/// thread that is never done before its next due time measures its own backlog.
pub const SHORTEST_PERIOD: Nanos = Nanos::from_micros(10);

choice! {
    /// The system call that is timed.
    Call, "system call" {
        /// A raw `getppid`: into the kernel and back.
        Getppid = "getppid",
        /// A `pread` of 64 bytes of a file in memory: into the kernel, a small copy, and back.
        Pread = "pread-64",
        /// No call at all: what the probe itself reads where there is nothing to measure.
        Nothing = "nothing",
    }
}

choice! {
    /// How one thread hands the CPU to another and gets it back.
    HandOver, "way to hand over" {
        /// A word in memory with FUTEX_WAKE and FUTEX_WAIT.
        Futex = "futex",
        /// One byte through a pipe for each direction.
        Pipe = "pipe",
        /// An eventfd for each direction.
        Eventfd = "eventfd",
        /// `sched_yield` until it is one's turn again; on one CPU only.
        Yield = "yield",
    }
}

choice! {
    /// What the two sides of an exchange are.
    Sides, "pair of sides" {
        /// Two threads of one process.
        Threads = "threads",
        /// Two processes.
        Processes = "processes",
    }
}

choice! {
    /// What wakes a periodic thread.
    Alarm, "alarm" {
        /// `clock_nanosleep` until each due time.
        Nanosleep = "nanosleep",
        /// A periodic `timerfd` that is read.
        Timerfd = "timerfd",
        /// A periodic POSIX timer whose signal is waited for (`sigwaitinfo`).
        Signal = "signal",
    }
}

choice! {
    /// What reaches from one CPU to another.
    Ring, "way to reach another CPU" {
        /// A write to an eventfd.
        Eventfd = "eventfd",
        /// A word in memory and FUTEX_WAKE.
        Futex = "futex",
        /// A signal to one thread.
        Signal = "signal",
    }
}

choice! {
    /// What the other CPU does until it is reached.
    Rest, "kind of rest" {
        /// Its thread sleeps in the kernel.
        Sleeps = "sleeps",
        /// Its thread polls: reads the eventfd without waiting, looks at the word, or spins until the signal's handler.
        Polls = "polls",
    }
}

choice! {
    /// The CPU that wrote the copied data.
    Writer, "writer" {
        /// The CPU that copies, long before: what fits its caches lies there.
        Own = "own",
        /// Another CPU, just before, like a sender whose data a receiver copies.
        Other = "other",
    }
}

choice! {
    /// The memory whose pages are touched for the first time.
    Memory, "kind of memory" {
        /// Private and anonymous.
        Private = "private",
        /// Shared between processes (`memfd`).
        Shared = "shared",
        /// Private in transparent huge pages.
        Huge = "huge",
        /// Private in huge pages that were reserved (`vm.nr_hugepages`).
        Reserved = "reserved",
    }
}

/// A probe with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Probe {
    /// One system call.
    Syscall {
        /// Which.
        by: Call,
        /// Calls between two readings of the clock, at least 1. Each sample is the mean of so many.
        batch: u32,
    },
    /// The CPU handed to another thread and back: a round trip of two hand-overs.
    Switch {
        /// By what.
        by: HandOver,
        /// Between whom.
        sides: Sides,
    },
    /// From a due time to the first instruction of a thread that waits for it.
    Timer {
        /// By what.
        by: Alarm,
        /// Time between two due times.
        period: Nanos,
        /// How much the kernel may add to a `nanosleep` (PR_SET_TIMERSLACK); `None`: its default, 50 µs unless
        /// changed. Real-time classes have none.
        slack: Option<Nanos>,
    },
    /// From one CPU to the first instruction on another.
    Ipi {
        /// By what.
        by: Ring,
        /// What the other CPU does meanwhile.
        rest: Rest,
    },
    /// Memory to memory.
    Copy {
        /// Bytes of one copy, at least 1.
        bytes: u64,
        /// Who wrote them.
        #[serde(default = "own", skip_serializing_if = "is_own")]
        by: Writer,
    },
    /// Equal threads that only spin.
    Share {
        /// How many, at least 1: one after the other onto the CPUs given, and again from the first.
        threads: u32,
    },
    /// The first touch of a page.
    Fault {
        /// The memory whose pages are touched.
        by: Memory,
    },
}

choice! {
    /// The kinds of probes.
    ProbeKind, "kind of probe" {
        /// What a system call costs.
        Syscall = "syscall",
        /// What it costs to hand the CPU to another thread and to get it back.
        Switch = "switch",
        /// How late a periodic thread is.
        Timer = "timer",
        /// How long it takes to reach another CPU.
        Ipi = "ipi",
        /// What a copy from memory to memory costs.
        Copy = "copy",
        /// How equal threads share a CPU, and how long each is kept from it.
        Share = "share",
        /// What the first touch of a page costs.
        Fault = "fault",
    }
}

fn own() -> Writer {
    Writer::Own
}

fn is_own(writer: &Writer) -> bool {
    *writer == Writer::Own
}

impl ProbeKind {
    /// What one sample of the kind is.
    pub const fn sample(self) -> &'static str {
        match self {
            ProbeKind::Syscall => "one call",
            ProbeKind::Switch => "a round trip of two hand-overs",
            ProbeKind::Timer => "from the due time to the thread's first instruction",
            ProbeKind::Ipi => "from the call on one CPU to the first instruction on the other",
            ProbeKind::Copy => "one copy",
            ProbeKind::Share => "a pause in which the thread did not run, of more than 1 µs",
            ProbeKind::Fault => "the first touch of a page",
        }
    }

    /// What its key `by` chooses among, the default first; empty where there is nothing to choose.
    pub fn ways(self) -> Vec<&'static str> {
        match self {
            ProbeKind::Syscall => Call::ALL.iter().map(|w| w.as_str()).collect(),
            ProbeKind::Switch => HandOver::ALL.iter().map(|w| w.as_str()).collect(),
            ProbeKind::Timer => Alarm::ALL.iter().map(|w| w.as_str()).collect(),
            ProbeKind::Ipi => Ring::ALL.iter().map(|w| w.as_str()).collect(),
            ProbeKind::Fault => Memory::ALL.iter().map(|w| w.as_str()).collect(),
            ProbeKind::Copy => Writer::ALL.iter().map(|w| w.as_str()).collect(),
            ProbeKind::Share => Vec::new(),
        }
    }
}

impl Probe {
    /// The kind alone.
    pub const fn kind(&self) -> ProbeKind {
        match self {
            Probe::Syscall { .. } => ProbeKind::Syscall,
            Probe::Switch { .. } => ProbeKind::Switch,
            Probe::Timer { .. } => ProbeKind::Timer,
            Probe::Ipi { .. } => ProbeKind::Ipi,
            Probe::Copy { .. } => ProbeKind::Copy,
            Probe::Share { .. } => ProbeKind::Share,
            Probe::Fault { .. } => ProbeKind::Fault,
        }
    }

    /// By what, where its kind has a choice.
    pub fn way(&self) -> Option<&'static str> {
        match self {
            Probe::Syscall { by, .. } => Some(by.as_str()),
            Probe::Switch { by, .. } => Some(by.as_str()),
            Probe::Timer { by, .. } => Some(by.as_str()),
            Probe::Ipi { by, .. } => Some(by.as_str()),
            Probe::Fault { by } => Some(by.as_str()),
            // Copies of what the CPU has written itself are called copies.
            Probe::Copy { by, .. } => (!is_own(by)).then_some(by.as_str()),
            Probe::Share { .. } => None,
        }
    }
}

/// As tables print it: `switch by pipe`.
impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind())?;
        if let Some(way) = self.way() {
            write!(f, " by {way}")?;
        }
        match self {
            Probe::Syscall { batch, .. } if *batch > 1 => write!(f, " in batches of {batch}"),
            Probe::Switch { sides, .. } => write!(f, " between {sides}"),
            Probe::Timer { period, .. } => write!(f, " every {period}"),
            Probe::Ipi { rest, .. } => write!(f, " to one that {rest}"),
            Probe::Share { threads } => write!(f, " of {threads}"),
            Probe::Syscall { .. } | Probe::Copy { .. } | Probe::Fault { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_says_what_it_is() {
        let probe = Probe::Switch {
            by: HandOver::Pipe,
            sides: Sides::Processes,
        };
        assert_eq!(probe.to_string(), "switch by pipe between processes");
        assert_eq!("pipe".parse(), Ok(HandOver::Pipe));
        assert!(
            "tube"
                .parse::<HandOver>()
                .unwrap_err()
                .to_string()
                .contains("`futex`")
        );
        for kind in ProbeKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(*kind));
            assert!(!kind.sample().is_empty());
        }
    }
}
