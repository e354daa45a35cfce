//! What the kernel and the processor cost: the ground that every stack stands on. Each kind of probe is a function
//! that takes where and how long to measure ([`Ground`]) and what ([`Probe`]'s options), and returns distributions,
//! counts and warnings. It plans nothing and prints nothing.
//!
//! Every copy of a probe runs on threads of its own, which are pinned, given the scheduling class asked for, and
//! joined before the function returns; the caller's thread, its signals and its timers stay as they were. All copies
//! start together. What the probe itself adds to a sample (two readings of the clock, the loop around a batch) is
//! measured first, with the same code around nothing, and taken out; see [`Reading::own_ns`].

mod copy;
pub mod counters;
mod error;
mod fault;
mod ground;
mod ipi;
mod share;
mod switch;
mod syscall;
mod timer;

pub use copy::copy;
pub use error::ProbeError;
pub use fault::fault;
pub use ground::{Ground, Outcome, Place, Reading};
pub use ipi::ipi;
pub use share::{jain, share};
pub use switch::switch;
pub use syscall::syscall;
pub use timer::timer;

use dyno_model::probe::Probe;

/// Measures `probe` at all places of `ground` at once.
///
/// # Errors
///
/// Where the probe cannot be measured there, with the reason and what to do.
pub fn measure(ground: &Ground, probe: &Probe) -> Result<Outcome, ProbeError> {
    match *probe {
        Probe::Syscall { by, batch } => syscall(ground, by, batch),
        Probe::Switch { by, sides } => switch(ground, by, sides),
        Probe::Timer { by, period, slack } => timer(ground, by, period, slack),
        Probe::Ipi { by, rest } => ipi(ground, by, rest),
        Probe::Copy { bytes } => copy(ground, bytes),
        Probe::Share { threads } => share(ground, threads),
        Probe::Fault { by } => fault(ground, by),
    }
}
