//! What a reader that blocks sleeps on: the event service of its channel. Its being there makes the other side notify.

use crate::service::{Wakeups, wakeups};
use dyno_adapter::{ChannelSpec, Error, PATIENCE, Result, Wait};
use iceoryx2::node::Node;
use iceoryx2::port::listener::{Listener, ListenerWaitError};
use iceoryx2::prelude::ipc;
use std::time::Instant;

/// The events of a reader.
pub(crate) struct Events {
    /// Only where the reader blocks.
    listener: Option<Listener<ipc::Service>>,
    _wakeups: Option<Wakeups>,
}

impl Events {
    /// Those of a reader of `channel`.
    ///
    /// # Errors
    /// It would be called back, or the library refuses.
    pub(crate) fn new(
        node: &Node<ipc::Service>,
        channel: &ChannelSpec,
        wait: Wait,
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
        let listener = wakeups
            .as_ref()
            .map(|wakeups| wakeups.listener_builder().create())
            .transpose()
            .map_err(|e| Error::library(format!("create listener of {}", channel.name), e))?;
        Ok(Events {
            listener,
            _wakeups: wakeups,
        })
    }

    /// Sleeps until an event, which may be that of a message already taken: it only means to look again. False where
    /// nothing is waited for: the reader spins, a signal came, or the patience has ended that began with the first call with
    /// this `until`.
    ///
    /// # Errors
    /// The library cannot wait.
    pub(crate) fn sleep(&self, until: &mut Option<Instant>) -> Result<bool> {
        let Some(listener) = &self.listener else {
            return Ok(false);
        };
        let now = Instant::now();
        let deadline = *until.get_or_insert(now + PATIENCE);
        if now >= deadline {
            return Ok(false);
        }
        match listener.timed_wait(|_| {}, deadline - now) {
            Ok(_) => Ok(true),
            Err(ListenerWaitError::InterruptSignal) => Ok(false),
            Err(e) => Err(Error::library("Listener::timed_wait", e)),
        }
    }
}
