//! What runs to its end before a daemon starts, such as the making of a certificate.

use crate::child::describe_exit;
use crate::hosts::end_group;
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
) -> Result<(), (FailureKind, String)> {
    let error = |message: String| {
        (
            FailureKind::Error,
            format!("{program}, which prepares it, {message}"),
        )
    };
    // A file takes all that it says, whether somebody reads or not.
    let mut said =
        tempfile::tempfile().map_err(|e| error(format!("has no place for its output: {e}")))?;
    let output = said
        .try_clone()
        .map_err(|e| error(format!("has no place for its output: {e}")))?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output);
    let mut child = command
        .spawn()
        .map_err(|e| error(format!("cannot be started: {e}")))?;
    let deadline = Instant::now() + within;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if interrupt.load(Ordering::Relaxed) => {
                end_group(&mut child);
                return Err((FailureKind::Interrupted, "interrupted".to_owned()));
            }
            Ok(None) if Instant::now() >= deadline => {
                end_group(&mut child);
                let message =
                    format!("{program}, which prepares it, did not end within {within:?}");
                return Err((FailureKind::Hang, message));
            }
            Ok(None) => std::thread::sleep(LOOK),
            Err(e) => return Err(error(format!("cannot be waited for: {e}"))),
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    said.rewind()
        .and_then(|()| said.read_to_end(&mut text))
        .map_err(|e| {
            error(format!(
                "ended with {status}, and its output cannot be read: {e}"
            ))
        })?;
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    Err(error(format!(
        "ended with {}: {}",
        describe_exit(status),
        last.unwrap_or("it said nothing").trim()
    )))
}
