//! Whether the bound on a host's clock holds: this machine twice, its second self with a clock that lies
//! in a known way, so that the truth of each trial is known.

use super::{Place, list, share};
use crate::Outcome;
use serde_json::Value;

const SUITE: &str = r#"
title = "from here to there"
[defaults]
wait = "block"
payload = "64 B"
warmup = "50 ms"
settle = "0 s"
window = "300 ms"
[[experiment]]
name = "one-way"
workload = "stream"
stacks = ["udp"]
rate = "1 kHz"
"#;

const TESTBED: &str = r#"
description = "this machine twice"
[[host]]
name = "here"
reach = "local"
[[host]]
name = "there"
reach = "local"
address = "127.0.0.2"
own_clock = true
"#;

/// What is injected, and what it is.
const LIES: [(&str, &str); 3] = [
    ("offset=0s", "nothing injected"),
    ("offset=100ms,drift=50ppm", "100 ms and 50 ppm"),
    ("delay=1ms", "1 ms on the way back"),
];

/// Runs `trials` trials of each kind, and as many with one clock.
pub(super) fn study(trials: u32) -> Outcome {
    let place = Place::new("clocks")?;
    place.file("suites/apart.toml", SUITE)?;
    place.file("twice.toml", TESTBED)?;
    let trials = trials.to_string();
    let common = [
        "run",
        "apart",
        "--trials",
        &trials,
        "--repeats",
        "0",
        "--quiet",
    ];
    let run = |name: &str, more: &[&str], lie: &str| {
        let arguments = [&common[..], &["--out", name], more].concat();
        place.dyno_with(&arguments, &[("DYNO_CLOCK_LIE", lie)])?;
        place.json(&["show", name, "--format", "json"])
    };
    let plain = median(&run(
        "shared",
        &["--set", "placement=process"],
        "offset=0s",
    )?)?;
    println!(
        "one clock: one-way p50 {:.1} µs [{:.1}, {:.1}]",
        plain.value, plain.lo, plain.hi
    );
    let mut holds = true;
    for (number, (lie, what)) in LIES.iter().enumerate() {
        let name = format!("lie{number}");
        let apart = ["--testbed", "./twice.toml", "--set", "placement=host"];
        let found = median(&run(&name, &apart, lie)?)?;
        let seen = read(&place, &name)?;
        let inside = seen.iter().filter(|t| t.error <= t.bound).count();
        holds &= 100 * inside >= 99 * seen.len() && !seen.is_empty();
        let mut bounds: Vec<f64> = seen.iter().map(|t| t.bound).collect();
        bounds.sort_by(f64::total_cmp);
        let largest = bounds.last().copied().unwrap_or_default();
        let worst = seen.iter().map(|t| t.error).fold(0.0, f64::max);
        let fullest = seen.iter().map(|t| t.error / t.bound).fold(0.0, f64::max);
        println!(
            "{what}: truth inside the bound in {}; bounds {:.1} to {largest:.1} µs (median {:.1}); \
             largest error {worst:.1} µs, at most {:.0} % of its trial's bound",
            share(inside, seen.len()),
            bounds.first().copied().unwrap_or_default(),
            bounds.get(bounds.len() / 2).copied().unwrap_or_default(),
            100.0 * fullest
        );
        let moved = found.value - plain.value;
        // What two runs of the same differ by belongs to neither clock.
        let scatter = (found.hi - found.lo + plain.hi - plain.lo) / 2.0;
        let moves = match moved.abs() {
            m if m <= largest => "less than the bound",
            m if m <= largest + scatter => "less than the bound and the medians' own intervals",
            _ => "MORE than the bound",
        };
        holds &= moved.abs() <= largest + scatter;
        println!(
            "  one-way p50 {:.1} µs [{:.1}, {:.1}]: moves by {moved:+.1} µs, {moves} of {largest:.1} µs",
            found.value, found.lo, found.hi
        );
    }
    match holds {
        true => Ok(()),
        false => Err("the bound does not hold".to_owned()),
    }
}

/// A p50 and its interval, in microseconds.
struct Median {
    value: f64,
    lo: f64,
    hi: f64,
}

fn median(shown: &Value) -> Result<Median, String> {
    let mut experiments = list(shown, "experiments").iter();
    let own = experiments.find(|e| e["is_floor"] == false);
    let p50 = &own.ok_or("the run has no experiment")?["metrics"]["response_ns"]["p50"];
    let us = |key: &str| {
        let ns = p50[key].as_f64();
        ns.map(|ns| ns / 1e3).ok_or("the run has no p50")
    };
    Ok(Median {
        value: us("value")?,
        lo: us("lo")?,
        hi: us("hi")?,
    })
}

/// One trial: what stamps of the other host were wrong by at most, and what was said of it, in
/// microseconds.
struct Trial {
    error: f64,
    bound: f64,
}

fn read(place: &Place, run: &str) -> Result<Vec<Trial>, String> {
    let directory = place.dir.join(run).join("trials");
    let files = std::fs::read_dir(&directory)
        .map_err(|e| format!("cannot read {}: {e}", directory.display()))?;
    let mut trials = Vec::new();
    for file in files {
        let path = file.map_err(|e| e.to_string())?.path();
        let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        let trial: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        let both = shown(&trial, "the run's").zip(shown(&trial, "translated"));
        let (Some((truth, found)), Some(bound)) = (both, trial["one_way_bound"].as_f64()) else {
            return Err(format!("{} has no two clocks", path.display()));
        };
        trials.push(Trial {
            error: error_ns(&truth, &found) / 1e3,
            bound: bound / 1e3,
        });
    }
    Ok(trials)
}

/// What a clock showed at two readings of the machine's counter: nanoseconds, counter.
type Shown = [(i128, i128); 2];

/// From the remark that an agent adds where it was told to lie.
fn shown(trial: &Value, whose: &str) -> Option<Shown> {
    let lead = format!("clock lie: {whose} clock showed ");
    let mut texts = list(trial, "warnings").iter();
    let text = texts.find_map(|w| w.as_str()?.strip_prefix(&lead))?;
    let numbers: Vec<i128> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|n| n.parse().ok())
        .collect();
    match numbers[..] {
        [n1, t1, n2, t2] => Some([(n1, t1), (n2, t2)]),
        _ => None,
    }
}

/// The larger error of the two readings of `found`, against the line through those of `truth`.
fn error_ns(truth: &Shown, found: &Shown) -> f64 {
    let [(n1, t1), (n2, t2)] = *truth;
    let rate = (n2 - n1) as f64 / (t2 - t1) as f64;
    let error = |(n, t): &(i128, i128)| ((n - n1) as f64 - (t - t1) as f64 * rate).abs();
    found.iter().map(error).fold(0.0, f64::max)
}
