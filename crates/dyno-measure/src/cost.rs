//! What a process uses: processor time, context switches, page faults and memory.
//!
//! Traps avoided here: `/proc/PID/stat` counts in ticks of 10 ms, so the total comes from the
//! process's CPU-time clock in nanoseconds and the ticks only split it into user and system;
//! `/proc/PID/status` counts the switches of one thread only, so all threads are added up; `ru_maxrss`
//! is inherited from the parent over fork and exec, so the peak comes from `VmHWM`; reading the
//! proportional set size walks the page tables, so counters are read on both sides of it and its own
//! cost stays out of the interval.

use crate::procfile;
use dyno_model::record::ProcessCost;
use dyno_model::unit::Nanos;
use std::io;

/// What a process has used since it started, and its memory now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// As this reading began: the end of an interval.
    first: Counters,
    /// As this reading was complete: the beginning of an interval.
    last: Counters,
    peak_rss_bytes: u64,
    pss_bytes: u64,
}

/// Counters that only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counters {
    user: Nanos,
    system: Nanos,
    voluntary_switches: u64,
    involuntary_switches: u64,
    minor_faults: u64,
    major_faults: u64,
}

/// Reads the usage of this process. Takes some hundred microseconds, most of them for the
/// proportional set size: not on the hot path.
pub fn usage_of_self() -> Usage {
    let first = counters_of_self();
    let (peak_rss_bytes, pss_bytes) = memory("self");
    Usage {
        first,
        last: counters_of_self(),
        peak_rss_bytes,
        pss_bytes,
    }
}

/// Reads the usage of another process, such as a daemon. Threads of it that have ended are missing
/// from the context switches, and only from these.
///
/// # Errors
///
/// Where the process does not exist or may not be looked at. The proportional set size reads as zero
/// where it alone is refused.
pub fn usage_of(pid: u32) -> io::Result<Usage> {
    let first = counters_of(pid)?;
    let (peak_rss_bytes, pss_bytes) = memory(&pid.to_string());
    Ok(Usage {
        first,
        last: counters_of(pid)?,
        peak_rss_bytes,
        pss_bytes,
    })
}

impl Usage {
    /// What the process used from `self` until `later`: the cost of the window. `wall` is its length
    /// and `pacing` what of the user time Dyno burned itself. Memory is that of `later`.
    pub fn cost_until(
        &self,
        later: &Usage,
        label: impl Into<String>,
        wall: Nanos,
        pacing: Nanos,
    ) -> ProcessCost {
        let (from, to) = (&self.last, &later.first);
        ProcessCost {
            label: label.into(),
            user: to.user.saturating_sub(from.user),
            system: to.system.saturating_sub(from.system),
            pacing,
            wall,
            voluntary_switches: to
                .voluntary_switches
                .saturating_sub(from.voluntary_switches),
            involuntary_switches: to
                .involuntary_switches
                .saturating_sub(from.involuntary_switches),
            minor_faults: to.minor_faults.saturating_sub(from.minor_faults),
            major_faults: to.major_faults.saturating_sub(from.major_faults),
            peak_rss_bytes: later.peak_rss_bytes,
            pss_bytes: later.pss_bytes,
            daemon: false,
        }
    }
}

/// Peak resident and proportional set size in bytes; zero where the kernel does not tell.
fn memory(pid: &str) -> (u64, u64) {
    let status = procfile::text(format!("/proc/{pid}/status"));
    let rollup = procfile::text(format!("/proc/{pid}/smaps_rollup"));
    (
        procfile::kib_field(&status, "VmHWM").unwrap_or(0),
        procfile::kib_field(&rollup, "Pss").unwrap_or(0),
    )
}

fn counters_of_self() -> Counters {
    counters_of_own(libc::RUSAGE_SELF)
}

/// `who` is RUSAGE_SELF or RUSAGE_CHILDREN.
fn counters_of_own(who: libc::c_int) -> Counters {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writes of one rusage, and all-zero bytes are a valid one, so it is
    // initialised even if the call failed, which it cannot with a known `who` and a valid pointer.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanos =
        |t: libc::timeval| Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000);
    Counters {
        user: nanos(usage.ru_utime),
        system: nanos(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    }
}

fn counters_of(pid: u32) -> io::Result<Counters> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let stat = Stat::parse(&stat).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("/proc/{pid}/stat is not what proc(5) describes"),
        )
    })?;
    let (user, system) = stat.split(cpu_time(pid)?);
    let (mut voluntary_switches, mut involuntary_switches) = (0, 0);
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end between the listing and the reading.
        let status = procfile::text(task?.path().join("status"));
        let count = |key| {
            procfile::field(&status, key)
                .and_then(|v| v.parse::<u64>().ok())
                .unwrap_or(0)
        };
        voluntary_switches += count("voluntary_ctxt_switches");
        involuntary_switches += count("nonvoluntary_ctxt_switches");
    }
    Ok(Counters {
        user,
        system,
        voluntary_switches,
        involuntary_switches,
        minor_faults: stat.minor_faults,
        major_faults: stat.major_faults,
    })
}

/// Processor time of all children of this process that have ended and were waited for.
pub(crate) fn ended_children() -> Nanos {
    let c = counters_of_own(libc::RUSAGE_CHILDREN);
    c.user.saturating_add(c.system)
}

/// User and system time of a process, all its threads, ended ones included.
pub(crate) fn cpu_time(pid: u32) -> io::Result<Nanos> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is valid for writes of one clockid_t.
    let code = unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock) };
    if code != 0 {
        return Err(io::Error::from_raw_os_error(code));
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes of one timespec.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Nanos(
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
    ))
}

/// The fields of `/proc/PID/stat` that are used here; times in clock ticks.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    minor_faults: u64,
    major_faults: u64,
    user: u64,
    system: u64,
}

impl Stat {
    /// See proc_pid_stat(5). The name in field 2 may hold blanks and parentheses; what follows the
    /// last closing one is field 3.
    fn parse(text: &str) -> Option<Stat> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse().ok();
        Some(Stat {
            minor_faults: number(10)?,
            major_faults: number(12)?,
            user: number(14)?,
            system: number(15)?,
        })
    }

    /// Splits `total` in the proportion of the ticks; all user where there are none yet.
    fn split(&self, total: Nanos) -> (Nanos, Nanos) {
        let ticks = u128::from(self.user) + u128::from(self.system);
        if ticks == 0 {
            return (total, Nanos::ZERO);
        }
        let system = (u128::from(total.0) * u128::from(self.system) / ticks) as u64;
        (Nanos(total.0 - system), Nanos(system))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses at least this much processor time, however long that takes.
    fn burn(at_least: Nanos) {
        let used = || {
            let c = counters_of_self();
            c.user.0 + c.system.0
        };
        let start = used();
        while used() - start < at_least.0 {
            std::hint::black_box((0..10_000u64).fold(0, |a, b| a ^ b));
        }
    }

    #[test]
    fn processor_time_and_memory_of_this_process_are_seen() {
        let before = usage_of_self();
        burn(Nanos::from_millis(20));
        let cost = before.cost_until(&usage_of_self(), "self", Nanos(9), Nanos(4));
        assert!(cost.user.0 + cost.system.0 >= 20_000_000, "{cost:?}");
        assert!(cost.pss_bytes > 100_000 && cost.peak_rss_bytes > cost.pss_bytes / 2);
        assert_eq!((cost.wall, cost.pacing), (Nanos(9), Nanos(4)));
    }

    #[test]
    fn another_process_is_seen_like_this_one() {
        let before = usage_of(std::process::id()).unwrap();
        burn(Nanos::from_millis(20));
        let cost = before.cost_until(
            &usage_of(std::process::id()).unwrap(),
            "x",
            Nanos(1),
            Nanos(0),
        );
        assert!(cost.user.0 + cost.system.0 >= 19_000_000, "{cost:?}");
        assert!(cost.peak_rss_bytes > 0);
    }

    #[test]
    fn switches_of_all_threads_count() {
        let before = usage_of(std::process::id()).unwrap();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            for _ in 0..50 {
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            wait.recv().unwrap_err();
        });
        while before
            .cost_until(
                &usage_of(std::process::id()).unwrap(),
                "x",
                Nanos(1),
                Nanos(0),
            )
            .voluntary_switches
            < 50
        {
            std::thread::yield_now();
        }
        drop(done);
        sleeper.join().unwrap();
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(usage_of(u32::MAX / 2).is_err());
    }

    #[test]
    fn stat_is_read_behind_a_hostile_name() {
        let text = "7 (a) R 1 (b c) S 1 2 3 4 5 6 11 12 13 14 15 16 17 18 19 20";
        let stat = Stat {
            minor_faults: 11,
            major_faults: 13,
            user: 15,
            system: 16,
        };
        assert_eq!(Stat::parse(text), Some(stat));
        assert_eq!(Stat::parse("7 (a) R 1"), None);
    }

    #[test]
    fn precise_time_is_split_by_ticks() {
        let stat = |user, system| Stat {
            minor_faults: 0,
            major_faults: 0,
            user,
            system,
        };
        assert_eq!(stat(3, 1).split(Nanos(1_000)), (Nanos(750), Nanos(250)));
        assert_eq!(stat(0, 0).split(Nanos(1_000)), (Nanos(1_000), Nanos(0)));
    }

    #[test]
    fn only_what_happens_between_two_readings_counts() {
        let reading = |first, last| Usage {
            first: Counters {
                user: Nanos(first),
                ..Counters::default()
            },
            last: Counters {
                user: Nanos(last),
                ..Counters::default()
            },
            peak_rss_bytes: 0,
            pss_bytes: 0,
        };
        let cost = reading(100, 150).cost_until(&reading(400, 480), "x", Nanos(1), Nanos(0));
        assert_eq!(cost.user, Nanos(250));
    }
}
