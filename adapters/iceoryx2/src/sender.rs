//! The writing end: lend, write in place, send, wake.
//!
//! Where a reader's buffer is full and the stack is reliable, the library waits inside `send`:
//! it yields, then sleeps for up to 10 ms at a time, and calls back before each pause. That
//! callback is how a reader that was killed is found.

use crate::isolation::Isolation;
use crate::peer::any_reader_died;
use crate::service::{LOANS, Messages, Quality, Wakeups, messages, wakeups};
use dyno_adapter::{ChannelSpec, Error, Result, Sender, Sent};
use iceoryx2::node::Node;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::update_connections::UpdateConnections;
use iceoryx2::port::{BackpressureAction, BackpressureInfo, SendError};
use iceoryx2::prelude::{BackpressureStrategy, CallbackProgression, PortFactory, ipc};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// How often a waiting sender looks after its readers.
const LOOK_AFTER_MS: u128 = 100;

pub(crate) struct Iceoryx2Sender {
    channel: String,
    publisher: Publisher<ipc::Service, [u8], ()>,
    notifier: Notifier<ipc::Service>,
    service: Arc<Messages>,
    wakeups: Wakeups,
    pressure: Arc<Pressure>,
    /// How many the last message reached, or the last look saw; fewer later means that one has gone.
    readers: usize,
    keeps_history: bool,
    // Last: what the ports remove when they are dropped is found through it.
    _isolation: Arc<Isolation>,
}

// SAFETY: `ipc::Service` makes ports that are not `Send` because a port and the samples lent from
// it count their references without atomics. The counter of `publisher` is shared with nothing
// but the sample inside one call of `send`, which takes `&mut self` and drops it before it
// returns; that of `notifier` with nothing but a guard inside one call. So a move of the whole
// sender moves every holder of both counters. What is shared beyond (node, service) is counted
// atomically by the library, which declares `Node` and `PortFactory` `Send` itself. `new` upholds
// this by giving nothing of the ports away.
unsafe impl Send for Iceoryx2Sender {}

impl Iceoryx2Sender {
    pub(crate) fn new(
        node: &Node<ipc::Service>,
        quality: &Quality,
        channel: &ChannelSpec,
        isolation: Arc<Isolation>,
    ) -> Result<Self> {
        let service = Arc::new(messages(node, quality, channel)?);
        let wakeups = wakeups(node, channel)?;
        let pressure = Arc::new(Pressure::default());
        let handler = {
            let (pressure, service) = (Arc::clone(&pressure), Arc::clone(&service));
            move |info: &BackpressureInfo| pressure.on_full(info, || any_reader_died(&service))
        };
        let publisher = service
            .publisher_builder()
            .initial_max_slice_len(channel.max_payload)
            .max_loaned_samples(LOANS)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .set_backpressure_handler(handler)
            .create()
            .map_err(|e| {
                Error::library(
                    format!("create publisher of {}", channel.name),
                    format!("{e}; is there room in /dev/shm?"),
                )
            })?;
        let notifier = wakeups
            .notifier_builder()
            .create()
            .map_err(|e| Error::library(format!("create notifier of {}", channel.name), e))?;
        isolation.claim()?;
        Ok(Iceoryx2Sender {
            channel: channel.name.clone(),
            publisher,
            notifier,
            keeps_history: service.static_config().history_size() > 0,
            service,
            wakeups,
            pressure,
            readers: 0,
            _isolation: isolation,
        })
    }

    fn gone(&self) -> Error {
        Error::PeerGone {
            channel: self.channel.clone(),
        }
    }

    /// What a delivery to `reached` readers means. That a reader has gone is told once: those that are left
    /// have the message, and the next one is accepted again.
    fn outcome(&mut self, reached: usize) -> Result<Sent> {
        if reached < std::mem::replace(&mut self.readers, reached) {
            Err(self.gone())
        } else if reached == 0 && !self.keeps_history {
            Ok(Sent::Refused)
        } else {
            Ok(Sent::Accepted)
        }
    }
}

impl Sender for Iceoryx2Sender {
    fn matched(&mut self) -> Result<usize> {
        self.publisher
            .update_connections()
            .map_err(|e| Error::library("Publisher::update_connections", e))?;
        // The library's own count has a subscriber before its entry can be read and a message reaches it:
        // a send in between would seem to have lost a reader.
        let mut readers = 0;
        self.service.dynamic_config().list_subscribers(|_| {
            readers += 1;
            CallbackProgression::Continue
        });
        self.readers = readers;
        Ok(readers)
    }

    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        let sample = self
            .publisher
            .loan_slice_uninit(len)
            .map_err(|e| Error::library("Publisher::loan_slice_uninit", e))?;
        // SAFETY: the bytes are initialised: the library zeroes its shared memory when it creates
        // it and only ever hands out parts of it, and every value of a byte is valid.
        let mut sample = unsafe { sample.assume_init() };
        fill(sample.payload_mut());

        self.pressure.begin();
        let result = match sample.send() {
            Ok(reached) => self.outcome(reached),
            Err(SendError::UnableToDeliver) => Err(self.gone()),
            // A signal ended the library's pause.
            Err(SendError::InternalError) if self.pressure.waited() => Ok(Sent::Refused),
            Err(e) => Err(Error::library("SampleMut::send", e)),
        };
        if self.wakeups.dynamic_config().number_of_listeners() > 0 {
            self.notifier
                .notify()
                .map_err(|e| Error::library("Notifier::notify", e))?;
        }
        result
    }
}

/// What the library told about a full buffer during the current send.
#[derive(Default)]
pub(crate) struct Pressure {
    waited: AtomicBool,
    looks: AtomicU64,
}

impl Pressure {
    pub(crate) fn begin(&self) {
        if self.waited.load(Relaxed) {
            self.waited.store(false, Relaxed);
            self.looks.store(0, Relaxed);
        }
    }

    pub(crate) fn waited(&self) -> bool {
        self.waited.load(Relaxed)
    }

    /// Called by the library before each pause: wait on, unless a reader has died.
    pub(crate) fn on_full(
        &self,
        info: &BackpressureInfo,
        died: impl FnOnce() -> bool,
    ) -> BackpressureAction {
        self.waited.store(true, Relaxed);
        let due = (info.elapsed_time.as_millis() / LOOK_AFTER_MS) as u64;
        if due > self.looks.load(Relaxed) {
            self.looks.store(due, Relaxed);
            if died() {
                return BackpressureAction::DiscardDataAndFail;
            }
        }
        BackpressureAction::Retry
    }
}
