//! What the host does while idle, without any stack: the yardsticks and the noise that `dyno doctor`
//! shows. Every probe returns data; someone else prints it.

pub mod clocks;
pub mod futex;
pub mod interrupts;
pub mod limits;
pub mod machine;
pub mod ping_pong;
pub mod settings;
pub mod speed;

pub mod shared;

use crate::record::RecordError;
use dyno_model::cause::NotGranted;
use dyno_model::unit::Nanos;
use serde::Serialize;
use std::io;

/// Why a probe has no result.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A thread or process of the probe could not be placed.
    #[error(transparent)]
    Host(#[from] NotGranted),
    /// Both sides were to share one CPU, where spinning sides only wait for each other's time slice.
    #[error("both sides of the probe are on cpu {0}: choose two cpus")]
    SameCpu(u32),
    /// A system call failed.
    #[error("{call} failed: {source}; the probe needs it")]
    System {
        /// The call.
        call: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// What was measured could not be written down.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The other side ended, or did not answer for seconds.
    #[error(
        "the other side of the probe on cpu {cpu} stopped answering: the machine is overloaded or the \
         process was killed; try again"
    )]
    Silent {
        /// Where it was.
        cpu: u32,
    },
}

/// A distribution in short. Quantiles are samples, not interpolated; all zero without samples.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Number of samples.
    pub n: usize,
    /// The smallest.
    pub min: Nanos,
    /// The arithmetic mean in nanoseconds.
    pub mean_ns: f64,
    /// The median.
    pub p50: Nanos,
    /// The 90 % quantile.
    pub p90: Nanos,
    /// The 99 % quantile.
    pub p99: Nanos,
    /// The largest.
    pub max: Nanos,
}

impl Summary {
    /// Sorts `samples` (in nanoseconds) and sums them up.
    pub fn of(samples: &mut [u64]) -> Self {
        samples.sort_unstable();
        let (Some(&min), Some(&max)) = (samples.first(), samples.last()) else {
            return Summary::default();
        };
        let n = samples.len();
        let quantile = |q: f64| Nanos(samples[((q * n as f64).ceil() as usize).clamp(1, n) - 1]);
        let sum: u128 = samples.iter().map(|s| u128::from(*s)).sum();
        Summary {
            n,
            min: Nanos(min),
            mean_ns: sum as f64 / n as f64,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: Nanos(max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_made_of_samples() {
        let mut samples: Vec<u64> = (1..=100).rev().collect();
        let s = Summary::of(&mut samples);
        assert_eq!((s.min, s.p50, s.p90), (Nanos(1), Nanos(50), Nanos(90)));
        assert_eq!((s.p99, s.max, s.mean_ns), (Nanos(99), Nanos(100), 50.5));
        assert_eq!(Summary::of(&mut []), Summary::default());
        assert_eq!(Summary::of(&mut [7]).p99, Nanos(7));
    }
}
