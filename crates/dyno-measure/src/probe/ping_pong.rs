//! Bare cache-line ping-pong: the least that an exchange between two CPUs can cost. Two sides spin on
//! one word each and nothing else: no queue, no payload, no stamp in the message.

use super::shared::{Child, Share, Shared};
use super::{ProbeError, Summary};
use crate::clock::{Clock, monotonic};
use crate::host::pin;
use dyno_model::unit::Nanos;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Scope;

/// What the two sides are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// Two threads of this process.
    Threads,
    /// This process and a forked one.
    Processes,
}

/// Where the words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lines {
    /// Both directions share one cache line.
    One,
    /// Each direction has a cache line of its own.
    Two,
}

/// The round trips of one bare ping-pong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PingPong {
    /// What the two sides were.
    pub between: Between,
    /// Where the words were.
    pub lines: Lines,
    /// The CPU of the side that measured.
    pub cpu: u32,
    /// The CPU of the side that answered.
    pub peer_cpu: u32,
    /// Single round trips, each with one clock reading in it.
    pub round_trip: Summary,
    /// One round trip in nanoseconds without any clock reading and finer than the clock's resolution:
    /// the median over batches of [`BATCH`] round trips.
    pub bare_ns: f64,
}

/// Round trips between two clock readings for [`PingPong::bare_ns`].
pub const BATCH: usize = 64;

/// A word with two cache lines to itself: processors also fetch the neighbouring line.
#[derive(Default)]
#[repr(C, align(128))]
struct Line(AtomicU64);

#[derive(Default)]
#[repr(C)]
struct Court {
    ping: Line,
    pong: Line,
    /// Ping and pong again, in one line.
    both: Both,
    /// The answering side could be pinned and spins.
    ready: AtomicBool,
    /// The measuring side has given up.
    over: AtomicBool,
}

#[derive(Default)]
#[repr(C, align(128))]
struct Both {
    ping: AtomicU64,
    pong: AtomicU64,
}

// SAFETY: atomics only, for which zeros are valid; no pointers, nothing to drop.
unsafe impl Share for Court {}

impl Court {
    fn words(&self, lines: Lines) -> (&AtomicU64, &AtomicU64) {
        match lines {
            Lines::One => (&self.both.ping, &self.both.pong),
            Lines::Two => (&self.ping.0, &self.pong.0),
        }
    }
}

/// What the measuring side notes, in nanoseconds: single round trips, then batches of them.
struct Times {
    singles: Vec<u64>,
    batches: Vec<u64>,
}

/// Readings of a word between two looks at whether the other side still lives.
const LOOK_EVERY: u32 = 1 << 16;
/// The longest wait for one answer.
const PATIENCE: Nanos = Nanos::from_secs(5);

/// Exchanges `rounds` single round trips (after a tenth as many to warm up) and then as many in
/// batches, between a new thread on `cpu` and a thread or process on `peer_cpu`.
///
/// On a virtual machine the result may change while the machine runs: the host moves virtual CPUs
/// between threads of one core (some 50 ns) and different cores (some 500 ns) as it likes.
///
/// # Errors
///
/// Where the CPUs are the same or not allowed, or the other side stops answering.
pub fn ping_pong(
    clock: Clock,
    cpu: u32,
    peer_cpu: u32,
    between: Between,
    lines: Lines,
    rounds: u32,
) -> Result<PingPong, ProbeError> {
    if cpu == peer_cpu {
        return Err(ProbeError::SameCpu(cpu));
    }
    let court = Shared::<Court>::zeroed()?;
    let warmup = rounds as usize / 10;
    let mut times = Times {
        singles: vec![u64::MAX; warmup + rounds as usize],
        batches: vec![u64::MAX; (rounds as usize).div_ceil(BATCH)],
    };
    // A thread of its own, so that the caller's affinity stays what it was.
    std::thread::scope(|scope| {
        let player = scope.spawn(|| {
            let result = play(
                clock,
                (cpu, peer_cpu),
                between,
                scope,
                &court,
                lines,
                &mut times,
            );
            court.over.store(true, Ordering::Release);
            result
        });
        let panicked = Err(ProbeError::Silent { cpu });
        player.join().unwrap_or(panicked)
    })?;
    Ok(PingPong {
        between,
        lines,
        cpu,
        peer_cpu,
        round_trip: Summary::of(&mut times.singles[warmup..]),
        bare_ns: Summary::of(&mut times.batches).p50.0 as f64 / BATCH as f64,
    })
}

/// Starts the answering side and plays against it.
fn play<'scope>(
    clock: Clock,
    (cpu, peer_cpu): (u32, u32),
    between: Between,
    scope: &'scope Scope<'scope, '_>,
    court: &'scope Court,
    lines: Lines,
    times: &mut Times,
) -> Result<(), ProbeError> {
    let total = (times.singles.len() + times.batches.len() * BATCH) as u64;
    // The other side inherits its CPU, so that a refusal is ours to report.
    pin(peer_cpu)?;
    let _child;
    match between {
        Between::Threads => {
            scope.spawn(move || answer(court, lines, total));
        }
        Between::Processes => {
            // SAFETY: `answer` only uses atomics.
            _child = unsafe {
                Child::fork(|| {
                    answer(court, lines, total);
                    0
                })
            }?;
        }
    }
    pin(cpu)?;
    measure(clock, court, lines, times).ok_or(ProbeError::Silent { cpu: peer_cpu })
}

/// Sends ball after ball and notes how long each took to come back; `None` where one did not.
fn measure(clock: Clock, court: &Court, lines: Lines, times: &mut Times) -> Option<()> {
    let (ping, pong) = court.words(lines);
    let started = monotonic();
    while !court.ready.load(Ordering::Acquire) {
        if monotonic().saturating_sub(started) > PATIENCE {
            return None;
        }
        std::thread::yield_now();
    }
    let mut last = clock.now();
    let mut ball = 0;
    let mut exchange = |last: Nanos| {
        ball += 1;
        ping.store(ball, Ordering::Release);
        spin_until(pong, ball, || clock.now().saturating_sub(last) > PATIENCE)
    };
    for time in &mut times.singles {
        exchange(last)?;
        let now = clock.now();
        *time = now.saturating_sub(last).0;
        last = now;
    }
    for time in &mut times.batches {
        for _ in 0..BATCH {
            exchange(last)?;
        }
        let now = clock.now();
        *time = now.saturating_sub(last).0;
        last = now;
    }
    Some(())
}

/// Returns every ball until all `total` have been seen or the game is over.
fn answer(court: &Court, lines: Lines, total: u64) {
    let (ping, pong) = court.words(lines);
    court.ready.store(true, Ordering::Release);
    for ball in 1..=total {
        let over = || court.over.load(Ordering::Acquire);
        if spin_until(ping, ball, over).is_none() {
            return;
        }
        pong.store(ball, Ordering::Release);
    }
}

/// Spins until `word` is `value`; `None` where `give_up`, asked now and then, says so.
#[inline(always)]
fn spin_until(word: &AtomicU64, value: u64, give_up: impl Fn() -> bool) -> Option<()> {
    loop {
        for _ in 0..LOOK_EVERY {
            if word.load(Ordering::Acquire) == value {
                return Some(());
            }
            std::hint::spin_loop();
        }
        if give_up() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::allowed_cpus;

    #[test]
    fn every_variant_measures_every_round() {
        let cpus = allowed_cpus();
        let &[cpu, peer, ..] = cpus.as_slice() else {
            return;
        };
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        for between in [Between::Threads, Between::Processes] {
            for lines in [Lines::One, Lines::Two] {
                let p = ping_pong(clock, cpu, peer, between, lines, 2_000).unwrap();
                assert_eq!(p.round_trip.n, 2_000);
                assert!(p.bare_ns > 0.0 && p.round_trip.max < PATIENCE);
            }
        }
        assert_eq!(allowed_cpus(), cpus, "the caller's affinity is left alone");
    }

    #[test]
    fn one_cpu_is_not_enough() {
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        let e = ping_pong(clock, 0, 0, Between::Threads, Lines::One, 10).unwrap_err();
        assert!(matches!(e, ProbeError::SameCpu(0)), "{e}");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused() {
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        let cpu = allowed_cpus()[0];
        for (a, b) in [(cpu, 1_000), (1_000, cpu)] {
            for between in [Between::Threads, Between::Processes] {
                let e = ping_pong(clock, a, b, between, Lines::One, 10).unwrap_err();
                assert!(matches!(e, ProbeError::Host(_)), "{e}");
            }
        }
    }
}
