//! Whether the trials that the host disturbed are the ones that are flagged, whatever a stack does: bursts of foreign load
//! at known times against the trials' windows, a process that takes 8 % of a CPU throughout, and a run without load, over
//! stacks that spin, that sleep, and that have the kernel at work.

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

/// A trial is truly disturbed where bursts cover at least this share of its window.
const COVERED: f64 = 0.1;

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
    stolen: usize,
    /// A little of a burst, or one that ended before the window: neither answer is wrong.
    touched: usize,
}

pub(super) fn study(bursts: u32) -> Outcome {
    let place = Place::new("noise")?;
    place.file("suites/noise.toml", SUITE)?;
    // A burst comes about every 2.7 s, and each stack is to meet a share of them.
    let trials = (bursts * 6 / EXPERIMENTS).max(2);
    let calm = measure(&place, "calm", trials)?;
    score("calm", &calm, |_| Some(false));
    let (loaded, bursts) = beside(burst, || measure(&place, "bursts", trials))?;
    let name = format!("{} bursts", bursts.len());
    score(&name, &loaded, |trial| {
        let covered = trial.covered(&bursts) >= COVERED;
        (covered || !trial.is_touched(&bursts)).then_some(covered)
    });
    let (small, _) = beside(nibble, || measure(&place, "small", trials))?;
    score("8 % of a CPU throughout", &small, |_| Some(true));
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

/// Prints what became of the trials beside a load; `is_hit` knows of each whether it should be flagged.
fn score(load: &str, trials: &[Trial], is_hit: impl Fn(&Trial) -> Option<bool>) {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    for trial in trials {
        let of = scores.entry(&trial.stack).or_default();
        *match (is_hit(trial), trial.flagged) {
            (Some(true), Flag::Host) => &mut of.hit,
            (Some(true), _) => &mut of.missed,
            (_, Flag::Hypervisor) => &mut of.stolen,
            (None, _) => &mut of.touched,
            (Some(false), Flag::Host) => &mut of.false_alarms,
            (Some(false), Flag::None) => &mut of.calm,
        } += 1;
    }
    for (stack, s) in &scores {
        println!(
            "{load}, {stack}: recall {}, precision {}, not hit and flagged {}; steal alone {}, touched by less than {:.0} % {}",
            share(s.hit, s.hit + s.missed),
            share(s.hit, s.hit + s.false_alarms),
            share(s.false_alarms, s.false_alarms + s.calm),
            s.stolen,
            100.0 * COVERED,
            s.touched
        );
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// When something worked, on CLOCK_MONOTONIC.
type Log = Vec<(f64, f64)>;

/// Does `what` while another thread of this process puts a load on the machine: what is not the run's is foreign.
fn beside<T>(
    load: fn(&AtomicBool, &Mutex<Log>) -> Outcome,
    what: impl FnOnce() -> Result<T, String>,
) -> Result<(T, Log), String> {
    let stop = Arc::new(AtomicBool::new(false));
    let log = Arc::new(Mutex::new(Log::new()));
    let hog = {
        let (stop, log) = (stop.clone(), log.clone());
        std::thread::spawn(move || load(&stop, &log))
    };
    let done = what();
    stop.store(true, Ordering::Relaxed);
    hog.join()
        .map_err(|_| "the load ended early".to_owned())??;
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
    flagged: Flag,
}

/// Whom Dyno blames.
#[derive(Clone, Copy)]
enum Flag {
    None,
    /// The hypervisor and nothing else.
    Hypervisor,
    Host,
}

impl Trial {
    /// Whether a burst fell into the trial at all.
    fn is_touched(&self, bursts: &[(f64, f64)]) -> bool {
        let touches = |(from, to): &(f64, f64)| *from < self.to && self.started < *to;
        bursts.iter().any(touches)
    }

    fn covered(&self, bursts: &[(f64, f64)]) -> f64 {
        let part = |(from, to): &(f64, f64)| (to.min(self.to) - from.max(self.from)).max(0.0);
        bursts.iter().map(part).sum::<f64>() / (self.to - self.from)
    }
}

fn measure(place: &Place, run: &str, trials: u32) -> Result<Vec<Trial>, String> {
    place.judged(&format!(
        "run noise --trials {trials} --repeats 0 --out {run} --quiet"
    ))?;
    let manifest = files::json(&place.dir.join(run).join("run.json"))?;
    let experiments = list(&manifest["plan"], "experiments");
    let names = experiments
        .iter()
        .map(|e| format!("{} {}", text(&e["stack"]), text(&e["wait"])));
    let names: Vec<String> = names.collect();
    let epoch = clock(rustix::time::ClockId::Realtime) - now();
    let mut all = Vec::new();
    for record in place.trials(run)? {
        let experiment = record["experiment"].as_u64().unwrap_or_default() as usize;
        let name = names.get(experiment).cloned();
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
                stack: name.unwrap_or_default(),
                started: started * 1e6 - epoch,
                from,
                to,
                flagged: flag(list(&record, "disturbed")),
            });
        }
    }
    Ok(all)
}

fn flag(causes: &[Value]) -> Flag {
    match causes {
        [] => Flag::None,
        all if all.iter().all(|c| c["cause"] == "steal") => Flag::Hypervisor,
        _ => Flag::Host,
    }
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
        let from = now();
        burn(Duration::from_millis(700));
        log.lock().map_err(|e| e.to_string())?.push((from, now()));
        n += 1;
    }
    Ok(())
}

/// Takes 8 % of a CPU until told to stop.
fn nibble(stop: &AtomicBool, _: &Mutex<Log>) -> Outcome {
    let (work, rest) = SMALL;
    while !stop.load(Ordering::Relaxed) {
        burn(work);
        std::thread::sleep(rest);
    }
    Ok(())
}

fn burn(time: Duration) {
    let begun = Instant::now();
    let mut x = 1u64;
    while begun.elapsed() < time {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
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
