//! Whether probes say the same as the tools that others measure the ground with: cyclictest and `perf bench`, pinned
//! alike and in turns.
//!
//! `perf bench futex` is left out: its benches are of many waiters on one word or of a hash of words, and none of them
//! is one hand-over.

use super::bench::{Place, list};
use super::turns::turns;
use crate::Outcome;
use std::process::Command;

const SUITE: &str = r#"
title = "what other tools measure of the ground"
[defaults]
trials = 5
warmup = "100 ms"
window = "400 ms"
cpus = [[0]]
[[experiment]]
name = "syscall"
workload = "probe"
probe = "syscall"
batch = 100
[[experiment]]
name = "pipe-threads"
workload = "probe"
probe = "switch"
by = "pipe"
[[experiment]]
name = "pipe-processes"
workload = "probe"
probe = "switch"
by = "pipe"
sides = "processes"
[[experiment]]
name = "copy"
workload = "probe"
probe = "copy"
payload = "1 MiB"
[[experiment]]
name = "timer"
workload = "probe"
probe = "timer"
period = "200 us"
trials = 10
[[experiment]]
name = "timer-fifo"
workload = "probe"
probe = "timer"
period = "200 us"
trials = 10
scheduling = "fifo:50"
"#;

/// What one tool says, in nanoseconds: one figure, or p50 and p99.
type Tool = fn() -> Result<Vec<f64>, String>;

struct Pair {
    name: &'static str,
    tool: Tool,
    experiment: &'static str,
    /// In the tool's order.
    figures: &'static [&'static str],
}

const PAIRS: &[Pair] = &[
    Pair {
        name: "syscall against `perf bench syscall basic`",
        tool: || per_operation(&["syscall", "basic", "-l", "5000000"]),
        experiment: "syscall",
        figures: &["mean"],
    },
    Pair {
        name: "switch by pipe between threads on one CPU against `perf bench sched pipe -T`",
        tool: || per_operation(&["sched", "pipe", "-T", "-l", "300000"]),
        experiment: "pipe-threads",
        figures: &["mean"],
    },
    Pair {
        name: "switch by pipe between processes on one CPU against `perf bench sched pipe`",
        tool: || per_operation(&["sched", "pipe", "-l", "300000"]),
        experiment: "pipe-processes",
        figures: &["mean"],
    },
    Pair {
        name: "copy of 1 MiB against `perf bench mem memcpy`",
        tool: memcpy,
        experiment: "copy",
        figures: &["mean"],
    },
    Pair {
        name: "timer in SCHED_OTHER against cyclictest",
        tool: || cyclictest(&[]),
        experiment: "timer",
        figures: &["p50", "p99"],
    },
    Pair {
        name: "timer in SCHED_FIFO 50 against cyclictest",
        tool: || cyclictest(&["-p", "50"]),
        experiment: "timer-fifo",
        figures: &["p50", "p99"],
    },
];

/// Runs every pair `times` times, tool and Dyno in turns, and prints the ratios.
pub(super) fn study(times: u32) -> Outcome {
    let place = Place::new("ground")?;
    place.file("suites/as-tools.toml", SUITE)?;
    for pair in PAIRS {
        println!("{}", pair.name);
        turns(times, pair.figures, &pair.tool, &|| measure(&place, pair))?;
    }
    Ok(())
}

/// Dyno's figures in the order of the pair's; `None` where Dyno refuses one, as where the host disturbed the trials.
fn measure(place: &Place, pair: &Pair) -> Result<Vec<Option<f64>>, String> {
    place.dyno(&format!(
        "run as-tools --experiment {} --repeats 0 --quiet --out run",
        pair.experiment
    ))?;
    let shown = place.show("run")?;
    place.forget("run")?;
    let metric = list(&shown, "experiments")
        .first()
        .map(|e| &e["metrics"]["probe_ns"])
        .filter(|m| m["n"].as_u64() > Some(0))
        .ok_or_else(|| format!("{}: Dyno's trials failed", pair.name))?;
    let value = |figure: &&str| match *figure {
        "mean" => metric["mean"].as_f64(),
        quantile => metric[quantile]["value"].as_f64(),
    };
    Ok(pair.figures.iter().map(value).collect())
}

/// What a tool prints when it runs on CPU 0.
fn said(tool: &str, arguments: &[&str], package: &str) -> Result<String, String> {
    let output = Command::new("taskset")
        .args(["-c", "0", tool])
        .args(arguments)
        .output()
        .map_err(|e| format!("cannot start taskset {tool}: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "{tool} {} ended with {}: {}; it is in Debian's {package}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number before a word.
fn before(text: &str, unit: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|w| *w == unit)?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

/// `usecs/op` of one of perf's benches, in nanoseconds.
fn per_operation(bench: &[&str]) -> Result<Vec<f64>, String> {
    let mut arguments = vec!["bench"];
    arguments.extend(bench);
    let text = said("perf", &arguments, "linux-perf")?;
    let micros = before(&text, "usecs/op");
    let micros = micros.ok_or_else(|| format!("perf bench printed no usecs/op:\n{text}"))?;
    Ok(vec![micros * 1e3])
}

/// The time of a copy of 1 MiB at the rate that perf prints; its GB are of 2^30 bytes.
fn memcpy() -> Result<Vec<f64>, String> {
    let arguments = [
        "bench", "mem", "memcpy", "-s", "1MB", "-l", "5000", "-f", "default",
    ];
    let text = said("perf", &arguments, "linux-perf")?;
    let rate = before(&text, "GB/sec").map(|gb| gb * f64::from(1 << 30));
    let rate = rate.ok_or_else(|| format!("perf bench mem memcpy printed no GB/sec:\n{text}"))?;
    Ok(vec![f64::from(1 << 20) / rate * 1e9])
}

/// p50 and p99 of cyclictest's histogram, whose bins are of 1 µs: the middle of the bin.
fn cyclictest(class: &[&str]) -> Result<Vec<f64>, String> {
    let mut arguments = vec![
        "-q", "-t", "1", "-a", "0", "-i", "200", "-l", "20000", "-h", "5000",
        // By itself cyclictest holds /dev/cpu_dma_latency at 0, which keeps idle CPUs polling: under KVM that halves its
        // figures. Dyno measures the machine as applications find it.
        "--laptop",
    ];
    arguments.extend(class);
    let text = said("cyclictest", &arguments, "rt-tests")?;
    let bins: Vec<(f64, u64)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
        })
        .collect();
    let all: u64 = bins.iter().map(|(_, n)| n).sum();
    let quantile = |q: f64| {
        let mut seen = 0;
        let rank = (q * all as f64).ceil() as u64;
        bins.iter()
            .find(|(_, n)| {
                seen += n;
                seen >= rank.max(1)
            })
            .map(|(micros, _)| (micros + 0.5) * 1e3)
    };
    [0.5, 0.99]
        .map(quantile)
        .into_iter()
        .collect::<Option<Vec<f64>>>()
        .ok_or_else(|| format!("cyclictest printed no histogram:\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_its_unit() {
        let text = "# Running\n     Total time: 1.273 [sec]\n\n       6.365000 usecs/op\n     157109 ops/sec\n";
        assert_eq!(before(text, "usecs/op"), Some(6.365));
        assert_eq!(before(text, "GB/sec"), None);
    }
}
