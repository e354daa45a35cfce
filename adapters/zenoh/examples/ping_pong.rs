//! Zenoh's ping-pong as its own examples write it: the ping publishes and receives from the subscriber's
//! channel, the pong publishes in its subscriber's callback; express, no dropping, two processes over TCP.
//! Starts the pong itself, pinned to CPU 1, with the ping on CPU 0. Prints the median round trip in
//! nanoseconds.
//!
//! `cargo run --release -p dyno-adapter-zenoh --example ping_pong [BYTES [ROUND_TRIPS [PORT]]]`

use std::error::Error;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PING: &str = "dyno/ping";
const PONG: &str = "dyno/pong";

/// Pins the calling thread and those that it starts.
fn pin(cpu: usize) -> Done<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

fn session(key: &str, port: u16) -> Done<Session> {
    let mut config = Config::default();
    config.insert_json5("mode", "\"peer\"")?;
    config.insert_json5("scouting/multicast/enabled", "false")?;
    config.insert_json5("scouting/gossip/enabled", "false")?;
    config.insert_json5(key, &format!("[\"tcp/127.0.0.1:{port}\"]"))?;
    zenoh::open(config).wait()
}

/// Answers until its standard input ends.
fn pong(port: u16) -> Done<()> {
    pin(1)?;
    let session = session("listen/endpoints", port)?;
    let publisher = session
        .declare_publisher(PONG)
        .congestion_control(CongestionControl::Block)
        .express(true)
        .wait()?;
    let _subscriber = session
        .declare_subscriber(PING)
        .callback(move |sample| {
            if let Err(e) = publisher.put(sample.payload().clone()).wait() {
                eprintln!("pong: {e}");
            }
        })
        .wait()?;
    println!("ready");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

fn start_pong(port: u16) -> Done<Child> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["pong", &port.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(out) = &mut child.stdout {
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line)?;
    }
    match line.trim() {
        "ready" => Ok(child),
        _ => Err("the pong did not start".into()),
    }
}

fn ping(bytes: usize, round_trips: usize, port: u16) -> Done<f64> {
    pin(0)?;
    let session = session("connect/endpoints", port)?;
    let publisher = session
        .declare_publisher(PING)
        .congestion_control(CongestionControl::Block)
        .express(true)
        .wait()?;
    let subscriber = session.declare_subscriber(PONG).wait()?;
    let payload = vec![0u8; bytes];
    // Until the pong is known a ping has no answer.
    while subscriber
        .recv_timeout(Duration::from_millis(50))?
        .is_none()
    {
        publisher.put(payload.clone()).wait()?;
    }
    // Late answers to those first pings would be taken for fast ones.
    while subscriber
        .recv_timeout(Duration::from_millis(100))?
        .is_some()
    {}
    let warm = Instant::now();
    while warm.elapsed() < Duration::from_secs(1) {
        publisher.put(payload.clone()).wait()?;
        subscriber.recv()?;
    }
    let mut ns = Vec::with_capacity(round_trips);
    for _ in 0..round_trips {
        let begin = Instant::now();
        publisher.put(payload.clone()).wait()?;
        subscriber.recv()?;
        ns.push(begin.elapsed().as_nanos() as f64);
    }
    ns.sort_unstable_by(f64::total_cmp);
    Ok(ns.get(ns.len() / 2).copied().unwrap_or(f64::NAN))
}

fn main() -> Done<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| match arguments.get(at) {
        Some(text) => text.parse(),
        None => Ok(default),
    };
    if arguments.first().is_some_and(|a| a == "pong") {
        return pong(u16::try_from(number(1, 0)?)?);
    }
    let port = u16::try_from(number(2, 27_447)?)?;
    let mut child = start_pong(port)?;
    let median = ping(number(0, 64)?, number(1, 20_000)?, port);
    drop(child.stdin.take());
    child.wait()?;
    println!("{:.1}", median?);
    Ok(())
}
