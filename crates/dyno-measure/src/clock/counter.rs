//! Raw counters: what a host tells another one's runner, which finds the line to the run's clock.

use super::calibrate::tsc_refusal;
use super::reading::{monotonic, read, ticks_to_nanos};
use super::ticks::ticks_after_loads;
use dyno_model::protocol::{ClockSpec, Counter};
use dyno_model::unit::Nanos;
use rustix::time::ClockId;

/// The counter of this host that keeps the steadiest rate: the processor's where it is fit for
/// stamps, else CLOCK_MONOTONIC, whose rate a time daemon may change.
pub fn best_counter() -> Counter {
    match tsc_refusal() {
        None => Counter::Tsc,
        Some(_) => Counter::Monotonic,
    }
}

/// This host's counters at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    tsc: Option<u64>,
    monotonic: Nanos,
    /// CLOCK_MONOTONIC_RAW, which no time daemon slews, some tens of nanoseconds later.
    pub raw: Nanos,
}

impl Counters {
    /// Reads all of them.
    pub fn now() -> Counters {
        Counters {
            tsc: ticks_after_loads(),
            monotonic: monotonic(),
            raw: read(ClockId::MonotonicRaw),
        }
    }

    /// One of them in its own steps; `None` where the processor has none.
    pub fn of(&self, counter: Counter) -> Option<u64> {
        match counter {
            Counter::Tsc => self.tsc,
            Counter::Monotonic => Some(self.monotonic.0),
        }
    }
}

/// What a clock of `spec` shows when its counter stands at `ticks`. A [`ClockSpec::Monotonic`] shows
/// its counter itself.
pub fn nanos_at(spec: ClockSpec, ticks: u64) -> Nanos {
    match spec {
        ClockSpec::Monotonic => Nanos(ticks),
        ClockSpec::Tsc { ticks0, ns0, mult } | ClockSpec::Scaled { ticks0, ns0, mult } => {
            ticks_to_nanos(ticks, ticks0, ns0, mult)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;

    #[test]
    fn a_clock_shows_what_its_counter_says() {
        for counter in [best_counter(), Counter::Monotonic] {
            let first = Counters::now();
            let origin = first.of(counter).unwrap();
            let (ticks0, ns0, mult) = (origin, 1_000_000, 1u64 << 31);
            let spec = match counter {
                Counter::Tsc => ClockSpec::Tsc { ticks0, ns0, mult },
                Counter::Monotonic => ClockSpec::Scaled { ticks0, ns0, mult },
            };
            assert_eq!(nanos_at(spec, origin), Nanos(1_000_000));
            let before = nanos_at(spec, Counters::now().of(counter).unwrap());
            let shown = Clock::new(spec).arrival();
            let after = nanos_at(spec, Counters::now().of(counter).unwrap());
            assert!(before <= shown && shown <= after, "{counter:?}");
            assert!(Counters::now().raw >= first.raw);
        }
    }
}
