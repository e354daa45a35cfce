//! The agent: a process that plays one or more participants of one trial.
//!
//! It is told what to do by the runner, line by line over stdio ([`dyno_model::protocol`]), drives
//! the adapter through the trial's steps and reports what it measured. It opens no port of its
//! own, writes no file but the adapter's, and ends when its standard input ends.

#![warn(clippy::too_many_lines)]

mod binaries;
mod conformance;
mod control;
mod counter;
mod crowd;
mod event;
mod job;
mod nudge;
mod participant;
mod ptp;
mod registry;
mod reporter;
mod results;
mod roles;
mod shared;

pub use binaries::{binaries, binaries_of_library};
pub use conformance::{ask_library, conformance_cases, play_case};
pub use registry::{adapter_places, describe, describe_library, passed_over};

use dyno_measure::{Counters, best_counter};
use dyno_model::cause::AgentTrouble;
use dyno_model::protocol::{Command, Report, VERSION};
use event::Event;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};

/// Plays one trial: reads commands from standard input until the trial is over.
///
/// Standard output carries the protocol alone: the descriptor is moved away before any library is
/// loaded, and what libraries print goes to standard error.
pub fn run() -> ExitCode {
    abort_on_panic();
    // What a profiler or a trace shows; the roles' threads are `dyno-sink` and the like.
    let _ = rustix::thread::set_name(c"dyno-control");
    let out = match reporter::Reporter::take_stdout() {
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
    let counter = match counter::OwnCounter::new() {
        Ok(counter) => Arc::new(counter),
        Err(e) => {
            eprintln!("dyno agent: {e}");
            return ExitCode::FAILURE;
        }
    };
    out.send(&Report::Hello {
        protocol: VERSION,
        pid: std::process::id(),
        counter: best_counter(),
    });
    let (events, inbox) = mpsc::channel();
    let (stdin, answers, own) = (events.clone(), out.clone(), counter.clone());
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            // At once, and answered by this thread: what passes until the reading and from there until
            // the answer is what another host's runner does not know.
            let now = Counters::now();
            let Ok(line) = line else { break };
            let event = match serde_json::from_str(&line) {
                Ok(Command::Tick { number, counter }) => {
                    answers.send(&own.answer(number, counter, now));
                    continue;
                }
                Ok(command) => Event::Command(command),
                Err(e) => Event::Garbled(AgentTrouble::NoCommand {
                    error: e.to_string(),
                    line,
                }),
            };
            if stdin.send(event).is_err() {
                return;
            }
        }
        // The control loop may have ended already; then nobody needs to hear it.
        let _ = stdin.send(Event::RunnerGone);
        end_without(FAREWELL);
    });
    match control::Control::new(events, inbox, out, counter).run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(control::Ended) => end_at_once(1),
    }
}

unsafe extern "C" {
    /// quick_exit(3) of the C library (C11, 7.22.4.7).
    fn quick_exit(code: libc::c_int) -> !;
}

/// Ends this process without what libraries do at exit: their threads, and those of participants, may still be at work,
/// and what is freed under them would look like a crash in place of what was reported. Handlers of at_quick_exit(3) run,
/// by which an adapter removes what its library leaves.
fn end_at_once(code: libc::c_int) -> ! {
    // SAFETY: fflush(3) of all streams takes a null pointer; quick_exit(3) runs handlers that were made for it, and ends
    // the process.
    unsafe {
        // What a library printed says why.
        libc::fflush(std::ptr::null_mut());
        quick_exit(code)
    }
}

/// How long an agent whose runner is gone may take to end.
const FAREWELL: std::time::Duration = std::time::Duration::from_secs(2);

/// Ends this process after a while if nothing else does: the control thread, or what a library does at exit, may hang.
/// Where the runner is on another machine, nobody else would.
fn end_without(patience: std::time::Duration) {
    std::thread::sleep(patience);
    // SAFETY: _exit(2) ends the process without running anything of it.
    unsafe { libc::_exit(1) };
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
