//! Finds the factor from counter ticks to nanoseconds and decides whether the counter may be used.
//!
//! The rate is fitted against CLOCK_MONOTONIC_RAW, which no time daemon slews, so that the points
//! lie on one line when the counter is sound; the origin is CLOCK_MONOTONIC. Each point is the
//! reading with the least delay out of many, bracketed by two counter readings.

use super::reading::{Clock, monotonic, read};
use super::ticks::{self, ticks_after_loads};
use crate::procfile;
use dyno_model::protocol::ClockSpec;
use dyno_model::record::ClockFacts;
use dyno_model::unit::Nanos;
use rustix::time::ClockId;
use std::time::Duration;

pub use dyno_model::origin::ClockChoice;

/// Why a clock cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// The counter is not fit for stamps on this machine.
    #[error("the counter of the processor cannot be used: {reason}; choose the monotonic clock")]
    Unfit {
        /// What is missing.
        reason: String,
    },
    /// The counter and the kernel's clock did not keep a constant ratio.
    #[error(
        "the counter of the processor did not run evenly against CLOCK_MONOTONIC_RAW: it strayed by \
         {stray} within 50 ms in each of {attempts} attempts; choose the monotonic clock, or calibrate \
         on a quieter machine"
    )]
    Unstable {
        /// The largest distance of a point from the line.
        stray: Nanos,
        /// How often it was tried.
        attempts: u32,
    },
}

/// Points of one calibration, and the time between two.
const POINTS: usize = 6;
const BETWEEN: Duration = Duration::from_millis(10);
/// Readings tried for each point.
const READINGS: u32 = 300;
/// The largest distance of a point from the line that counts as even. One reading's bracket is
/// some 50 ns wide; at 1 µs in 50 ms (20 ppm) the counter would be worse than any crystal's warm-up.
const STRAY: f64 = 1_000.0;
const ATTEMPTS: u32 = 3;

/// Calibrates the chosen clock once for a run (about 50 ms for the processor's counter) and
/// measures what a reading costs.
pub fn calibrate(choice: ClockChoice) -> Result<(ClockSpec, ClockFacts), ClockError> {
    match choice {
        ClockChoice::Monotonic => Ok(monotonic_clock()),
        ClockChoice::Tsc => match variant_counter() {
            Some(reason) => Err(ClockError::Unfit { reason }),
            None => tsc(),
        },
        ClockChoice::Auto if tsc_refusal().is_some() => Ok(monotonic_clock()),
        ClockChoice::Auto => Ok(tsc().unwrap_or_else(|_| monotonic_clock())),
    }
}

/// Why [`ClockChoice::Auto`] would not use the processor's counter on this machine, as a sentence
/// without a full stop; `None` where it would (given that it then runs evenly).
pub fn tsc_refusal() -> Option<String> {
    variant_counter().or_else(|| {
        let source = procfile::text(procfile::CLOCK_SOURCE);
        (source != ticks::SOURCE).then(|| {
            let source = if source.is_empty() {
                "unknown"
            } else {
                &source
            };
            format!(
                "the kernel keeps time with `{source}` and not with the counter, so it does not \
                 vouch for it; see `dmesg | grep -i {}` and {}",
                ticks::SOURCE,
                procfile::CLOCK_SOURCE
            )
        })
    })
}

/// What the processor does not promise about its counter.
fn variant_counter() -> Option<String> {
    // The counter of arm64 has one rate and never stops (Arm ARM DDI 0487, D12.1 "the system counter").
    if cfg!(target_arch = "aarch64") {
        return None;
    }
    if !cfg!(target_arch = "x86_64") {
        return Some("Dyno knows no counter of this processor architecture".into());
    }
    // Who started the machine vouches for it, as Dyno does for those that it boots with a counter that follows its own
    // (Linux' Documentation/admin-guide/kernel-parameters.txt, `tsc=`).
    let line = procfile::text("/proc/cmdline");
    if line.split_whitespace().any(|word| word == "tsc=reliable") {
        return None;
    }
    let flags = procfile::cpu_flags();
    let missing: Vec<_> = ["constant_tsc", "nonstop_tsc"]
        .into_iter()
        .filter(|f| !flags.iter().any(|have| have == f))
        .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the processor does not declare `{}` in /proc/cpuinfo, so its counter may change speed \
             or stop",
            missing.join("` and `")
        )
    })
}

fn monotonic_clock() -> (ClockSpec, ClockFacts) {
    let spec = ClockSpec::Monotonic;
    (spec, facts(spec, None))
}

/// One simultaneous reading of the counter and a kernel clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    ticks: u64,
    ns: u64,
}

fn tsc() -> Result<(ClockSpec, ClockFacts), ClockError> {
    let mut stray = f64::INFINITY;
    for _ in 0..ATTEMPTS {
        let origin = point(ClockId::Monotonic)?;
        let mut points = [point(ClockId::MonotonicRaw)?; POINTS];
        for p in &mut points[1..] {
            std::thread::sleep(BETWEEN);
            *p = point(ClockId::MonotonicRaw)?;
        }
        let line = fit(&points);
        if line.stray <= STRAY {
            let spec = ClockSpec::Tsc {
                ticks0: origin.ticks,
                ns0: origin.ns,
                mult: (line.ns_per_tick * 2f64.powi(32)).round() as u64,
            };
            return Ok((spec, facts(spec, Some(1e9 / line.ns_per_tick))));
        }
        stray = stray.min(line.stray);
    }
    Err(ClockError::Unstable {
        stray: Nanos(stray as u64),
        attempts: ATTEMPTS,
    })
}

/// The reading with the least delay between the two counter readings around it.
fn point(id: ClockId) -> Result<Point, ClockError> {
    let counter = || {
        ticks_after_loads().ok_or_else(|| ClockError::Unfit {
            reason: "Dyno knows no counter of this processor architecture".into(),
        })
    };
    let mut best = (u64::MAX, Point { ticks: 0, ns: 0 });
    for _ in 0..READINGS {
        let before = counter()?;
        let ns = read(id).0;
        let after = counter()?;
        let width = after.saturating_sub(before);
        if width < best.0 {
            let ticks = before + width / 2;
            best = (width, Point { ticks, ns });
        }
    }
    Ok(best.1)
}

struct Line {
    ns_per_tick: f64,
    /// The largest vertical distance of a point from the line, in nanoseconds.
    stray: f64,
}

/// Least squares through `points`, at least two of which have different ticks.
fn fit(points: &[Point]) -> Line {
    let xy = || {
        points.iter().map(|p| {
            (
                p.ticks.wrapping_sub(points[0].ticks) as i64 as f64,
                p.ns.wrapping_sub(points[0].ns) as i64 as f64,
            )
        })
    };
    let n = points.len() as f64;
    let (mx, my) = xy().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (sxy, sxx) = xy().fold((0.0, 0.0), |(a, b), (x, y)| {
        (a + (x - mx) * (y - my), b + (x - mx) * (x - mx))
    });
    let slope = sxy / sxx;
    let stray = xy()
        .map(|(x, y)| (y - my - slope * (x - mx)).abs())
        .fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a });
    Line {
        ns_per_tick: slope,
        stray: if slope.is_finite() && slope > 0.0 {
            stray
        } else {
            f64::INFINITY
        },
    }
}

fn facts(spec: ClockSpec, frequency_hz: Option<f64>) -> ClockFacts {
    let clock = Clock::new(spec);
    let ns_per_tick = frequency_hz.map(|hz| 1e9 / hz);
    ClockFacts {
        source: match spec {
            ClockSpec::Tsc { .. } => ticks::NAME,
            ClockSpec::Monotonic | ClockSpec::Scaled { .. } => "monotonic",
        }
        .into(),
        cost_ns: cost_of(|| clock.now().0),
        resolution_ns: match ns_per_tick {
            Some(ns) => usual_step(|| ticks::ticks().unwrap_or(0)) * ns,
            None => usual_step(|| monotonic().0),
        },
        frequency_hz,
    }
}

/// The cost of one call in nanoseconds: the median over batches, so that an interrupted batch does
/// not count.
pub(crate) fn cost_of(mut reading: impl FnMut() -> u64) -> f64 {
    const BATCHES: usize = 51;
    const BATCH: u32 = 500;
    let mut costs = [0.0; BATCHES];
    for cost in &mut costs {
        let start = monotonic();
        for _ in 0..BATCH {
            std::hint::black_box(reading());
        }
        *cost = monotonic().saturating_sub(start).0 as f64 / f64::from(BATCH);
    }
    costs.sort_by(f64::total_cmp);
    costs[BATCHES / 2]
}

/// The step between two different readings that is seen most often, in the reading's unit: the clock's
/// own step where that is coarser than a reading takes, else what a reading takes. Not the very
/// smallest: a counter that advances 26 ticks at a time still steps by one tick when it is read twice
/// within a step, since two readings never give the same value.
pub(crate) fn usual_step(mut reading: impl FnMut() -> u64) -> f64 {
    const READINGS: usize = 10_000;
    let mut steps = Vec::with_capacity(READINGS);
    let mut last = reading();
    for _ in 0..READINGS {
        let next = reading();
        if next > last {
            steps.push(next - last);
        }
        last = next;
    }
    steps.sort_unstable();
    steps
        .chunk_by(|a, b| a == b)
        .rev()
        .max_by_key(|same| same.len())
        .map_or(0.0, |same| same[0] as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(ns_per_tick: f64, noise: &[i64]) -> Vec<Point> {
        noise
            .iter()
            .enumerate()
            .map(|(i, e)| Point {
                ticks: 1_000_000_000 + i as u64 * 30_000_000,
                ns: (5_000.0 + i as f64 * 30_000_000.0 * ns_per_tick) as u64 + 2_000
                    - (2_000 - e) as u64,
            })
            .collect()
    }

    #[test]
    fn the_fit_finds_the_rate_within_its_noise() {
        let line = fit(&points(0.385_187, &[0, 12, -9, 4, 11, -3]));
        assert!(
            (line.ns_per_tick - 0.385_187).abs() < 1e-6 * 0.385,
            "{}",
            line.ns_per_tick
        );
        assert!(line.stray < 30.0, "{}", line.stray);
    }

    #[test]
    fn a_counter_that_changes_speed_strays() {
        let mut p = points(0.4, &[0; 6]);
        for late in &mut p[3..] {
            late.ns += 40_000;
        }
        assert!(fit(&p).stray > STRAY);
    }

    #[test]
    fn a_counter_that_stands_still_strays() {
        let still = [Point { ticks: 5, ns: 10 }, Point { ticks: 5, ns: 20 }];
        assert!(fit(&still).stray > STRAY);
    }

    #[test]
    fn auto_gives_a_clock_that_agrees_with_the_kernel() {
        let (spec, facts) = calibrate(ClockChoice::Auto).unwrap();
        assert!(
            facts.cost_ns > 0.0 && facts.resolution_ns > 0.0,
            "{facts:?}"
        );
        let clock = Clock::new(spec);
        // Bracketed, so that being descheduled in between cannot make it fail.
        let before = monotonic();
        let now = clock.arrival();
        let after = monotonic();
        let slack = 50_000;
        assert!(now.0 + slack >= before.0 && now.0 <= after.0 + slack);
    }

    #[test]
    fn the_monotonic_clock_is_always_there() {
        let (spec, facts) = calibrate(ClockChoice::Monotonic).unwrap();
        assert_eq!(spec, ClockSpec::Monotonic);
        assert_eq!(facts.source, "monotonic");
        assert_eq!(facts.frequency_hz, None);
    }

    #[test]
    fn the_resolution_is_the_usual_step_and_not_the_rarest() {
        let steps = [26, 1, 26, 52, 26, 0, 25, 26, 78];
        let (mut t, mut i) = (0, 0);
        let step = usual_step(|| {
            i += 1;
            t += steps[i % steps.len()];
            t
        });
        assert_eq!(step, 26.0);
    }

    #[test]
    fn a_coarse_clock_shows_its_step() {
        let mut readings = 0u64;
        let step = usual_step(|| {
            readings += 1;
            readings / 40 * 4_000_000
        });
        assert_eq!(step, 4_000_000.0);
    }
}
