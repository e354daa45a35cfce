//! Callback delivery: a thread that sleeps on the channel and calls. It is what any library with threads of
//! its own does at least, and so the floor for all that do.

use crate::endpoint::{Joining, RETRY};
use crate::home::Home;
use crate::reader::Reader;
use crate::segment::{Part, Segment};
use crate::sync::Ordering;
use crate::words::{Futex, Memory};
use dyno_adapter::{ChannelSpec, Error, NodeContext, OnMessage, Result, Subscription, Wait};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long whoever ends a subscription waits before it wakes the thread once more.
const AGAIN: Duration = Duration::from_micros(100);

/// What both sides of a subscription know: its owner and its thread.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// The channel's memory, once it is there.
    segment: OnceLock<Arc<Segment>>,
    /// Why the thread could not join it.
    failure: Mutex<Option<Error>>,
}

/// A reading end whose thread calls.
pub(crate) struct FloorSubscription {
    shared: Arc<Shared>,
    me: usize,
    thread: Option<JoinHandle<()>>,
}

impl FloorSubscription {
    pub(crate) fn new(
        context: &NodeContext,
        channel: &ChannelSpec,
        home: Home,
        on_message: OnMessage,
    ) -> Result<Self> {
        let me = Joining::place_of(context, channel)?;
        let joining = Joining::new(context, channel, home, Part::Reader(me))?;
        let shared = Arc::new(Shared::default());
        let first = joining.try_join()?;
        let thread = {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name("floor callback".into())
                .spawn(move || serve(&shared, &joining, first, me, on_message))
                .map_err(|e| Error::system("start the thread that calls", e))?
        };
        Ok(FloorSubscription {
            shared,
            me,
            thread: Some(thread),
        })
    }
}

impl Subscription for FloorSubscription {
    fn matched(&mut self) -> Result<bool> {
        let failure = &self.shared.failure;
        // A thread that panicked holding it has left a value all the same.
        let failed = failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match failed {
            Some(e) => Err(e),
            None => {
                let segment = self.shared.segment.get();
                Ok(segment.is_some_and(|s| s.header().writer.is_taken()))
            }
        }
    }
}

impl Drop for FloorSubscription {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let Some(thread) = self.thread.take() else {
            return;
        };
        // The thread sleeps without a timer. It may be about to sleep, after it looked at `stop`: so once
        // is not enough.
        while !thread.is_finished() {
            if let Some(segment) = self.shared.segment.get() {
                let read = segment.reader(self.me).cursor.0.load(Ordering::Acquire);
                segment.wake(Futex::Slot((read % segment.depth() as u64) as usize));
            }
            std::thread::sleep(AGAIN);
        }
        // A callback that panicked has said so; there is nothing to add.
        let _ = thread.join();
    }
}

/// Joins the channel, then sleeps and calls until told to stop.
fn serve(
    shared: &Shared,
    joining: &Joining,
    mut found: Option<Segment>,
    me: usize,
    mut on_message: OnMessage,
) {
    let stopped = || shared.stop.load(Ordering::Relaxed);
    let segment = loop {
        if let Some(segment) = found.take() {
            break Arc::new(segment);
        }
        if stopped() {
            return;
        }
        std::thread::sleep(RETRY);
        match joining.try_join() {
            Ok(next) => found = next,
            Err(e) => {
                let mut failure = shared
                    .failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                *failure = Some(e);
                return;
            }
        }
    };
    let mut reader = Reader::attach(segment.clone(), me, Wait::Block);
    // Nobody else sets it.
    let _ = shared.segment.set(segment);
    while !stopped() {
        if !reader.try_take(&mut *on_message) {
            reader.sleep();
        }
    }
}
