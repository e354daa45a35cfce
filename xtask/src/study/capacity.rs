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
            match search(&place, stack, &run)? {
                Some((kept, broken, first)) => {
                    println!("{stack}: kept up to {kept:.0}, broken from {broken}; first: {first}");
                    found.push(kept);
                }
                None => println!("{stack}: not even the first value is surely kept"),
            }
            place.forget(&run)?;
        }
        let (low, high) = found
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(low, high), v| {
                (low.min(*v), high.max(*v))
            });
        let Some(first) = found.first().copied() else {
            continue;
        };
        println!(
            "{stack}: {} searches lie within {:.1} %",
            found.len(),
            100.0 * (high / low - 1.0)
        );
        sweep(&place, stack, first)?;
        if many {
            send_many(&place, stack, first / 2.0)?;
        }
    }
    Ok(())
}

/// The highest kept rate, the lowest broken one, and the limit that broke there.
fn search(place: &Place, stack: &str, run: &str) -> Result<Option<(f64, String, String)>, String> {
    place.judged(&format!(
        "run capacity --stack {stack} --search rate --until limits.toml --out {run} --quiet"
    ))?;
    let text = place.judged(&format!("check {run} --format json"))?;
    let report: Value = serde_json::from_str(&text).map_err(|e| format!("dyno check: {e}"))?;
    let Some(one) = list(&report, "capacities").first() else {
        return Err(format!("{stack} has no capacity in {report:#}"));
    };
    let Some(kept) = one["kept"].as_f64() else {
        return Ok(None);
    };
    let broken = one["broken"]
        .as_f64()
        .map_or("–".into(), |hz| format!("{hz:.0}"));
    let first = one["broke_first"][0].as_str().unwrap_or("–").to_owned();
    Ok(Some((kept, broken, first)))
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
