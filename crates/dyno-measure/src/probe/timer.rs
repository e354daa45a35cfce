//! How much longer than asked a sleep takes: what a source on a schedule has to cover by spinning.

use super::Summary;
use crate::clock::{Clock, monotonic};
use dyno_model::unit::Nanos;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;
use serde::Serialize;
use std::num::NonZeroU64;

/// Sleeps of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timer {
    /// The length asked for.
    pub sleep: Nanos,
    /// How much the kernel was allowed to add (PR_SET_TIMERSLACK); `None`: its default, 50 µs unless
    /// changed.
    pub slack: Option<Nanos>,
    /// How much longer the sleeps were.
    pub overshoot: Summary,
}

/// Sleeps `rounds` times for `sleep` on a thread of its own, once with the default timer slack and
/// once with a slack of 1 ns, as pacing uses it.
pub fn timers(clock: Clock, sleep: Nanos, rounds: u32) -> Vec<Timer> {
    [None, Some(Nanos(1))]
        .into_iter()
        .map(|slack| {
            let mut samples = std::thread::scope(|s| {
                s.spawn(|| overshoots(clock, sleep, slack, rounds))
                    .join()
                    .unwrap_or_default()
            });
            Timer {
                sleep,
                slack,
                overshoot: Summary::of(&mut samples),
            }
        })
        .collect()
}

fn overshoots(clock: Clock, sleep: Nanos, slack: Option<Nanos>, rounds: u32) -> Vec<u64> {
    if let Some(slack) = slack.and_then(|s| NonZeroU64::new(s.0)) {
        // Refused by no kernel; if it were, the result would show it.
        let _ = set_current_timer_slack(Some(slack));
    }
    (0..rounds)
        .map(|_| {
            let kernel = monotonic();
            let start = clock.now();
            let target = kernel.saturating_add(sleep).0;
            let request = Timespec {
                tv_sec: (target / 1_000_000_000) as i64,
                tv_nsec: (target % 1_000_000_000) as i64,
            };
            while clock_nanosleep_absolute(ClockId::Monotonic, &request)
                == Err(rustix::io::Errno::INTR)
            {}
            clock.now().saturating_sub(start).saturating_sub(sleep).0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_are_measured_with_and_without_slack() {
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        let t = timers(clock, Nanos::from_micros(50), 20);
        assert_eq!((t[0].slack, t[1].slack), (None, Some(Nanos(1))));
        assert!(
            t.iter()
                .all(|t| t.overshoot.n == 20 && t.overshoot.max > Nanos::ZERO)
        );
    }
}
