//! Whether `dyno run --search` finds the same capacity again, whether a sweep over fixed rates brackets it, and what
//! becomes of a million values at half of it.

use super::bench::{Place, list};
use crate::Outcome;
use serde_json::Value;

const SUITE: &str = r#"
title = "one stream of 64 B"
[parameters]
rates = "500 Hz"
[defaults]
trials = 5
wait = "natural"
payload = "64 B"
warmup = "100 ms"
settle = "300 ms"
# A stall of the host is then a smaller share of the window than the percent above a p99.
window = "2 s"
drain = "2 s"
deadline = "20 s"
[[experiment]]
name = "stream"
workload = "stream"
stacks = "all"
[experiment.matrix]
rate = "$rates"
"#;

const LIMITS: &str = r#"
[[limit]]
name = "nothing lost"
metric = "loss"
at_most = 0
[[limit]]
name = "in time"
metric = "response"
quantile = "p99"
at_most = "5 ms"
"#;

/// Fixed rates of the sweep, as shares of what the first search found.
const SWEEP: [f64; 7] = [0.25, 0.5, 0.7, 0.85, 1.2, 1.5, 2.0];

/// Values that each stack carries at half its capacity.
const MANY: u64 = 1_000_000;

/// Searches each stack `turns` times, sweeps over fixed rates, and with `many` sends a million values.
pub(super) fn study(turns: u32, stacks: &[String], many: bool) -> Outcome {
    let place = Place::new("capacity")?;
    place.file("suites/capacity.toml", SUITE)?;
    place.file("limits.toml", LIMITS)?;
    println!("loss 0 and p99 ≤ 5 ms at 64 B, messages per second of one sender to one receiver");
    for stack in stacks {
        let mut found = Vec::new();
        for turn in 0..turns {
            let run = format!("{stack}-{turn}");
            let range = search(&place, stack, &run)?;
            println!(
                "{stack}: kept up to {:.0}, broken from {:.0}; first: {}",
                range.kept, range.broken, range.first
            );
            found.push(range);
            place.forget(&run)?;
        }
        println!("{stack}: {}", agreement(&found));
        let Some(first) = found.iter().map(|f| f.kept).find(|kept| *kept > 0.0) else {
            continue;
        };
        sweep(&place, stack, first)?;
        if many {
            send_many(&place, stack, first / 2.0)?;
        }
    }
    Ok(())
}

/// What a search found, in messages per second.
struct Range {
    /// The highest rate kept; 0 where not even the first one surely is.
    kept: f64,
    /// The lowest rate broken; infinite where none is.
    broken: f64,
    /// The limit that broke there first.
    first: String,
}

/// How many pairs of searches agree: within ten percent, or with ranges that overlap. A search that kept nothing is one of them.
fn agreement(found: &[Range]) -> String {
    let pairs = || (0..found.len()).flat_map(|j| (0..j).map(move |i| (&found[i], &found[j])));
    let near = |(a, b): &(&Range, &Range)| a.kept.max(b.kept) <= 1.1 * a.kept.min(b.kept);
    let overlap = |(a, b): &(&Range, &Range)| a.kept < b.broken && b.kept < a.broken;
    format!(
        "of {} pairs of searches {} agree within 10 %, and the ranges of {} overlap",
        pairs().count(),
        pairs().filter(near).count(),
        pairs().filter(overlap).count()
    )
}

fn search(place: &Place, stack: &str, run: &str) -> Result<Range, String> {
    place.judged(&format!(
        "run capacity --stack {stack} --search rate --until limits.toml --out {run} --quiet"
    ))?;
    let text = place.judged(&format!("check {run} --format json"))?;
    let report: Value = serde_json::from_str(&text).map_err(|e| format!("dyno check: {e}"))?;
    let Some(one) = list(&report, "capacities").first() else {
        return Err(format!("{stack} has no capacity in {report:#}"));
    };
    Ok(Range {
        kept: one["kept"].as_f64().unwrap_or(0.0),
        broken: one["broken"].as_f64().unwrap_or(f64::INFINITY),
        first: one["broke_first"][0].as_str().unwrap_or("–").to_owned(),
    })
}

fn sweep(place: &Place, stack: &str, capacity: f64) -> Outcome {
    let rates: Vec<String> = SWEEP
        .iter()
        .map(|share| format!("\"{:.0}Hz\"", share * capacity))
        .collect();
    place.judged(&format!(
        "run capacity --stack {stack} --set rates=[{}] --out sweep --quiet",
        rates.join(",")
    ))?;
    let text = place.judged("check sweep limits.toml --format json")?;
    let report: Value = serde_json::from_str(&text).map_err(|e| format!("dyno check: {e}"))?;
    for row in list(&report, "results") {
        println!(
            "  {stack} at a fixed rate: {}  {}: {} ({})",
            row["workload"].as_str().unwrap_or_default(),
            row["limit"].as_str().unwrap_or_default(),
            row["status"].as_str().unwrap_or_default(),
            row["reason"].as_str().unwrap_or_default()
        );
    }
    place.forget("sweep")
}

fn send_many(place: &Place, stack: &str, rate: f64) -> Outcome {
    let time = 20.0 + 1.5 * MANY as f64 / rate;
    place.judged(&format!(
        "run capacity --stack {stack} --set rates={rate:.0}Hz --set messages={MANY} --set deadline={time:.0}s --trials 1 \
         --repeats 0 --out many --quiet"
    ))?;
    let shown = place.show("many")?;
    for e in list(&shown, "experiments") {
        if e["stack"].as_str() != Some(stack) {
            continue;
        }
        let count = |name: &str| e["counts"][name].as_u64().unwrap_or(0);
        println!(
            "  {stack}, {MANY} values at {rate:.0}/s: {} received, {} lost, {} duplicated, {} reordered, {} unexplained",
            count("received"),
            count("lost"),
            count("duplicated"),
            count("reordered"),
            count("offered") as i128 - count("received") as i128 - count("lost") as i128
        );
    }
    place.forget("many")
}
