//! Whether the trials that the host disturbed are the ones that are flagged: bursts of foreign load at
//! known times against the trials' windows, and a run without load.

use super::{Place, list, share};
use crate::Outcome;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SUITE: &str = r#"
title = "trials to be disturbed"
[defaults]
wait = "block"
warmup = "50 ms"
settle = "0 s"
window = "300 ms"
[[experiment]]
name = "round-trip"
workload = "ping-pong"
stacks = ["uds-stream"]
"#;

/// A trial is truly disturbed where bursts cover at least this share of its window.
const COVERED: f64 = 0.1;

pub(super) fn study(bursts: u32) -> Outcome {
    let place = Place::new("noise")?;
    place.file("suites/noise.toml", SUITE)?;
    // One trial of each of the two experiments (the floor is added) takes about 0.5 s.
    let trials = (bursts * 2).to_string();
    let calm = measure(&place, "calm", &trials, &[])?;
    let flagged = calm.iter().filter(|t| t.flagged).count();
    println!("without load: {} flagged", share(flagged, calm.len()));

    let stop = Arc::new(AtomicBool::new(false));
    let log = Arc::new(Mutex::new(Vec::new()));
    let hog = {
        let (stop, log) = (stop.clone(), log.clone());
        std::thread::spawn(move || hog(&stop, &log))
    };
    let loaded = measure(&place, "loaded", &trials, &[]);
    stop.store(true, Ordering::Relaxed);
    hog.join()
        .map_err(|_| "the load ended early".to_owned())??;
    let bursts = log.lock().map_err(|e| e.to_string())?.clone();
    let (mut hit, mut missed, mut false_alarms, mut calm, mut partly) = (0, 0, 0, 0, 0);
    for trial in loaded? {
        let covered = trial.covered(&bursts);
        match (covered, trial.flagged) {
            (c, true) if c >= COVERED => hit += 1,
            (c, false) if c >= COVERED => missed += 1,
            // A little of a burst, or one that ended before the window: neither answer is wrong.
            (_, _) if trial.is_touched(&bursts) => partly += 1,
            (_, true) => false_alarms += 1,
            (_, false) => calm += 1,
        }
    }
    println!(
        "{} bursts of foreign load: {hit} trials hit and flagged, {missed} hit and not flagged, \
         {false_alarms} not hit and flagged, {calm} not hit and not flagged, {partly} touched, but for less than \
         {:.0} % of the window",
        bursts.len(),
        100.0 * COVERED
    );
    println!("precision: {}", share(hit, hit + false_alarms));
    println!("recall:    {}", share(hit, hit + missed));
    Ok(())
}

/// A trial's window on CLOCK_MONOTONIC, in nanoseconds.
struct Trial {
    /// When the trial began: Dyno looks at the machine from then on.
    started: f64,
    from: f64,
    to: f64,
    flagged: bool,
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

fn measure(place: &Place, run: &str, trials: &str, more: &[&str]) -> Result<Vec<Trial>, String> {
    let mut arguments = vec![
        "run",
        "noise",
        "--trials",
        trials,
        "--repeats",
        "0",
        "--out",
        run,
        "--quiet",
    ];
    arguments.extend(more);
    place.dyno(&arguments)?;
    let epoch = clock(rustix::time::ClockId::Realtime) - now();
    let directory = place.dir.join(run).join("trials");
    let mut all = Vec::new();
    let entries = std::fs::read_dir(&directory)
        .map_err(|e| format!("cannot read {}: {e}", directory.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        let record: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
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
                started: started * 1e6 - epoch,
                from,
                to,
                flagged: !list(&record, "disturbed").is_empty(),
            });
        }
    }
    Ok(all)
}

/// Burns a CPU for 0.7 s, then rests for about 2 s, until told to stop; notes when it did. In a process of
/// its own it would be the same: what is not the run's is foreign.
fn hog(stop: &AtomicBool, log: &Mutex<Vec<(f64, f64)>>) -> Result<(), String> {
    let mut n = 0u64;
    while !stop.load(Ordering::Relaxed) {
        // Rests of different lengths, so that bursts meet trials at different places.
        std::thread::sleep(Duration::from_millis(1_500 + 377 * n % 1_000));
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let from = now();
        let begun = Instant::now();
        let mut x = n;
        while begun.elapsed() < Duration::from_millis(700) {
            x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        log.lock().map_err(|e| e.to_string())?.push((from, now()));
        n += 1;
    }
    Ok(())
}

/// CLOCK_MONOTONIC in nanoseconds.
fn now() -> f64 {
    clock(rustix::time::ClockId::Monotonic)
}

fn clock(id: rustix::time::ClockId) -> f64 {
    let now = rustix::time::clock_gettime(id);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
