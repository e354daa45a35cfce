//! A counter that lies in a known way, for tests and studies; what ships has none.
//!
//! With `DYNO_CLOCK_LIE` in its environment the agent tells of a counter that is not the real one, such as
//! `offset=100ms,drift=50ppm,delay=1ms`. What the runner makes of it is undone before anything is stamped, so that an
//! estimate that is right gives right stamps all the same. `offset` is what the counter is ahead (steps of the TSC,
//! whose rate is not known yet, are counted as if it ran at 4 GHz), `drift` how much faster it runs, and `delay` the
//! time from reading the counter to the answer: one direction of an exchange is longer by that. Each result then says
//! in a remark what the agent's clock showed at two readings of its counter, from which a test computes the truth.

use dyno_measure::{Clock, ClockSpec, Counters};
use dyno_model::Nanos;
use dyno_model::cause::Warning;
use dyno_model::protocol::Counter;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The variable that makes the counter a lie.
const VARIABLE: &str = "DYNO_CLOCK_LIE";

/// Nanoseconds of an offset become so many steps of the time stamp counter.
const TSC_STEPS: u64 = 4;

/// What the environment asks to be told, and what the clock shows.
#[derive(Debug, Default)]
pub(super) struct Story {
    lie: Option<Lie>,
    /// The lie in words.
    told: String,
    /// What the clock showed, with the real counter.
    shown: Mutex<Vec<(u64, Nanos)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Lie {
    offset: Nanos,
    drift_ppb: i64,
    delay: Duration,
}

impl Story {
    pub(super) fn new() -> Result<Self, String> {
        let lie = match std::env::var(VARIABLE) {
            // Of several, which are for the agents of virtual machines in turns, one here is told the first.
            Ok(text) => {
                let first = text.split(';').next().unwrap_or_default();
                let lie = Lie::parse(first).map_err(|e| format!("{VARIABLE}: {e}"))?;
                Some((lie, first.to_owned()))
            }
            Err(_) => None,
        };
        let (lie, told) = lie.unzip();
        Ok(Story {
            lie,
            told: told.unwrap_or_default(),
            ..Story::default()
        })
    }

    /// What is told of a reading of `counter` and of CLOCK_MONOTONIC_RAW.
    pub(super) fn told(&self, counter: Counter, ticks: u64, raw: Nanos) -> (u64, Nanos) {
        let Some(lie) = &self.lie else {
            return (ticks, raw);
        };
        std::thread::sleep(lie.delay);
        // All clocks of a host whose oscillator is fast are fast.
        let raw = lie.told(raw.0, Counter::Monotonic);
        (lie.told(ticks, counter), Nanos(raw))
    }

    /// The clock for the real counter, of the one that was found for what was told.
    pub(super) fn undone(&self, found: ClockSpec) -> ClockSpec {
        self.lie.map_or(found, |lie| lie.undone(found))
    }

    /// Notes what the clock shows now.
    pub(super) fn note(&self, clock: Clock) {
        if self.lie.is_none() {
            return;
        }
        // The closest of some: being descheduled between the readings is not the clock's error.
        let reading = || {
            let before = real(Counters::now());
            let shown = clock.arrival();
            let after = real(Counters::now());
            (after.saturating_sub(before), before, shown)
        };
        let best = (0..20).map(|_| reading()).min_by_key(|r| r.0);
        if let Some((width, before, shown)) = best {
            let mut all = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            all.push((before + width / 2, shown));
        }
    }

    /// The remark: what the clock showed first and last. `is_asked`: it is a translated clock.
    pub(super) fn remark(&self, is_asked: bool) -> Option<Warning> {
        let all = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Warning::ClockLie {
            translated: is_asked,
            first: *all.first()?,
            last: *all.last()?,
            told: self.told.clone(),
        })
    }
}

/// The counter that all hosts of one machine share.
fn real(now: Counters) -> u64 {
    now.of(Counter::Tsc)
        .or(now.of(Counter::Monotonic))
        .unwrap_or(0)
}

impl Lie {
    fn parse(text: &str) -> Result<Lie, String> {
        let mut lie = Lie::default();
        for part in text.split(',').map(str::trim) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?} is not of the form `drift=50ppm`"))?;
            let time = || value.parse::<Nanos>().map_err(|e| e.to_string());
            match key {
                "offset" => lie.offset = time()?,
                "delay" => lie.delay = Duration::from(time()?),
                "drift" => {
                    let number = value.strip_suffix("ppm").map(str::trim);
                    let ppm: Option<f64> = number.and_then(|n| n.parse().ok());
                    let ppm = ppm.filter(|p| p.abs() <= 1e5);
                    let ppm = ppm.ok_or_else(|| format!("{value:?} is not like \"50ppm\""))?;
                    lie.drift_ppb = (ppm * 1e3).round() as i64;
                }
                _ => return Err(format!("there is no {key:?}; write offset, drift or delay")),
            }
        }
        Ok(lie)
    }

    fn told(self, ticks: u64, counter: Counter) -> u64 {
        let steps = match counter {
            Counter::Tsc => TSC_STEPS,
            Counter::Monotonic => 1,
        };
        let drift = i128::from(ticks) * i128::from(self.drift_ppb) / 1_000_000_000;
        let offset = i128::from(self.offset.0) * i128::from(steps);
        (i128::from(ticks) + drift + offset) as u64
    }

    /// The clock on the real counter that shows what `found` shows on the one that was told.
    fn undone(self, found: ClockSpec) -> ClockSpec {
        let undo = |counter, ticks0: u64, ns0: u64, mult: u64| {
            let rate = 1_000_000_000 + i128::from(self.drift_ppb);
            let offset = self.told(0, counter);
            // The last real reading that is told as no more than the origin.
            let told = i128::from(ticks0) - i128::from(offset);
            let mut real = (told * 1_000_000_000 / rate) as u64;
            while real > 0 && self.told(real, counter) > ticks0 {
                real = real.saturating_sub(1);
            }
            let short = u128::from(ticks0 - self.told(real, counter)) * u128::from(mult);
            let ns0 = ns0.saturating_sub((short >> 32) as u64);
            let mult = (i128::from(mult) * rate / 1_000_000_000) as u64;
            (real, ns0, mult)
        };
        match found {
            ClockSpec::Monotonic => ClockSpec::Monotonic,
            ClockSpec::Tsc { ticks0, ns0, mult } => {
                let (ticks0, ns0, mult) = undo(Counter::Tsc, ticks0, ns0, mult);
                ClockSpec::Tsc { ticks0, ns0, mult }
            }
            ClockSpec::Scaled { ticks0, ns0, mult } => {
                let (ticks0, ns0, mult) = undo(Counter::Monotonic, ticks0, ns0, mult);
                ClockSpec::Scaled { ticks0, ns0, mult }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_measure::nanos_at;

    #[test]
    fn a_lie_is_read_and_a_wrong_one_refused() {
        let lie = Lie::parse("offset=100ms, drift=-50ppm,delay=1ms").unwrap();
        assert_eq!(lie.offset, Nanos::from_millis(100));
        assert_eq!(lie.drift_ppb, -50_000);
        assert_eq!(lie.delay, Duration::from_millis(1));
        for wrong in ["", "offset", "drift=50", "skew=1ms", "delay=1"] {
            assert!(Lie::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_right_estimate_of_a_lie_gives_right_stamps() {
        for drift_ppb in [-200_000, 0, 50_000] {
            let lie = Lie {
                offset: Nanos::from_millis(100),
                drift_ppb,
                ..Lie::default()
            };
            let origin = 987_654_321_012_345;
            // As found: the told counter at its origin is 5 s of the run, a told tick 0.4 ns.
            let ticks0 = lie.told(origin, Counter::Tsc);
            let found = ClockSpec::Tsc {
                ticks0,
                ns0: 5_000_000_000,
                mult: (0.4 * 2f64.powi(32)) as u64,
            };
            let undone = lie.undone(found);
            for ticks in [origin, origin + 2_500_000_000, origin + 150_000_000_000] {
                let told = nanos_at(found, lie.told(ticks, Counter::Tsc));
                let shown = nanos_at(undone, ticks);
                // 2⁻³² of a tick per tick: 35 ns in a minute.
                assert!(shown.0.abs_diff(told.0) < 50, "{told} {shown}");
            }
        }
    }

    #[test]
    fn who_was_not_asked_has_the_clock_of_the_run() {
        let story = Story {
            lie: Some(Lie {
                drift_ppb: 50_000,
                ..Lie::default()
            }),
            ..Story::default()
        };
        let own = super::super::OwnCounter {
            story,
            ..Default::default()
        };
        let spec = ClockSpec::Scaled {
            ticks0: 1_000_000,
            ns0: 1_000_000,
            mult: 1 << 32,
        };
        assert_eq!(own.clock(spec), spec);
        own.answer(7, Counter::Monotonic, Counters::now());
        assert!(own.is_asked());
        assert_ne!(own.clock(spec), spec);
    }
}
