//! How processes end, and what is wrong with a daemon.

use crate::daemon::Ready;
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// By a signal.
    Signal(i32),
    /// By itself.
    Code(i32),
    /// It was stopped or continued, which is no end.
    Unknown,
}

/// What Linux calls signals that end processes, on every processor that Dyno is built for (signal(7)).
const SIGNALS: [(i32, &str); 12] = [
    (6, "SIGABRT"),
    (14, "SIGALRM"),
    (7, "SIGBUS, often a full /dev/shm"),
    (8, "SIGFPE"),
    (4, "SIGILL"),
    (2, "SIGINT"),
    (
        9,
        "SIGKILL, from outside or from the kernel's out-of-memory killer",
    ),
    (13, "SIGPIPE"),
    (11, "SIGSEGV"),
    (31, "SIGSYS"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
];

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Signal(signal) => match SIGNALS.iter().find(|(number, _)| number == signal) {
                Some((_, name)) => write!(f, "signal {signal} ({name})"),
                None => write!(f, "signal {signal}"),
            },
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Unknown => f.write_str("an unknown status"),
        }
    }
}

/// What is wrong with a daemon; its sentence follows the daemon's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "trouble", rename_all = "kebab-case")]
pub enum DaemonTrouble {
    /// A text of the stack file has a placeholder that nothing stands for.
    #[error(": {error}")]
    Placeholder {
        /// Which.
        error: String,
    },
    /// A file of its own cannot be written.
    #[error(": cannot write {path}: {error}")]
    NotWritten {
        /// The file.
        path: String,
        /// Why.
        error: String,
    },
    /// What runs before it failed.
    #[error(": {program}, which prepares it, {how}")]
    Prepare {
        /// By name.
        program: String,
        /// How.
        how: PrepareTrouble,
    },
    /// The stack file names no program.
    #[error(": its command is empty")]
    NoCommand,
    /// There is no such program.
    #[error(": cannot lock it: there is no program {program}")]
    NoProgram {
        /// By name.
        program: String,
    },
    /// The lock of a program that runs once on a machine failed.
    #[error(": cannot lock it: {error}")]
    NotLocked {
        /// Why.
        error: String,
    },
    /// Another run does not give the program free.
    #[error(": another run of Dyno has used {program} for {} s; end it", waited.as_secs_f64())]
    InUse {
        /// Its file.
        program: String,
        /// For so long.
        waited: Nanos,
    },
    /// The list of its leftovers cannot be written for the cleaner.
    #[error(": cannot note {path}: {error}")]
    NotNoted {
        /// What it leaves.
        path: String,
        /// Why.
        error: String,
    },
    /// Its process cannot be noted.
    #[error(": cannot record its process: {error}")]
    ProcessNotNoted {
        /// Why.
        error: String,
    },
    /// It could not be started.
    #[error(": cannot start {program}: {error}")]
    NotStarted {
        /// By name.
        program: String,
        /// By the system.
        error: String,
    },
    /// Whoever started the run ended it.
    #[error(": interrupted")]
    Interrupted,
    /// It ended.
    #[error(" ended with {exit} {}", if *ready { "during the trial" } else { "before it was ready" })]
    Ended {
        /// How.
        exit: Exit,
        /// It had been ready.
        ready: bool,
    },
    /// It did not become ready.
    #[error(" was not ready within {:.1} s: {}; if it is only slow, raise `deadline`", within.as_secs_f64(), missing(sign))]
    NotReady {
        /// The deadline.
        within: Nanos,
        /// What would have shown it.
        sign: Ready,
    },
}

/// What is wrong with a program that prepares a daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "trouble", rename_all = "kebab-case")]
pub enum PrepareTrouble {
    /// There is no temporary file.
    #[error("has no place for its output: {error}")]
    NoOutput {
        /// Why.
        error: String,
    },
    /// It could not be started.
    #[error("cannot be started: {error}")]
    NotStarted {
        /// By the system.
        error: String,
    },
    /// The system does not tell of its end.
    #[error("cannot be waited for: {error}")]
    NotWaited {
        /// Why.
        error: String,
    },
    /// It took too long.
    #[error("did not end within {:?}", Duration::from(*within))]
    TooLong {
        /// The deadline.
        within: Nanos,
    },
    /// It failed.
    #[error("ended with {exit}: {}", said.as_deref().unwrap_or("it said nothing"))]
    Failed {
        /// How it ended.
        exit: Exit,
        /// Last, if anything.
        said: Option<String>,
    },
    /// It failed, and nobody can say why.
    #[error("ended with {exit}, and its output cannot be read: {error}")]
    Unread {
        /// How it ended.
        exit: Exit,
        /// Why it cannot be read.
        error: String,
    },
}

fn missing(sign: &Ready) -> String {
    match sign {
        Ready::Output(text) => format!("it has not printed {text:?}"),
        Ready::File(path) => format!("there is no {path}"),
        Ready::Connect(to) => format!("no connection to {to} is accepted"),
    }
}
