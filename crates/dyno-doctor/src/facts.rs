//! Everything that the doctor reads and measures, without any judgement.

use dyno_measure::ClockFacts;
use dyno_measure::probe::{
    Summary, clocks, futex::FutexWake, interrupts::Interrupts, limits, machine,
    ping_pong::PingPong, settings, speed,
};
use dyno_model::{CpuGaps, HostLoad, Nanos};
use serde::Serialize;
use std::path::PathBuf;

/// The facts, as `--json` prints them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    /// `release` or `debug`.
    pub build_profile: &'static str,
    /// What the machine is and how it is set up.
    pub machine: machine::Machine,
    /// Settings of the kernel and the processor.
    pub settings: settings::Settings,
    /// The clock that stamps are taken with.
    pub clock: ClockFacts,
    /// Every clock that could be read, with what a reading costs.
    pub clocks: Vec<clocks::ClockReading>,
    /// What a system call costs; `None`: it could not be measured.
    pub syscall: Option<Syscall>,
    /// Round trips of a cache line between CPUs.
    pub core_to_core: Vec<PingPong>,
    /// A wake-up of a thread that has just fallen asleep.
    pub wake_up: Option<FutexWake>,
    /// A wake-up of a thread that sleeps deeply.
    pub wake_up_asleep: Option<FutexWake>,
    /// A wake-up on a CPU that is kept awake.
    pub wake_up_awake: Option<FutexWake>,
    /// How late sleeps end.
    pub timers: Vec<Timer>,
    /// How long equal work takes on each CPU.
    pub speeds: Vec<speed::Speed>,
    /// Gaps by CPU in a thread that only reads the clock.
    pub gaps: Vec<CpuGaps>,
    /// Of the same time as `gaps` and as much again before.
    pub load: HostLoad,
    /// Of the same time as `load`.
    pub interrupts: Vec<Interrupts>,
    /// Limits of the kernel.
    pub limits: limits::Limits,
    /// The rights that experiments may ask for.
    pub rights: Vec<Right>,
    /// Adapters in shared libraries.
    pub libraries: Vec<Library>,
    /// Adapters that cannot be used here.
    pub unavailable: Vec<Unavailable>,
    /// Probes that could not be made, and why.
    pub failed: Vec<String>,
}

/// A right that experiments may ask for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Right {
    /// What it is called.
    pub name: &'static str,
    /// Whether this process has it.
    pub granted: bool,
    /// What would grant it.
    pub advice: Option<String>,
}

/// The right to SCHED_FIFO.
pub const FIFO: &str = "SCHED_FIFO (scheduling = \"fifo:50\")";
/// The right to lock memory.
pub const MLOCK: &str = "locked memory (mlock = true)";

/// An adapter in a shared library.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Library {
    /// The adapter.
    pub adapter: String,
    /// The file that is in use.
    pub library: PathBuf,
    /// Files of the same name in folders that are searched later, as of another installation.
    pub passed_over: Vec<PathBuf>,
}

/// An adapter that cannot be used here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unavailable {
    /// The adapter.
    pub adapter: String,
    /// Why it cannot be used.
    pub reason: String,
}

/// The cheapest system call there is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Syscall {
    /// One `getppid` in nanoseconds: into the kernel and back, median over batches of 100.
    pub cost_ns: f64,
}

/// Sleeps of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timer {
    /// From one due time to the next.
    pub sleep: Nanos,
    /// How much the kernel was allowed to add (PR_SET_TIMERSLACK); `None`: its default, 50 µs unless
    /// changed.
    pub slack: Option<Nanos>,
    /// How much later than due the thread ran.
    pub overshoot: Summary,
}
