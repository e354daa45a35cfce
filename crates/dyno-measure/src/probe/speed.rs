//! How fast each CPU computes, and how evenly: the frequency as it comes out, also where the kernel
//! shows none, as in a virtual machine.

use super::{ProbeError, Summary};
use crate::clock::Clock;
use crate::host::pin;
use serde::Serialize;

/// Multiplications of one piece of work; a compiler may join several, each of which needs the result of the one before.
const STEPS: u64 = 10_000;

/// Equal pieces of work on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Speed {
    /// The CPU.
    pub cpu: u32,
    /// Time that each piece took.
    pub piece: Summary,
}

/// Has each of `cpus`, one after the other, do `rounds` equal pieces of work (some microseconds each in
/// an optimised build) after a tenth as many to warm up.
///
/// # Errors
///
/// Where a CPU is not allowed.
pub fn speeds(clock: Clock, cpus: &[u32], rounds: u32) -> Result<Vec<Speed>, ProbeError> {
    let measure = |cpu| {
        pin(cpu)?;
        let warmup = rounds as usize / 10;
        let mut times: Vec<u64> = (0..warmup + rounds as usize)
            .map(|_| {
                let began = clock.now();
                std::hint::black_box(work(std::hint::black_box(cpu.into())));
                clock.arrival().saturating_sub(began).0
            })
            .collect();
        Ok(Speed {
            cpu,
            piece: Summary::of(&mut times[warmup..]),
        })
    };
    cpus.iter()
        .map(|&cpu| {
            // A thread of its own, so that the caller's affinity stays what it was.
            std::thread::scope(|s| s.spawn(move || measure(cpu)).join())
                .unwrap_or(Err(ProbeError::Silent { cpu }))
        })
        .collect()
}

/// How much longer the slowest CPU takes than the fastest, by their medians: 1.0 for the same; `None`
/// without any.
pub fn spread(speeds: &[Speed]) -> Option<f64> {
    let medians = || speeds.iter().map(|s| s.piece.p50).filter(|t| t.0 > 0);
    Some(medians().max()?.0 as f64 / medians().min()?.0 as f64)
}

/// The multiplier is Knuth's (MMIX). No step can begin before the last one ends, so that the time follows the frequency.
#[inline(never)]
fn work(seed: u64) -> u64 {
    (0..STEPS).fold(seed, |x, step| {
        x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::allowed_cpus;
    use dyno_model::protocol::ClockSpec;
    use dyno_model::unit::Nanos;

    #[test]
    fn every_cpu_is_measured_and_the_caller_left_alone() {
        let cpus = allowed_cpus();
        let clock = Clock::new(ClockSpec::Monotonic);
        let all = speeds(clock, &cpus, 20).unwrap();
        assert_eq!(all.iter().map(|s| s.cpu).collect::<Vec<_>>(), cpus);
        assert!(
            all.iter()
                .all(|s| s.piece.n == 20 && s.piece.min > Nanos::ZERO)
        );
        assert_eq!(allowed_cpus(), cpus);
        assert!(speeds(clock, &[1_000], 2).is_err());
    }

    #[test]
    fn the_spread_is_of_medians() {
        let speed = |p50| Speed {
            cpu: 0,
            piece: Summary {
                p50: Nanos(p50),
                ..Summary::default()
            },
        };
        assert_eq!(spread(&[speed(10), speed(12), speed(15)]), Some(1.5));
        assert_eq!(spread(&[]), None);
    }
}
