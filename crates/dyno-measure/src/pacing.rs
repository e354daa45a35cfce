//! Open-loop pacing: decides when each message is *due* and waits until then. It knows nothing of
//! the stack under test: a message that cannot be sent in time keeps its due time and is sent late,
//! never skipped.

mod pacer;

pub use pacer::{Pacer, TOLERANCE};

use dyno_model::Workload;
use dyno_model::factor::Arrivals;
use dyno_model::unit::{Nanos, RateHz};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The due times of one sender's messages: endless, never decreasing.
#[derive(Debug, Clone)]
pub struct Schedule {
    start: Nanos,
    kind: Gaps,
    /// What each message is late by on purpose: up to so many nanoseconds, and what draws them.
    jitter: Option<(u64, Box<ChaCha8Rng>)>,
}

#[derive(Debug, Clone)]
enum Gaps {
    /// Message `next` is due at `next * period` after the start: a product, so that the period's
    /// rounding does not add up.
    Fixed { period: f64, next: u64 },
    /// The sum of exponential gaps, kept with its fraction of a nanosecond.
    Poisson {
        period: f64,
        offset: f64,
        random: Box<ChaCha8Rng>,
    },
    /// Message `next` belongs to group `next / messages`.
    Burst {
        messages: u64,
        period: u64,
        next: u64,
    },
}

impl Schedule {
    /// The messages of `participant` in a trial with `seed`, from `start` on; `None` where the stack or the other side sets
    /// the pace.
    pub fn of(workload: Workload, start: Nanos, seed: u64, participant: u16) -> Option<Self> {
        match workload {
            Workload::Stream { rate, arrivals } => {
                // Each sender has gaps of its own, the same in every repetition of the trial.
                let seed = seed.wrapping_add(u64::from(participant));
                Some(Self::stream(rate, arrivals, start, seed))
            }
            Workload::Burst { messages, period } => Some(Self::burst(messages, period, start)),
            Workload::Flood
            | Workload::PingPong { .. }
            | Workload::Call { .. }
            | Workload::FirstMessage { .. }
            | Workload::Idle
            | Workload::Probe { .. } => None,
        }
    }

    /// As [`of`](Self::of), in a trial with faults: there calls have a schedule too, whose period is their gap.
    pub fn under_faults(
        workload: Workload,
        start: Nanos,
        seed: u64,
        participant: u16,
    ) -> Option<Self> {
        match (workload, workload.due_period()) {
            (Workload::Call { .. }, Some(gap)) => Some(Self::burst(1, gap, start)),
            _ => Self::of(workload, start, seed, participant),
        }
    }

    /// Messages at `rate` from `start` on. Fixed: the first is due at `start`. Poisson: a Poisson
    /// process, so the first comes a random gap after `start`; equal seeds give equal schedules.
    pub fn stream(rate: RateHz, arrivals: Arrivals, start: Nanos, seed: u64) -> Self {
        let period = rate.period_ns();
        let kind = match arrivals {
            Arrivals::Fixed => Gaps::Fixed { period, next: 0 },
            Arrivals::Poisson => Gaps::Poisson {
                period,
                offset: 0.0,
                random: Box::new(ChaCha8Rng::seed_from_u64(seed)),
            },
        };
        Schedule {
            start,
            kind,
            jitter: None,
        }
    }

    /// The same with every message due later by a random time of 0 to `jitter`, evenly distributed and the same for equal
    /// seeds. The caller keeps `jitter` below the
    /// shortest gap, so that due times never decrease.
    pub fn with_jitter(self, jitter: Nanos, seed: u64) -> Self {
        let random = || Box::new(ChaCha8Rng::seed_from_u64(seed));
        Schedule {
            jitter: (jitter != Nanos::ZERO).then(|| (jitter.0, random())),
            ..self
        }
    }

    /// Groups of `messages` (zero counts as one), all of a group due at once, the first group at
    /// `start` and then one every `period`.
    pub fn burst(messages: u32, period: Nanos, start: Nanos) -> Self {
        Schedule {
            start,
            kind: Gaps::Burst {
                messages: u64::from(messages.max(1)),
                period: period.0,
                next: 0,
            },
            jitter: None,
        }
    }

    /// When the next message is due, on the run's clock.
    #[inline]
    pub fn next_due(&mut self) -> Nanos {
        let offset = match &mut self.kind {
            Gaps::Fixed { period, next } => {
                let due = *next as f64 * *period;
                *next += 1;
                due.round() as u64
            }
            Gaps::Poisson {
                period,
                offset,
                random,
            } => {
                *offset += exponential(random.next_u64()) * *period;
                offset.round() as u64
            }
            Gaps::Burst {
                messages,
                period,
                next,
            } => {
                let group = *next / *messages;
                *next += 1;
                group.saturating_mul(*period)
            }
        };
        let late = match &mut self.jitter {
            // The upper half of the product is evenly distributed over 0 to `jitter` (Lemire 2019, section 3, without
            // the rejection: its bias is below 2^-30 for less than 17 s).
            Some((jitter, random)) => {
                ((u128::from(random.next_u64()) * u128::from(*jitter + 1)) >> 64) as u64
            }
            None => 0,
        };
        self.start
            .saturating_add(Nanos(offset.saturating_add(late)))
    }
}

/// An exponential variate of mean 1 from 64 random bits, by inversion: -ln(u), u in (0, 1]
/// (Devroye, *Non-Uniform Random Variate Generation*, II.2). 53 bits bound it by 36.7.
fn exponential(bits: u64) -> f64 {
    let u = ((bits >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
    -u.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dues(mut s: Schedule, n: usize) -> Vec<u64> {
        (0..n).map(|_| s.next_due().0).collect()
    }

    #[test]
    fn fixed_gaps_do_not_drift() {
        // A period of 333,333.33… ns: adding up rounded periods would be off by 1 ms after 3 M.
        let rate = RateHz::new(3_000.0).unwrap();
        let mut s = Schedule::stream(rate, Arrivals::Fixed, Nanos(7), 0);
        for i in 0..3_000_001u64 {
            let due = s.next_due().0;
            if i % 3_000 == 0 {
                assert_eq!(due, 7 + i / 3 * 1_000_000);
            }
        }
    }

    #[test]
    fn a_workload_knows_the_due_times_of_its_schedule() {
        let rate = RateHz::new(3_000.0).unwrap();
        let (arrivals, period) = (Arrivals::Fixed, Nanos::from_millis(7));
        let stream = Workload::Stream { rate, arrivals };
        let burst = Workload::Burst {
            messages: 3,
            period,
        };
        let start = Nanos(7);
        for (workload, schedule) in [
            (stream, Schedule::stream(rate, arrivals, start, 0)),
            (burst, Schedule::burst(3, period, start)),
        ] {
            for (i, due) in (0..).zip(dues(schedule, 1_000)) {
                assert_eq!(workload.due_after(i), Some(Nanos(due - 7)), "{i}");
            }
        }
    }

    #[test]
    fn jitter_moves_due_times_within_its_bound_and_by_its_seed_alone() {
        let rate = RateHz::new(1_000.0).unwrap();
        let with = |seed| {
            let plain = Schedule::stream(rate, Arrivals::Fixed, Nanos::ZERO, 0);
            dues(plain.with_jitter(Nanos(1_000), seed), 10_000)
        };
        let late: Vec<u64> = with(3)
            .iter()
            .zip(0u64..)
            .map(|(due, i)| due - i * 1_000_000)
            .collect();
        assert!(late.iter().all(|late| *late <= 1_000));
        assert_eq!(
            (late.iter().min(), late.iter().max()),
            (Some(&0), Some(&1_000))
        );
        let mean = late.iter().sum::<u64>() as f64 / late.len() as f64;
        // Six standard errors of the mean of a uniform distribution over 1,000 ns.
        assert!(
            (mean - 500.0).abs() < 6.0 * 1_000.0 / 12f64.sqrt() / 100.0,
            "{mean}"
        );
        assert_eq!(with(3), with(3));
        assert_ne!(with(3), with(4));
    }

    #[test]
    fn equal_seeds_give_equal_schedules() {
        let rate = RateHz::new(1_000.0).unwrap();
        let with = |seed| {
            dues(
                Schedule::stream(rate, Arrivals::Poisson, Nanos::ZERO, seed),
                100,
            )
        };
        assert_eq!(with(1), with(1));
        assert_ne!(with(1), with(2));
    }

    #[test]
    fn all_messages_of_a_group_are_due_at_once() {
        let s = Schedule::burst(3, Nanos(10), Nanos(100));
        assert_eq!(dues(s, 7), [100, 100, 100, 110, 110, 110, 120]);
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        // Shares of gaps above k periods against e^-k; 100,000 gaps, five standard deviations.
        let rate = RateHz::new(10_000.0).unwrap();
        let d = dues(
            Schedule::stream(rate, Arrivals::Poisson, Nanos::ZERO, 42),
            100_000,
        );
        let gaps: Vec<u64> = std::iter::once(d[0])
            .chain(d.windows(2).map(|w| w[1] - w[0]))
            .collect();
        for k in [0.1f64, 1.0, 2.0, 4.0] {
            let above = gaps.iter().filter(|&&g| g as f64 > k * 100_000.0).count() as f64;
            let p = (-k).exp();
            let sd = (1e5 * p * (1.0 - p)).sqrt();
            assert!((above - 1e5 * p).abs() < 5.0 * sd, "{k}: {above}");
        }
    }

    #[test]
    fn extreme_bits_give_finite_gaps() {
        assert_eq!(exponential(u64::MAX), 0.0);
        assert!(exponential(0) > 36.0 && exponential(0) < 37.0);
    }

    proptest! {
        #[test]
        fn schedules_never_go_back_and_hold_their_rate(
            hz in 1.0f64..1e8, poisson: bool, start in 0u64..1 << 62, seed: u64
        ) {
            const N: usize = 20_000;
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Fixed };
            let rate = RateHz::new(hz).unwrap();
            let d = dues(Schedule::stream(rate, arrivals, Nanos(start), seed), N + 1);
            prop_assert!(d[0] >= start);
            prop_assert!(d.windows(2).all(|w| w[0] <= w[1]));
            let mean = (d[N] - d[0]) as f64 / N as f64;
            // The mean of N exponential gaps has a standard error of 1/sqrt(N) of itself.
            let tolerance = if poisson { 6.0 / (N as f64).sqrt() * 1e9 / hz } else { 1.0 / N as f64 };
            prop_assert!((mean - 1e9 / hz).abs() <= tolerance + 1e-9 * mean, "{mean}");
        }

        #[test]
        fn groups_are_whole(messages in 1u32..100, period in 0u64..1 << 40, start in 0u64..1 << 40) {
            let d = dues(Schedule::burst(messages, Nanos(period), Nanos(start)), 1_000);
            for (i, due) in d.iter().enumerate() {
                prop_assert_eq!(*due, start + i as u64 / u64::from(messages) * period);
            }
        }
    }
}
