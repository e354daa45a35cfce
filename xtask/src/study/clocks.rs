//! Whether the bound on a host's clock holds: this machine twice, its second self with a clock that lies
//! in a known way, so that the truth of each trial is known. For builds with the feature `clock-lie` alone.

mod guest;
mod trials;

pub(super) use guest::study as of_guest;

use super::bench::{Place, list, share};
use crate::Outcome;
use serde_json::Value;
use trials::{Failed, LIES, Shown, Spread, TURNS, clocks, records};

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

/// Runs `trials` trials of each kind, and as many with one clock.
pub(super) fn study(trials: u32) -> Outcome {
    let place = Place::new("clocks")?;
    place.file("suites/apart.toml", SUITE)?;
    place.file("twice.toml", TESTBED)?;
    let each = trials.div_ceil(TURNS);
    let run = |name: &str, more: &str, lie: &str| {
        let arguments =
            format!("run apart --trials {each} --repeats 0 --quiet --out {name} {more}");
        place.started(&arguments, &[("DYNO_CLOCK_LIE", lie)], &[0])?;
        p50_us(&place.show(name)?)
    };
    let mut plain = Vec::new();
    let mut failed = Failed::default();
    let mut kinds: Vec<Kind> = LIES.iter().map(|_| Kind::default()).collect();
    for turn in 0..TURNS {
        let before = run(
            &format!("shared{turn}"),
            "--set placement=process",
            LIES[0].0,
        )?;
        plain.push(before);
        for (number, ((lie, _), kind)) in LIES.iter().zip(&mut kinds).enumerate() {
            let name = format!("lie{number}-{turn}");
            let apart = "--testbed ./twice.toml --set placement=host";
            kind.moved.push(run(&name, apart, lie)? - before);
            kind.trials.extend(read(&place, &name, &mut failed)?);
        }
    }
    let of_turns = Spread::of(plain);
    println!("one clock: one-way p50 {of_turns} µs, by turns");
    let mut holds = true;
    for ((_, what), kind) in LIES.iter().zip(kinds) {
        holds &= kind.print(what, &of_turns);
    }
    failed.few()?;
    match holds {
        true => Ok(()),
        false => Err("the bound does not hold".to_owned()),
    }
}

/// All turns of one kind.
#[derive(Default)]
struct Kind {
    trials: Vec<Trial>,
    /// By how much each turn's p50 is above that with one clock, in microseconds.
    moved: Vec<f64>,
}

impl Kind {
    /// Whether the bound holds, and what is to be said of it.
    fn print(self, what: &str, one_clock: &Spread) -> bool {
        let inside = self.trials.iter().filter(|t| t.error <= t.bound).count();
        let fullest = self.trials.iter().map(|t| t.error / t.bound);
        let all = self.trials.len();
        let bounds = Spread::of(self.trials.iter().map(|t| t.bound).collect());
        let errors = Spread::of(self.trials.iter().map(|t| t.error).collect());
        println!(
            "{what}: truth inside the bound in {}; bounds {bounds} µs, errors {errors} µs, at most {:.0} % \
             of the trial's own bound",
            share(inside, all),
            100.0 * fullest.fold(0.0, f64::max)
        );
        let moved = Spread::of(self.moved);
        // What turns of the same differ by is the machine's.
        let scatter = one_clock.max - one_clock.min;
        let (verdict, holds) = match moved.median.abs() {
            m if m <= bounds.median => ("less than the bound", true),
            m if m <= bounds.median + scatter => (
                "less than the bound and what turns with one clock differ by",
                true,
            ),
            _ => ("MORE than the bound", false),
        };
        println!("  one-way p50 moves by {moved} µs: {verdict}");
        holds && all > 0 && 100 * inside >= 99 * all
    }
}

/// The median response time of the stream, in microseconds.
fn p50_us(shown: &Value) -> Result<f64, String> {
    let mut experiments = list(shown, "experiments").iter();
    let own = experiments.find(|e| e["is_floor"] == false);
    let p50 = &own.ok_or("the run has no experiment")?["metrics"]["response_ns"]["p50"];
    let ns = p50["value"].as_f64().ok_or("the run has no p50")?;
    Ok(ns / 1e3)
}

/// One trial: what stamps of the other host were wrong by at most, and what was said of it, in
/// microseconds.
struct Trial {
    error: f64,
    bound: f64,
}

fn read(place: &Place, run: &str, failed: &mut Failed) -> Result<Vec<Trial>, String> {
    let of = |trial: &Value| {
        let (truth, found, bound) = clocks(trial)?;
        Some(Trial {
            error: error_ns(&truth, &found) / 1e3,
            bound: bound / 1e3,
        })
    };
    records(place, run, failed, of)
}

/// The larger error of the two readings of `found`, against the line through those of `truth`.
fn error_ns(truth: &Shown, found: &Shown) -> f64 {
    let [(n1, t1), (n2, t2)] = *truth;
    let rate = (n2 - n1) as f64 / (t2 - t1) as f64;
    let error = |(n, t): &(i128, i128)| ((n - n1) as f64 - (t - t1) as f64 * rate).abs();
    found.iter().map(error).fold(0.0, f64::max)
}
