//! How much of a stack's p50 is explained by what the kernel was asked for: so many system calls, wake-ups and copies of
//! a round trip, counted by the kernel's tracepoints, times what each costs on this machine by Dyno's probes.
//!
//! Counting is a run of its own, since every counted call becomes slower: `perf stat` counts over two runs that differ in
//! the number of their round trips alone, so that starts and ends drop out of the difference. What grows with the time of a run
//! remains in it, such as what the runner asks of the kernel while it waits.
//!
//! What is added up:
//! - each wake-up of the other CPU (`sched:sched_waking` of the two participants), by the probe `ipi` with futex, which
//!   holds the call that wakes and the end of the call that slept;
//! - each further system call, by the probe `syscall` with `getppid`, the least that one costs;
//! - each copy in or out of the kernel (a call of the read or write family), by the probe `copy` of the payload.

use super::{Place, list};
use crate::Outcome;
use serde_json::Value;
use std::process::Command;

/// Round trips of the two counted runs, beside the same warm-up. What the runner itself asks of the kernel differs by some
/// thousand calls from run to run, for it looks again at a machine that is busy: over the 100,000 round trips of the
/// difference that is a few hundredths of a call for each.
const FEW: u64 = 2_000;
const MANY: u64 = 102_000;

/// Tracepoints: all calls, those that carry bytes, and wake-ups.
const CALLS: &str = "raw_syscalls:sys_enter";
const WAKINGS: &str = "sched:sched_waking";
const CARRIERS: &[&str] = &[
    "syscalls:sys_enter_read",
    "syscalls:sys_enter_write",
    "syscalls:sys_enter_readv",
    "syscalls:sys_enter_writev",
    "syscalls:sys_enter_sendto",
    "syscalls:sys_enter_recvfrom",
    "syscalls:sys_enter_sendmsg",
    "syscalls:sys_enter_recvmsg",
];

/// The floor is measured in every run, so that what it asks for is counted with each stack and taken off again.
const FLOOR: &str = "floor-futex";
const STACKS: [&str; 3] = [FLOOR, "pipe", "tcp"];

const SUITE: &str = r#"
title = "what a round trip is made of"
[defaults]
trials = 5
cpus = [0, 1]
payload = "4 KiB"
wait = "block"
[[experiment]]
name = "round-trip"
workload = "ping-pong"
stacks = ["pipe", "tcp", "floor-futex"]
warmup = "50 ms"
window = "500 ms"
[[experiment]]
name = "counted"
workload = "ping-pong"
stacks = ["pipe", "tcp", "floor-futex"]
trials = 1
warmup_messages = 200
settle = "0 s"
deadline = "60 s"
round_trips = 2000
[[experiment]]
name = "syscall"
workload = "probe"
probe = "syscall"
batch = 100
cpus = [[0]]
[[experiment]]
name = "wake-up"
workload = "probe"
probe = "ipi"
by = "futex"
[[experiment]]
name = "copy"
workload = "probe"
probe = "copy"
cpus = [[0]]
"#;

/// What one round trip asks of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Counted {
    calls: f64,
    wakings: f64,
    carriers: f64,
}

/// Measures, counts, and prints how much of each p50 is explained. About two minutes.
pub(super) fn study() -> Outcome {
    let place = Place::new("made-of")?;
    place.file("suites/made-of.toml", SUITE)?;
    println!(
        "about two minutes; needs perf, and root or perf_event_paranoid = -1 for its tracepoints"
    );
    place.dyno(&[
        "run",
        "made-of",
        "--experiment",
        "round-trip,syscall,wake-up,copy",
        "--quiet",
        "--out",
        "run",
    ])?;
    let shown = place.json(&["show", "run", "--format", "json"])?;
    let cost = |name: &str| p50(&shown, name, None, "probe_ns");
    let (syscall, wake_up, copy) = (cost("syscall")?, cost("wake-up")?, cost("copy")?);
    println!(
        "here: a system call {syscall:.0} ns, a wake-up {wake_up:.0} ns, a copy of 4 KiB {copy:.0} ns (p50)"
    );
    let mut floor = Counted::default();
    for stack in STACKS {
        let few = counted(&place, stack, FEW)?;
        let many = counted(&place, stack, MANY)?;
        let each = difference(few, many, (MANY - FEW) as f64);
        let each = match stack {
            FLOOR => {
                floor = each;
                each
            }
            _ => difference(floor, each, 1.0),
        };
        let measured = p50(&shown, "round-trip", Some(stack), "rtt_ns")?;
        let sum = explained(each, syscall, wake_up, copy);
        println!(
            "{stack}: {:.2} calls, {:.2} wake-ups and {:.2} copies of a round trip: {sum:.0} ns of its p50 of \
             {measured:.0} ns, {:.0} % explained",
            each.calls,
            each.wakings,
            each.carriers,
            100.0 * sum / measured
        );
    }
    Ok(())
}

/// The sum in nanoseconds. A wake-up holds the call that wakes and the one that slept.
fn explained(each: Counted, syscall: f64, wake_up: f64, copy: f64) -> f64 {
    let further = (each.calls - 2.0 * each.wakings).max(0.0);
    each.wakings * wake_up + further * syscall + each.carriers * copy
}

fn difference(few: Counted, many: Counted, trips: f64) -> Counted {
    let of = |get: fn(&Counted) -> f64| (get(&many) - get(&few)) / trips;
    Counted {
        calls: of(|c| c.calls),
        wakings: of(|c| c.wakings),
        carriers: of(|c| c.carriers),
    }
}

fn p50(shown: &Value, name: &str, stack: Option<&str>, metric: &str) -> Result<f64, String> {
    list(shown, "experiments")
        .iter()
        .find(|e| e["experiment"] == name && stack.is_none_or(|s| e["stack"] == s))
        .and_then(|e| e["metrics"][metric]["p50"]["value"].as_f64())
        .ok_or_else(|| {
            format!("Dyno's run has no p50 of {name}; end what else runs here and try again")
        })
}

/// One run of so many round trips under `perf stat`.
fn counted(place: &Place, stack: &str, trips: u64) -> Result<Counted, String> {
    let target = crate::metadata::load()?.target_directory;
    let events: Vec<&str> = [CALLS, WAKINGS]
        .into_iter()
        .chain(CARRIERS.iter().copied())
        .collect();
    let window = format!("round_trips={trips}");
    let output = Command::new("perf")
        .args(["stat", "-x", ",", "-e", &events.join(","), "--"])
        .arg(target.join("release/dyno"))
        .args([
            "run",
            "made-of",
            "--experiment",
            "counted",
            "--stack",
            stack,
        ])
        .args([
            "--set",
            &window,
            "--repeats",
            "0",
            "--quiet",
            "--out",
            "counted",
        ])
        .current_dir(&place.dir)
        .env("DYNO_FILES", &place.dir)
        .output()
        .map_err(|e| format!("cannot start perf: {e}; it is in Debian's linux-perf"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!(
            "perf stat of dyno ended with {}: {said}",
            output.status
        ));
    }
    place.forget("counted")?;
    read(&said)
}

/// What `perf stat -x ,` prints: a line for each event, the count first and the event third.
fn read(said: &str) -> Result<Counted, String> {
    let count = |event: &str| {
        let line = said.lines().find(|l| l.split(',').nth(2) == Some(event));
        let text = line.and_then(|l| l.split(',').next());
        text.and_then(|t| t.parse::<f64>().ok()).ok_or_else(|| {
            format!(
                "perf did not count {event}: {}; run as root on a kernel with tracepoints",
                text.unwrap_or("not printed")
            )
        })
    };
    Ok(Counted {
        calls: count(CALLS)?,
        wakings: count(WAKINGS)?,
        carriers: CARRIERS
            .iter()
            .map(|e| count(e))
            .sum::<Result<f64, String>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_and_ends_are_no_part_of_a_round_trip() {
        let run = |trips: f64| Counted {
            calls: 900.0 + 4.0 * trips,
            wakings: 70.0 + 2.0 * trips,
            carriers: 300.0 + 4.0 * trips,
        };
        let each = difference(run(1_000.0), run(3_000.0), 2_000.0);
        assert_eq!((each.calls, each.wakings, each.carriers), (4.0, 2.0, 4.0));
        // Both wake-ups hold all four calls.
        assert_eq!(explained(each, 100.0, 5_000.0, 50.0), 10_200.0);
    }

    #[test]
    fn what_perf_did_not_count_is_an_error() {
        let mut said = format!("29,,{CALLS},1,100.00,,\n1,,{WAKINGS},1,100.00,,\n");
        assert!(read(&said).unwrap_err().contains("sys_enter_read"));
        for event in CARRIERS {
            said.push_str(&format!("2,,{event},1,100.00,,\n"));
        }
        assert_eq!(read(&said).unwrap().carriers, 16.0);
        let refused = said.replace("29,,", "<not supported>,,");
        assert!(read(&refused).unwrap_err().contains("<not supported>"));
    }
}
