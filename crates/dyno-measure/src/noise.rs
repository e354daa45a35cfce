//! What the host itself does to a measurement: gaps torn into a loop that only reads the clock, the
//! time that others took from the CPUs in use, and whether that is more than on the idle host.
//!
//! A trial is judged against [`bare_machine`], measured when nothing of the run was on the host.
//! [`disturbances`] says in plain sentences what went beyond it.

mod disturbance;
mod gaps;
mod host;
pub(crate) mod kernel;
mod load;
mod processes;
mod runtime;

pub use disturbance::disturbances;
pub use gaps::{THRESHOLD, gaps};
pub use host::HostMeter;
pub use load::{LoadReading, read_load};
pub use processes::thread_cpus;

use crate::clock::Clock;
use crate::probe::ProbeError;
use crate::probe::ping_pong::{Between, Lines, ping_pong};
use dyno_model::noise::BareMachine;
use dyno_model::unit::Nanos;

/// Single round trips of [`line_round_trip`], and as many again in batches: enough for 30 batches, of
/// which the median is taken, and 1 to 4 ms on the machines of today.
const ROUND_TRIPS: u32 = 2_000;

/// One round trip of a bare cache line between two CPUs in nanoseconds: the median over batches, with
/// no clock reading inside. Takes a few milliseconds where nobody else wants these CPUs.
///
/// # Errors
///
/// Where the CPUs are the same or not allowed, or the other side stops answering.
pub fn line_round_trip(clock: Clock, a: u32, b: u32) -> Result<f64, ProbeError> {
    ping_pong(clock, a, b, Between::Threads, Lines::Two, ROUND_TRIPS).map(|p| p.bare_ns)
}

/// Watches the machine while nothing of a run is on it: `cpus` are left idle for the first half of
/// `duration` and spin in the second, where gaps are counted. The load is that of both halves, without
/// this process's own time. So `stolen` covers one idle half, in which a hypervisor has nothing to
/// take; a machine that is busy throughout may see twice its share.
///
/// # Errors
///
/// Where a CPU is not allowed.
pub fn bare_machine(
    clock: Clock,
    cpus: &[u32],
    duration: Nanos,
) -> Result<BareMachine, ProbeError> {
    let half = Nanos(duration.0 / 2);
    let before = read_load(cpus, &[]);
    std::thread::sleep(half.into());
    let gaps = gaps(clock, cpus, half)?;
    let load = before.until_now();
    Ok(BareMachine { gaps, load })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::allowed_cpus;
    use dyno_model::protocol::ClockSpec;

    #[test]
    fn the_bare_machine_is_watched_on_every_cpu() {
        let cpus = allowed_cpus();
        let duration = Nanos::from_millis(40);
        let bare = bare_machine(Clock::new(ClockSpec::Monotonic), &cpus, duration).unwrap();
        assert_eq!(bare.gaps.iter().map(|g| g.cpu).collect::<Vec<_>>(), cpus);
        assert_eq!(bare.load.cpus, cpus);
        assert!(bare.load.wall >= duration, "{bare:?}");
        assert!(bare.gaps.iter().all(|g| g.watched.0 >= duration.0 / 2));
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        let clock = Clock::new(ClockSpec::Monotonic);
        assert!(bare_machine(clock, &[1_000], Nanos::from_millis(2)).is_err());
        let cpu = allowed_cpus()[0];
        assert!(line_round_trip(clock, cpu, cpu).is_err());
    }

    #[test]
    fn a_cache_line_takes_some_time_to_come_back() {
        if let [a, b, ..] = allowed_cpus()[..] {
            assert!(line_round_trip(Clock::new(ClockSpec::Monotonic), a, b).unwrap() > 1.0);
        }
    }
}
