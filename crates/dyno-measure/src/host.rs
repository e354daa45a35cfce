//! What a role asks of the host for its thread and process: a CPU, a scheduling class, memory that
//! stays. Where the right is missing, the error names the limit and the command that grants it.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// What the host did not grant.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The CPU does not exist or the process may not use it.
    #[error("cannot pin to cpu {cpu}: this process may use the cpus {allowed}; choose one of them")]
    Cpu {
        /// The CPU asked for.
        cpu: u32,
        /// Those that there are, such as `0-3`.
        allowed: String,
    },
    /// The kernel refused the CPU although the process may use it.
    #[error("cannot pin to cpu {cpu}: sched_setaffinity: {source}")]
    Pin {
        /// The CPU asked for.
        cpu: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// SCHED_FIFO was refused.
    #[error(
        "SCHED_FIFO with priority {priority} not granted ({source}): RLIMIT_RTPRIO is {limit}; raise it \
         with `ulimit -r {priority}` as root or a line `@realtime - rtprio {priority}` in \
         /etc/security/limits.conf, or grant `sudo setcap cap_sys_nice+ep $(command -v dyno)`"
    )]
    Fifo {
        /// The priority asked for.
        priority: u8,
        /// The limit as `ulimit -r` shows it.
        limit: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// There is no such priority.
    #[error("SCHED_FIFO has priorities 1 to 99, not {priority}")]
    Priority {
        /// The priority asked for.
        priority: u8,
    },
    /// Locking memory was refused.
    #[error(
        "memory not locked ({source}): RLIMIT_MEMLOCK is {limit}; raise it with `ulimit -l unlimited` as \
         root or a line `* - memlock unlimited` in /etc/security/limits.conf, or grant \
         `sudo setcap cap_ipc_lock+ep $(command -v dyno)`"
    )]
    Lock {
        /// The limit with its unit.
        limit: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// The CPUs that the calling thread may use, in ascending order.
pub fn allowed_cpus() -> Vec<u32> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU)
            .filter(|&cpu| set.is_set(cpu))
            .map(|cpu| cpu as u32)
            .collect(),
        // Refused by a sandbox, or more CPUs than the set holds: count what the standard library can.
        Err(_) => {
            let n = std::thread::available_parallelism().map_or(1, |n| n.get());
            (0..n as u32).collect()
        }
    }
}

/// Pins the calling thread, and the threads that it starts from now on, to `cpu`.
///
/// # Errors
///
/// [`HostError::Cpu`] where there is no such CPU for this thread, [`HostError::Pin`] where the
/// kernel refuses for another reason.
pub fn pin(cpu: u32) -> Result<(), HostError> {
    let mut set = CpuSet::new();
    let refused = if (cpu as usize) < CpuSet::MAX_CPU {
        set.set(cpu as usize);
        match sched_setaffinity(None, &set) {
            Ok(()) => return Ok(()),
            Err(e) => Some(e),
        }
    } else {
        None
    };
    match refused {
        Some(e) if e != rustix::io::Errno::INVAL => Err(HostError::Pin {
            cpu,
            source: e.into(),
        }),
        _ => Err(HostError::Cpu {
            cpu,
            allowed: cpu_ranges(&allowed_cpus()),
        }),
    }
}

/// Gives the calling thread SCHED_FIFO with `priority`, 1 to 99. Threads that it starts inherit it.
///
/// # Errors
///
/// [`HostError::Fifo`] without the right to do so, [`HostError::Priority`] for an impossible one.
pub fn set_fifo(priority: u8) -> Result<(), HostError> {
    if !(1..=99).contains(&priority) {
        return Err(HostError::Priority { priority });
    }
    let parameters = libc::sched_param {
        sched_priority: i32::from(priority),
    };
    // SAFETY: `parameters` is a valid sched_param for the duration of the call; thread id 0 is the
    // calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } == 0 {
        return Ok(());
    }
    let source = io::Error::last_os_error();
    Err(HostError::Fifo {
        priority,
        limit: limit(Resource::Rtprio, |v| v.to_string()),
        source,
    })
}

/// Locks all memory of this process, present and future, into RAM. Without CAP_IPC_LOCK the limit
/// also holds later: allocations beyond it then fail.
///
/// # Errors
///
/// [`HostError::Lock`] without the right to do so.
pub fn lock_memory() -> Result<(), HostError> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(|e| HostError::Lock {
        limit: limit(Resource::Memlock, |v| format!("{} KiB", v / 1024)),
        source: e.into(),
    })
}

/// A soft limit as text.
fn limit(resource: Resource, show: impl Fn(u64) -> String) -> String {
    getrlimit(resource)
        .current
        .map_or_else(|| "unlimited".into(), show)
}

/// CPU numbers as the kernel writes them: `0-3,8`. `cpus` is in ascending order.
pub(crate) fn cpu_ranges(cpus: &[u32]) -> String {
    cpus.chunk_by(|a, b| a + 1 == *b)
        .map(|range| match range {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_where_it_asked() {
        std::thread::spawn(|| {
            let cpu = *allowed_cpus().last().unwrap();
            pin(cpu).unwrap();
            assert_eq!(allowed_cpus(), [cpu]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_with_those_that_do() {
        for cpu in [1_000, u32::MAX] {
            let e = pin(cpu).unwrap_err();
            assert!(matches!(e, HostError::Cpu { .. }), "{e}");
            assert!(e.to_string().contains(&cpu_ranges(&allowed_cpus())), "{e}");
        }
    }

    #[test]
    fn impossible_priorities_are_refused() {
        for p in [0, 100, 255] {
            let e = set_fifo(p).unwrap_err().to_string();
            assert!(e.contains("1 to 99"), "{e}");
        }
    }

    #[test]
    fn a_missing_right_is_named_with_its_command() {
        let e = HostError::Fifo {
            priority: 50,
            limit: "0".into(),
            source: io::Error::from_raw_os_error(libc::EPERM),
        }
        .to_string();
        assert!(
            e.contains("RLIMIT_RTPRIO is 0") && e.contains("ulimit -r 50"),
            "{e}"
        );
        let e = HostError::Lock {
            limit: "8192 KiB".into(),
            source: io::Error::from_raw_os_error(libc::ENOMEM),
        }
        .to_string();
        assert!(
            e.contains("RLIMIT_MEMLOCK is 8192 KiB") && e.contains("ulimit -l"),
            "{e}"
        );
    }

    #[test]
    fn ranges_are_written_as_the_kernel_does() {
        assert_eq!(cpu_ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(cpu_ranges(&[]), "");
    }
}
