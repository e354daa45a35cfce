//! How often a comparison is right: of identical things, and of things with a planted difference.

use super::bench::{Place, list, share};
use crate::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

/// How often each verdict was given, by figure.
#[derive(Default)]
struct Tally(BTreeMap<(String, String), BTreeMap<String, usize>>);

impl Tally {
    fn add(&mut self, stack: &str, figure: &str, verdict: &str) {
        let of_row = self
            .0
            .entry((stack.to_owned(), figure.to_owned()))
            .or_default();
        *of_row.entry(verdict.to_owned()).or_default() += 1;
    }

    fn print(&self) {
        for ((stack, figure), verdicts) in &self.0 {
            let all: usize = verdicts.values().sum();
            let shown: Vec<String> = verdicts
                .iter()
                .map(|(verdict, n)| format!("{verdict} {}", share(*n, all)))
                .collect();
            println!("  {stack:<14} {figure:<14} {}", shown.join(", "));
        }
    }
}

/// Whether a verdict says that there is a difference.
pub(super) fn is_difference(verdict: &str) -> bool {
    !matches!(verdict, "same" | "undecided" | "left out" | "-")
}

/// Every row of a comparison: stack, figure, verdict.
pub(super) fn rows(comparison: &Value) -> Vec<(String, String, String)> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let of_cell = |cell: &Value| -> Vec<_> {
        let row = |r: &Value| {
            (
                text(&cell["stack"]),
                text(&r["figure"]),
                text(&r["verdict"]),
            )
        };
        list(cell, "rows").iter().map(row).collect()
    };
    list(comparison, "cells").iter().flat_map(of_cell).collect()
}

const SHORT: &str = r#"
title = "short comparisons"
[defaults]
wait = "natural"
warmup = "20 ms"
window = "150 ms"
trials = 5
[[experiment]]
name = "round-trip"
workload = "ping-pong"
stacks = ["uds-stream", "floor-futex", "zenoh-tcp"]
"#;

/// Identical things compared: every difference is a false alarm.
pub(super) fn aa(pairs: u32) -> Outcome {
    let place = Place::new("aa")?;
    place.file("suites/short.toml", SHORT)?;
    let (mut tally, mut alarms, mut undecided, mut all) = (Tally::default(), 0, 0, 0);
    let mut tables = 0;
    let began = Instant::now();
    for n in 0..pairs {
        place.dyno(&format!(
            "run short --against same --seed {n} --out run --quiet"
        ))?;
        let comparison = place.json("compare run --format json")?;
        let rows = rows(&comparison);
        tables += usize::from(rows.iter().any(|(_, _, v)| is_difference(v)));
        for (stack, figure, verdict) in &rows {
            tally.add(stack, figure, verdict);
            all += 1;
            alarms += usize::from(is_difference(verdict));
            undecided += usize::from(verdict == "undecided");
        }
        place.forget("run")?;
        println!(
            "{:>4} of {pairs}, {:.0} s: tables with a false alarm {}",
            n + 1,
            began.elapsed().as_secs_f64(),
            share(tables, n as usize + 1)
        );
    }
    println!(
        "tables with a false alarm: {}",
        share(tables, pairs as usize)
    );
    println!("rows with a false alarm:   {}", share(alarms, all));
    println!("rows undecided:            {}", share(undecided, all));
    tally.print();
    Ok(())
}

const PLANTED: &str = r#"
title = "planted differences"
[defaults]
wait = "block"
warmup = "20 ms"
window = "200 ms"
trials = 10
cpus = [0, 0]
[[experiment]]
name = "round-trip"
workload = "ping-pong"
stacks = "all"
"#;

/// A stack through `faulty`: each n-th ping takes so much longer.
fn stack(every: u32, delay_ns: f64) -> String {
    format!(
        "description = \"a pipe with a planted delay\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
         [options]\ninner = \"pipe\"\nparticipant = 0\ndelay_every = {every}\ndelay_us = 0\n\
         delay_ns = {delay_ns:.0}\ndelay_spin = true\n"
    )
}

/// A known difference: +5 % on the p50 of one stack, +20 % on the p99 of another.
#[expect(
    clippy::too_many_lines,
    reason = "the protocol of the study, in its order"
)]
pub(super) fn power(tries: u32, pairs: u32) -> Outcome {
    let place = Place::new("power")?;
    place.file("suites/planted.toml", PLANTED)?;
    // The base goes the same way, with a delay of nothing.
    place.file("stacks/as-it-is.toml", &stack(1, 0.0))?;
    // A burst of noise must not make the plant larger: the calmest of three looks.
    let (mut p50, mut p90, mut p99) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        place.dyno("run planted --stack as-it-is --out base --quiet")?;
        let shown = place.show("base")?;
        place.forget("base")?;
        let base = list(&shown, "experiments")
            .iter()
            .find(|e| e["stack"] == "as-it-is")
            .ok_or("the base has no row")?;
        let quantile = |name: &str| {
            base["metrics"]["rtt_ns"][name]["value"]
                .as_f64()
                .ok_or_else(|| format!("the base has no {name}"))
        };
        p50 = p50.min(quantile("p50")?);
        p90 = p90.min(quantile("p90")?);
        p99 = p99.min(quantile("p99")?);
    }
    // Each tenth is delayed: the new p99 is what the p90 of these was, later by the delay.
    let on_tail = 1.2 * p99 - p90;
    place.file("stacks/slow-p50.toml", &stack(1, 0.05 * p50))?;
    place.file("stacks/slow-p99.toml", &stack(10, on_tail))?;
    println!(
        "base p50 {p50:.0} ns, p90 {p90:.0} ns, p99 {p99:.0} ns; planted {:.0} ns on all, {on_tail:.0} ns on \
         each tenth",
        0.05 * p50
    );
    let (mut tally, mut found_p50, mut found_p99) = (Tally::default(), 0, 0);
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let began = Instant::now();
    for n in 0..tries {
        place.dyno(&format!(
            "run planted --stack slow-p50,slow-p99 --against as-it-is --trials {pairs} --seed {n} --out run --quiet"
        ))?;
        let comparison = place.json("compare run --margin 2% --format json")?;
        for (stack, figure, verdict) in rows(&comparison) {
            tally.add(&stack, &figure, &verdict);
            found_p50 +=
                usize::from(stack == "slow-p50" && figure.ends_with("p50") && verdict == "higher");
            found_p99 +=
                usize::from(stack == "slow-p99" && figure.ends_with("p99") && verdict == "higher");
        }
        for cell in list(&comparison, "cells") {
            for row in list(cell, "rows") {
                let figure = row["figure"].as_str().unwrap_or_default();
                let which = match cell["stack"].as_str() {
                    Some("slow-p50") if figure.ends_with("p50") => "p50",
                    Some("slow-p99") if figure.ends_with("p99") => "p99",
                    _ => continue,
                };
                ratios
                    .entry(which)
                    .or_default()
                    .extend(row["ratio"].as_f64());
            }
        }
        place.forget("run")?;
        println!(
            "{:>4} of {tries}, {:.0} s: p50 found {}, p99 found {}",
            n + 1,
            began.elapsed().as_secs_f64(),
            share(found_p50, n as usize + 1),
            share(found_p99, n as usize + 1)
        );
    }
    let tries = tries as usize;
    println!("planted on p50, found slower: {}", share(found_p50, tries));
    println!("planted on p99, found slower: {}", share(found_p99, tries));
    for (which, mut seen) in ratios {
        seen.sort_by(f64::total_cmp);
        if let Some(middle) = seen.get(seen.len() / 2) {
            println!("median ratio of {which}: {middle:.3}");
        }
    }
    println!(
        "wall time per try: {:.1} s",
        began.elapsed().as_secs_f64() / tries.max(1) as f64
    );
    tally.print();
    Ok(())
}
