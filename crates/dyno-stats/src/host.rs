//! What the machine's own gaps do to an operation: the tail that would be there if the stack had
//! none.
//!
//! Model: an operation occupies each of its CPUs for its exposure. Gaps arrive at random, at the rate
//! at which they were seen. An operation that a gap hits is late by the gap, one that begins inside a
//! gap by the rest of it; those of a closed loop never do, see [`Begins`]. This is the argument by which Petrini, Kerbyson & Pakin (SC 2003) and
//! Tsafrir, Etsion, Feitelson & Kirkpatrick (ICS 2005) explain what noise of the operating system does
//! to an exchange; as there, two gaps in one operation are rare enough to be left out.

use crate::samples::{SampleError, agree, decode};
use dyno_model::noise::CpuGaps;
use std::collections::BTreeMap;

/// The gaps of several CPUs, seen over one or more trials.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostGaps {
    /// Longest first.
    gaps: Vec<Gap>,
    /// Time lost, all CPUs together, in nanoseconds.
    lost_ns: f64,
    /// Time watched, all CPUs together, in nanoseconds.
    watched_ns: f64,
}

/// When operations begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// On a schedule, also while the host keeps the CPU away: an open loop.
    OnSchedule,
    /// When the one before has ended, and so while the CPU runs: a closed loop. One long gap delays
    /// one operation, however many would have fitted into it.
    OneByOne,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Gap {
    ns: f64,
    /// Gaps of this length per nanosecond on one CPU; those of different CPUs stand separately.
    rate: f64,
}

impl HostGaps {
    /// Pools records of the same CPU (of several trials); different CPUs add to each other. A record
    /// of a CPU that was not watched says nothing and is left out.
    ///
    /// Fails where a histogram does not decode or holds another number of gaps than the record
    /// states.
    pub fn from_records<'a>(
        records: impl IntoIterator<Item = &'a CpuGaps>,
    ) -> Result<HostGaps, SampleError> {
        let mut cpus: BTreeMap<u32, (f64, Vec<(f64, u64)>)> = BTreeMap::new();
        let mut all = HostGaps::default();
        for record in records.into_iter().filter(|r| r.watched.0 > 0) {
            let watched = record.watched.0 as f64;
            let cpu = cpus.entry(record.cpu).or_default();
            cpu.0 += watched;
            cpu.1.extend(lengths(record)?);
            all.watched_ns += watched;
            all.lost_ns += record.lost.0 as f64;
        }
        for (watched, lengths) in cpus.into_values() {
            all.gaps.extend(lengths.into_iter().map(|(ns, count)| Gap {
                ns,
                rate: count as f64 / watched,
            }));
        }
        all.gaps.sort_unstable_by(|a, b| b.ns.total_cmp(&a.ns));
        Ok(all)
    }

    /// By how much the host alone delays an operation at quantile `q`, in nanoseconds: the smallest
    /// `x >= 0` with `P(delay > x) <= 1 - q`; 0 where the machine is calm enough. `exposure_ns` is how
    /// long the operation occupies each CPU when nothing disturbs it.
    ///
    /// `P(delay > x)` is, summed over all CPUs, the exposure times the rate of gaps longer than `x`,
    /// plus, where operations begin on schedule, the share of time with more than `x` of a gap ahead.
    pub fn delay_quantile(&self, exposure_ns: f64, q: f64, begins: Begins) -> f64 {
        let exposure = exposure_ns.max(0.0);
        let allowed = (1.0 - q).max(0.0);
        if allowed >= 1.0 {
            return 0.0;
        }
        // Sums over all gaps longer than x, while x comes down from the longest one.
        let (mut rate, mut share) = (0.0, 0.0);
        for (i, gap) in self.gaps.iter().enumerate() {
            rate += gap.rate;
            share += gap.rate * gap.ns;
            if begins == Begins::OneByOne {
                // P(delay > x) = rate * exposure, for every x below this gap and above the next.
                if rate * exposure > allowed {
                    return gap.ns;
                }
                continue;
            }
            let next = self.gaps.get(i + 1).map_or(0.0, |g| g.ns);
            // P(delay > x) = rate * (exposure - x) + share for next <= x < gap.
            let x = exposure + (share - allowed) / rate;
            if x > next {
                return x.min(gap.ns);
            }
        }
        0.0
    }

    /// Share of the time that was lost in gaps, 0 to 1, over all CPUs; 0 where none was watched.
    pub fn lost_share(&self) -> f64 {
        if self.watched_ns > 0.0 {
            (self.lost_ns / self.watched_ns).min(1.0)
        } else {
            0.0
        }
    }

    /// Whether nothing was watched, so that nothing can be said. (A machine without gaps that was
    /// watched is not empty.)
    pub fn is_empty(&self) -> bool {
        self.watched_ns == 0.0
    }
}

/// Share, 0 to 1, of the tail (a quantile minus the median) that the host explains by a `delay` at the
/// same quantile: `delay / (tail - median)`, at most 1; all in one unit. `None` where the tail is not
/// above the median. An infinite tail is loss, of which a delay explains nothing.
pub fn explained(median: f64, tail: f64, delay: f64) -> Option<f64> {
    let length = tail - median;
    (length > 0.0).then(|| (delay / length).clamp(0.0, 1.0))
}

/// The lengths of a record's gaps in nanoseconds, with how often each occurred.
fn lengths(record: &CpuGaps) -> Result<Vec<(f64, u64)>, SampleError> {
    let histogram = decode(&record.lengths, || {
        format!("the gaps of CPU {}", record.cpu)
    })?;
    agree(histogram.n, record.count)?;
    let longest = record.longest.0 as f64;
    let cells = histogram
        .middles()
        .map(|(ns, count)| ((ns as f64).min(longest), count));
    Ok(cells.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use dyno_model::record::HdrText;
    use dyno_model::unit::Nanos;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

    fn record(cpu: u32, watched_ms: u64, gaps: &[u64]) -> CpuGaps {
        let mut h = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        gaps.iter().for_each(|g| h.record(*g).unwrap());
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&h, &mut bytes)
            .unwrap();
        CpuGaps {
            cpu,
            watched: Nanos(watched_ms * 1_000_000),
            count: gaps.len() as u64,
            longest: Nanos(gaps.iter().copied().max().unwrap_or(0)),
            lost: Nanos(gaps.iter().sum()),
            lengths: HdrText(base64::engine::general_purpose::STANDARD.encode(bytes)),
        }
    }

    fn gaps(records: &[CpuGaps]) -> HostGaps {
        HostGaps::from_records(records).unwrap()
    }

    #[test]
    fn a_calm_machine_delays_nothing() {
        let calm = gaps(&[record(0, 100, &[])]);
        assert_eq!(calm.delay_quantile(1e4, 0.999, Begins::OnSchedule), 0.0);
        assert!(!calm.is_empty() && calm.lost_share() == 0.0);
        assert!(gaps(&[]).is_empty());
        assert!(gaps(&[record(0, 0, &[])]).is_empty());
    }

    #[test]
    fn the_delay_is_the_smallest_that_the_model_allows() {
        let host = gaps(&[
            record(0, 10, &[5_000, 5_000, 50_000]),
            record(1, 20, &[5_000, 200_000, 1_000]),
        ]);
        let exceeds = |x: f64, exposure: f64| -> f64 {
            let of = |g: &Gap| g.rate * (exposure + g.ns - x);
            host.gaps.iter().filter(|g| g.ns > x).map(of).sum()
        };
        for exposure in [0.0, 100.0, 10_000.0, 1e6] {
            for q in [0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
                let x = host.delay_quantile(exposure, q, Begins::OnSchedule);
                assert!(exceeds(x, exposure) <= 1.0 - q + 1e-9, "{exposure} {q} {x}");
                if x > 0.0 {
                    assert!(exceeds(x - 1.0, exposure) > 1.0 - q, "{exposure} {q} {x}");
                }
            }
        }
        assert_eq!(
            host.delay_quantile(1e4, 1.0, Begins::OnSchedule),
            host.gaps[0].ns
        );
        assert_eq!(host.delay_quantile(1e4, 0.0, Begins::OnSchedule), 0.0);
    }

    #[test]
    fn a_closed_loop_meets_each_gap_once() {
        // Ten gaps of 1 ms in a second: an operation of 1 µs meets one of them once in 100,000 times.
        let host = gaps(&[record(0, 1_000, &[1_000_000; 10])]);
        let at = |q| host.delay_quantile(1_000.0, q, Begins::OneByOne);
        assert_eq!((at(0.9999), at(0.999_99)), (0.0, host.gaps[0].ns));
        // On a schedule one in a hundred begins inside a gap.
        assert!(host.delay_quantile(1_000.0, 0.995, Begins::OnSchedule) > 400_000.0);
        for q in [0.5, 0.9, 0.999, 1.0] {
            let schedule = host.delay_quantile(1e5, q, Begins::OnSchedule);
            assert!(host.delay_quantile(1e5, q, Begins::OneByOne) <= schedule.max(1_000_000.0));
        }
    }

    #[test]
    fn trials_of_one_cpu_are_averaged_and_two_cpus_add() {
        // One gap of 1 ms in 100 ms: 1 % of the time, of which half has more than 0.5 ms ahead.
        let one = gaps(&[record(0, 100, &[1_000_000])]);
        let twice = gaps(&[record(0, 100, &[1_000_000]), record(0, 100, &[1_000_000])]);
        let two = gaps(&[record(0, 100, &[1_000_000]), record(1, 100, &[1_000_000])]);
        let at = |host: &HostGaps| host.delay_quantile(0.0, 0.995, Begins::OnSchedule);
        assert!((at(&one) - 500_000.0).abs() < 2_000.0, "{}", at(&one));
        assert!((at(&twice) - at(&one)).abs() < 1.0);
        assert!((at(&two) - 750_000.0).abs() < 2_000.0);
        assert!((one.lost_share() - 0.01).abs() < 1e-9);
        assert!((two.lost_share() - 0.01).abs() < 1e-9);
    }

    #[test]
    fn the_model_agrees_with_a_simulation() {
        use rand::{Rng, SeedableRng};
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        // Gaps of 20 µs to 120 µs, one in about 2 ms, on a line of one second.
        let mut starts = Vec::new();
        let mut at = 0.0;
        loop {
            at += rng.random_range(1e3..4e6);
            let length = rng.random_range(20e3f64..120e3).round();
            if at + length > 1e9 {
                break;
            }
            starts.push((at, length));
            at += length;
        }
        let seen: Vec<u64> = starts.iter().map(|(_, g)| *g as u64).collect();
        let host = gaps(&[record(0, 1_000, &seen)]);
        let exposure = 30e3;
        let mut delays: Vec<f64> = (0..100_000)
            .map(|_| {
                let begin = rng.random_range(0.0..1e9);
                let mut end: f64 = begin + exposure;
                let mut delay = 0.0;
                let first = starts.partition_point(|(s, g)| s + g <= begin);
                for (s, g) in &starts[first..] {
                    if *s >= end {
                        break;
                    }
                    let rest = (s + g - begin.max(*s)).max(0.0);
                    delay += rest;
                    end += rest;
                }
                delay
            })
            .collect();
        delays.sort_unstable_by(f64::total_cmp);
        for q in [0.97, 0.98, 0.99] {
            let simulated = delays[(q * 1e5) as usize];
            let model = host.delay_quantile(exposure, q, Begins::OnSchedule);
            assert!(
                (model / simulated - 1.0).abs() < 0.05,
                "{q} {model} {simulated}"
            );
        }
    }

    #[test]
    fn a_record_that_contradicts_itself_is_refused() {
        let mut wrong = record(0, 1, &[5_000]);
        wrong.count = 2;
        assert!(HostGaps::from_records(&[wrong]).is_err());
        let mut garbage = record(3, 1, &[5_000]);
        garbage.lengths = HdrText("?".into());
        let e = HostGaps::from_records(&[garbage]).unwrap_err();
        assert!(e.to_string().contains("CPU 3"), "{e}");
    }

    #[test]
    fn the_host_explains_at_most_the_whole_tail() {
        assert_eq!(explained(10.0, 30.0, 5.0), Some(0.25));
        assert_eq!(explained(10.0, 30.0, 50.0), Some(1.0));
        assert_eq!(explained(10.0, f64::INFINITY, 50.0), Some(0.0));
        assert_eq!(explained(10.0, 10.0, 5.0), None);
        assert_eq!(explained(f64::INFINITY, f64::INFINITY, 5.0), None);
    }
}
