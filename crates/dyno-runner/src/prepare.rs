//! What runs to its end before a daemon starts, such as the making of a certificate.

use crate::child::{end_group, exit, nanos};
use dyno_model::cause::{DaemonTrouble, PrepareTrouble};
use dyno_model::record::FailureKind;
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(2);

/// Runs `command`, admitted to its host, whose program is called `program`, and waits for its end, at most `within`.
///
/// # Errors
///
/// It cannot be started, fails, takes too long, or the run is interrupted; in the last two cases it is killed with its
/// group.
pub(crate) fn prepare(
    program: &str,
    mut command: Command,
    within: Duration,
    interrupt: &AtomicBool,
) -> Result<(), (FailureKind, DaemonTrouble)> {
    let trouble = |kind, how| {
        let program = program.to_owned();
        (kind, DaemonTrouble::Prepare { program, how })
    };
    let error = |of: PrepareTrouble| trouble(FailureKind::Error, of);
    let no_output = |e: std::io::Error| {
        error(PrepareTrouble::NoOutput {
            error: e.to_string(),
        })
    };
    // A file takes all that it says, whether somebody reads or not.
    let mut said = tempfile::tempfile().map_err(no_output)?;
    let output = said.try_clone().map_err(no_output)?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output);
    let mut child = command.spawn().map_err(|e| {
        let refused = e.to_string();
        error(PrepareTrouble::NotStarted { error: refused })
    })?;
    let deadline = Instant::now() + within;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if interrupt.load(Ordering::Relaxed) => {
                end_group(&mut child);
                return Err((FailureKind::Interrupted, DaemonTrouble::Interrupted));
            }
            Ok(None) if Instant::now() >= deadline => {
                end_group(&mut child);
                let within = nanos(within);
                return Err(trouble(
                    FailureKind::Hang,
                    PrepareTrouble::TooLong { within },
                ));
            }
            Ok(None) => std::thread::sleep(LOOK),
            Err(e) => {
                let refused = e.to_string();
                return Err(error(PrepareTrouble::NotWaited { error: refused }));
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    said.rewind()
        .and_then(|()| said.read_to_end(&mut text))
        .map_err(|e| {
            error(PrepareTrouble::Unread {
                exit: exit(status),
                error: e.to_string(),
            })
        })?;
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    Err(error(PrepareTrouble::Failed {
        exit: exit(status),
        said: last.map(|line| line.trim().to_owned()),
    }))
}
