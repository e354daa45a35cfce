//! How long the kernel takes to wake a thread that sleeps on a futex: the least that any blocking
//! receiver waits for beyond the exchange itself.

use super::{ProbeError, Summary};
use crate::clock::Clock;
use crate::host::pin;
use dyno_model::unit::Nanos;
use rustix::thread::futex;
use rustix::time::Timespec;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Wake-ups of a sleeping thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FutexWake {
    /// The CPU of the thread that wakes.
    pub cpu: u32,
    /// The CPU of the thread that sleeps.
    pub sleeper_cpu: u32,
    /// What the sleeper's CPU did meanwhile.
    pub rest: Rest,
    /// From before the waking call until the sleeper runs.
    pub latency: Summary,
    /// Duration of the waking call itself.
    pub call: Summary,
}

#[derive(Default)]
struct Bed {
    /// What the sleeper sleeps on; the number of the wake-up.
    word: AtomicU32,
    /// The last wake-up that the sleeper has dealt with.
    slept: AtomicU32,
    /// When the last wake-up began, in nanoseconds.
    called: AtomicU64,
    /// Either side could not go on.
    over: AtomicBool,
}

/// The longest sleep without a look at whether the probe is over.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// What the sleeper's CPU does before each wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// It idles for 50 µs: the usual pause of a busy exchange.
    Dozing,
    /// It idles for 2 ms, so that it can enter its deepest idle state.
    Asleep,
    /// It is kept from idling by a thread of the class SCHED_IDLE, for which a wake-up does not wait.
    Awake,
}

impl Rest {
    /// How long the waker waits before each wake-up, so that the sleeper is asleep.
    fn pause(self) -> Duration {
        match self {
            Rest::Dozing | Rest::Awake => Duration::from_micros(50),
            Rest::Asleep => Duration::from_millis(2),
        }
    }
}

/// Wakes a thread on `sleeper_cpu` from `cpu`, `rounds` times.
///
/// # Errors
///
/// Where a CPU is not allowed. Both sides may share one CPU, but not with [`Rest::Awake`], which would
/// keep the waker from its turn.
pub fn futex_wake(
    clock: Clock,
    cpu: u32,
    sleeper_cpu: u32,
    rest: Rest,
    rounds: u32,
) -> Result<FutexWake, ProbeError> {
    if rest == Rest::Awake && cpu == sleeper_cpu {
        return Err(ProbeError::SameCpu(cpu));
    }
    let bed = Bed::default();
    let ended = |r: Result<Vec<u64>, ProbeError>| {
        if r.is_err() {
            bed.over.store(true, Ordering::Release);
        }
        r
    };
    let (latency, call) = std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| ended(sleep(clock, &bed, sleeper_cpu, rounds)));
        let waker = scope.spawn(|| ended(wake(clock, &bed, cpu, rest, rounds)));
        let light = (rest == Rest::Awake).then(|| scope.spawn(|| keep_awake(&bed, sleeper_cpu)));
        let results = (
            sleeper
                .join()
                .unwrap_or(Err(ProbeError::Silent { cpu: sleeper_cpu })),
            waker.join().unwrap_or(Err(ProbeError::Silent { cpu })),
        );
        bed.over.store(true, Ordering::Release);
        match light.map(|l| l.join()) {
            Some(Ok(Err(e))) => (Err(e), results.1),
            _ => results,
        }
    });
    Ok(FutexWake {
        cpu,
        sleeper_cpu,
        rest,
        latency: Summary::of(&mut latency?),
        call: Summary::of(&mut call?),
    })
}

fn sleep(clock: Clock, bed: &Bed, cpu: u32, rounds: u32) -> Result<Vec<u64>, ProbeError> {
    pin(cpu)?;
    let mut samples = Vec::with_capacity(rounds as usize);
    for round in 1..=rounds {
        while bed.word.load(Ordering::Acquire) != round {
            if bed.over.load(Ordering::Acquire) {
                return Ok(samples);
            }
            // Any result leads to another look at the word: woken, too late to sleep, interrupted,
            // timed out.
            let _ = futex::wait(
                &bed.word,
                futex::Flags::PRIVATE,
                round - 1,
                Some(&LOOK_EVERY),
            );
        }
        let woken = clock.arrival();
        let called = Nanos(bed.called.load(Ordering::Relaxed));
        samples.push(woken.saturating_sub(called).0);
        bed.slept.store(round, Ordering::Release);
    }
    Ok(samples)
}

fn wake(
    clock: Clock,
    bed: &Bed,
    cpu: u32,
    rest: Rest,
    rounds: u32,
) -> Result<Vec<u64>, ProbeError> {
    pin(cpu)?;
    let mut samples = Vec::with_capacity(rounds as usize);
    for round in 1..=rounds {
        while bed.slept.load(Ordering::Acquire) != round - 1 {
            if bed.over.load(Ordering::Acquire) {
                return Ok(samples);
            }
            // The sleeper may need this very CPU.
            std::thread::yield_now();
        }
        std::thread::sleep(rest.pause());
        let called = clock.now();
        bed.called.store(called.0, Ordering::Relaxed);
        bed.word.store(round, Ordering::Release);
        // It cannot fail: the word is aligned and mapped (futex(2), FUTEX_WAKE).
        let _ = futex::wake(&bed.word, futex::Flags::PRIVATE, 1);
        samples.push(clock.now().saturating_sub(called).0);
    }
    Ok(samples)
}

/// Spins on `cpu` until the probe is over, whenever nobody else wants to run there.
fn keep_awake(bed: &Bed, cpu: u32) -> Result<(), ProbeError> {
    pin(cpu)?;
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is a valid sched_param for the duration of the call; thread id 0 is the
    // calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) } != 0 {
        return Err(ProbeError::System {
            call: "sched_setscheduler(SCHED_IDLE)",
            source: std::io::Error::last_os_error(),
        });
    }
    while !bed.over.load(Ordering::Acquire) {
        std::hint::spin_loop();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::allowed_cpus;

    #[test]
    fn every_wake_up_is_measured() {
        let cpus = allowed_cpus();
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        let (a, b) = (cpus[0], *cpus.last().unwrap());
        for rest in [Rest::Dozing, Rest::Asleep, Rest::Awake] {
            if rest == Rest::Awake && a == b {
                continue;
            }
            let f = futex_wake(clock, a, b, rest, 50).unwrap();
            assert_eq!((f.rest, f.latency.n, f.call.n), (rest, 50, 50));
            assert!(f.latency.p50 > Nanos::ZERO);
        }
    }

    #[test]
    fn a_refused_cpu_ends_both_sides() {
        let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
        let cpu = allowed_cpus()[0];
        assert!(futex_wake(clock, cpu, 1_000, Rest::Awake, 10).is_err());
        let e = futex_wake(clock, cpu, cpu, Rest::Awake, 10).unwrap_err();
        assert!(matches!(e, ProbeError::SameCpu(_)), "{e}");
        assert!(futex_wake(clock, 1_000, cpu, Rest::Dozing, 10).is_err());
    }
}
