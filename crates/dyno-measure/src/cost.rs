//! What a process uses: processor time, context switches, page faults and memory.
//!
//! Traps avoided here: `/proc/PID/stat` counts in ticks of 10 ms, so the total comes from the
//! process's CPU-time clock in nanoseconds and the ticks only split it into user and system;
//! `/proc/PID/status` counts the switches of one thread only, so all threads are added up; `ru_maxrss`
//! is inherited from the parent over fork and exec, so the peak comes from `VmHWM`; reading the
//! proportional set size walks the page tables, so memory is read apart, after the interval.

use crate::clock::Clock;
use crate::procfile;
use dyno_model::asked::Asked;
use dyno_model::protocol::Waited;
use dyno_model::record::ProcessCost;
use dyno_model::unit::Nanos;
use std::io;

/// What a process has used since it started, as it was at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    at: Nanos,
    counters: Counters,
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
    asked: Option<Asked>,
}

/// The memory of a process, in bytes, and what else it holds; zero where the kernel does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// The highest resident set size of its life.
    pub peak_rss: u64,
    /// The proportional set size now.
    pub pss: u64,
    /// The part of it that is shared memory.
    pub shared: u64,
    /// Its open files.
    pub open_files: u64,
    /// Its threads.
    pub threads: u64,
}

/// What there is to say of a process beside the readings of its [`Meter`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Used {
    /// As in [`ProcessCost::label`].
    pub label: String,
    /// What Dyno itself used within it waiting for due times.
    pub waited: Waited,
    /// Its memory.
    pub memory: Memory,
    /// Whether a thread of it polls for messages.
    pub polls: bool,
}

/// Reads the usage of this process: some microseconds, all in system calls, so never in the window. The
/// kernel accounts a running thread's time at its next tick or switch only; `threads`, by their kernel ids,
/// are those that may be running now and whose time is to be exact.
pub fn usage_of_self(clock: Clock, threads: &[libc::pid_t]) -> Usage {
    for thread in threads {
        bring_up_to_date(*thread);
    }
    Usage {
        at: clock.now(),
        counters: counters_of_own(libc::RUSAGE_SELF),
    }
}

/// Reads the usage of another process, such as a daemon. Threads of it that have ended are missing
/// from the context switches, and only from these.
///
/// # Errors
///
/// Where the process does not exist or may not be looked at.
pub fn usage_of(clock: Clock, pid: u32) -> io::Result<Usage> {
    let at = clock.now();
    Ok(Usage {
        at,
        counters: counters_of(pid)?,
    })
}

/// Reads the memory of a process, `"self"` or a number, its threads and its open files. Takes some hundred microseconds, since the proportional
/// set size walks the page tables.
pub fn memory_of(pid: impl std::fmt::Display) -> Memory {
    let status = procfile::text(format!("/proc/{pid}/status"));
    let rollup = procfile::text(format!("/proc/{pid}/smaps_rollup"));
    let threads = procfile::field(&status, "Threads").and_then(|n| n.parse().ok());
    // Of this process it holds the handle with which it is read, as well; entries that cannot be read count too.
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let files = files.map_or(0, |all| all.count() as u64);
    let own = u64::from(pid.to_string() == "self");
    Memory {
        peak_rss: procfile::kib_field(&status, "VmHWM").unwrap_or(0),
        pss: procfile::kib_field(&rollup, "Pss").unwrap_or(0),
        shared: procfile::kib_field(&rollup, "Pss_Shmem").unwrap_or(0),
        open_files: files.saturating_sub(own),
        threads: threads.unwrap_or(0),
    }
}

/// What the kernel of this machine cannot give away, in bytes: MemTotal less MemAvailable of /proc/meminfo (proc(5)).
/// `None` where it does not tell.
pub fn used_memory() -> Option<u64> {
    let text = procfile::text("/proc/meminfo");
    let total = procfile::kib_field(&text, "MemTotal")?;
    total.checked_sub(procfile::kib_field(&text, "MemAvailable")?)
}

/// How long before the window the readings are taken with which the cost begins. They take some hundred
/// microseconds, of a CPU that a spinning thread may not give up for some milliseconds; after them that thread needs time
/// to find its caches as they were.
pub const LEAD_IN: Nanos = Nanos::from_millis(10);

/// The cost of one process: readings from just before the first due time on, none within the window, and then
/// one after the other until the last message has arrived, which is known only afterwards.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    readings: Vec<Usage>,
}

impl Meter {
    /// Adds a reading, later than all before; the first one begins the cost.
    pub fn note(&mut self, usage: Usage) {
        self.readings.push(usage);
    }

    /// Whether there is a first reading.
    pub fn has_begun(&self) -> bool {
        !self.readings.is_empty()
    }

    /// What the process used from the first reading until `last`, the last arrival. Who polls uses as much after it as
    /// before, so that use is taken to be even between the two readings around that instant. Who does not has next to
    /// nothing to do after it: the first reading that is not earlier is taken as it is, with its time. Where all are
    /// earlier, the last is the best there is. `None` without two readings.
    pub fn cost_until(&self, last: Nanos, used: Used) -> Option<ProcessCost> {
        let [from, later @ ..] = self.readings.as_slice() else {
            return None;
        };
        let to = match later.iter().position(|r| r.at >= last) {
            None => *later.last()?,
            Some(index) if !used.polls => later[index],
            Some(index) => self.readings[index].towards(&later[index], last),
        };
        let (begin, end) = (&from.counters, &to.counters);
        let Waited { cpu, sleeps } = used.waited;
        let memory = used.memory;
        Some(ProcessCost {
            label: used.label,
            user: end.user.saturating_sub(begin.user),
            system: end.system.saturating_sub(begin.system),
            pacing: cpu,
            wall: to.at.saturating_sub(from.at),
            voluntary_switches: end
                .voluntary_switches
                .saturating_sub(begin.voluntary_switches)
                .saturating_sub(sleeps),
            involuntary_switches: end
                .involuntary_switches
                .saturating_sub(begin.involuntary_switches),
            minor_faults: end.minor_faults.saturating_sub(begin.minor_faults),
            major_faults: end.major_faults.saturating_sub(begin.major_faults),
            peak_rss_bytes: memory.peak_rss,
            pss_bytes: memory.pss,
            shared_bytes: memory.shared,
            open_files: memory.open_files,
            threads: memory.threads,
            asked: begin.asked.zip(end.asked).map(|(a, b)| Asked {
                calls: b.calls.saturating_sub(a.calls).saturating_sub(sleeps),
                carriers: b.carriers.saturating_sub(a.carriers),
                wakings: b.wakings.saturating_sub(a.wakings),
            }),
            daemon: false,
        })
    }
}

impl Usage {
    /// When it was read.
    pub fn at(&self) -> Nanos {
        self.at
    }

    /// The same with what the process had asked of the kernel.
    pub fn with_asked(mut self, asked: Option<Asked>) -> Usage {
        self.counters.asked = asked;
        self
    }

    /// The usage at `at`, on the straight line from here to `later`.
    fn towards(&self, later: &Usage, at: Nanos) -> Usage {
        let span = later.at.saturating_sub(self.at).0.max(1);
        let part = at.saturating_sub(self.at).0.min(span);
        let between = |from: u64, to: u64| {
            let grown = u128::from(to.saturating_sub(from)) * u128::from(part) / u128::from(span);
            from + grown as u64
        };
        let (a, b) = (&self.counters, &later.counters);
        Usage {
            at: Nanos(self.at.0 + part),
            counters: Counters {
                user: Nanos(between(a.user.0, b.user.0)),
                system: Nanos(between(a.system.0, b.system.0)),
                voluntary_switches: between(a.voluntary_switches, b.voluntary_switches),
                involuntary_switches: between(a.involuntary_switches, b.involuntary_switches),
                minor_faults: between(a.minor_faults, b.minor_faults),
                major_faults: between(a.major_faults, b.major_faults),
                asked: a.asked.zip(b.asked).map(|(a, b)| Asked {
                    calls: between(a.calls, b.calls),
                    carriers: between(a.carriers, b.carriers),
                    wakings: between(a.wakings, b.wakings),
                }),
            },
        }
    }
}

/// Makes the kernel account the time of a running thread until now: reading its CPU-time clock does
/// (`task_sched_runtime` in kernel/sched/core.c), reading the process's does not.
fn bring_up_to_date(thread: libc::pid_t) {
    // CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED below the inverted id: include/linux/posix-timers_types.h.
    let clock: libc::clockid_t = (!thread << 3) | 4 | 2;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes of one timespec. A thread that has ended is an error, and then there
    // is nothing to bring up to date.
    unsafe { libc::clock_gettime(clock, &mut time) };
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
        asked: None,
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
        asked: None,
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
    use std::time::Instant;

    fn clock() -> Clock {
        Clock::new(dyno_model::protocol::ClockSpec::Monotonic)
    }

    /// Uses at least this much processor time, and lasts as long: other tests of this process burn beside it.
    fn burn(at_least: Nanos) {
        let used = || {
            let c = counters_of_own(libc::RUSAGE_SELF);
            c.user.0 + c.system.0
        };
        let (start, began) = (used(), Instant::now());
        while used() - start < at_least.0 || Nanos::from(began.elapsed()) < at_least {
            std::hint::black_box((0..10_000u64).fold(0, |a, b| a ^ b));
        }
    }

    /// The cost between two readings.
    fn cost(from: Usage, to: Usage) -> ProcessCost {
        let mut meter = Meter::default();
        assert!(!meter.has_begun());
        meter.note(from);
        meter.note(to);
        let waited = Waited {
            cpu: Nanos(4),
            sleeps: 0,
        };
        let memory = memory_of("self");
        let used = Used {
            waited,
            memory,
            ..Used::default()
        };
        meter.cost_until(Nanos(u64::MAX), used).unwrap()
    }

    #[test]
    fn processor_time_and_memory_of_this_process_are_seen() {
        let before = usage_of_self(clock(), &[]);
        burn(Nanos::from_millis(20));
        let cost = cost(before, usage_of_self(clock(), &[]));
        assert!(cost.user.0 + cost.system.0 >= 20_000_000, "{cost:?}");
        assert!(cost.wall.0 >= 19_000_000, "{cost:?}");
        assert_eq!(cost.pacing, Nanos(4));
        assert!(cost.pss_bytes > 100_000 && cost.peak_rss_bytes > cost.pss_bytes / 2);
    }

    #[test]
    fn another_process_is_seen_like_this_one() {
        let me = std::process::id();
        let before = usage_of(clock(), me).unwrap();
        burn(Nanos::from_millis(20));
        let cost = cost(before, usage_of(clock(), me).unwrap());
        assert!(cost.user.0 + cost.system.0 >= 19_000_000, "{cost:?}");
        let memory = memory_of(me);
        assert!(memory.peak_rss > 0 && memory.threads > 0 && memory.open_files > 2);
    }

    #[test]
    fn switches_of_all_threads_count() {
        let me = std::process::id();
        let before = usage_of(clock(), me).unwrap();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            for _ in 0..50 {
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            wait.recv().unwrap_err();
        });
        while cost(before, usage_of(clock(), me).unwrap()).voluntary_switches < 50 {
            std::thread::yield_now();
        }
        drop(done);
        sleeper.join().unwrap();
    }

    #[test]
    fn a_thread_that_spins_is_accounted_until_now() {
        use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
        static STOP: AtomicBool = AtomicBool::new(false);
        static ID: AtomicI32 = AtomicI32::new(0);
        let spinner = std::thread::spawn(|| {
            // SAFETY: gettid has no arguments and cannot fail.
            ID.store(unsafe { libc::gettid() }, Relaxed);
            while !STOP.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        while ID.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        // The time of a thread that spins is the sum of steps; some of them are shorter than a tick.
        let used = |u: Usage| u.counters.user.0 + u.counters.system.0;
        let mut moved = 0;
        for _ in 0..50 {
            let before = usage_of_self(clock(), &[ID.load(Relaxed)]);
            let until = clock().now().0 + 200_000;
            while clock().now().0 < until {}
            let after = usage_of_self(clock(), &[ID.load(Relaxed)]);
            moved += u32::from(used(after) > used(before));
        }
        STOP.store(true, Relaxed);
        spinner.join().unwrap();
        assert!(moved > 25, "{moved} of 50");
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(usage_of(clock(), u32::MAX / 2).is_err());
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

    fn reading(at: u64, user: u64) -> Usage {
        Usage {
            at: Nanos(at),
            counters: Counters {
                user: Nanos(user),
                ..Counters::default()
            },
        }
    }

    #[test]
    fn cost_ends_with_the_last_arrival() {
        let mut meter = Meter::default();
        // Idle until 100, busy from there on.
        for (at, user) in [(0, 0), (100, 40), (200, 140), (300, 240)] {
            meter.note(reading(at, user));
        }
        let until = |last, polls| {
            let used = Used {
                polls,
                ..Used::default()
            };
            let cost = meter.cost_until(Nanos(last), used).unwrap();
            (cost.user.0, cost.wall.0)
        };
        assert_eq!(until(50, true), (20, 50));
        assert_eq!(until(0, true), (0, 0));
        assert_eq!(until(250, true), (190, 250));
        // Who does not poll did all of it for what had arrived by then.
        assert_eq!(until(50, false), (40, 100));
        assert_eq!(until(250, false), (240, 300));
        for polls in [false, true] {
            assert_eq!(until(200, polls), (140, 200));
            assert_eq!(until(9_000, polls), (240, 300));
        }
    }

    #[test]
    fn the_pacers_sleeps_are_no_switches_and_no_calls_of_the_process() {
        let reading = |at, grown| {
            let asked = Some(Asked {
                calls: grown,
                carriers: grown,
                wakings: grown,
            });
            let counters = Counters {
                voluntary_switches: grown,
                asked,
                ..Counters::default()
            };
            Usage {
                at: Nanos(at),
                counters,
            }
        };
        let mut meter = Meter::default();
        meter.note(reading(0, 10));
        meter.note(reading(100, 40));
        let waited = Waited {
            cpu: Nanos(7),
            sleeps: 12,
        };
        let used = Used {
            waited,
            ..Used::default()
        };
        let cost = meter.cost_until(Nanos(100), used).unwrap();
        let asked = cost.asked.unwrap();
        assert_eq!((cost.voluntary_switches, cost.pacing), (18, Nanos(7)));
        assert_eq!((asked.calls, asked.carriers, asked.wakings), (18, 30, 30));
    }

    #[test]
    fn one_reading_is_no_cost() {
        let mut meter = Meter::default();
        meter.note(reading(1, 1));
        assert_eq!(meter.cost_until(Nanos(5), Used::default()), None);
    }
}
