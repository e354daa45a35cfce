//! The reading end: poll, or sleep on the event until there is something.
//!
//! The subscriber is made once the publisher exists. Made earlier, it would be visible to the
//! publisher before it has attached to the connection, and a publisher that finds the buffer of
//! such a subscriber full drops messages instead of waiting.

use crate::isolation::Isolation;
use crate::service::{Messages, Quality, Wakeups, messages, wakeups};
use dyno_adapter::{ChannelSpec, Error, PATIENCE, Receiver, Result, Wait};
use iceoryx2::node::Node;
use iceoryx2::port::DegradationAction;
use iceoryx2::port::listener::{Listener, ListenerWaitError};
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::{PortFactory, ipc};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

pub(crate) struct Iceoryx2Receiver {
    subscriber: Option<Subscriber<ipc::Service, [u8], ()>>,
    /// Only where the reader blocks: its being there makes the sender notify.
    listener: Option<Listener<ipc::Service>>,
    service: Messages,
    _wakeups: Option<Wakeups>,
    channel: String,
    // Last: what the ports remove when they are dropped is found through it.
    isolation: Arc<Isolation>,
}

// SAFETY: as for the sender: the counters that are not atomic are shared between the port and
// what one call of `take` borrows from it, and `take` has given all of that back when it returns.
unsafe impl Send for Iceoryx2Receiver {}

impl Iceoryx2Receiver {
    pub(crate) fn new(
        node: &Node<ipc::Service>,
        quality: &Quality,
        channel: &ChannelSpec,
        wait: Wait,
        isolation: Arc<Isolation>,
    ) -> Result<Self> {
        let wakeups = match wait {
            Wait::Spin => None,
            Wait::Block => Some(wakeups(node, channel)?),
            Wait::Callback => {
                return Err(Error::Unsupported(format!(
                    "callback delivery on channel {}: iceoryx2 has no thread of its own",
                    channel.name
                )));
            }
        };
        // Before the subscriber, so that a sender which sees the subscriber also notifies.
        let listener = wakeups
            .as_ref()
            .map(|wakeups| wakeups.listener_builder().create())
            .transpose()
            .map_err(|e| Error::library(format!("create listener of {}", channel.name), e))?;
        let service = messages(node, quality, channel)?;
        isolation.claim()?;
        Ok(Iceoryx2Receiver {
            subscriber: None,
            listener,
            service,
            _wakeups: wakeups,
            channel: channel.name.clone(),
            isolation,
        })
    }

    /// The subscriber, made now if the publisher exists by now.
    fn attached(&mut self) -> Result<Option<&Subscriber<ipc::Service, [u8], ()>>> {
        if self.subscriber.is_none() && self.service.dynamic_config().number_of_publishers() > 0 {
            let failed = Arc::new(AtomicBool::new(false));
            let handler = {
                let failed = Arc::clone(&failed);
                move |_, _: &_| {
                    failed.store(true, Relaxed);
                    DegradationAction::DegradeAndFail
                }
            };
            let subscriber = self
                .service
                .subscriber_builder()
                .set_degradation_handler(handler)
                .create()
                .map_err(|e| Error::library(format!("create subscriber of {}", self.channel), e))?;
            self.isolation.claim()?;
            // One that has not attached is dropped again; the next call tries anew.
            self.subscriber = (!failed.load(Relaxed)).then_some(subscriber);
        }
        Ok(self.subscriber.as_ref())
    }

    fn poll(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let Some(subscriber) = self.attached()? else {
            return Ok(false);
        };
        match subscriber.receive() {
            Ok(Some(sample)) => {
                on_message(sample.payload());
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(e) => Err(Error::library("Subscriber::receive", e)),
        }
    }
}

impl Receiver for Iceoryx2Receiver {
    fn matched(&mut self) -> Result<bool> {
        Ok(self.attached()?.is_some() && self.service.dynamic_config().number_of_publishers() > 0)
    }

    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        if self.poll(on_message)? {
            return Ok(true);
        }
        if self.listener.is_none() {
            return Ok(false);
        }
        let deadline = Instant::now() + PATIENCE;
        while let Some(listener) = &self.listener {
            // An event may be that of a message already taken, so it only means: look again.
            let left = deadline.saturating_duration_since(Instant::now());
            match listener.timed_wait(|_| {}, left) {
                Ok(_) => {}
                Err(ListenerWaitError::InterruptSignal) => return Ok(false),
                Err(e) => return Err(Error::library("Listener::timed_wait", e)),
            }
            if self.poll(on_message)? {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        Ok(false)
    }
}
