//! How much the CPUs of the host worked, for whomever: what the processes of a stack are charged is less, by
//! interrupts, kernel threads and everybody else.

use super::kernel::{self, Stat};
use crate::clock::Clock;
use dyno_model::unit::Nanos;

/// Readings of the time in which the CPUs of the host did not work, one after the other.
#[derive(Debug, Default)]
pub struct HostMeter {
    readings: Vec<Reading>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    at: Nanos,
    cpus: u64,
    /// Idle or stolen, all CPUs together since boot.
    away: u64,
}

impl HostMeter {
    /// Takes a reading; some hundred microseconds. Without effect where the kernel only guesses idle time.
    pub fn note(&mut self, clock: Clock) {
        if !kernel::idle_is_measured() {
            return;
        }
        let stat = Stat::read();
        self.readings.push(Reading {
            at: clock.now(),
            cpus: stat.cpus.len() as u64,
            away: stat.cpus.values().map(|t| t.idle.0 + t.stolen.0).sum(),
        });
    }

    /// The time that all CPUs worked from the first reading until `last`, interpolated between the readings around
    /// that instant. Known to about a tick of the kernel (10 ms) for each CPU. `None` without two
    /// readings.
    pub fn busy_until(&self, last: Nanos) -> Option<Nanos> {
        let [first, later @ ..] = self.readings.as_slice() else {
            return None;
        };
        let index = later.iter().position(|r| r.at >= last);
        let (at, away) = match index {
            None => later.last().map(|r| (r.at, r.away))?,
            Some(index) => {
                let (a, b) = (&self.readings[index], &later[index]);
                let span = b.at.saturating_sub(a.at).0.max(1);
                let part = last.saturating_sub(a.at).0.min(span);
                let grown = u128::from(b.away.saturating_sub(a.away)) * u128::from(part);
                let away = a.away + (grown / u128::from(span)) as u64;
                (Nanos(a.at.0 + part), away)
            }
        };
        let wall = at.saturating_sub(first.at).0 * first.cpus;
        Some(Nanos(wall.saturating_sub(away.saturating_sub(first.away))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_neither_idle_nor_stolen_was_work() {
        let reading = |at, away| Reading {
            at: Nanos(at),
            cpus: 2,
            away,
        };
        let meter = HostMeter {
            readings: vec![reading(100, 50), reading(200, 150), reading(300, 350)],
        };
        assert_eq!(meter.busy_until(Nanos(200)), Some(Nanos(100)));
        // All of the second stretch was idle.
        assert_eq!(meter.busy_until(Nanos(250)), Some(Nanos(100)));
        assert_eq!(meter.busy_until(Nanos(999)), Some(Nanos(100)));
        assert_eq!(HostMeter::default().busy_until(Nanos(1)), None);
    }
}
