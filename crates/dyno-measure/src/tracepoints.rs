//! What this process asks of the kernel, counted by the kernel's tracepoints: system calls, those of them that carry
//! bytes, and wake-ups. Counting makes every call slower, so it is for trials whose times nobody shows.

use crate::perf::PerfEvent;
use dyno_model::asked::Asked;
use rustix::fd::{AsRawFd, OwnedFd};
use std::io;
use std::path::Path;

/// Where the kernel shows the numbers of its tracepoints (tracefs).
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// All system calls.
const CALLS: &str = "raw_syscalls/sys_enter";
/// A thread makes another one runnable.
const WAKINGS: &str = "sched/sched_waking";
/// The calls that carry bytes in or out of the kernel.
const CARRIERS: [&str; 10] = [
    "syscalls/sys_enter_read",
    "syscalls/sys_enter_write",
    "syscalls/sys_enter_readv",
    "syscalls/sys_enter_writev",
    "syscalls/sys_enter_sendto",
    "syscalls/sys_enter_recvfrom",
    "syscalls/sys_enter_sendmsg",
    "syscalls/sys_enter_recvmsg",
    "syscalls/sys_enter_mq_timedsend",
    "syscalls/sys_enter_mq_timedreceive",
];

/// Why nothing is counted.
#[derive(Debug, thiserror::Error)]
pub enum TracepointError {
    /// The kernel does not show its tracepoints here.
    #[error(
        "no tracepoint {event} below /sys/kernel/tracing ({source}): as root `mount -t tracefs tracefs \
         /sys/kernel/tracing` shows them, where the kernel has them"
    )]
    Hidden {
        /// The tracepoint.
        event: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// It does not let them be counted.
    #[error(
        "the kernel does not count {event} ({source}): run as root, or set kernel.perf_event_paranoid to -1"
    )]
    Forbidden {
        /// The tracepoint.
        event: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Counts for the thread that opened it, and for every thread that it starts from then on, itself or through another.
#[derive(Debug)]
pub struct Tracepoints {
    calls: OwnedFd,
    wakings: OwnedFd,
    carriers: Vec<OwnedFd>,
}

impl Tracepoints {
    /// Begins to count.
    ///
    /// # Errors
    ///
    /// Where the kernel shows no tracepoints, or does not let this process count them.
    pub fn open() -> Result<Tracepoints, TracepointError> {
        let carriers = CARRIERS.iter().map(|event| open(event));
        Ok(Tracepoints {
            calls: open(CALLS)?,
            wakings: open(WAKINGS)?,
            carriers: carriers.collect::<Result<_, _>>()?,
        })
    }

    /// What was asked for since [`open`](Self::open). The reading's own calls are among it.
    pub fn asked(&self) -> Asked {
        Asked {
            calls: count(&self.calls),
            carriers: self.carriers.iter().map(count).sum(),
            wakings: count(&self.wakings),
        }
    }
}

/// PERF_TYPE_TRACEPOINT.
const TRACEPOINT: u32 = 2;
/// Attribute `inherit`: threads that are started later count as well.
const INHERIT: u64 = 1 << 1;
fn open(event: &'static str) -> Result<OwnedFd, TracepointError> {
    let hidden = |source| TracepointError::Hidden { event, source };
    let number = |root: &str| {
        let text = std::fs::read_to_string(Path::new(root).join("events").join(event).join("id"))?;
        text.trim().parse::<u64>().map_err(io::Error::other)
    };
    let id = number(TRACEFS[0]).or_else(|e| number(TRACEFS[1]).map_err(|_| e));
    let counted = PerfEvent {
        kind: TRACEPOINT,
        config: id.map_err(hidden)?,
        flags: INHERIT,
        ..PerfEvent::default()
    };
    let forbidden = |source| TracepointError::Forbidden { event, source };
    counted.open().map_err(forbidden)
}

/// The count of the thread that opened it and of all that came from it; zero if the kernel does not tell, which it does of
/// an open event.
fn count(fd: &OwnedFd) -> u64 {
    let mut told = 0u64;
    // SAFETY: `told` has room for the one number that an event without a read format gives.
    let n = unsafe { libc::read(fd.as_raw_fd(), (&raw mut told).cast(), size_of::<u64>()) };
    if n == size_of::<u64>() as isize {
        told
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_threads_that_were_started_later_are_counted() {
        let counted = match Tracepoints::open() {
            Ok(counted) => counted,
            // Said with what helps; nothing to count with here.
            Err(e) => return assert!(e.to_string().contains("root"), "{e}"),
        };
        let before = counted.asked();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    // SAFETY: getppid has no preconditions.
                    unsafe { libc::syscall(libc::SYS_getppid) };
                }
            });
        });
        let after = counted.asked();
        assert!(after.calls - before.calls >= 1_000, "{before:?} {after:?}");
    }
}
