//! How `dyno` ends. The codes are part of the documented interface (docs/reference/exit-codes.md).

use dyno_runner::{Ending, RunError};
use dyno_store::StoreError;
use miette::{Diagnostic, Report};
use std::process::ExitCode;

/// What an exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    /// Everything that was asked for was done.
    Success = 0,
    /// Something outside Dyno failed: a file could not be read, an agent could not be started.
    Error = 1,
    /// The command line is wrong. Also what the argument parser itself uses.
    Usage = 2,
    /// A suite, stack, testbed or limits file is wrong, or asks for what cannot be done. Nothing was
    /// measured or checked.
    Plan = 3,
    /// The run is complete and stored, but at least one trial failed; of `dyno conformance`, at least one case.
    FailedTrials = 4,
    /// A run directory cannot be written or read.
    Store = 5,
    /// `dyno check`: at least one limit is broken, or a figure is worse than its history has it.
    LimitBroken = 6,
    /// `dyno check`: no limit is broken, but for at least one the trials do not tell. `dyno trend`: too few
    /// runs, or trials that failed or are missing. `dyno gate`, `dyno compare --fail-on slower`: a headline row is undecided.
    Undecided = 7,
    /// `dyno gate`, or `dyno compare` or `dyno trend` with `--fail-on slower`: something is slower.
    Slower = 8,
    /// `dyno audit --fail-on`: something as bad as this, or worse, is found.
    Objected = 9,
    /// Interrupted by Ctrl-C or a termination signal; the finished trials are stored.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// An error on its way to the user.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) report: Report,
}

impl Failure {
    /// For `map_err`: any error, with the code that it ends with.
    pub(crate) fn with<E>(code: Code) -> impl Fn(E) -> Failure
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        move |e| Failure {
            code,
            report: plain(&e),
        }
    }

    /// A message of our own.
    pub(crate) fn message(code: Code, message: impl Into<String>) -> Failure {
        Failure {
            code,
            report: miette::miette!("{}", message.into()),
        }
    }
}

/// A failure with its code and a message as `format!` takes it.
macro_rules! failure {
    ($code:ident, $($message:tt)+) => {
        $crate::exit::Failure::message($crate::exit::Code::$code, format!($($message)+))
    };
}

/// One line with the error and its causes.
fn plain(error: &dyn std::error::Error) -> Report {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    miette::miette!("{text}")
}

/// The result of a command.
pub(crate) type Result<T = ExitCode> = std::result::Result<T, Failure>;

/// For `map_err`: what is refused, with the places in its files.
pub(crate) fn of_plan(e: impl Diagnostic + Send + Sync + 'static) -> Failure {
    Failure {
        code: Code::Plan,
        report: Report::new(e),
    }
}

/// How a run ended, with the code of what kept it from that.
pub(crate) fn of_run(ending: std::result::Result<Ending, RunError<StoreError>>) -> Result<Ending> {
    ending.map_err(|e| match e {
        RunError::Store(e) => Failure::with(Code::Store)(e),
        e @ (RunError::Session(_) | RunError::Hosts(_)) => Failure::with(Code::Error)(e),
    })
}
