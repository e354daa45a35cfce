//! This machine, as plans and runs must know it: what it has, and what it does while nothing of a run is on it.

use crate::exit::{Code, Failure, Result};
use crate::progress::Progress;
use dyno_measure::{Clock, ClockChoice, allowed_cores, allowed_cpus, isolated_cpus};
use dyno_model::cause::NotGranted;
use dyno_model::{BareMachine, Nanos};
use dyno_plan::{Catalog, HostFacts};

/// What planning must know of this machine.
pub(crate) fn host_facts(catalog: &Catalog) -> HostFacts {
    let shm = rustix::fs::statvfs("/dev/shm").ok();
    HostFacts {
        cpus: allowed_cpus(),
        cores: allowed_cores(),
        isolated: isolated_cpus(),
        shm_free_bytes: shm.map(|s| s.f_bavail * s.f_frsize),
        memory_bytes: available_memory(),
        missing_programs: catalog
            .programs()
            .into_iter()
            .filter(|p| !dyno_runner::is_installed(p))
            .collect(),
        vsock: dyno_runner::vsock_back_end(),
    }
}

/// MemAvailable of /proc/meminfo (proc(5)), in bytes.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Why the kernel denies SCHED_FIFO with this priority, and what to do; `None` where it is granted.
pub(crate) fn fifo_refused(priority: u8) -> Option<String> {
    refused(move || dyno_measure::set_fifo(priority))
}

/// The same of locking all memory.
pub(crate) fn lock_refused() -> Option<String> {
    refused(|| {
        let locked = dyno_measure::lock_memory();
        // Not locked any more for the rest of this process.
        rustix::mm::munlockall().ok();
        locked
    })
}

/// Asks in a thread of its own, so that the caller keeps no right.
fn refused(
    ask: impl FnOnce() -> std::result::Result<(), NotGranted> + Send + 'static,
) -> Option<String> {
    match std::thread::spawn(ask).join() {
        Ok(answer) => answer.err().map(|e| e.to_string()),
        Err(_) => Some("asking for it ended the thread".to_owned()),
    }
}

/// How long the machine is watched before the first trial. The figures of a debug build are no measurements, as it warns, and hundreds of
/// its runs in a test would watch each other.
const BARE: Nanos = Nanos::from_millis(if cfg!(debug_assertions) { 100 } else { 400 });

/// How often the machine is watched again where others are at work on it: what is measured then would
/// excuse the same load later.
const LOOKS: usize = if cfg!(debug_assertions) { 1 } else { 4 };

/// Others that use more than this share of the CPUs are no part of the idle host.
const AT_WORK: f64 = 0.02;

/// What the machine does while nothing of the run is on it: the calmest of a few looks.
pub(crate) fn bare_machine(progress: &Progress) -> Result<BareMachine> {
    let choice = ClockChoice::Auto;
    let (clock, _) = dyno_measure::calibrate(choice).map_err(Failure::with(Code::Error))?;
    let clock = Clock::new(clock);
    let look = || {
        dyno_measure::bare_machine(clock, &allowed_cpus(), BARE).map_err(Failure::with(Code::Error))
    };
    let mut calmest = look()?;
    for _ in (0..LOOKS).skip(1) {
        if calmest.load.foreign_share() <= AT_WORK {
            return Ok(calmest);
        }
        let next = look()?;
        if next.load.foreign_share() < calmest.load.foreign_share() {
            calmest = next;
        }
    }
    let share = 100.0 * calmest.load.foreign_share();
    if share > 100.0 * AT_WORK {
        progress.say(format!(
            "warning: other processes use {share:.0} % of the CPUs before the first trial; end them, or \
             read the remarks on disturbed trials with care"
        ));
    }
    Ok(calmest)
}
