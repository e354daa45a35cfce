//! The adapter `null`: measures Dyno itself. What a node sends over a channel, a receiver of the
//! same node takes back from the same buffer; no second participant, no kernel, no library.
//!
//! A send costs one load and two stores, a take two loads and one store; what a trial on `null` shows
//! beyond that is the cost of stamping, checking and recording.

mod slot;

use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Error, Node, NodeContext, Placement,
    Receiver, Result, Sender, Sent, Wait,
};
use slot::{Consumer, Producer, Slot};
use std::collections::HashMap;
use std::sync::Arc;

/// The adapter `null`.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Null)
}

struct Null;

impl Adapter for Null {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "null".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "One buffer within the process: a node receives its own messages. It \
                      measures the cost of Dyno itself. While the buffer is full, a send is \
                      refused."
                .into(),
            capabilities: Capabilities {
                loan: true,
                waits: vec![Wait::Spin],
                reliable: true,
                placements: vec![Placement::Thread, Placement::Process],
                max_receivers: Some(1),
                loopback: true,
                ..Capabilities::default()
            },
            ..AdapterDescription::default()
        }
    }

    fn open(&self, _context: &NodeContext) -> Result<Box<dyn Node>> {
        Ok(Box::new(NullNode {
            slots: HashMap::new(),
        }))
    }
}

/// The slots of one node by channel name.
struct NullNode {
    slots: HashMap<String, Arc<Slot>>,
}

impl NullNode {
    fn slot(&mut self, channel: &ChannelSpec) -> &Arc<Slot> {
        self.slots
            .entry(channel.name.clone())
            .or_insert_with(|| Slot::new(channel.max_payload))
    }
}

impl Node for NullNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let producer =
            Producer::new(self.slot(channel)).ok_or_else(|| second("sender", channel))?;
        Ok(Box::new(NullSender {
            producer,
            channel: channel.name.clone(),
        }))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        if wait != Wait::Spin {
            return Err(Error::Unsupported(format!(
                "wait strategy {wait} on channel {}; null only spins",
                channel.name
            )));
        }
        let consumer =
            Consumer::new(self.slot(channel)).ok_or_else(|| second("receiver", channel))?;
        Ok(Box::new(NullReceiver { consumer }))
    }
}

fn second(end: &str, channel: &ChannelSpec) -> Error {
    Error::Unsupported(format!(
        "a second {end} of channel {} at the same time; drop the first",
        channel.name
    ))
}

struct NullSender {
    producer: Producer,
    channel: String,
}

impl Sender for NullSender {
    fn matched(&mut self) -> Result<usize> {
        Ok(usize::from(self.producer.has_consumer()))
    }

    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        if len > self.producer.capacity() {
            return Err(Error::Unsupported(format!(
                "a message of {len} bytes on channel {}, whose largest has {}",
                self.channel,
                self.producer.capacity()
            )));
        }
        Ok(if self.producer.put(len, fill) {
            Sent::Accepted
        } else {
            Sent::Refused
        })
    }
}

struct NullReceiver {
    consumer: Consumer,
}

impl Receiver for NullReceiver {
    fn matched(&mut self) -> Result<bool> {
        Ok(self.consumer.has_producer())
    }

    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(self.consumer.take(on_message))
    }
}
