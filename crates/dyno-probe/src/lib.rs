//! What the kernel and the processor cost: the ground that every stack stands on. Each kind of probe is a function
//! that takes where and how long to measure ([`Ground`]) and what ([`Probe`]'s options), and returns distributions,
//! counts and warnings. It plans nothing and prints nothing.
//!
//! Every copy of a probe runs on threads of its own, which are pinned, given the scheduling class asked for, and
//! joined before the function returns; the caller's thread, its signals and its timers stay as they were. All copies
//! start together. What the probe itself adds to a sample (two readings of the clock, the loop around a batch) is
//! measured first, with the same code around nothing, and taken out; see [`Reading::own_ns`].

#![warn(clippy::too_many_lines)]

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
mod tracers;

pub use copy::copy;
pub use error::ProbeError;
pub use fault::fault;
pub use ground::{Ground, Outcome, Place, Reading};
pub use ipi::ipi;
pub use share::{jain, share};
pub use switch::switch;
pub use syscall::syscall;
pub use timer::timer;

use dyno_model::cause::Warning;
use dyno_model::plan::Extent;
use dyno_model::probe::Probe;
use dyno_model::unit::Nanos;

/// Pieces that are shorter than this are a matter of how the clock is read: samples are of whole nanoseconds.
const SHORT: Nanos = Nanos(20);

/// The shortest window of a timer after which the cause of its longest delay is asked for.
const LONG: Nanos = Nanos::from_secs(60);

/// Measures `probe` at all places of `ground` at once.
///
/// # Errors
///
/// Where the probe cannot be measured there, with the reason and what to do.
pub fn measure(ground: &Ground, probe: &Probe) -> Result<Outcome, ProbeError> {
    let mut found = match *probe {
        Probe::Syscall { by, batch } => syscall(ground, by, batch),
        Probe::Switch { by, sides } => switch(ground, by, sides),
        Probe::Timer { by, period, slack } => timer(ground, by, period, slack),
        Probe::Ipi { by, rest } => ipi(ground, by, rest),
        Probe::Copy { bytes, by } => copy(ground, bytes, by),
        Probe::Share { threads } => share(ground, threads),
        Probe::Fault { by } => fault(ground, by),
    }?;
    found.warnings.extend(too_short(&found.readings));
    let has_cycles = matches!(probe, Probe::Syscall { .. } | Probe::Switch { .. });
    if has_cycles && found.readings.iter().all(|r| r.core.is_none()) {
        let refusal = counters::refusal();
        let error = refusal.map(|why| why.to_string());
        let warning = error.map(|error| Warning::NoCycles { error });
        found.warnings.extend(warning);
    }
    let is_long = matches!(ground.window, Extent::Duration(window) if window >= LONG);
    if is_long && matches!(probe, Probe::Timer { .. }) {
        found.warnings.extend(tracers::missing());
    }
    Ok(found)
}

/// A warning where pieces are so short that the step of a sample shows in their quantiles.
fn too_short(readings: &[Reading]) -> Option<Warning> {
    let mean = |r: &Reading| r.time.sum / r.time.n.max(1) as f64;
    let short = readings.iter().filter(|r| r.time.n > 0).map(mean);
    let least = short.fold(f64::INFINITY, f64::min);
    (least < SHORT.0 as f64).then_some(Warning::ShortPieces {
        mean_ns: least,
        short: SHORT,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::record::Distribution;

    #[test]
    fn pieces_below_twenty_nanoseconds_are_warned_of() {
        let reading = |sum| Reading {
            time: Distribution {
                n: 10,
                sum,
                ..Distribution::default()
            },
            ..Reading::default()
        };
        assert_eq!(too_short(&[reading(200.0)]), None);
        let said = too_short(&[reading(900.0), reading(32.0)]);
        let short = SHORT;
        let mean_ns = 3.2;
        assert_eq!(said, Some(Warning::ShortPieces { mean_ns, short }));
        assert_eq!(too_short(&[Reading::default()]), None);
    }
}
