//! The reading end: poll, or sleep on the event until there is something.
//!
//! The subscriber is made once the publisher exists. Made earlier, it would be visible to the
//! publisher before it has attached to the connection, and a publisher that finds the buffer of
//! such a subscriber full drops messages instead of waiting.

use crate::events::Events;
use crate::isolation::Isolation;
use crate::service::{Messages, Quality, messages};
use dyno_adapter::{ChannelSpec, Error, Receiver, Result, Wait};
use iceoryx2::node::Node;
use iceoryx2::port::DegradationAction;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::{PortFactory, ipc};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) struct Iceoryx2Receiver {
    subscriber: Option<Subscriber<ipc::Service, [u8], ()>>,
    events: Events,
    service: Messages,
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
        // Before the subscriber, so that a sender which sees the subscriber also notifies.
        let events = Events::new(node, channel, wait)?;
        let service = messages(node, quality, channel)?;
        isolation.claim()?;
        Ok(Iceoryx2Receiver {
            subscriber: None,
            events,
            service,
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
        let mut until = None;
        while !self.poll(on_message)? {
            if !self.events.sleep(&mut until)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
