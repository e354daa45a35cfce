//! Settings that a thread or process requested and the host denied. Where the right is missing, the sentence names the limit and
//! the command that grants it.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A setting that the host denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "refused", rename_all = "kebab-case")]
pub enum NotGranted {
    /// The CPU does not exist or the process may not use it.
    #[error(
        "cannot pin to cpu {cpu}: this process may only use the cpus {allowed}; choose one of them"
    )]
    Cpu {
        /// The CPU asked for.
        cpu: u32,
        /// Those that there are, such as `0-3`.
        allowed: String,
    },
    /// The kernel refused the CPUs although the process may use them.
    #[error("cannot pin to cpu {cpus}: sched_setaffinity: {answer}")]
    Pin {
        /// The CPUs asked for, such as `0-3`.
        cpus: String,
        /// The kernel's answer.
        answer: String,
    },
    /// SCHED_FIFO was refused.
    #[error(
        "SCHED_FIFO with priority {priority} not granted ({answer}): RLIMIT_RTPRIO is {limit}; raise it \
         with `ulimit -r {priority}` as root or a line `@realtime - rtprio {priority}` in \
         /etc/security/limits.conf, or grant `sudo setcap cap_sys_nice+ep $(command -v dyno)`"
    )]
    Fifo {
        /// The priority asked for.
        priority: u8,
        /// The limit as `ulimit -r` shows it.
        limit: String,
        /// The kernel's answer.
        answer: String,
    },
    /// There is no such priority.
    #[error("SCHED_FIFO has priorities 1 to 99, not {priority}")]
    Priority {
        /// The priority asked for.
        priority: u8,
    },
    /// SCHED_DEADLINE was refused.
    #[error(
        "SCHED_DEADLINE with {runtime} in each {period} not granted ({answer}): it needs CAP_SYS_NICE (be root, or \
         `sudo setcap cap_sys_nice+ep $(command -v dyno)`), and that the thread may use every CPU unless \
         `sysctl kernel.sched_rt_runtime_us=-1`"
    )]
    Deadline {
        /// CPU time asked for in each period.
        runtime: Nanos,
        /// The period, which is also the deadline.
        period: Nanos,
        /// The kernel's answer.
        answer: String,
    },
    /// The timer slack was refused.
    #[error(
        "timer slack of {slack} not granted (prctl: {answer}): sleeps may be late by the kernel's 50 µs; let the sandbox or \
         container permit prctl(PR_SET_TIMERSLACK)"
    )]
    TimerSlack {
        /// The slack asked for.
        slack: Nanos,
        /// The kernel's answer.
        answer: String,
    },
    /// Locking memory was refused.
    #[error(
        "memory not locked ({answer}): RLIMIT_MEMLOCK is {limit}; raise it with `ulimit -l unlimited` as \
         root or a line `* - memlock unlimited` in /etc/security/limits.conf, or grant \
         `sudo setcap cap_ipc_lock+ep $(command -v dyno)`"
    )]
    Lock {
        /// The limit with its unit.
        limit: String,
        /// The kernel's answer.
        answer: String,
    },
}
