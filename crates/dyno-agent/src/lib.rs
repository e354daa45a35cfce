//! The agent: a process that plays one or more participants of one trial.
//!
//! It is told what to do by the runner, line by line over stdio ([`dyno_model::protocol`]), drives
//! the adapter through the trial's steps and reports what it measured. It opens no port of its
//! own, writes no file but the adapter's, and ends when its standard input ends.

mod control;
mod nudge;
mod participant;
mod registry;
mod roles;
mod shared;

pub use registry::{describe, describe_library};

use dyno_model::protocol::{Report, VERSION};
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::mpsc;

/// Plays one trial: reads commands from standard input until the trial is over.
///
/// Standard output carries the protocol alone: the descriptor is moved away before any library is
/// loaded, and what libraries print goes to standard error.
pub fn run() -> ExitCode {
    abort_on_panic();
    let mut out = match control::Reporter::take_stdout() {
        Ok(out) => out,
        Err(e) => {
            eprintln!("dyno agent: cannot set up its standard output: {e}");
            return ExitCode::FAILURE;
        }
    };
    if let Err(e) = nudge::install() {
        eprintln!("dyno agent: cannot install its signal handler: {e}");
        return ExitCode::FAILURE;
    }
    out.send(&Report::Hello {
        protocol: VERSION,
        pid: std::process::id(),
        counter: dyno_measure::best_counter(),
    });
    let (events, inbox) = mpsc::channel();
    let stdin = events.clone();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let event = match serde_json::from_str(&line) {
                Ok(command) => control::Event::Command(command),
                Err(e) => control::Event::Garbled(format!("cannot read {line:?}: {e}")),
            };
            if stdin.send(event).is_err() {
                return;
            }
        }
        // The control loop may have ended already; then nobody needs to hear it.
        let _ = stdin.send(control::Event::RunnerGone);
    });
    match control::Control::new(events, inbox, out).run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(control::Ended) => ExitCode::FAILURE,
    }
}

/// A panic anywhere, also in a library's own thread, ends the agent with SIGABRT after its message
/// has gone to standard error: the runner reports both, and no trial goes on with a dead thread.
fn abort_on_panic() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        default(info);
        // Nothing can be done where standard error itself is gone.
        let _ = std::io::stderr().flush();
        std::process::abort();
    }));
}
