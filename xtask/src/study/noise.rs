//! Whether the trials that the host disturbed are the ones that are flagged, whatever a stack does: bursts of foreign load
//! at known times against the trials' windows, a process that takes 8 % of a CPU throughout, and a run without load, over
//! stacks that spin, that sleep, and that have the kernel at work. No load is pinned; where it ran is noted, since what it did on
//! CPUs that a trial does not use disturbs none.

mod guest;

pub(super) use guest::study as of_guest;

use super::bench::{Place, list, share};
use crate::{Outcome, files};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The floors of both ways to wait are added.
const SUITE: &str = r#"
title = "trials to be disturbed"
[defaults]
warmup = "50 ms"
settle = "0 s"
window = "300 ms"
[[experiment]]
name = "spins"
workload = "ping-pong"
wait = "spin"
stacks = ["udp"]
[[experiment]]
name = "sleeps"
workload = "ping-pong"
wait = "block"
stacks = ["uds-stream", "udp", "tcp"]
"#;
/// Experiments of that suite, the floors among them; a trial of each takes about 0.5 s.
const EXPERIMENTS: u32 = 6;

/// A trial is truly disturbed where bursts have used so much of its CPUs, in windows.
const COVERED: f64 = 0.1;

/// The same for the small hog: what the rule allows, 2 % and at most 0.5 % of the idle host's, is not enough for a flag.
const NIBBLED: f64 = 0.03;

/// Work and rest of the small hog: 8 % of a CPU, wherever the kernel puts it.
const SMALL: (Duration, Duration) = (Duration::from_millis(8), Duration::from_millis(92));

/// What became of the trials of one stack beside one load.
#[derive(Default)]
struct Score {
    hit: usize,
    missed: usize,
    false_alarms: usize,
    calm: usize,
    /// Flagged for the hypervisor alone, which no load of this study moves: right or wrong, nobody here can tell.
    outside: usize,
    /// Not hit, and flagged for what programs other than this one used, whose names the flag has: these ran, so it is not false.
    others: usize,
    /// A little of a burst, or one that ended before the window: neither answer is wrong.
    touched: usize,
}

/// `outside`: the causes that are the hypervisor's.
pub(super) fn study(bursts: u32, program: Option<&str>, outside: &[&str]) -> Outcome {
    let place = match program {
        None => Place::new("noise")?,
        Some(program) => Place::of(
            std::env::temp_dir().join("dyno-study-noise"),
            program.into(),
        )?,
    };
    place.file("suites/noise.toml", SUITE)?;
    // A burst comes about every 2.7 s, and each stack is to meet a share of them.
    let trials = (bursts * 6 / EXPERIMENTS).max(2);
    let calm = measure(&place, "calm", trials)?;
    let score =
        |load: &str, trials: &[Trial], log: &Log, least| score(load, trials, log, least, outside);
    score("calm", &calm, &Log::new(), 1.0);
    // On all CPUs but one: a trial that uses two CPUs shares one at least, wherever the kernel puts them.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let (loaded, bursts) = beside(burst, (cpus - 1).max(1), || {
        measure(&place, "bursts", trials)
    })?;
    score("bursts", &loaded, &bursts, COVERED);
    let (small, nibbles) = beside(nibble, 1, || measure(&place, "small", trials))?;
    score("8 % of a CPU throughout", &small, &nibbles, NIBBLED);
    for run in ["calm", "bursts", "small"] {
        let shown = place.show(run)?;
        let flags = &shown["run"]["disturbed_by_stack"];
        let of = |s: &Value| {
            format!(
                "{} {} of {}",
                text(&s["stack"]),
                s["disturbed"],
                s["completed"]
            )
        };
        let stacks: Vec<String> = list(flags, "stacks").iter().map(of).collect();
        match flags["p"].as_f64() {
            Some(p) => println!(
                "{run}: disturbed {}; p = {p:.3} for chance",
                stacks.join(", ")
            ),
            None => println!("{run}: no trial disturbed"),
        }
    }
    Ok(())
}

/// Prints what became of the trials beside a load, of which those should be flagged that had `least` of it.
fn score(load: &str, trials: &[Trial], log: &Log, least: f64, outside: &[&str]) {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let mut falsely: BTreeMap<&str, (usize, &Trial)> = BTreeMap::new();
    for trial in trials {
        let of = scores.entry(&trial.stack).or_default();
        let is_hit = trial.covered(log) >= least;
        let is_clear = is_hit || !trial.is_touched(log, outside);
        *match (is_clear.then_some(is_hit), trial.flagged(outside)) {
            (Some(true), Flag::Host | Flag::Others) => &mut of.hit,
            (Some(true), _) => &mut of.missed,
            (_, Flag::Hypervisor) => &mut of.outside,
            (Some(false), Flag::Others) => &mut of.others,
            (None, _) => &mut of.touched,
            (Some(false), Flag::Host) => {
                for cause in &trial.causes {
                    falsely.entry(cause).or_insert((0, trial)).0 += 1;
                }
                &mut of.false_alarms
            }
            (Some(false), Flag::None) => &mut of.calm,
        } += 1;
    }
    for (stack, s) in &scores {
        println!(
            "{load}, {stack}: recall {}, precision {}, not hit and flagged {}; hypervisor alone {}, other programs {}, touched by less than {:.0} % {}",
            share(s.hit, s.hit + s.missed),
            share(s.hit, s.hit + s.false_alarms),
            share(s.false_alarms, s.false_alarms + s.calm),
            s.outside,
            s.others,
            100.0 * least,
            s.touched
        );
    }
    for (cause, (n, first)) in falsely {
        println!(
            "{load}: {n} trials that were not hit are flagged for {cause}; the first, {}, has {}",
            first.stack, first.noise
        );
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// On which CPU something worked, from when to when on CLOCK_MONOTONIC, and for which share of that it had the CPU.
type Log = Vec<(usize, f64, f64, f64)>;

/// Does `what` while other threads of this process put a load on the machine: what is not the run's is foreign.
fn beside<T>(
    load: fn(&AtomicBool, &Mutex<Log>) -> Outcome,
    threads: usize,
    what: impl FnOnce() -> Result<T, String>,
) -> Result<(T, Log), String> {
    let stop = Arc::new(AtomicBool::new(false));
    let log = Arc::new(Mutex::new(Log::new()));
    let hog = |_| {
        let (stop, log) = (stop.clone(), log.clone());
        std::thread::spawn(move || load(&stop, &log))
    };
    let hogs: Vec<_> = (0..threads).map(hog).collect();
    let done = what();
    stop.store(true, Ordering::Relaxed);
    for hog in hogs {
        hog.join()
            .map_err(|_| "the load ended early".to_owned())??;
    }
    let log = log.lock().map_err(|e| e.to_string())?.clone();
    Ok((done?, log))
}

/// A trial's window on CLOCK_MONOTONIC, in nanoseconds.
struct Trial {
    /// With how it waits.
    stack: String,
    /// When the trial began: Dyno looks at the machine from then on.
    started: f64,
    from: f64,
    to: f64,
    /// Those of its participants; none: wherever the kernel puts them.
    cpus: Vec<usize>,
    /// For what it is flagged.
    causes: Vec<String>,
    /// What Dyno saw of the host, for a flag that this study does not understand.
    noise: Value,
}

/// Whom Dyno blames.
#[derive(Clone, Copy)]
enum Flag {
    None,
    /// The hypervisor and nothing else.
    Hypervisor,
    /// Other programs than this one used most of what is blamed, beside the hypervisor at most.
    Others,
    Host,
}

impl Trial {
    fn flagged(&self, outside: &[&str]) -> Flag {
        match self.causes.as_slice() {
            [] => Flag::None,
            all if all.iter().all(|c| outside.contains(&c.as_str())) => Flag::Hypervisor,
            all if self.is_of_others()
                && all
                    .iter()
                    .all(|c| c == "foreign-load" || outside.contains(&c.as_str())) =>
            {
                Flag::Others
            }
            _ => Flag::Host,
        }
    }

    /// Whether others than this program, whose threads are the load, used most of what strangers used.
    fn is_of_others(&self) -> bool {
        let own = std::env::current_exe().ok();
        let own = own.as_deref().and_then(|p| p.file_name()?.to_str());
        let hungriest = list(&self.noise["window"], "hungriest");
        let (mut ours, mut others) = (0.0, 0.0);
        for process in hungriest {
            let used = process[1].as_f64().unwrap_or_default();
            *if process[0].as_str() == own {
                &mut ours
            } else {
                &mut others
            } += used;
        }
        others > ours
    }

    /// What a load did on the trial's CPUs from `begin` to the end of the window.
    fn beside(&self, begin: f64, log: &Log) -> f64 {
        let is_here = |cpu: &usize| self.cpus.is_empty() || self.cpus.contains(cpu);
        let part = |(_, from, to, share): &(usize, f64, f64, f64)| {
            share * (to.min(self.to) - from.max(begin)).max(0.0)
        };
        log.iter().filter(|(cpu, ..)| is_here(cpu)).map(part).sum()
    }

    /// Whether a load fell into the trial at all; before the window it is seen as gaps alone.
    fn is_touched(&self, log: &Log, outside: &[&str]) -> bool {
        let begin = match outside.contains(&"gaps") {
            true => self.from,
            false => self.started,
        };
        self.beside(begin, log) > 0.0
    }

    fn covered(&self, log: &Log) -> f64 {
        self.beside(self.from, log) / (self.to - self.from)
    }
}

fn measure(place: &Place, run: &str, trials: u32) -> Result<Vec<Trial>, String> {
    place.judged(&format!(
        "run noise --trials {trials} --repeats 0 --out {run} --quiet"
    ))?;
    let manifest = files::json(&place.dir.join(run).join("run.json"))?;
    let experiments = list(&manifest["plan"], "experiments");
    let epoch = clock(rustix::time::ClockId::Realtime) - now();
    let mut all = Vec::new();
    for record in place.trials(run)? {
        let id = record["experiment"].as_u64().unwrap_or_default() as usize;
        let experiment = experiments.get(id).unwrap_or(&Value::Null);
        // The first and the last pong, on the run's clock, whose origin is CLOCK_MONOTONIC.
        let times = |key: &str| {
            let of = |f: &Value| f[key].as_f64().filter(|t| *t > 0.0);
            list(&record, "flows")
                .iter()
                .filter_map(of)
                .collect::<Vec<_>>()
        };
        let from = times("first").into_iter().reduce(f64::min);
        let to = times("last").into_iter().reduce(f64::max);
        if let (Some(from), Some(to)) = (from, to) {
            let started = record["started_unix_ms"].as_f64().unwrap_or(0.0);
            all.push(Trial {
                stack: format!(
                    "{} {}",
                    text(&experiment["stack"]),
                    text(&experiment["wait"])
                ),
                started: started * 1e6 - epoch,
                from,
                to,
                cpus: list(experiment, "cpus")
                    .iter()
                    .filter_map(|cpu| Some(cpu.as_u64()? as usize))
                    .collect(),
                causes: list(&record, "disturbed")
                    .iter()
                    .map(|c| text(&c["cause"]).to_owned())
                    .collect(),
                noise: record["noise"].clone(),
            });
        }
    }
    Ok(all)
}

/// Burns a CPU for 0.7 s, then rests for about 2 s, until told to stop; notes when it did.
fn burst(stop: &AtomicBool, log: &Mutex<Log>) -> Outcome {
    let mut n = 0u64;
    while !stop.load(Ordering::Relaxed) {
        // Rests of different lengths, so that bursts meet trials at different places.
        std::thread::sleep(Duration::from_millis(1_500 + 377 * n % 1_000));
        if stop.load(Ordering::Relaxed) {
            break;
        }
        burn(Duration::from_millis(700), log)?;
        n += 1;
    }
    Ok(())
}

/// Takes 8 % of a CPU until told to stop.
fn nibble(stop: &AtomicBool, log: &Mutex<Log>) -> Outcome {
    let (work, rest) = SMALL;
    while !stop.load(Ordering::Relaxed) {
        burn(work, log)?;
        std::thread::sleep(rest);
    }
    Ok(())
}

/// Works for `time`, and notes on which CPUs.
fn burn(time: Duration, log: &Mutex<Log>) -> Outcome {
    let begun = Instant::now();
    let mut x = 1u64;
    let used = || clock(rustix::time::ClockId::ThreadCPUTime);
    let (mut cpu, mut from, mut before) = (rustix::thread::sched_getcpu(), now(), used());
    loop {
        for _ in 0..1000 {
            x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        let (here, is_over) = (rustix::thread::sched_getcpu(), begun.elapsed() >= time);
        if here != cpu || is_over {
            let (to, after) = (now(), used());
            let mut log = log.lock().map_err(|e| e.to_string())?;
            log.push((cpu, from, to, (after - before) / (to - from)));
            (cpu, from, before) = (here, to, after);
        }
        if is_over {
            return Ok(());
        }
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
fn now() -> f64 {
    clock(rustix::time::ClockId::Monotonic)
}

fn clock(id: rustix::time::ClockId) -> f64 {
    let now = rustix::time::clock_gettime(id);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
