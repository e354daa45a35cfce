//! Runs that somebody damaged or crafted: each mutant of a real run is met by some of the commands that read runs, in turn,
//! under watch. What must not happen: an abort, a panic, a hang of more than five seconds, a peak of more than 200 MB, a
//! character that a terminal obeys, an unfinished file left behind.

use super::bench::Place;
use crate::Outcome;
use dyno_kit::damage::watched::{MOST_KIB, PATIENCE};
use dyno_kit::damage::{Arena, COMMANDS_EACH, Fault};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A run of each kind of record that a machine without further rights can make: round trips, one way with raw samples,
/// flows, a chain.
const SUITE: &str = r#"
title = "what mutants are made of"
[defaults]
warmup_messages = 10
trials = 2
[[experiment]]
name = "round-trip"
workload = "ping-pong"
round_trips = 200
stacks = ["pipe"]
[[experiment]]
name = "one-way"
workload = "stream"
rate = "1 kHz"
window = "100 ms"
payload = "64 B"
raw_samples = 50
stacks = ["udp", "uds-stream"]
"#;

/// Examples that are printed of each fault.
const EXAMPLES: usize = 3;

struct Tally {
    pairs: usize,
    peak_kib: i64,
    longest: Duration,
    codes: BTreeMap<i32, usize>,
    faults: BTreeMap<String, (usize, Vec<String>)>,
}

/// Mutants `first` to `first + mutants`.
pub(super) fn study(mutants: u32, first: u32) -> Outcome {
    let place = Place::new("damage")?;
    let program = &super::bench::program()?;
    let bases = bases(&place, program)?;
    println!(
        "mutants {first} to {} of {} runs, each met by {COMMANDS_EACH} commands of {}",
        u64::from(first) + u64::from(mutants) - 1,
        bases.len(),
        program.display()
    );
    let next = AtomicU64::new(first.into());
    let end = u64::from(first) + u64::from(mutants);
    let tally = Mutex::new(Tally {
        pairs: 0,
        peak_kib: 0,
        longest: Duration::ZERO,
        codes: BTreeMap::new(),
        faults: BTreeMap::new(),
    });
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = |thread: usize| -> Result<(), String> {
        let failed = |e: std::io::Error| e.to_string();
        let dir = place.dir.join(format!("arena-{thread}"));
        let arena = Arena::new(program, &dir, &bases).map_err(failed)?;
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return Ok(());
            }
            let mut met = arena.meet(seed, PATIENCE).map_err(failed)?;
            // A machine that others use may be slow; what hangs does so again.
            if met.codes.contains(&-9) {
                met = arena.meet(seed, 4 * PATIENCE).map_err(failed)?;
            }
            let Ok(mut tally) = tally.lock() else {
                return Err("another thread panicked".into());
            };
            tally.pairs += met.codes.len();
            tally.peak_kib = tally.peak_kib.max(met.peak_kib);
            tally.longest = tally.longest.max(met.longest);
            for code in met.codes {
                *tally.codes.entry(code).or_default() += 1;
            }
            for Fault { what, where_ } in met.faults {
                let known = tally.faults.entry(what).or_default();
                known.0 += 1;
                if known.1.len() < EXAMPLES {
                    known.1.push(where_);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        let all: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        let ended = all.into_iter().map(|thread| match thread.join() {
            Ok(ended) => ended,
            Err(_) => Err("a thread panicked".into()),
        });
        ended.collect::<Result<Vec<()>, String>>()
    })?;
    let tally = tally.into_inner().map_err(|e| e.to_string())?;
    told(&tally)
}

fn told(tally: &Tally) -> Outcome {
    println!("{} pairs of a mutant and a command", tally.pairs);
    for (code, times) in &tally.codes {
        println!("  ended with {code}: {times}");
    }
    println!("longest command: {:.2} s", tally.longest.as_secs_f64());
    println!(
        "largest peak of memory: {} MiB of {}",
        tally.peak_kib >> 10,
        MOST_KIB >> 10
    );
    for (what, (times, examples)) in &tally.faults {
        println!("{what}: {times}");
        for example in examples {
            println!("    {example}");
        }
    }
    match tally.faults.len() {
        0 => Ok(()),
        kinds => Err(format!("{kinds} kinds of faults")),
    }
}

/// The golden runs of every format, and one that is made here.
fn bases(place: &Place, program: &Path) -> Result<Vec<PathBuf>, String> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dyno-store/tests/golden");
    let mut bases: Vec<PathBuf> = ["run-v1", "run-v2", "run-v3"]
        .map(|name| golden.join(name))
        .into();
    place.file("suites/mutants.toml", SUITE)?;
    let run = place.dir.join("made-here");
    let ended = Command::new(program)
        .args(["run", "mutants", "--quiet", "--repeats", "0", "--out"])
        .arg(&run)
        .current_dir(&place.dir)
        .env("DYNO_FILES", &place.dir)
        .output()
        .map_err(|e| format!("cannot start {}: {e}", program.display()))?;
    if !ended.status.success() {
        return Err(format!(
            "the run that mutants are made of ended with {}: {}",
            ended.status,
            String::from_utf8_lossy(&ended.stderr)
        ));
    }
    bases.push(run);
    Ok(bases)
}
