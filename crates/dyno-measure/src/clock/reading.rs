//! Reads the processor's counter or the kernel's clock, and converts.

use super::ticks::{drain, ticks, ticks_after_loads};
use dyno_model::protocol::ClockSpec;
use dyno_model::unit::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{Ordering, compiler_fence};

/// Reads the run's clock. On the processor's counter it keeps the rate that was calibrated, and so drifts
/// from CLOCK_MONOTONIC by as much as a time daemon slews that one. Copy it into every thread that stamps.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    spec: ClockSpec,
}

impl Clock {
    /// A clock that converts as `spec` says. Where the processor has no counter, a
    /// [`ClockSpec::Tsc`] reads CLOCK_MONOTONIC, whose time line is the same.
    pub fn new(spec: ClockSpec) -> Self {
        Clock { spec }
    }

    /// The time now, at the least cost and unfenced.
    #[inline(always)]
    pub fn now(&self) -> Nanos {
        match self.spec {
            ClockSpec::Tsc { ticks0, ns0, mult } => match ticks() {
                Some(t) => ticks_to_nanos(t, ticks0, ns0, mult),
                None => monotonic(),
            },
            ClockSpec::Monotonic => monotonic(),
            ClockSpec::Scaled { ticks0, ns0, mult } => {
                ticks_to_nanos(monotonic().0, ticks0, ns0, mult)
            }
        }
    }

    /// The time at which a message may leave: read after everything before it is done, also what was written. A
    /// record that is still on its way to memory would go before the message and be counted with it.
    #[inline]
    pub fn departure(&self) -> Nanos {
        drain();
        self.arrival()
    }

    /// The time now, read after every earlier load of this thread has its value.
    #[inline(always)]
    pub fn arrival(&self) -> Nanos {
        compiler_fence(Ordering::SeqCst);
        match self.spec {
            ClockSpec::Tsc { ticks0, ns0, mult } => match ticks_after_loads() {
                Some(t) => ticks_to_nanos(t, ticks0, ns0, mult),
                None => monotonic_after_loads(),
            },
            ClockSpec::Monotonic => monotonic_after_loads(),
            ClockSpec::Scaled { ticks0, ns0, mult } => {
                ticks_to_nanos(monotonic_after_loads().0, ticks0, ns0, mult)
            }
        }
    }
}

/// `ns0 + ((ticks - ticks0) * mult) >> 32`, exact over the whole range of the counter.
#[inline(always)]
pub(super) const fn ticks_to_nanos(ticks: u64, ticks0: u64, ns0: u64, mult: u64) -> Nanos {
    let elapsed = ticks.wrapping_sub(ticks0) as u128 * mult as u128;
    Nanos(ns0.wrapping_add((elapsed >> 32) as u64))
}

/// CLOCK_MONOTONIC, read after all earlier loads.
#[inline(always)]
fn monotonic_after_loads() -> Nanos {
    // On x86-64 the kernel's own reading waits for them (vDSO `rdtsc_ordered`); on arm64 it does not (`isb` alone).
    #[cfg(not(target_arch = "x86_64"))]
    super::ticks::await_loads();
    monotonic()
}

/// CLOCK_MONOTONIC; through the vDSO, so not a system call where the kernel's clock source allows.
#[inline(always)]
pub(crate) fn monotonic() -> Nanos {
    read(ClockId::Monotonic)
}

/// A kernel clock in nanoseconds.
#[inline(always)]
pub(crate) fn read(id: ClockId) -> Nanos {
    let t = clock_gettime(id);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_is_exact_after_years() {
        // 3 GHz: a third of a nanosecond per tick, rounded down in 32.32 fixed point.
        let mult = (1u64 << 32) / 3;
        let year = 365 * 86_400 * 3_000_000_000u64;
        let Nanos(ns) = ticks_to_nanos(7 + 50 * year, 7, 11, mult);
        let exact = (u128::from(50 * year) * u128::from(mult)) >> 32;
        assert_eq!(u128::from(ns), 11 + exact);
    }

    #[test]
    fn the_counter_starts_anywhere() {
        let mult = 1u64 << 32;
        assert_eq!(ticks_to_nanos(5, u64::MAX - 4, 100, mult), Nanos(110));
    }

    #[test]
    fn both_readings_never_go_back() {
        for spec in [
            ClockSpec::Monotonic,
            ClockSpec::Tsc {
                ticks0: ticks().unwrap_or(0),
                ns0: 0,
                mult: 1 << 32,
            },
        ] {
            let clock = Clock::new(spec);
            let mut last = clock.arrival();
            for _ in 0..10_000 {
                let a = clock.arrival();
                assert!(a >= last, "{spec:?}");
                last = a;
            }
        }
    }
}
