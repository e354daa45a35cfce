//! Whether Dyno says the same as the libraries' own tools, pinned alike and in turns.

use super::bench::{Place, list};
use super::turns::turns;
use crate::Outcome;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const SUITE: &str = r#"
title = "the exchange of another tool"
[defaults]
trials = 5
warmup = "500 ms"
window = "600 ms"
wait = "natural"
cpus = [0, 1]
[[experiment]]
name = "thread"
workload = "ping-pong"
placement = "thread"
[[experiment]]
name = "process"
workload = "ping-pong"
[[experiment]]
name = "one-cpu"
workload = "ping-pong"
cpus = [0, 0]
"#;

/// What ddsperf's ping and pong use: reliable, keep last 1, a waitset; and what `DDSPERF_CONFIG` sets.
const DDSPERF_STACK: &str = r#"
description = "as ddsperf"
adapter = "cyclonedds"
waits = ["block"]
[options]
history = 1
message_bytes = 65500
receive_buffer_bytes = 10485760
"#;

const DDSPERF_CONFIG: &str = "<CycloneDDS><Domain Id=\"any\"><General><Interfaces>\
    <NetworkInterface address=\"127.0.0.1\"/></Interfaces><AllowMulticast>false</AllowMulticast>\
    <MaxMessageSize>65500 B</MaxMessageSize></General><Discovery><ParticipantIndex>auto</ParticipantIndex>\
    <Peers><Peer Address=\"127.0.0.1\"/></Peers></Discovery><Internal>\
    <SocketReceiveBufferSize max=\"10485760 B\"/></Internal></Domain></CycloneDDS>";

/// One library: its own tool, and the same exchange in Dyno.
struct Pair {
    name: &'static str,
    /// Nanoseconds of a round trip.
    tool: fn() -> Result<f64, String>,
    experiment: &'static str,
    stack: &'static str,
    wait: &'static str,
    payload: &'static str,
    /// `mean` or `p50`, as the tool says it.
    figure: &'static str,
}

const PAIRS: &[Pair] = &[
    Pair {
        name: "cyclonedds against ddsperf, 64 B, waitset, p50",
        tool: ddsperf,
        experiment: "process",
        stack: "as-ddsperf",
        wait: "block",
        payload: "64B",
        figure: "p50",
    },
    Pair {
        name: "iceoryx2 against its published method, 8 KiB, spinning, untouched, mean",
        tool: || example("round_trip", &["2000000"]),
        experiment: "thread",
        stack: "iceoryx2",
        wait: "spin",
        payload: "8KiB",
        figure: "mean",
    },
    Pair {
        name: "zenoh against the ping-pong of its examples, 64 B, p50",
        tool: || example("ping_pong", &["64", "20000"]),
        experiment: "process",
        stack: "zenoh-tcp",
        wait: "callback",
        payload: "64B",
        figure: "p50",
    },
    Pair {
        name: "tcp against sockperf, 64 B, blocking, p50",
        tool: sockperf,
        experiment: "process",
        stack: "tcp",
        wait: "block",
        payload: "64B",
        figure: "p50",
    },
    Pair {
        name: "pipe against perf bench sched pipe (4 B), blocking, both on one CPU, mean",
        tool: perf_pipe,
        experiment: "one-cpu",
        stack: "pipe",
        wait: "block",
        payload: "64B",
        figure: "mean",
    },
];

/// Runs every pair `times` times, tool and Dyno in turns, and prints the ratio of each turn.
pub(super) fn study(times: u32) -> Outcome {
    let place = Place::new("agree")?;
    place.file("suites/agree.toml", SUITE)?;
    place.file("stacks/as-ddsperf.toml", DDSPERF_STACK)?;
    for pair in PAIRS {
        println!("{}", pair.name);
        let tool = || Ok(vec![(pair.tool)()?]);
        turns(times, &[pair.figure], &tool, &|| measure(&place, pair))?;
    }
    Ok(())
}

/// Dyno's figure; `None` where it refuses one.
fn measure(place: &Place, pair: &Pair) -> Result<Vec<Option<f64>>, String> {
    place.dyno(&format!(
        "run agree --experiment {} --stack {} --set wait={} --set payload={} --repeats 0 --quiet --out run",
        pair.experiment, pair.stack, pair.wait, pair.payload
    ))?;
    let shown = place.show("run")?;
    place.forget("run")?;
    let experiments = list(&shown, "experiments");
    let rtt = experiments
        .iter()
        .find(|e| e["experiment"] == pair.experiment && e["stack"] == pair.stack)
        .map(|e| &e["metrics"]["rtt_ns"])
        .filter(|m| m["n"].as_u64() > Some(0))
        .ok_or_else(|| format!("{}: Dyno's trials failed", pair.name))?;
    Ok(vec![match pair.figure {
        "mean" => rtt["mean"].as_f64(),
        quantile => rtt[quantile]["value"].as_f64(),
    }])
}

/// The number that an example of an adapter's crate prints.
fn example(name: &str, arguments: &[&str]) -> Result<f64, String> {
    let program: PathBuf = crate::metadata::load()?
        .target_directory
        .join("release/examples")
        .join(name);
    let output = Command::new(&program)
        .args(arguments)
        .output()
        .map_err(|e| {
            format!(
                "cannot start {}: {e}; run `cargo build --release -p dyno-adapter-iceoryx2 -p \
                 dyno-adapter-zenoh --examples` first",
                program.display()
            )
        })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    last.trim().parse().map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("{name} printed {last:?} instead of a number: {said}")
    })
}

/// A process that is ended when it is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program on one CPU; `package` is what brings it.
fn pinned(cpu: &str, program: &[&str], package: &str) -> Result<Child, String> {
    Command::new("taskset")
        .args(["-c", cpu])
        .args(program)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| {
            format!(
                "cannot start taskset {}: {e}; install {package}",
                program[0]
            )
        })
}

/// What a program printed until it ended.
fn printed(child: Child) -> Result<String, String> {
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The median round trip that sockperf shows for TCP, in nanoseconds.
fn sockperf() -> Result<f64, String> {
    const HOST: [&str; 5] = ["--tcp", "-i", "127.0.0.1", "-p", "17459"];
    let server = [&["sockperf", "server"], &HOST[..]].concat();
    let client = [
        &["sockperf", "ping-pong", "--full-rtt", "-m", "64", "-t", "3"],
        &HOST[..],
    ]
    .concat();
    let _server = Ended(pinned("1", &server, "sockperf")?);
    // The server says nowhere that it listens: the client is tried until it is answered.
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let text = printed(pinned("0", &client, "sockperf")?)?;
        let median = text
            .lines()
            .find(|line| line.contains("percentile 50.000"))
            .and_then(|line| line.rsplit('=').next()?.trim().parse::<f64>().ok());
        if let Some(median) = median {
            return Ok(median * 1e3);
        }
    }
    Err("sockperf printed no median in 20 tries".to_owned())
}

/// The mean round trip of `perf bench sched pipe` in nanoseconds, both processes on CPU 0.
fn perf_pipe() -> Result<f64, String> {
    let bench = ["perf", "bench", "sched", "pipe", "-l", "300000"];
    let text = printed(pinned("0", &bench, "linux-perf")?)?;
    text.lines()
        .find(|line| line.contains("usecs/op"))
        .and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
        .map(|micros| micros * 1e3)
        .ok_or_else(|| format!("perf bench printed no usecs/op:\n{text}"))
}

/// The median of ddsperf's medians by second, doubled: it prints half of the round trip.
fn ddsperf() -> Result<f64, String> {
    let start = |cpu: &str, arguments: &[&str]| {
        let configuration = format!("CYCLONEDDS_URI={DDSPERF_CONFIG}");
        let program = [&["env", &configuration, "ddsperf"], arguments].concat();
        pinned(cpu, &program, "cyclonedds-tools")
    };
    let _pong = Ended(start("1", &["-D", "20", "pong", "waitset"])?);
    let text = printed(start(
        "0",
        &["-D", "5", "-TKS", "ping", "size", "64", "waitset"],
    )?)?;
    let median = |line: &str| -> Option<f64> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|w| *w == "50%")?;
        words.get(at + 1)?.strip_suffix("us")?.parse().ok()
    };
    let mut medians: Vec<f64> = text.lines().filter_map(median).collect();
    medians.sort_unstable_by(f64::total_cmp);
    let half = medians
        .get(medians.len() / 2)
        .ok_or_else(|| format!("ddsperf printed no median:\n{text}"))?;
    Ok(half * 2.0 * 1e3)
}
