//! Whether what ran before changes what is measured next: radar beside lidar that loses fragments, with
//! namespaces that are kept between trials (the old fault, planted) and as they are; and stacks and loads in
//! random order, judged by what each report says of its order.

use super::bench::{Place, list, share};
use crate::Outcome;

const ALONE: &str = r#"
title = "radar alone"
[defaults]
placement = "host"
wait = "block"
warmup = "20 ms"
settle = "0 s"
window = "500 ms"
drain = "500 ms"
[[experiment]]
name = "radar"
workload = "stream"
payload = "10 kB"
rate = "20 Hz"
stacks = ["udp"]
"#;

/// Beside it on a link with a shallow buffer, where fragments are dropped and others of their datagram not.
const LIDAR: &str = r#"
[[experiment]]
name = "lidar"
workload = "stream"
payload = "4 MB"
rate = "40 Hz"
stacks = ["udp"]
"#;

const PAIRS: &str = r#"
title = "stacks and loads in random order"
[defaults]
placement = "host"
wait = "block"
warmup = "20 ms"
settle = "0 s"
window = "150 ms"
drain = "500 ms"
[[experiment]]
name = "clean"
workload = "ping-pong"
payload = "1 kB"
stacks = ["tcp", "udp", "zenoh-tcp"]
[[experiment]]
name = "heavy"
workload = "stream"
payload = "1 MB"
rate = "40 Hz"
stacks = ["tcp", "udp", "zenoh-tcp"]
"#;

/// Eight namespaces as in `netns-1gbe`, with the buffer of a small switch; `keeps_state` is put before.
const TESTBED: &str = r#"
description = "namespaces on a link that drops"
[link]
rate = "100 Mbit/s"
buffer = "32 KiB"
[[host]]
name = "h"
reach = "namespace"
count = 2
"#;

/// Trials of each experiment in one run.
const TRIALS: usize = 6;
const LEVEL: f64 = 0.05;
/// The planted fault must be found in this share of tries.
const POWER: f64 = 0.95;
/// So many alarms as come by chance in one study of a hundred are too many.
const TOO_MANY: f64 = 0.01;

#[expect(
    clippy::too_many_lines,
    reason = "the protocol of the study, in its order"
)]
pub(super) fn study(tries: u32, runs: u32) -> Outcome {
    if tries == 0 || runs == 0 {
        return Err("nothing is tested without tries and runs: give at least one of each".into());
    }
    let place = Place::new("carry-over")?;
    place.file("suites/alone.toml", ALONE)?;
    place.file("suites/beside.toml", &format!("{ALONE}{LIDAR}"))?;
    place.file("suites/pairs.toml", PAIRS)?;
    place.file(
        "testbeds/kept.toml",
        &format!("keeps_state = true\n{TESTBED}"),
    )?;
    place.file("testbeds/fresh.toml", TESTBED)?;
    let mut wrong = Vec::new();
    for (testbed, what, is_planted) in [
        ("kept", "namespaces kept (planted fault)", true),
        ("fresh", "namespaces of each trial", false),
    ] {
        let (mut found, mut lost, mut offered) = (0u32, 0, 0);
        for seed in 0..tries {
            let alone = radar(&place, "alone", testbed, seed)?;
            let beside = radar(&place, "beside", testbed, seed)?;
            let of = |trials: &[(u64, u64)]| -> Vec<f64> {
                let lost = trials
                    .iter()
                    .map(|(lost, offered)| *lost as f64 / *offered as f64);
                lost.collect()
            };
            found += u32::from(chance(&of(&beside), &of(&alone)) <= LEVEL);
            lost += beside.iter().map(|(lost, _)| lost).sum::<u64>();
            offered += beside.iter().map(|(_, offered)| offered).sum::<u64>();
        }
        println!(
            "{what}: radar beside lidar is told from radar alone in {}; {lost} of {offered} messages of \
             radar lost beside lidar",
            share(found as usize, tries as usize)
        );
        let as_it_should = match is_planted {
            true => f64::from(found) >= POWER * f64::from(tries),
            false => by_chance(found, tries) >= TOO_MANY && lost == 0,
        };
        if !as_it_should {
            wrong.push(what);
        }
    }
    let (mut alarms, mut told) = (0u32, 0u32);
    let mut findings: Vec<String> = Vec::new();
    for seed in 0..runs {
        measure(&place, "pairs", "fresh", seed)?;
        let shown = place.show("run")?;
        place.forget("run")?;
        let Some(p) = shown["carry_over"]["p"].as_f64() else {
            continue;
        };
        told += 1;
        alarms += u32::from(p <= LEVEL);
        for finding in list(&shown["carry_over"], "findings") {
            findings.push(format!(
                "  after {}: {} (p {})",
                finding["after"].as_str().unwrap_or("?"),
                finding["measure"].as_str().unwrap_or("?"),
                finding["p"]
            ));
        }
    }
    println!(
        "three stacks, clean and heavy, {TRIALS} trials each: what ran before made a difference in {}; 5 % \
         by chance",
        share(alarms as usize, told as usize)
    );
    for finding in findings {
        println!("{finding}");
    }
    if told < runs || by_chance(alarms, told) < TOO_MANY {
        wrong.push("stacks and loads in random order");
    }
    match wrong.as_slice() {
        [] => Ok(()),
        _ => Err(format!(
            "not as it should be (a planted fault found in less than {:.0} % of tries, a message of radar lost without \
             it, more alarms than chance explains, or a report without a test): {}",
            100.0 * POWER,
            wrong.join(", ")
        )),
    }
}

/// The chance that of `tries` at least so many alarms are false, at [`LEVEL`] each: the upper tail of a binomial
/// distribution.
fn by_chance(alarms: u32, tries: u32) -> f64 {
    // From none on, each term from the one before it.
    let mut term = (1.0 - LEVEL).powi(i32::try_from(tries).unwrap_or(i32::MAX));
    let mut fewer = 0.0;
    for k in 0..alarms {
        fewer += term;
        term *= f64::from(tries - k) / f64::from(k + 1) * LEVEL / (1.0 - LEVEL);
    }
    1.0 - fewer
}

fn measure(place: &Place, suite: &str, testbed: &str, seed: u32) -> Result<(), String> {
    let how = format!("--trials {TRIALS} --repeats 0 --seed {seed}");
    let run = format!("run {suite} --testbed {testbed} --out run --quiet {how}");
    place.dyno(&run).map(drop)
}

/// Messages lost and offered in each trial of radar, disturbed or not.
fn radar(place: &Place, suite: &str, testbed: &str, seed: u32) -> Result<Vec<(u64, u64)>, String> {
    measure(place, suite, testbed, seed)?;
    let mut found = Vec::new();
    // The first experiment of both suites.
    for trial in place.trials("run")?.iter().filter(|t| t["experiment"] == 0) {
        let count = |key: &str| trial["counts"][key].as_u64().unwrap_or(0);
        found.push((count("lost"), count("offered").max(1)));
    }
    place.forget("run")?;
    Ok(found)
}

/// The chance that trials of one kind, split at random, have a sum in the first part as large as that of
/// `first`: an exact permutation test.
fn chance(first: &[f64], second: &[f64]) -> f64 {
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let seen: f64 = first.iter().sum();
    let (mut as_large, mut splits) = (0u32, 0u32);
    for chosen in 0u32..1 << all.len() {
        if chosen.count_ones() as usize == first.len() {
            let members = all.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1);
            let sum: f64 = members.map(|(_, value)| value).sum();
            splits += 1;
            as_large += u32::from(sum >= seen - 1e-9);
        }
    }
    f64::from(as_large) / f64::from(splits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_alarms_come_by_chance_and_many_do_not() {
        assert_eq!(by_chance(0, 20), 1.0);
        // 1 - 0.95^20.
        assert!((by_chance(1, 20) - 0.6415).abs() < 1e-4);
        assert!(by_chance(3, 20) > TOO_MANY && by_chance(5, 20) < TOO_MANY);
    }

    #[test]
    fn only_a_larger_sum_than_chance_gives_is_rare() {
        assert_eq!(chance(&[0.0; 6], &[0.0; 6]), 1.0);
        // One of the 924 splits of twelve into two sixes.
        assert!((chance(&[1.0; 6], &[0.0; 6]) - 1.0 / 924.0).abs() < 1e-12);
        assert!(chance(&[0.0, 1.0, 1.0, 1.0, 1.0, 1.0], &[0.0; 6]) < LEVEL);
        assert_eq!(chance(&[0.0; 3], &[1.0; 3]), 1.0);
    }
}
