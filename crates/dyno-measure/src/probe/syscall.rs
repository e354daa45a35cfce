//! What a system call costs: what mitigations of processor bugs make slow, and what every blocking
//! exchange pays several times.

use super::Summary;
use crate::clock::Clock;
use dyno_model::unit::Nanos;
use serde::Serialize;

/// Calls between two clock readings.
const BATCH: u32 = 100;
/// Batches, of which the median counts.
const BATCHES: usize = 200;

/// The cheapest system call there is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Syscall {
    /// One `getppid` in nanoseconds: into the kernel and back, median over batches of 100.
    pub cost_ns: f64,
}

/// Measures it; takes a few milliseconds.
pub fn syscall(clock: Clock) -> Syscall {
    let mut batches: Vec<u64> = (0..BATCHES)
        .map(|_| {
            let began = clock.now();
            for _ in 0..BATCH {
                // SAFETY: getppid takes no arguments and touches no memory.
                std::hint::black_box(unsafe { libc::syscall(libc::SYS_getppid) });
            }
            clock.arrival().saturating_sub(began).0
        })
        .collect();
    let Nanos(median) = Summary::of(&mut batches).p50;
    Syscall {
        cost_ns: median as f64 / f64::from(BATCH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_call_takes_some_time() {
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        assert!(syscall(clock).cost_ns > 1.0);
    }
}
