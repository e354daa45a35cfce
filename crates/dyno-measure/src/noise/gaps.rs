//! The spin-gap probe: a thread per CPU does nothing but read the clock; where two readings are
//! further apart than [`THRESHOLD`], something else had the CPU: an interrupt, another thread, the
//! hypervisor (Petrini, Kerbyson, Pakin, "The Case of the Missing Supercomputer Performance", SC 2003).

use crate::clock::Clock;
use crate::host::pin;
use crate::probe::ProbeError;
use crate::record::{HIGHEST, encode, prefaulted};
use dyno_model::noise::CpuGaps;
use dyno_model::unit::Nanos;
use hdrhistogram::Histogram;
use std::collections::BTreeSet;
use std::sync::Barrier;

/// Shorter gaps are taken for the loop itself.
pub const THRESHOLD: Nanos = Nanos::from_micros(1);

/// Watches all `cpus` at once for `duration`, each with a thread of its own that spins. Returns each
/// CPU once, in ascending order.
///
/// # Errors
///
/// Where a CPU is not allowed.
pub fn gaps(clock: Clock, cpus: &[u32], duration: Nanos) -> Result<Vec<CpuGaps>, ProbeError> {
    let cpus: BTreeSet<u32> = cpus.iter().copied().collect();
    let start = Barrier::new(cpus.len());
    std::thread::scope(|scope| {
        let watchers: Vec<_> = cpus
            .iter()
            .map(|&cpu| {
                let start = &start;
                scope.spawn(move || {
                    let pinned = pin(cpu);
                    let lengths = prefaulted();
                    // Also without a CPU: the others wait for us.
                    start.wait();
                    pinned?;
                    let mut counter = Counter::starting(clock.now(), lengths);
                    while counter.last.saturating_sub(counter.first) < duration {
                        counter.note(clock.now());
                    }
                    counter.of_cpu(cpu)
                })
            })
            .collect();
        watchers
            .into_iter()
            .zip(&cpus)
            .map(|(w, &cpu)| w.join().unwrap_or(Err(ProbeError::Silent { cpu })))
            .collect()
    })
}

/// Counts gaps between readings.
struct Counter {
    first: Nanos,
    last: Nanos,
    count: u64,
    longest: Nanos,
    lost: Nanos,
    lengths: Histogram<u32>,
}

impl Counter {
    fn starting(now: Nanos, lengths: Histogram<u32>) -> Self {
        Counter {
            first: now,
            last: now,
            count: 0,
            longest: Nanos::ZERO,
            lost: Nanos::ZERO,
            lengths,
        }
    }

    #[inline(always)]
    fn note(&mut self, now: Nanos) {
        let gap = now.saturating_sub(self.last);
        self.last = now;
        if gap > THRESHOLD {
            self.count += 1;
            self.longest = self.longest.max(gap);
            self.lost = self.lost.saturating_add(gap);
            self.lengths.saturating_record(gap.0.min(HIGHEST.0));
        }
    }

    fn of_cpu(self, cpu: u32) -> Result<CpuGaps, ProbeError> {
        Ok(CpuGaps {
            cpu,
            watched: self.last.saturating_sub(self.first),
            count: self.count,
            longest: self.longest,
            lost: self.lost,
            lengths: encode(&self.lengths)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::allowed_cpus;
    use crate::record::decode;

    #[test]
    fn gaps_above_the_threshold_count() {
        let mut c = Counter::starting(Nanos(0), prefaulted());
        for t in [900, 1_900, 2_901, 3_000, 10_000] {
            c.note(Nanos(t));
        }
        let g = c.of_cpu(3).unwrap();
        assert_eq!((g.cpu, g.watched, g.count), (3, Nanos(10_000), 2));
        assert_eq!((g.longest, g.lost), (Nanos(7_000), Nanos(8_001)));
        let lengths = decode(&g.lengths).unwrap();
        assert_eq!(lengths.len(), 2);
        assert_eq!((lengths.min(), lengths.count_at(7_000)), (1_001, 1));
    }

    #[test]
    fn all_cpus_are_watched() {
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        let cpus = allowed_cpus();
        let duration = Nanos::from_millis(5);
        let all = gaps(clock, &cpus, duration).unwrap();
        assert_eq!(all.iter().map(|g| g.cpu).collect::<Vec<_>>(), cpus);
        for g in &all {
            assert!(g.watched >= duration && g.lost <= g.watched, "{g:?}");
            assert_eq!(decode(&g.lengths).unwrap().len(), g.count);
        }
        assert!(gaps(clock, &[cpus[0], 1_000], duration).is_err());
        assert_eq!(gaps(clock, &[], duration).unwrap(), []);
        assert_eq!(gaps(clock, &[cpus[0]; 2], duration).unwrap().len(), 1);
    }
}
