//! A thread that wakes up again and again although there is nothing to do, as those of libraries that poll.

use super::endpoint::delay;
use dyno_adapter::{Error, Result};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Ends its thread when it is dropped.
pub(super) struct Waker {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waker {
    /// Wakes up after each time `every`, and keeps a CPU busy for `spin`; nothing where `every` is zero.
    pub(super) fn start(every: Duration, spin: Duration) -> Result<Option<Self>> {
        if every.is_zero() {
            return Ok(None);
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let wake = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                delay(spin, true);
            }
        };
        let thread = std::thread::Builder::new()
            .name("faulty-waker".into())
            .spawn(wake)
            .map_err(|e| Error::option("wake_every_us", format!("no thread: {e}")))?;
        Ok(Some(Waker {
            stop: Some(stop),
            thread: Some(thread),
        }))
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}
