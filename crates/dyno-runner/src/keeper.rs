//! What holds the scratch places of a runner on another host: `dyno agent --keep` there.
//!
//! The runner asks over stdio, line by line, and each line is answered with one: `open SESSION` makes a
//! scratch directory and answers with its path, `clear SESSION` ends the session's processes and removes
//! what they left, `network` says what the host's network has counted and holds, `memory` how many bytes are in use there, `cpus` which CPUs an agent there may run on, `alive` is not answered. All of it is as on the runner's own host ([`crate::session`]);
//! the keeper is the process that owns the place. It ends when the runner does, or its host, or the way
//! between them, and clears what is still open.

use crate::session::{Place, sweep};
use dyno_measure::{allowed_cpus, isolated_cpus, read_network, used_memory};
use dyno_model::cpus::ranges;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

/// How often the runner says that it lives. Seldom: the line may share a link with what is measured.
pub(crate) const BEAT: Duration = Duration::from_secs(10);
/// After this long without a line the runner is gone, or cannot be reached any more. A server of ssh does
/// not notice that by itself for hours (tcp(7), tcp_keepalive_time).
const SILENCE: Duration = Duration::from_secs(60);
/// The first word of the first line.
pub(crate) const HELLO: &str = "dyno-keeper";

/// Keeps places until standard input ends. Prints first what it cleared of runners that are gone.
pub fn keep() -> ExitCode {
    // Somebody may have stopped it: when the server of ssh that started it ends, it goes on, and finds that standard input has
    // ended. Without that, one that is stopped would stay, with all that it holds.
    if let Err(e) = set_parent_process_death_signal(Some(Signal::CONT)) {
        eprintln!("a keeper that is stopped would stay after its connection: {e}");
    }
    let swept = sweep();
    for line in swept.told() {
        eprintln!("{line}");
    }
    let place = match Place::create() {
        Ok(place) => place,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
    };
    let mut told = answer(&format!(
        "{HELLO} {} {} {}",
        swept.places.len(),
        swept.killed.len(),
        swept.removed.len()
    ));
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    // Neither the end of standard input nor a silence is a failure.
    while told && let Ok(line) = lines.recv_timeout(SILENCE) {
        told = match line.split_once(' ') {
            Some(("open", name)) => match place.open(name) {
                Ok(scratch) => answer(&format!("ok {}", scratch.display())),
                Err(e) => answer(&format!("error {e}")),
            },
            Some(("clear", name)) => {
                place.clear(name);
                answer("ok")
            }
            _ if line == "network" => match serde_json::to_string(&read_network()) {
                Ok(reading) => answer(&format!("ok {reading}")),
                Err(e) => answer(&format!("error {e}")),
            },
            _ if line == "memory" => match used_memory() {
                Some(bytes) => answer(&format!("ok {bytes}")),
                None => answer("error /proc/meminfo has no MemTotal and MemAvailable"),
            },
            _ if line == "cpus" => {
                let mut all = [allowed_cpus(), isolated_cpus()].concat();
                all.sort_unstable();
                all.dedup();
                answer(&format!("ok {}", ranges(&all)))
            }
            _ if line == "alive" => true,
            _ => answer(&format!("error there is no command {line:?}")),
        };
    }
    ExitCode::SUCCESS
}

/// Whether anybody hears it.
fn answer(line: &str) -> bool {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
}
