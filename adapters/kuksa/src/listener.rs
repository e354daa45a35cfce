//! A thread that waits for what the broker sends and hands it on.

use crate::client::{Client, Refused};
use dyno_adapter::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Waits on a thread of its own, outside of the runtime's, so that who is handed something may block. When it is gone, nothing is handed on
/// any more.
pub(crate) struct Listener {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    end: Arc<End>,
}

/// How it ended, for the first who asks.
#[derive(Default)]
struct End {
    has_come: AtomicBool,
    why: Mutex<Option<Refused>>,
}

impl Listener {
    /// Hands each of what `next` gives to `show`, until it gives an end.
    pub(crate) fn start<T>(
        client: &Client,
        mut next: impl AsyncFnMut() -> std::result::Result<T, Refused> + Send + 'static,
        mut show: impl FnMut(T) -> std::result::Result<(), Refused> + Send + 'static,
    ) -> Result<Self> {
        let (stop, mut stopped) = oneshot::channel::<()>();
        let end = Arc::new(End::default());
        let (handle, own_end) = (client.handle().clone(), Arc::clone(&end));
        let mut step = move || {
            let next = handle.block_on(async {
                tokio::select! {
                    biased;
                    _ = &mut stopped => None,
                    next = next() => Some(next),
                }
            });
            match next {
                None => Ok(false),
                Some(next) => next.and_then(&mut show).map(|()| true),
            }
        };
        let thread = std::thread::Builder::new()
            .name("kuksa-listener".into())
            .spawn(move || {
                loop {
                    match step() {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(refused) => {
                            *own_end.why.lock().unwrap_or_else(PoisonError::into_inner) =
                                Some(refused);
                            own_end.has_come.store(true, Ordering::Release);
                            break;
                        }
                    }
                }
            })
            .map_err(|e| Error::system("start a thread", e))?;
        Ok(Listener {
            stop: Some(stop),
            thread: Some(thread),
            end,
        })
    }

    /// An error once the broker has ended what is listened to.
    pub(crate) fn check(&self, channel: &str) -> Result<()> {
        if !self.end.has_come.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut why = self.end.why.lock().unwrap_or_else(PoisonError::into_inner);
        Err(match why.take() {
            Some(refused) => refused.of(channel),
            None => Error::PeerGone {
                channel: channel.into(),
            },
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it was reported when it happened.
            let _ = thread.join();
        }
    }
}
