//! What a probe measures: the ground that stacks stand on. A probe has no channel and no stack; each kind has its
//! own few options, declared here once for whoever plans, runs and shows them.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A choice by name: each variant with its name in files, and what it is.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// Every choice, the default first.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            /// The name in files.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

choice! {
    /// The system call that is timed.
    Call {
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
    HandOver {
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
    Sides {
        /// Two threads of one process.
        Threads = "threads",
        /// Two processes.
        Processes = "processes",
    }
}

choice! {
    /// What wakes a periodic thread.
    Alarm {
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
    Ring {
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
    Rest {
        /// Its thread sleeps in the kernel.
        Sleeps = "sleeps",
        /// Its thread polls: reads the eventfd without waiting, looks at the word, or spins until the signal's handler.
        Polls = "polls",
    }
}

choice! {
    /// The memory whose pages are touched for the first time.
    Memory {
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
    },
    /// Equal threads that only spin.
    Share {
        /// How many, at least 1: one after the other onto the CPUs given, and again from the first.
        threads: u32,
    },
    /// The first touch of a page.
    Fault {
        /// Of what.
        by: Memory,
    },
}

impl Probe {
    /// The names of all kinds, in the order of tables.
    pub const KINDS: &'static [&'static str] = &[
        "syscall", "switch", "timer", "ipi", "copy", "share", "fault",
    ];

    /// The kind's name.
    pub const fn kind(&self) -> &'static str {
        match self {
            Probe::Syscall { .. } => "syscall",
            Probe::Switch { .. } => "switch",
            Probe::Timer { .. } => "timer",
            Probe::Ipi { .. } => "ipi",
            Probe::Copy { .. } => "copy",
            Probe::Share { .. } => "share",
            Probe::Fault { .. } => "fault",
        }
    }
}
