//! Outages whose answer is known: silences and deafness that the adapter `faulty` plants, and TCP's timer as the kernel tells it.

use super::{
    APART, ON_HOSTS, RUN_MINE, lasted, may_make_namespaces, number, of_mine, outage, suite,
};
use crate::harness::{Place, experiments, is_alive};
use serde_json::Value;
use std::process::Command;

/// A control at `rate` on sockets beside which the adapter `faulty` plants something.
fn planted(options: &str, rate: &str, begin: &str, window: &str, trials: u32) -> Place {
    let place = Place::new();
    let control = "who = \"receiver\"\nwhat = \"nothing\"\nfor = \"10 ms\"";
    let text = suite(control, "")
        .replace("200 Hz", rate)
        .replace("300 ms", begin)
        .replace("\"2 s\"", &format!("\"{window}\""))
        .replace("trials = 1\n", &format!("trials = {trials}\n"));
    place.suite("outages", &text).stack(
        "mine",
        &format!(
            "description = \"misbehaves\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\ninner = \"uds\"\n{options}\n"
        ),
    );
    place
}

#[test]
fn a_planted_silence_is_found_as_long_as_it_is() {
    for silent_ms in [50, 200, 1_000, 5_000] {
        // Warm-up and probes are fewer than a thousand messages, so that the silence begins after the control.
        let options = format!("silence_ms = {silent_ms}\nsilence_after = 3000");
        let window = format!("{} ms", 2_500 + silent_ms);
        let place = planted(&options, "2 kHz", "900 ms", &window, 3);
        place.run(&RUN_MINE).with_code(0);
        let found: Vec<f64> = place
            .trials("out")
            .iter()
            .map(|trial| number(outage(trial), "silence") as f64 / 1e6)
            .collect();
        // A host that is busy delays a message at either end of the silence, but not in all trials.
        let within = (0.02 * f64::from(silent_ms)).max(1.0);
        let is_found = |ms: &f64| (ms - f64::from(silent_ms)).abs() <= within;
        assert!(found.iter().any(is_found), "{silent_ms} ms: {found:?}");
        eprintln!("planted {silent_ms} ms, found {found:?} ms");
    }
}

#[test]
fn a_planted_relapse_is_told() {
    // The receiver stands still for 10 ms and is back. From a second to a second and a half later nothing comes for 500 ms, which is
    // more than the proof of 100 ms.
    let options = "silence_ms = 500\nsilence_after = 3000";
    let place = planted(options, "2 kHz", "600 ms", "4 s", 1);
    let suite = std::fs::read_to_string(place.path("suites/outages.toml")).unwrap();
    place.suite("outages", &suite.replace("nothing", "stop"));
    place.run(&RUN_MINE).with_code(0);
    let verdict = experiments(&place.show("out"))[0]["outage"]["verdict"].to_string();
    assert!(verdict.contains("delivers again"), "{verdict}");
    // Where the machine is too busy for a steady state, it is said to be late as well.
    let late = ["is steady only after up to", "is not steady when"];
    assert!(
        late.iter().any(|words| verdict.contains(words)),
        "{verdict}"
    );
}

#[test]
fn planted_deafness_in_one_of_twenty_trials_is_found_by_name() {
    let options = "deaf_after = 700\ndeaf_trials = 20";
    let place = planted(options, "1 kHz", "300 ms", "1 s", 20);
    place.run(&RUN_MINE).with_code(0);
    let shown = place.show("out");
    let outage = &experiments(&shown)[0]["outage"];
    assert_eq!(outage["recovered"], 19, "{outage:#}");
    assert_eq!(outage["deaf"], 1, "{outage:#}");
    assert_eq!(outage["deaf_ends"][0]["trial"], 19, "{outage:#}");
    assert_eq!(outage["deaf_ends"][1], Value::Null, "{outage:#}");
    let findings = outage["findings"].to_string();
    assert!(
        findings.contains("a receiver got no newer message") && findings.contains("(trial 19)"),
        "{findings}"
    );
}

/// A timer for retransmission, on the clock of the run, in ns.
#[derive(Debug)]
struct Timer {
    /// When it expires, at the earliest and at the latest.
    expires: [i64; 2],
    /// How long it was set for, and how often it has expired in vain.
    rto: i64,
    vain: u32,
}

fn now() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The timers of all connections on the host of that process.
fn timers(pid: i32) -> Vec<Timer> {
    let before = now();
    let told = Command::new("nsenter")
        .args(["-t", &pid.to_string(), "-n", "ss", "-HOtino"])
        .output()
        .unwrap();
    let after = now();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let timer = |line: &str| {
        let (_, timer) = line.split_once("timer:(on,")?;
        let (left, rest) = timer.split_once(',')?;
        let (vain, _) = rest.split_once(')')?;
        let (_, rto) = line.split_once(" rto:")?;
        let rto: f64 = rto.split_whitespace().next()?.parse().ok()?;
        let left = span(left)?;
        Some(Timer {
            expires: [before + left, after + left],
            rto: (rto * 1e6) as i64,
            vain: vain.parse().ok()?,
        })
    };
    told.lines().filter_map(timer).collect()
}

/// As ss(8) writes it: `204ms`, `1.204ms` for 1.204 s, `12sec`.
fn span(text: &str) -> Option<i64> {
    let scale = match text {
        seconds if seconds.ends_with("sec") => 1e9,
        seconds if seconds.contains('.') => 1e9,
        _ => 1e6,
    };
    let number = text.trim_end_matches(char::is_alphabetic);
    Some((number.parse::<f64>().ok()? * scale) as i64)
}

#[test]
fn tcp_recovers_when_the_kernels_timer_says_so() {
    if !may_make_namespaces() {
        return;
    }
    let mut told = 0;
    for cut_ms in [500, 1_000, 3_000, 7_000] {
        let place = Place::new();
        let fault = format!("who = \"receiver\"\nwhat = \"blackout\"\nfor = \"{cut_ms} ms\"");
        let window = format!("\"{} ms\"", 2_000 + 2 * cut_ms);
        place.suite(
            "outages",
            &suite(&fault, ON_HOSTS).replace("\"2 s\"", &window),
        );
        let run = [
            "run", "outages", "--stack", "tcp", "--out", "out", "--quiet",
        ];
        let run = place.start(&[&run[..], &APART].concat());
        let agents = run.agents(2);
        let mut seen = Vec::new();
        while agents.iter().all(|pid| is_alive(*pid)) {
            seen.extend(agents.iter().flat_map(|pid| timers(*pid)));
        }
        run.end().with_code(0);
        let trial = of_mine(&place);
        let outage = outage(&trial);
        assert_eq!(number(outage, "lost"), 0, "{trial:#}");
        assert!(lasted(&trial).1 >= cut_ms * 1_000_000, "{trial:#}");
        let end = trial["faults"][0]["end"][0].as_i64().unwrap();
        // The first expiry after the blackout is the one whose retransmission arrives.
        let after_end = seen.iter().filter(|timer| timer.expires[0] >= end);
        let timer = after_end.min_by_key(|timer| timer.expires[0]);
        let timer = timer.unwrap_or_else(|| panic!("no timer was set at the end: {seen:#?}"));
        let due = timer.expires.map(|at| (at - end) as f64 / 1e6);
        let recovery = number(outage, "recovery") as f64 / 1e6;
        eprintln!(
            "blackout {cut_ms} ms: the timer of {} ms, in vain {} times, expires {:.0} to {:.0} ms after the end; recovery \
             {recovery:.0} ms",
            timer.rto / 1_000_000,
            timer.vain,
            due[0],
            due[1]
        );
        // The kernel counts in steps of up to 10 ms: a timer that expires within one of the end may have been in vain or not,
        // and whoever looks may see the next one alone.
        if recovery < 10.0 {
            continue;
        }
        told += 1;
        // The next expiry would be twice as long later.
        let next = due[1] + 2.0 * timer.rto as f64 / 1e6;
        assert!(
            recovery >= due[0] - 10.0 && recovery < next,
            "{timer:?}: {trial:#}"
        );
    }
    assert!(told >= 3, "{told} of 4 blackouts ended apart from a timer");
}
