//! Whether Dyno says the same across the border of a virtual machine as bare programs over the same kind of socket: a ping-pong in plain C,
//! and iperf3. They get into the guest as an adapter that carries no message (`machine/reference.c`), so that they and Dyno's own
//! trials take turns at random within one boot.

use super::bench::{Place, list};
use super::turns::interval;
use crate::{Outcome, metadata, steps};
use std::process::Command;

const SOURCE: &str = include_str!("machine/reference.c");

const SUITE: &str = r#"
title = "across the border, beside bare programs"
[defaults]
wait = "natural"
payload = "64 B"
trials = 4
warmup = "100 ms"
settle = "0 s"
window = "1 s"
drain = "10 s"
deadline = "60 s"
placement = "host"
[[experiment]]
name = "trip"
workload = "ping-pong"
stacks = ["vsock", "tcp", "bare-vsock", "bare-tcp"]
timeout = "10 s"
[[experiment]]
name = "flood"
workload = "flood"
stacks = ["tcp", "bare-iperf3"]
payload = "128 KiB"
window = "3 s"
"#;

/// What is held against what.
struct Pair {
    what: &'static str,
    experiment: &'static str,
    stack: &'static str,
    program: &'static str,
    /// Round trips, or seconds.
    count: u32,
}

const PAIRS: [Pair; 3] = [
    Pair {
        what: "vsock, round trip p50",
        experiment: "trip",
        stack: "vsock",
        program: "vsock",
        count: 500,
    },
    Pair {
        what: "tcp, round trip p50",
        experiment: "trip",
        stack: "tcp",
        program: "tcp",
        count: 500,
    },
    Pair {
        what: "tcp, delivered, against iperf3",
        experiment: "flood",
        stack: "tcp",
        program: "iperf3",
        count: 3,
    },
];

impl Pair {
    /// The bare program's unit, and its size in Dyno's.
    fn unit(&self) -> (&'static str, f64) {
        match self.experiment {
            "flood" => ("Gbit/s", 8.0 / 1e9),
            _ => ("µs", 1e-3),
        }
    }

    /// What Dyno says, in its own unit: nanoseconds, or bytes per second.
    fn dyno(&self, shown: &serde_json::Value) -> Option<f64> {
        let mut all = list(shown, "experiments").iter();
        let e = all.find(|e| e["experiment"] == self.experiment && e["stack"] == self.stack)?;
        match self.experiment {
            "flood" => e["throughput"]["delivered_bytes_per_s"]["median"].as_f64(),
            _ => e["metrics"]["rtt_ns"]["p50"]["value"].as_f64(),
        }
    }
}

/// Boots the guest `times` times, and prints the ratio of each boot and in the end the median ratio with its interval.
pub(super) fn study(times: u32) -> Outcome {
    let place = Place::new("machine")?;
    build(&place)?;
    place.file("suites/beside.toml", SUITE)?;
    for pair in &PAIRS {
        let stack = format!(
            "description = \"a bare program\"\nadapter = \"reference\"\nwaits = [\"block\"]\nplacements = [\"host\"]\n\
             [options]\nprogram = \"{}\"\ncount = {}\nresult = \"{}\"\n",
            pair.program,
            pair.count,
            place.dir.join(pair.program).display()
        );
        place.file(&format!("stacks/bare-{}.toml", pair.program), &stack)?;
    }
    let path = place.dir.display().to_string();
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); PAIRS.len()];
    for turn in 0..times {
        let name = format!("run{turn}");
        let arguments = format!("run beside --testbed vm --repeats 0 --quiet --out {name}");
        // The bare programs' trials fail: they carry nothing.
        place.started(&arguments, &[("DYNO_ADAPTER_PATH", &path)], &[4])?;
        let shown = place.show(&name)?;
        for (pair, ratios) in PAIRS.iter().zip(&mut ratios) {
            let said = figures(&place, pair.program)?;
            let (unit, size) = pair.unit();
            let dyno = pair.dyno(&shown).map(|v| v * size);
            let tool = said.iter().sum::<f64>() / said.len().max(1) as f64;
            // iperf3 says bits, the ping-pong nanoseconds.
            let tool = tool * if pair.program == "iperf3" { 1e-9 } else { 1e-3 };
            match dyno.filter(|_| !said.is_empty()) {
                Some(dyno) => {
                    println!(
                        "  boot {turn}: {}: bare {tool:>9.3} {unit}   Dyno {dyno:>9.3} {unit}   ratio {:.3}",
                        pair.what,
                        dyno / tool
                    );
                    ratios.push(dyno / tool);
                }
                None => println!("  boot {turn}: {}: one of the two says nothing", pair.what),
            }
        }
        place.forget(&name)?;
    }
    for (pair, ratios) in PAIRS.iter().zip(&mut ratios) {
        println!("{}: Dyno / bare {}", pair.what, interval(ratios));
    }
    match ratios.iter().all(|r| !r.is_empty()) {
        true => Ok(()),
        false => Err("a pair has no ratio at all".to_owned()),
    }
}

/// What the bare program has found since the last time.
fn figures(place: &Place, program: &str) -> Result<Vec<f64>, String> {
    let path = place.dir.join(program);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(format!("cannot read {}: {e}", path.display())),
    };
    std::fs::remove_file(&path).map_err(|e| format!("cannot remove {}: {e}", path.display()))?;
    let number = |line: &str| line.parse::<f64>().map_err(|e| format!("{line:?}: {e}"));
    text.lines().map(number).collect()
}

fn build(place: &Place) -> Outcome {
    place.file("reference.c", SOURCE)?;
    let include = metadata::load()?.workspace_root.join("include");
    let first = "-std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -I";
    let last = "-o libdyno_reference.so reference.c -liperf -lpthread";
    let mut command = Command::new("cc");
    command.args(first.split(' ')).arg(include);
    command.args(last.split(' ')).current_dir(&place.dir);
    steps::done(&mut command)
        .map_err(|e| format!("{e}; the bare programs take gcc and libiperf-dev (Debian)"))
}
