//! The line from a host's counter to the run's clock, and a bound on how far it is from the truth.
//!
//! Pure: exchanges in, a clock and its bound out. An exchange says one thing that no delay can make
//! false: the counter stood at `ticks` at some instant between `sent` and `received` (Cristian 1989).
//! The shortest exchanges say most, so the line goes through those (the clock filter of RFC 5905,
//! section 10; Moon, Skelly and Towsley 1999), while the bound holds for every split of the delay.

use dyno_measure::nanos_at;
use dyno_model::Nanos;
use dyno_model::protocol::{ClockSpec, Counter};

/// One timestamped exchange with a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exchange {
    /// The host's counter.
    pub(super) ticks: u64,
    /// CLOCK_MONOTONIC_RAW of the host at the same time.
    pub(super) raw: Nanos,
    /// When the question was sent, on the run's clock.
    pub(super) sent: Nanos,
    /// When the answer was there, on the run's clock.
    pub(super) received: Nanos,
}

impl Exchange {
    pub(super) fn round_trip(&self) -> Nanos {
        self.received.saturating_sub(self.sent)
    }

    /// The instant in the middle: what it would be if both ways took equally long.
    pub(super) fn middle(&self) -> Nanos {
        Nanos(self.sent.0 + self.round_trip().0 / 2)
    }

    /// How far a clock that shows `shown` can be from the truth.
    fn worst(&self, shown: Nanos) -> Nanos {
        Nanos(shown.0.abs_diff(self.sent.0)).max(Nanos(shown.0.abs_diff(self.received.0)))
    }
}

/// The exchange with the shortest round trip.
pub(super) fn shortest(exchanges: &[Exchange]) -> Option<&Exchange> {
    exchanges.iter().min_by_key(|e| e.round_trip())
}

/// Points further back than this say little of the rate now: a crystal's rate moves with its
/// temperature, over minutes, by more than the rest of them could still add.
const HORIZON: Nanos = Nanos::from_secs(300);
/// Points that are kept however old they are.
const LEAST: usize = 16;
/// Points that are kept at all.
const MOST: usize = 128;
/// The best exchange of each stretch of this length is a point.
const STRETCH: Nanos = Nanos::from_millis(100);
/// No oscillator strays this far from its own rate (parts of one) as long as it runs; a host that was
/// started anew or moved to another machine does.
const STRAY: f64 = 1e-3;

/// What is known of a host's rate from all of the run until now.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// In the order of time.
    points: Vec<Exchange>,
}

impl History {
    /// The time that the points span.
    pub(super) fn span(&self) -> Nanos {
        match (self.points.first(), self.points.last()) {
            (Some(first), Some(last)) => last.sent.saturating_sub(first.sent),
            _ => Nanos::ZERO,
        }
    }

    /// Takes in the best of a series, which is in the order of time. What came before is forgotten
    /// where it cannot be of the same counter.
    pub(super) fn learn(&mut self, series: &[Exchange]) {
        if self.is_contradicted(series) {
            self.points.clear();
        }
        let mut rest = series;
        while let Some(first) = rest.first() {
            let end = first.sent.saturating_add(STRETCH);
            let (stretch, others) = rest.split_at(rest.partition_point(|e| e.sent <= end));
            self.points.extend(shortest(stretch));
            rest = others;
        }
        let now = self.points.last().map_or(Nanos::ZERO, |e| e.sent);
        let old = self
            .points
            .partition_point(|e| e.sent.saturating_add(HORIZON) < now)
            .min(self.points.len().saturating_sub(LEAST));
        self.points.drain(..old);
        if self.points.len() > MOST {
            // The old half thinner: what matters of it is how far back it reaches.
            let half = self.points.len() / 2;
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number > half || number % 2 == 1
            });
        }
    }

    fn is_contradicted(&self, series: &[Exchange]) -> bool {
        let (Some(last), Some(next)) = (self.points.last(), shortest(series)) else {
            return false;
        };
        let Some(rate) = self.rate() else {
            return next.ticks < last.ticks;
        };
        let ahead = next.ticks.wrapping_sub(last.ticks) as i64 as f64 * rate;
        let least = next.sent.0 as f64 - last.received.0 as f64;
        let most = next.received.0 as f64 - last.sent.0 as f64;
        let slack = most.abs() * STRAY;
        ahead < least - slack || ahead > most + slack
    }

    /// Nanoseconds of the run's clock per tick; `None` of fewer than two points.
    pub(super) fn rate(&self) -> Option<f64> {
        slope(&self.points, |e| e.middle().0)
    }

    /// How much faster the counter runs than its kernel thinks, in parts per million of the run's
    /// clock.
    pub(super) fn drift_ppm(&self) -> Option<f64> {
        let nominal = slope(&self.points, |e| e.raw.0)?;
        Some((nominal / self.rate()? - 1.0) * 1e6)
    }
}

/// The median of the slopes of `y` over ticks between all pairs of points (Theil 1950, Sen 1968),
/// each with the weight that its own uncertainty gives it: some points that were delayed do not move it.
fn slope(points: &[Exchange], y: impl Fn(&Exchange) -> u64) -> Option<f64> {
    let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
    for (i, a) in points.iter().enumerate() {
        for b in &points[i + 1..] {
            let dx = b.ticks.wrapping_sub(a.ticks) as i64 as f64;
            let dy = y(b).wrapping_sub(y(a)) as i64 as f64;
            if dx > 0.0 && dy > 0.0 {
                let doubt = (a.round_trip().0 + b.round_trip().0).max(1) as f64;
                slopes.push((dy / dx, (dy / doubt).powi(2)));
            }
        }
    }
    slopes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = slopes.iter().map(|s| s.1).sum::<f64>() / 2.0;
    let mut below = 0.0;
    for (value, weight) in &slopes {
        below += weight;
        if below >= half {
            return Some(*value);
        }
    }
    None
}

/// The clock with that rate (nanoseconds per tick) through the shortest of `series`, with its origin at
/// the first of them; `None` of an empty one, or where the rate is none.
pub(super) fn through(series: &[Exchange], rate: f64, counter: Counter) -> Option<ClockSpec> {
    let (first, best) = (series.first()?, shortest(series)?);
    let mult = rate * 2f64.powi(32);
    if !(1.0..u64::MAX as f64).contains(&mult) {
        return None;
    }
    let (ticks0, mult) = (first.ticks, mult.round() as u64);
    let since = best.ticks.wrapping_sub(ticks0) as f64 * rate;
    let ns0 = best.middle().0.saturating_sub(since.round() as u64);
    Some(match counter {
        Counter::Tsc => ClockSpec::Tsc { ticks0, ns0, mult },
        Counter::Monotonic => ClockSpec::Scaled { ticks0, ns0, mult },
    })
}

/// The exchanges of one trial, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Before any stamp of the trial.
    pub(super) before: Vec<Exchange>,
    /// During it.
    pub(super) during: Vec<Exchange>,
    /// After every stamp of the trial.
    pub(super) after: Vec<Exchange>,
}

impl Seen {
    pub(super) fn all(&self) -> impl Iterator<Item = &Exchange> {
        self.before.iter().chain(&self.during).chain(&self.after)
    }
}

/// A reading is a whole step of its counter, a stamp a whole nanosecond.
const GRAIN: Nanos = Nanos(2);

/// By how much `clock` can be wrong between the last exchange before the trial and the first one after
/// it; `None` without either.
///
/// At an exchange its error is within the exchange's interval, whatever the delays were. Between two
/// exchanges it is within the larger of both errors, but for the curvature: an oscillator whose rate
/// stays within ±`wander` (parts of one) of a constant leaves the chord over a time `t` by at most
/// `wander · t / 2`. All of that holds for any choice of exchanges, so the best choice is taken:
/// those up to some width, for the width that gives the least.
pub(super) fn bound(clock: ClockSpec, seen: &Seen, wander: f64) -> Option<Nanos> {
    let at = |e: &Exchange| {
        let shown = nanos_at(clock, e.ticks);
        (shown, e.worst(shown))
    };
    let before: Vec<_> = seen.before.iter().map(at).collect();
    let during: Vec<_> = seen.during.iter().map(at).collect();
    let after: Vec<_> = seen.after.iter().map(at).collect();
    let all = || before.iter().chain(&during).chain(&after);
    let mut least: Option<Nanos> = None;
    for (_, widest) in all() {
        let fits = |(_, worst): &&(Nanos, Nanos)| worst <= widest;
        let (Some(first), Some(last)) = (before.iter().rev().find(fits), after.iter().find(fits))
        else {
            continue;
        };
        let mut bound = Nanos::ZERO;
        let mut previous = *first;
        for next in during.iter().filter(fits).chain([last]) {
            let gap = next.0.saturating_sub(previous.0);
            let bend = Nanos((gap.0 as f64 * wander / 2.0).ceil() as u64);
            let within = previous.1.max(next.1).saturating_add(bend);
            bound = bound.max(within);
            previous = *next;
        }
        if least.is_none_or(|l| bound < l) {
            least = Some(bound);
        }
    }
    least.map(|bound| bound.saturating_add(GRAIN))
}

/// What `clock` was wrong by after the trial, by the shortest exchange then; positive where it was
/// ahead.
pub(super) fn residual(clock: ClockSpec, seen: &Seen) -> Option<i64> {
    let best = shortest(&seen.after)?;
    let shown = nanos_at(clock, best.ticks);
    Some(shown.0.wrapping_sub(best.middle().0) as i64)
}

#[cfg(test)]
mod tests;
