//! Two sides in slices of one trial, and in whole trials: which of both finds a planted difference, and at which ratio.

use super::bench::{Place, list, share};
use super::judgement::{is_difference, rows};
use crate::Outcome;
use serde_json::Value;
use std::time::Instant;

/// What is planted on the p50.
const PLANTED: f64 = 0.05;

/// How readers wait, and the adapter that is slowed down.
const KINDS: [(&str, &str); 3] = [("block", "pipe"), ("spin", "floor"), ("callback", "floor")];

fn suite(wait: &str) -> String {
    format!(
        "title = \"planted differences\"\n[defaults]\nwait = \"{wait}\"\nwarmup = \"50 ms\"\nwindow = \"500 ms\"\n\
         [[experiment]]\nname = \"round-trip\"\nworkload = \"ping-pong\"\nstacks = [\"usual\", \"late\"]\n"
    )
}

/// A stack through `faulty`: each ping takes so much longer.
fn stack((wait, inner): (&str, &str), delay_ns: f64) -> String {
    format!(
        "description = \"with a planted delay\"\nadapter = \"faulty\"\nwaits = [\"{wait}\"]\n[options]\n\
         inner = \"{inner}\"\nparticipant = 0\ndelay_every = 1\ndelay_us = 0\ndelay_ns = {delay_ns:.0}\n\
         delay_spin = true\n"
    )
}

/// What came of one way of comparing.
#[derive(Default)]
struct Way {
    found: usize,
    wrong: usize,
    ratios: Vec<f64>,
    seconds: f64,
}

impl Way {
    /// Measures the stack `late` against `base` and notes what is said of its p50; a difference downwards is wrong.
    fn try_it(&mut self, place: &Place, base: &str, more: &str) -> Outcome {
        let began = Instant::now();
        place.dyno(&format!(
            "run pairs --stack late --against {base} --out run --quiet --repeats 0 {more}"
        ))?;
        self.seconds += began.elapsed().as_secs_f64();
        let compared = place.json("compare run --margin 1% --format json")?;
        place.forget("run")?;
        for (_, figure, verdict) in rows(&compared) {
            let is_found = figure == "rtt_ns p50" && verdict == "higher";
            self.found += usize::from(is_found);
            // A later answer also moves the rate and the CPU time of a message, in their own directions.
            let is_time = figure.starts_with("rtt_ns");
            self.wrong += usize::from(is_time && is_difference(&verdict) && verdict != "higher");
        }
        let of_p50 = |row: &&Value| row["figure"] == "rtt_ns p50";
        for cell in list(&compared, "cells") {
            let row = list(cell, "rows").iter().find(of_p50);
            self.ratios
                .extend(row.and_then(|row| row["ratio"].as_f64()));
        }
        Ok(())
    }

    fn print(&mut self, name: &str, tries: u32) {
        let tries = tries as usize;
        self.ratios.sort_by(f64::total_cmp);
        let middle = self
            .ratios
            .get(self.ratios.len() / 2)
            .copied()
            .unwrap_or(f64::NAN);
        println!(
            "  {name:<13} p50 found slower {}, wrong rows {}, median ratio {middle:.3}, {:.1} s each",
            share(self.found, tries),
            self.wrong,
            self.seconds / tries.max(1) as f64
        );
    }
}

/// Power, ratio and false alarms of each kind of stack.
pub(super) fn study(tries: u32, trials: u32) -> Outcome {
    let place = Place::new("paired")?;
    for kind in KINDS {
        place.file("suites/pairs.toml", &suite(kind.0))?;
        place.file("stacks/usual.toml", &stack(kind, 0.0))?;
        place.dyno("run pairs --stack usual --out base --quiet --trials 5")?;
        let shown = place.show("base")?;
        place.forget("base")?;
        let usual = list(&shown, "experiments")
            .iter()
            .find(|e| e["stack"] == "usual");
        let p50 = usual.and_then(|e| e["metrics"]["rtt_ns"]["p50"]["value"].as_f64());
        let p50 = p50.ok_or("the base has no p50")?;
        let late = stack(kind, PLANTED * p50);
        println!(
            "{} over {}: p50 {p50:.0} ns, {:.0} ns planted",
            kind.0,
            kind.1,
            PLANTED * p50
        );
        let [mut slices, mut whole, mut same] = [(); 3].map(|()| Way::default());
        for seed in 0..tries {
            let how = format!("--seed {seed} --trials {trials}");
            place.file("stacks/late.toml", &late)?;
            slices.try_it(&place, "usual", &format!("{how} --slices"))?;
            whole.try_it(&place, "usual", &how)?;
            // Both are as usual: every difference is a false alarm.
            place.file("stacks/late.toml", &stack(kind, 0.0))?;
            same.try_it(&place, "usual", &format!("{how} --slices"))?;
        }
        slices.print("slices", tries);
        whole.print("whole trials", tries);
        same.print("same, slices", tries);
    }
    Ok(())
}
