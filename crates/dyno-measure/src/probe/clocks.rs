//! What reading each clock costs, and how fine it is.

use crate::clock::{COUNTER, Clock, cost_of, read, usual_step};
use dyno_model::protocol::ClockSpec;
use rustix::time::ClockId;
use serde::Serialize;

/// One way of reading a clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockReading {
    /// What is read, such as `tsc` or `CLOCK_MONOTONIC_COARSE`.
    pub name: String,
    /// Median cost of a reading in nanoseconds.
    pub cost_ns: f64,
    /// The usual step between two different readings in nanoseconds; for a reading that takes longer
    /// than the clock's step that is what it takes.
    pub resolution_ns: f64,
}

/// Measures the run's clock (both of its readings) and the kernel's clocks. Takes some milliseconds.
pub fn clock_readings(spec: ClockSpec) -> Vec<ClockReading> {
    let clock = Clock::new(spec);
    let measure = |name: &str, reading: &dyn Fn() -> u64| ClockReading {
        name: name.into(),
        cost_ns: cost_of(reading),
        resolution_ns: usual_step(reading),
    };
    let mut readings = Vec::new();
    if matches!(spec, ClockSpec::Tsc { .. }) {
        let after = format!("{COUNTER}, after a fence");
        readings.push(measure(COUNTER, &|| clock.now().0));
        readings.push(measure(&after, &|| clock.arrival().0));
    }
    for (name, id) in [
        ("CLOCK_MONOTONIC", ClockId::Monotonic),
        ("CLOCK_MONOTONIC_RAW", ClockId::MonotonicRaw),
        ("CLOCK_REALTIME", ClockId::Realtime),
    ] {
        readings.push(measure(name, &|| read(id).0));
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_has_a_cost_and_a_resolution() {
        let (spec, _) = crate::calibrate(crate::ClockChoice::Auto).unwrap();
        for r in clock_readings(spec) {
            assert!(r.cost_ns > 0.0 && r.resolution_ns > 0.0, "{r:?}");
        }
    }
}
