//! What a system call and a sleep cost, measured by the probes of the suite `ground`; the doctor shows less of it.

use dyno_doctor::{Syscall, Timer};
use dyno_measure::probe::Summary;
use dyno_measure::record::decode;
use dyno_measure::{Clock, RecordError};
use dyno_model::Nanos;
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::probe::{Alarm, Call, Probe};
use dyno_model::record::Distribution;
use dyno_probe::{Ground, Place, ProbeError, Reading, measure};

/// Calls between two clock readings, and batches of them.
const BATCH: u32 = 100;
const BATCHES: u64 = 200;
/// From one due time to the next, and due times of each kind.
const SLEEP: Nanos = Nanos::from_millis(1);
const EXPIRIES: u64 = 200;

/// Takes a few milliseconds.
pub(super) fn syscall(clock: Clock, cpu: u32) -> Result<Syscall, ProbeError> {
    let by = Call::Getppid;
    let probe = Probe::Syscall { by, batch: BATCH };
    let reading = alone(clock, cpu, BATCHES, &probe)?;
    Ok(Syscall {
        cost_ns: summary(&reading.time)?.p50.0 as f64,
    })
}

/// With the default timer slack, and with one of 1 ns, as pacing uses it; 0.2 s each.
pub(super) fn timers(clock: Clock, cpu: u32) -> Result<Vec<Timer>, ProbeError> {
    let one = |slack| {
        let by = Alarm::Nanosleep;
        let probe = Probe::Timer {
            by,
            period: SLEEP,
            slack,
        };
        let reading = alone(clock, cpu, EXPIRIES, &probe)?;
        Ok(Timer {
            sleep: SLEEP,
            slack,
            overshoot: summary(&reading.time)?,
        })
    };
    [None, Some(Nanos(1))].into_iter().map(one).collect()
}

fn alone(clock: Clock, cpu: u32, samples: u64, probe: &Probe) -> Result<Reading, ProbeError> {
    let ground = Ground {
        clock,
        places: vec![Place::on(cpu)],
        scheduling: Scheduling::Other,
        warmup: Nanos::ZERO,
        window: Extent::Messages(samples),
        blocks: 1,
    };
    let readings = measure(&ground, probe)?.readings;
    readings.into_iter().next().ok_or(ProbeError::Nowhere)
}

/// Quantiles are those of the histogram, to three digits.
fn summary(d: &Distribution) -> Result<Summary, RecordError> {
    let times = decode(&d.total)?;
    let quantile = |q| Nanos(times.value_at_quantile(q));
    Ok(Summary {
        n: d.n as usize,
        min: Nanos(d.min),
        mean_ns: d.sum / d.n.max(1) as f64,
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        max: Nanos(d.max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::protocol::ClockSpec;

    #[test]
    fn what_the_doctor_shows_is_what_the_probes_measure() {
        let clock = Clock::new(ClockSpec::Monotonic);
        let cpu = dyno_measure::allowed_cpus()[0];
        assert!(syscall(clock, cpu).unwrap().cost_ns > 1.0);
        let timers = timers(clock, cpu).unwrap();
        assert_eq!((timers[0].slack, timers[1].slack), (None, Some(Nanos(1))));
        for t in timers {
            assert_eq!(t.overshoot.n, EXPIRIES as usize);
            assert!(t.overshoot.min <= t.overshoot.p50 && t.overshoot.p50 <= t.overshoot.max);
        }
    }
}
