//! Reads and measures the facts of this host.

use super::ground;
use crate::agents::agent_command;
use crate::exit::{Code, Failure, Result};
use crate::host::{fifo_refused, lock_refused};
use crate::terminal;
use dyno_doctor::{FIFO, Facts, Library, MLOCK, Right, Unavailable};
use dyno_measure::probe::{
    clocks,
    futex::{self, Rest},
    interrupts, limits, machine,
    ping_pong::{self, Between, Lines, PingPong},
    settings, speed,
};
use dyno_measure::{Clock, ClockChoice, allowed_cpus};
use dyno_model::{BareMachine, Nanos};

/// Round trips of all core-to-core exchanges together, at most and at least per exchange.
const ROUNDS: usize = 400_000;
const ROUNDS_EACH: std::ops::RangeInclusive<usize> = 2_000..=100_000;
/// Up to so many CPUs every pair is measured, beyond only those with the first.
const ALL_PAIRS: usize = 6;
/// Wake-ups of a thread that has just fallen asleep, and of one that sleeps deeply (2 ms each).
const WAKE_UPS: u32 = 500;
const DEEP_WAKE_UPS: u32 = 150;
/// Equal pieces of work on each CPU.
const PIECES: u32 = 100;
/// How long the idle host is watched: its CPUs idle, then spin.
const WATCH: Nanos = Nanos::from_millis(1_600);

/// Tells on standard error what is going on; the whole takes some seconds.
struct Steps {
    quiet: bool,
}

impl Steps {
    fn begin(&self, what: &str) {
        if !self.quiet {
            terminal::step(&format!("{what} …"));
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if !self.quiet {
            terminal::step("");
        }
    }
}

/// The results of probes, and what those said that failed.
#[derive(Default)]
struct Failed(Vec<String>);

impl Failed {
    fn keep<T, E: std::fmt::Display>(&mut self, result: std::result::Result<T, E>) -> Option<T> {
        result.map_err(|e| self.0.push(e.to_string())).ok()
    }
}

/// Reads and measures everything; takes three to four seconds.
pub(super) fn examine(quiet: bool) -> Result<Facts> {
    let steps = Steps { quiet };
    // Before we put a load on the machine ourselves.
    let settings = settings::settings();
    steps.begin("1/5 calibrating the clock");
    let (spec, facts) =
        dyno_measure::calibrate(ClockChoice::Auto).map_err(Failure::with(Code::Error))?;
    let clock = Clock::new(spec);
    let cpus = allowed_cpus();
    let mut failed = Failed::default();

    steps.begin("2/5 watching the machine while Dyno is idle");
    let before = interrupts::read_interrupts();
    let BareMachine { gaps, load } = failed
        .keep(dyno_measure::bare_machine(clock, &cpus, WATCH))
        .unwrap_or_default();
    let interrupts = before.until(&interrupts::read_interrupts(), &cpus);

    steps.begin("3/5 measuring round trips between CPUs");
    let core_to_core = core_to_core(clock, &cpus, &mut failed);
    let speeds = failed
        .keep(speed::speeds(clock, &cpus, PIECES))
        .unwrap_or_default();

    steps.begin("4/5 measuring timers and wake-ups");
    let first = cpus.first().copied().unwrap_or(0);
    let sleeper = cpus.get(1).copied().unwrap_or(first);
    let mut wake = |rest, rounds| {
        // One CPU cannot be kept awake and wake itself.
        let possible = rest != Rest::Awake || sleeper != first;
        possible
            .then(|| failed.keep(futex::futex_wake(clock, first, sleeper, rest, rounds)))
            .flatten()
    };
    let wake_up = wake(Rest::Dozing, WAKE_UPS);
    let wake_up_asleep = wake(Rest::Asleep, DEEP_WAKE_UPS);
    let wake_up_awake = wake(Rest::Awake, WAKE_UPS);
    let timers = failed
        .keep(ground::timers(clock, first))
        .unwrap_or_default();
    let syscall = failed.keep(ground::syscall(clock, first));

    steps.begin("5/5 checking the adapters");
    let adapters = failed
        .keep(dyno_runner::describe_adapters(&agent_command()?))
        .unwrap_or_default();
    let libraries = adapters
        .iter()
        .filter_map(|a| {
            Some(Library {
                adapter: a.name.clone(),
                library: a.library.clone()?,
                passed_over: dyno_agent::passed_over(&a.name),
            })
        })
        .collect();
    let unavailable = adapters
        .into_iter()
        .filter_map(|a| {
            Some(Unavailable {
                adapter: a.name,
                reason: a.unavailable?,
            })
        })
        .collect();
    Ok(Facts {
        build_profile: if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        },
        machine: machine::machine(),
        settings,
        clocks: clocks::clock_readings(spec),
        clock: facts,
        syscall,
        core_to_core,
        wake_up,
        wake_up_asleep,
        wake_up_awake,
        timers,
        speeds,
        gaps,
        load,
        interrupts,
        limits: limits::limits(),
        rights: rights(),
        libraries,
        unavailable,
        failed: failed.0,
    })
}

/// Between threads for every pair, and between processes for the first pair, which shows whether that
/// makes a difference.
fn core_to_core(clock: Clock, cpus: &[u32], failed: &mut Failed) -> Vec<PingPong> {
    let firsts = if cpus.len() <= ALL_PAIRS {
        cpus.len()
    } else {
        1
    };
    let mut games = Vec::new();
    for (i, &a) in cpus.iter().enumerate().take(firsts) {
        for &b in &cpus[i + 1..] {
            games.push((a, b, Between::Threads));
        }
    }
    if let Some(&(a, b, _)) = games.first() {
        games.insert(1, (a, b, Between::Processes));
    }
    let rounds = (ROUNDS / games.len().max(1)).clamp(*ROUNDS_EACH.start(), *ROUNDS_EACH.end());
    games
        .into_iter()
        .filter_map(|(a, b, between)| {
            let game = ping_pong::ping_pong(clock, a, b, between, Lines::Two, rounds as u32);
            failed.keep(game)
        })
        .collect()
}

fn rights() -> Vec<Right> {
    [(FIFO, fifo_refused(50)), (MLOCK, lock_refused())]
        .into_iter()
        .map(|(name, refusal)| Right {
            name,
            granted: refusal.is_none(),
            advice: refusal,
        })
        .collect()
}
