//! The iceoryx2 services behind a channel. Both ends must describe them alike, so everything
//! here follows from the channel and the stack's options alone.

use dyno_adapter::{ChannelSpec, Error, NodeContext, Result};
use iceoryx2::node::Node;
use iceoryx2::prelude::{EventId, ServiceName, ipc};
use iceoryx2::service::port_factory::{event, publish_subscribe, request_response};

/// Messages in a reader's buffer where the stack does not say.
pub(crate) const DEFAULT_DEPTH: i64 = 16;
/// Most bytes of payload memory per publisher where the stack does not say how many messages, as long as that leaves a
/// buffer of one.
const MEMORY: usize = 128 << 20;
/// Messages that the publisher lends at a time.
pub(crate) const LOANS: usize = 1;
/// Requests that a client has under way, those that it has given up included.
const REQUESTS: usize = 4;
/// Responses to one request that a client's buffer holds.
const RESPONSES: usize = 1;
/// Messages that a reader holds at a time.
const BORROWS: usize = 1;

/// Messages are byte slices without a header of ours.
pub(crate) type Messages = publish_subscribe::PortFactory<ipc::Service, [u8], ()>;
/// Requests and responses are byte slices without a header of ours.
pub(crate) type Requests = request_response::PortFactory<ipc::Service, [u8], (), [u8], ()>;
/// What wakes readers that block.
pub(crate) type Wakeups = event::PortFactory<ipc::Service>;

/// The quality of service that the stack's options ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quality {
    buffer: usize,
    /// The stack says how many messages: they are what it gets, however large they are.
    asked: bool,
    history: usize,
    /// A full buffer loses its oldest message instead of holding up the sender.
    pub(crate) overflow: bool,
}

impl Quality {
    /// Reads the options.
    pub(crate) fn from_options(context: &NodeContext) -> Result<Self> {
        let count = |name: &str, default: i64, least: i64| {
            let value = context.int(name, default)?;
            usize::try_from(value)
                .ok()
                .filter(|_| value >= least)
                .ok_or_else(|| {
                    Error::option(name, format!("write {least} or more instead of {value}"))
                })
        };
        let buffer = count("queue_depth", DEFAULT_DEPTH, 1)?;
        let history = count("history", 0, 0)?;
        if history > buffer {
            return Err(Error::option(
                "history",
                format!("a buffer of {buffer} cannot hold {history}; raise `queue_depth`"),
            ));
        }
        Ok(Quality {
            buffer,
            asked: context.options.contains_key("queue_depth"),
            history,
            overflow: context.bool("safe_overflow", false)?,
        })
    }

    /// The buffer and history that a channel gets: as asked for; a buffer that nobody asked for is smaller where the
    /// messages that a publisher must preallocate would take more than [`MEMORY`].
    fn on(&self, channel: &ChannelSpec) -> (usize, usize) {
        if self.asked {
            return (self.buffer, self.history);
        }
        let readers = channel.readers.len().max(1);
        let messages = MEMORY / channel.max_payload.max(1);
        let room = messages.saturating_sub(LOANS + self.history) / readers;
        let buffer = self.buffer.min(room.saturating_sub(BORROWS)).max(1);
        (buffer, self.history.min(buffer))
    }
}

/// Opens the channel's publish-subscribe service, or creates it.
pub(crate) fn messages(
    node: &Node<ipc::Service>,
    quality: &Quality,
    channel: &ChannelSpec,
) -> Result<Messages> {
    let (buffer, history) = quality.on(channel);
    let readers = channel.readers.len().max(1);
    node.service_builder(&service_name(&channel.name)?)
        .publish_subscribe::<[u8]>()
        .max_publishers(1)
        .max_subscribers(readers)
        .max_nodes(1 + readers)
        .subscriber_max_buffer_size(buffer)
        .subscriber_max_borrowed_samples(BORROWS)
        .history_size(history)
        .enable_safe_overflow(quality.overflow)
        .open_or_create()
        .map_err(|e| Error::library(format!("open_or_create of service {}", channel.name), e))
}

/// Opens the request-response service of the call with that channel of requests, or creates it.
pub(crate) fn requests(
    node: &Node<ipc::Service>,
    quality: &Quality,
    channel: &str,
) -> Result<Requests> {
    node.service_builder(&service_name(channel)?)
        .request_response::<[u8], [u8]>()
        .max_clients(1)
        .max_servers(1)
        .max_nodes(2)
        .max_active_requests_per_client(REQUESTS)
        .max_loaned_requests(LOANS)
        .max_response_buffer_size(RESPONSES)
        .max_borrowed_responses_per_pending_response(BORROWS)
        .enable_safe_overflow_for_requests(quality.overflow)
        .enable_safe_overflow_for_responses(quality.overflow)
        .open_or_create()
        .map_err(|e| Error::library(format!("open_or_create of service {channel}"), e))
}

/// Opens the event service that wakes the channel's blocking readers, or creates it.
pub(crate) fn wakeups(node: &Node<ipc::Service>, channel: &ChannelSpec) -> Result<Wakeups> {
    let name = format!("{}.wakeup", channel.name);
    let readers = channel.readers.len().max(1);
    node.service_builder(&service_name(&name)?)
        .event()
        .max_notifiers(1)
        .max_listeners(readers)
        .max_nodes(1 + readers)
        .event_id_max_value(0)
        // Wakes readers that wait for the sender to appear.
        .notifier_created_event(EventId::new(0))
        .open_or_create()
        .map_err(|e| Error::library(format!("open_or_create of service {name}"), e))
}

fn service_name(name: &str) -> Result<ServiceName> {
    ServiceName::new(name).map_err(|e| Error::library(format!("ServiceName::new({name})"), e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_adapter::{Endpoint, QUEUE_BYTES};

    fn channel(max_payload: usize, readers: u16) -> ChannelSpec {
        ChannelSpec {
            id: 0,
            name: "c".into(),
            max_payload,
            writer: 0,
            writer_address: "127.0.0.1".into(),
            readers: (1..=readers)
                .map(|participant| Endpoint {
                    participant,
                    address: "127.0.0.1".into(),
                    port: participant,
                })
                .collect(),
            carries: Default::default(),
        }
    }

    fn quality(buffer: usize, asked: bool) -> Quality {
        Quality {
            buffer,
            asked,
            history: 0,
            overflow: false,
        }
    }

    #[test]
    fn a_buffer_that_nobody_asked_for_stays_within_the_memory_limit() {
        let default = quality(DEFAULT_DEPTH as usize, false);
        assert_eq!(default.on(&channel(64, 1)), (16, 0));
        for (payload, readers) in [(8_000_000, 1), (4_000_000, 3), (4 << 20, 2)] {
            let (buffer, _) = default.on(&channel(payload, readers));
            let held = (buffer + BORROWS) * usize::from(readers) + LOANS;
            assert!((2..16).contains(&buffer) && held * payload <= MEMORY);
        }
        assert_eq!(default.on(&channel(1 << 30, 4)), (1, 0));
    }

    /// As tables say of a default.
    #[test]
    fn a_buffer_of_default_depth_is_whole_within_what_every_queue_may_take() {
        let default = quality(DEFAULT_DEPTH as usize, false);
        for readers in [1, 2, 4, 8, 64] {
            let payload = QUEUE_BYTES as usize / 16 / usize::from(readers);
            assert_eq!(default.on(&channel(payload, readers)), (16, 0));
        }
    }

    #[test]
    fn a_buffer_that_was_asked_for_is_never_smaller() {
        let asked = quality(64, true);
        for (payload, readers) in [(64, 1), (4 << 20, 1), (1 << 30, 4)] {
            assert_eq!(asked.on(&channel(payload, readers)), (64, 0));
        }
    }
}
