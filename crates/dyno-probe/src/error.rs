//! Why a probe has no figures.

use dyno_measure::RecordError;
use dyno_model::cause::NotGranted;
use dyno_model::unit::Nanos;
use std::io;

/// Why a probe has no figures: what happened, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A CPU that is not there, or a scheduling class that is not granted.
    #[error(transparent)]
    Host(#[from] NotGranted),
    /// Memory or processes that both sides need could not be made.
    #[error(transparent)]
    Machine(#[from] dyno_measure::probe::ProbeError),
    /// What was measured could not be written down.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is no place to measure at.
    #[error("a probe needs at least one cpu; name one")]
    Nowhere,
    /// The probe is of two CPUs.
    #[error("the probe reaches from one cpu to another, and both are cpu {0}: choose two cpus")]
    SameCpu(u32),
    /// `sched_yield` hands the CPU only to a thread that waits for the same one.
    #[error(
        "sched_yield hands over only on one cpu, not from cpu {from} to cpu {to}: put both sides on one"
    )]
    YieldBetween {
        /// The CPU of the side that measures.
        from: u32,
        /// The CPU of the other side.
        to: u32,
    },
    /// The scheduling class does not fit the probe.
    #[error(
        "SCHED_DEADLINE is for the timer probe: a thread of that class cannot start another one"
    )]
    Deadline,
    /// Due times too close to each other.
    #[error(
        "a period of {period} is shorter than a sleep and a wake-up take; the shortest is {shortest}"
    )]
    TooOften {
        /// The period asked for.
        period: Nanos,
        /// The shortest that is measured.
        shortest: Nanos,
    },
    /// The buffers do not fit into memory.
    #[error(
        "copies of {bytes} bytes on {copies} cpus need {needed} bytes, and {available} are available; copy less, or \
         on fewer cpus"
    )]
    TooLarge {
        /// Bytes of one copy.
        bytes: u64,
        /// CPUs at once.
        copies: usize,
        /// Bytes of all buffers.
        needed: u64,
        /// Bytes that can be had without swapping.
        available: u64,
    },
    /// Threads that only spin have no samples to count.
    #[error(
        "the share of spinning threads is measured over a time; give the window as one, such as \"2 s\""
    )]
    Endless,
    /// A count that must be positive is zero.
    #[error("{what} must be at least 1")]
    Zero {
        /// What is counted.
        what: &'static str,
    },
    /// The kernel makes no huge pages here.
    #[error("no huge pages: {reason}")]
    NoHugePages {
        /// Why, and what grants them.
        reason: String,
    },
    /// A system call failed.
    #[error("{call} failed: {source}; the probe needs it")]
    System {
        /// The call.
        call: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The other side ended before its time.
    #[error("the other side of the probe on cpu {cpu} ended: its process was killed; try again")]
    Gone {
        /// Where it was.
        cpu: u32,
    },
}

impl ProbeError {
    /// Names the call that failed.
    pub(crate) fn system<E: Into<io::Error>>(call: &'static str) -> impl Fn(E) -> ProbeError {
        move |source| ProbeError::System {
            call,
            source: source.into(),
        }
    }

    /// Names the call of the C library that failed, which left its reason in `errno`.
    pub(crate) fn last(call: &'static str) -> ProbeError {
        ProbeError::System {
            call,
            source: io::Error::last_os_error(),
        }
    }
}
