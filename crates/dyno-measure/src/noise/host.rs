//! How much the CPUs of the host worked, for whomever: what the processes of a stack are charged is less, by
//! interrupts, kernel threads and everybody else.

use super::kernel::{self, CpuTimes, Stat};
use crate::clock::Clock;
use dyno_model::record::CpuInterrupts;
use dyno_model::unit::Nanos;

/// Readings of where the time of the host's CPUs went, one after the other.
#[derive(Debug, Default)]
pub struct HostMeter {
    readings: Vec<Reading>,
}

#[derive(Debug, Clone, PartialEq)]
struct Reading {
    at: Nanos,
    stat: Stat,
}

impl HostMeter {
    /// Takes a reading; some hundred microseconds.
    pub fn note(&mut self, clock: Clock) {
        let stat = Stat::read();
        let at = clock.now();
        self.readings.push(Reading { at, stat });
    }

    /// By how much a count of nanoseconds has grown from the first reading until `last`, interpolated between the readings around
    /// that instant; and how long that is. `None` without two readings.
    fn grown(&self, last: Nanos, count: impl Fn(&Stat) -> u64) -> Option<(Nanos, u64)> {
        let [first, later @ ..] = self.readings.as_slice() else {
            return None;
        };
        let index = later.iter().position(|r| r.at >= last);
        let (at, now) = match index {
            None => later.last().map(|r| (r.at, count(&r.stat)))?,
            Some(index) => {
                let (a, b) = (&self.readings[index], &later[index]);
                let span = b.at.saturating_sub(a.at).0.max(1);
                let part = last.saturating_sub(a.at).0.min(span);
                let (from, to) = (count(&a.stat), count(&b.stat));
                let grown = u128::from(to.saturating_sub(from)) * u128::from(part);
                let now = from + (grown / u128::from(span)) as u64;
                (Nanos(a.at.0 + part), now)
            }
        };
        let wall = at.saturating_sub(first.at);
        Some((wall, now.saturating_sub(count(&first.stat))))
    }

    /// The time that all CPUs worked from the first reading until `last`. Known to about a tick of the kernel (10 ms) for
    /// each CPU. `None` without two readings, and where the kernel only guesses idle time.
    pub fn busy_until(&self, last: Nanos) -> Option<Nanos> {
        if !kernel::idle_is_measured() {
            return None;
        }
        self.not_away_until(last)
    }

    fn not_away_until(&self, last: Nanos) -> Option<Nanos> {
        let away = |stat: &Stat| stat.cpus.values().map(|t| t.idle.0 + t.stolen.0).sum();
        let (wall, away) = self.grown(last, away)?;
        let cpus = self.readings.first()?.stat.cpus.len() as u64;
        Some(Nanos((wall.0 * cpus).saturating_sub(away)))
    }

    /// The time that each CPU spent in interrupts from the first reading until `last`, to a tick; those that spent none are
    /// left out. Empty where the kernel leaves it in the time of processes.
    pub fn interrupts_until(&self, last: Nanos) -> Vec<CpuInterrupts> {
        match kernel::irq_time() {
            Some(true) => self.in_interrupts_until(last),
            _ => Vec::new(),
        }
    }

    fn in_interrupts_until(&self, last: Nanos) -> Vec<CpuInterrupts> {
        let on = |cpu: &u32| {
            let time = |of: fn(&CpuTimes) -> Nanos| {
                let (_, grown) =
                    self.grown(last, |stat| stat.cpus.get(cpu).map_or(0, |t| of(t).0))?;
                Some(Nanos(grown))
            };
            let (irq, softirq) = (time(|t| t.irq)?, time(|t| t.softirq)?);
            let cpu = *cpu;
            (irq.0 + softirq.0 > 0).then_some(CpuInterrupts { cpu, irq, softirq })
        };
        let cpus = self.readings.first().map(|r| r.stat.cpus.keys());
        cpus.into_iter().flatten().filter_map(on).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: u64, away: u64, irq: u64, softirq: u64) -> Reading {
        let times = CpuTimes {
            idle: Nanos(away),
            irq: Nanos(irq),
            softirq: Nanos(softirq),
            ..CpuTimes::default()
        };
        let cpus = [(0, CpuTimes::default()), (1, times)].into();
        let stat = Stat {
            cpus,
            ..Stat::default()
        };
        let at = Nanos(at);
        Reading { at, stat }
    }

    #[test]
    fn what_was_neither_idle_nor_stolen_was_work() {
        let meter = HostMeter {
            readings: vec![
                reading(100, 50, 0, 0),
                reading(200, 150, 0, 0),
                reading(300, 350, 0, 0),
            ],
        };
        assert_eq!(meter.not_away_until(Nanos(200)), Some(Nanos(100)));
        // All of the second stretch was idle.
        assert_eq!(meter.not_away_until(Nanos(250)), Some(Nanos(100)));
        assert_eq!(meter.not_away_until(Nanos(999)), Some(Nanos(100)));
        assert_eq!(HostMeter::default().busy_until(Nanos(1)), None);
    }

    #[test]
    fn interrupts_are_told_by_cpu() {
        let meter = HostMeter {
            readings: vec![reading(100, 0, 10, 20), reading(200, 0, 14, 80)],
        };
        let until = |last, irq, softirq| {
            let all = meter.in_interrupts_until(Nanos(last));
            let (irq, softirq) = (Nanos(irq), Nanos(softirq));
            assert_eq!(
                all,
                [CpuInterrupts {
                    cpu: 1,
                    irq,
                    softirq
                }]
            );
        };
        until(200, 4, 60);
        until(150, 2, 30);
        assert_eq!(HostMeter::default().in_interrupts_until(Nanos(1)), []);
    }
}
