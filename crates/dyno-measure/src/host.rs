//! What a role asks of the host for its thread and process: a CPU, a scheduling class, memory that
//! stays. Where the right is missing, the error names the limit and the command that grants it.

use crate::procfile;
use dyno_model::cause::NotGranted;
use dyno_model::cpus::ranges;
use dyno_model::unit::Nanos;
use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{
    CpuSet, current_timer_slack, sched_getaffinity, sched_setaffinity, set_current_timer_slack,
};
use std::io;
use std::num::NonZeroU64;

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

/// The CPUs that the calling thread may use, those of one core together; cores and CPUs in ascending
/// order.
pub fn allowed_cores() -> Vec<Vec<u32>> {
    let mut cores: Vec<Vec<u32>> = Vec::new();
    for cpu in allowed_cpus() {
        let siblings = procfile::text(format!(
            "/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        ));
        let siblings = procfile::cpu_list(&siblings);
        // Where the kernel does not tell, every CPU is a core of its own.
        match cores.iter_mut().find(|core| siblings.contains(&core[0])) {
            Some(core) => core.push(cpu),
            None => cores.push(vec![cpu]),
        }
    }
    cores
}

/// The CPUs that the scheduler leaves to those who ask for them by name (`isolcpus` on the kernel's command line), and
/// that this process gets when it asks; in ascending order.
pub fn isolated_cpus() -> Vec<u32> {
    let all = procfile::cpu_list(&procfile::text("/sys/devices/system/cpu/isolated"));
    // On a thread of its own, so that ours stays where it may run.
    let granted = |cpu: &u32| {
        let cpu = *cpu;
        std::thread::spawn(move || pin(cpu).is_ok())
            .join()
            .unwrap_or(false)
    };
    all.into_iter().filter(granted).collect()
}

/// Pins the calling thread, and the threads that it starts from now on, to `cpu`.
///
/// # Errors
///
/// As [`confine`].
pub fn pin(cpu: u32) -> Result<(), NotGranted> {
    confine(&[cpu])
}

/// Confines the calling thread, and the threads that it starts from now on, to `cpus`.
///
/// # Errors
///
/// [`NotGranted::Cpu`] where one of them does not exist for this thread, [`NotGranted::Pin`] where the
/// kernel refuses for another reason.
pub fn confine(cpus: &[u32]) -> Result<(), NotGranted> {
    let before = allowed_cpus();
    let not_allowed = |cpu: u32| NotGranted::Cpu {
        cpu,
        allowed: ranges(&before),
    };
    let refused = |e: Errno| NotGranted::Pin {
        cpus: ranges(cpus),
        answer: io::Error::from(e).to_string(),
    };
    if let Some(&cpu) = cpus.iter().find(|&&cpu| cpu as usize >= CpuSet::MAX_CPU) {
        return Err(not_allowed(cpu));
    }
    match sched_setaffinity(None, &set_of(cpus)) {
        Ok(()) => {}
        // None of them exists here.
        Err(Errno::INVAL) => return Err(not_allowed(cpus.first().copied().unwrap_or_default())),
        Err(e) => return Err(refused(e)),
    }
    // The kernel leaves out without a word what does not exist.
    let granted = allowed_cpus();
    match cpus.iter().find(|cpu| !granted.contains(cpu)) {
        Some(&cpu) => {
            sched_setaffinity(None, &set_of(&before)).map_err(refused)?;
            Err(not_allowed(cpu))
        }
        None => Ok(()),
    }
}

fn set_of(cpus: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu as usize);
    }
    set
}

/// What the kernel may add to each sleep of a participant's threads, whatever its role: the least that there is. The kernel's
/// default, 50 µs, would stand in each figure of a library that sleeps, and of a pacer.
pub const TIMER_SLACK: Nanos = Nanos(1);

/// Gives the calling thread [`TIMER_SLACK`] (PR_SET_TIMERSLACK(2const)). Threads that it starts inherit it.
///
/// # Errors
///
/// [`NotGranted::TimerSlack`] where the kernel, or a filter of system calls, refuses it.
pub fn set_timer_slack() -> Result<(), NotGranted> {
    set_current_timer_slack(NonZeroU64::new(TIMER_SLACK.0)).map_err(|e| NotGranted::TimerSlack {
        slack: TIMER_SLACK,
        answer: e.to_string(),
    })
}

/// The timer slack that a thread has after it asked for [`TIMER_SLACK`], as the kernel tells it (PR_GET_TIMERSLACK(2const)). `None` where
/// it does not tell.
pub fn granted_timer_slack() -> Option<Nanos> {
    let asked = || {
        // Participants warn where it is refused; what is read is what they get.
        let _ = set_timer_slack();
        current_timer_slack().ok().map(Nanos)
    };
    std::thread::scope(|s| s.spawn(asked).join().ok()?)
}

/// Gives the calling thread SCHED_FIFO with `priority`, 1 to 99. Threads that it starts inherit it.
///
/// # Errors
///
/// [`NotGranted::Fifo`] without the right to do so, [`NotGranted::Priority`] for an impossible one.
pub fn set_fifo(priority: u8) -> Result<(), NotGranted> {
    if !(1..=99).contains(&priority) {
        return Err(NotGranted::Priority { priority });
    }
    let parameters = libc::sched_param {
        sched_priority: i32::from(priority),
    };
    // SAFETY: `parameters` is a valid sched_param for the duration of the call; thread id 0 is the
    // calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } == 0 {
        return Ok(());
    }
    // Before the next call.
    let answer = io::Error::last_os_error().to_string();
    Err(NotGranted::Fifo {
        priority,
        limit: limit(Resource::Rtprio, |v| v.to_string()),
        answer,
    })
}

/// Gives the calling thread SCHED_DEADLINE: `runtime` of CPU time in each `period` (sched_setattr(2), sched(7)). It
/// cannot start threads or processes then.
///
/// # Errors
///
/// [`NotGranted::Deadline`] without the right to do so, where the CPUs' time is given away already, or where the thread
/// may not use every CPU.
pub fn set_deadline(runtime: Nanos, period: Nanos) -> Result<(), NotGranted> {
    // SAFETY: zeros are valid for a plain C struct.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = size_of::<libc::sched_attr>() as u32;
    attributes.sched_policy = libc::SCHED_DEADLINE as u32;
    attributes.sched_runtime = runtime.0;
    attributes.sched_deadline = period.0;
    attributes.sched_period = period.0;
    // SAFETY: `attributes` is valid and of the size that it says; thread id 0 is the calling thread; no flags.
    if unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) } == 0 {
        return Ok(());
    }
    Err(NotGranted::Deadline {
        runtime,
        period,
        answer: io::Error::last_os_error().to_string(),
    })
}

/// The CPUs that are online, whether this process may use them or not; those that it may use where the kernel does
/// not say.
pub fn online_cpus() -> Vec<u32> {
    match procfile::cpu_list(&procfile::text("/sys/devices/system/cpu/online")) {
        none if none.is_empty() => allowed_cpus(),
        online => online,
    }
}

/// Locks all memory of this process, present and future, into RAM. Without CAP_IPC_LOCK the limit
/// also holds later: allocations beyond it then fail.
///
/// # Errors
///
/// [`NotGranted::Lock`] without the right to do so.
pub fn lock_memory() -> Result<(), NotGranted> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(|e| NotGranted::Lock {
        limit: limit(Resource::Memlock, |v| format!("{} KiB", v / 1024)),
        answer: io::Error::from(e).to_string(),
    })
}

/// A soft limit as text.
fn limit(resource: Resource, show: impl Fn(u64) -> String) -> String {
    getrlimit(resource)
        .current
        .map_or_else(|| "unlimited".into(), show)
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
    fn threads_that_a_thread_starts_have_its_timer_slack() {
        let of_library = std::thread::spawn(|| {
            set_timer_slack().unwrap();
            std::thread::spawn(|| current_timer_slack().unwrap())
                .join()
                .unwrap()
        });
        assert_eq!(of_library.join().unwrap(), TIMER_SLACK.0);
        assert_eq!(granted_timer_slack(), Some(TIMER_SLACK));
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_with_those_that_do() {
        for cpu in [1_000, u32::MAX] {
            let e = pin(cpu).unwrap_err();
            assert!(matches!(e, NotGranted::Cpu { .. }), "{e}");
            assert!(e.to_string().contains(&ranges(&allowed_cpus())), "{e}");
        }
    }

    #[test]
    fn a_thread_is_confined_to_all_of_a_set_or_not_at_all() {
        std::thread::spawn(|| {
            let all = allowed_cpus();
            confine(&all).unwrap();
            assert_eq!(allowed_cpus(), all);
            let e = confine(&[all[0], 1_000]).unwrap_err();
            assert!(matches!(e, NotGranted::Cpu { cpu: 1_000, .. }), "{e}");
            assert_eq!(allowed_cpus(), all);
            // Threads that it makes stay within, also when it narrows itself later.
            let (go, wait) = std::sync::mpsc::channel::<()>();
            let made = std::thread::spawn(move || {
                wait.recv().unwrap();
                allowed_cpus()
            });
            pin(all[0]).unwrap();
            go.send(()).unwrap();
            assert_eq!(made.join().unwrap(), all);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn every_allowed_cpu_belongs_to_one_core() {
        let mut cpus: Vec<u32> = allowed_cores().into_iter().flatten().collect();
        cpus.sort_unstable();
        assert_eq!(cpus, allowed_cpus());
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
        let e = NotGranted::Fifo {
            priority: 50,
            limit: "0".into(),
            answer: io::Error::from_raw_os_error(libc::EPERM).to_string(),
        }
        .to_string();
        assert!(
            e.contains("RLIMIT_RTPRIO is 0") && e.contains("ulimit -r 50"),
            "{e}"
        );
        let e = NotGranted::Deadline {
            runtime: Nanos(10_000),
            period: Nanos(100_000),
            answer: io::Error::from_raw_os_error(libc::EPERM).to_string(),
        }
        .to_string();
        assert!(
            e.contains("10.0 µs in each 100 µs") && e.contains("CAP_SYS_NICE"),
            "{e}"
        );
        let e = NotGranted::Lock {
            limit: "8192 KiB".into(),
            answer: io::Error::from_raw_os_error(libc::ENOMEM).to_string(),
        }
        .to_string();
        assert!(
            e.contains("RLIMIT_MEMLOCK is 8192 KiB") && e.contains("ulimit -l"),
            "{e}"
        );
    }
}
