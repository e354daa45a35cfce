//! Eclipse Kuksa databroker over gRPC, kuksa.val.v2: a signal per channel, from a provider through the broker to subscribers.
//!
//! **Library.** `kuksa-rust-sdk`: its client connects, with TLS and a token, opens the provider's stream and subscribes. That client
//! lends itself to one call at a time, so calls that wait for their answer go through the client that the SDK generates and
//! exports, on the same connection. A participant has one connection, and one tokio runtime with a worker for each CPU that it may use, which is
//! what `#[tokio::main]` gives a user of the SDK. VISS is JSON on a WebSocket of `tokio-tungstenite`.
//!
//! **Values.** Signals have types, and none of them is bytes: a message travels as base64 in a text, four letters for three
//! bytes, which keeps them all. The adapter encodes and decodes, inside the measured time. (An array of uint8 would carry a
//! byte in one or two of protobuf's, and in four of the broker's.)
//!
//! **Signals.** Channel 3 of a trial is `Dyno.C3.Data` of the VSS tree that the stack file makes; `Dyno.C3.Readers` and
//! `Dyno.C3.Writer` carry what its ends say of themselves before the first message. All are continuous: of others the broker
//! drops a value that equals the one before.
//!
//! **Sending.** `publish = "stream"`: OpenProviderStream with PublishValuesRequest, which the broker answers only where it refuses. The
//! SDK has a queue of one request before the stream; a send waits for room in it. `publish = "unary"`: PublishValue, a call that waits for
//! its answer.
//!
//! **Receiving.** SubscribeById with a buffer of `broker_queue` values. The broker first sends the value from before, which is not
//! shown. For a subscriber that is slower it drops the oldest, without a word: Dyno counts them. A thread waits for each value, as the
//! main function of a user of the SDK does, and hands it to the callback outside of the runtime, so that a callback may send.
//!
//! **Calls.** A request sets the target of an actuator, `Dyno.C3.Data` (Actuate, which waits for the broker's answer); the broker hands
//! it to the actuator's provider over its stream (ProvideActuationRequest, BatchActuateStreamRequest). The provider shall accept each
//! target (BatchActuateStreamResponse), and does so before it acts: so this write on its stream is inside each measured call. The broker
//! does not wait for it and hands it to nobody. The response is a value that the provider publishes as above, of the responses'
//! channel's own signal, which the caller subscribes to.
//!
//! **Reads.** With `receive = "get"` a take reads what the broker keeps by GetValue and returns with the answer: a read, which Dyno times. A value that
//! is another than the one before is a message. Values that come between two reads are lost, and counted.
//!
//! **VISS.** With `publish = "viss"` a value goes in as a target: `set` of the actuator over a WebSocket, and a send waits for the answer. The broker
//! tells targets that it keeps over kuksa.val.v1 alone, to which the SDK's client for it subscribes. With `receive = "viss"` a value goes in over gRPC and comes out over VISS. The broker keeps the latest value alone for such a subscriber.

mod client;
mod ends;
mod listener;
mod presence;
mod provider;
mod settings;
mod subscriber;
mod viss;

use client::Client;
use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, Carries, ChannelSpec, Error, Node, NodeContext,
    OnMessage, Placement, Receiver, Result, Sender, Subscription, Wait,
};
use settings::{Receive, Settings};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

dyno_abi::export_adapter!(adapter);

/// The version of the SDK, as the manifest pins it.
pub const SDK: &str = "0.2.2";

/// The databroker takes 4 MiB with all that they hold (tonic's limit), and base64 makes four bytes of three.
const LARGEST: u64 = 3_000_000;

/// The adapter `kuksa`.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Kuksa)
}

struct Kuksa;

impl Adapter for Kuksa {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "kuksa".into(),
            version: SDK.into(),
            summary: "Eclipse Kuksa databroker over gRPC (kuksa.val.v2): a text signal for each channel, \
                      messages as base64. The version is that of kuksa-rust-sdk."
                .into(),
            capabilities: Capabilities {
                waits: vec![Wait::Callback, Wait::Spin],
                reliable: true,
                best_effort: true,
                request_response: true,
                placements: vec![Placement::Thread, Placement::Process, Placement::Host],
                max_message: Some(LARGEST),
                asks: true,
                ..Capabilities::default()
            },
            options: settings::specs(),
            ..AdapterDescription::default()
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        let settings = Settings::from_options(context)?;
        Ok(Box::new(KuksaNode {
            participant: context.participant,
            client: Arc::new(Client::connect(settings)?),
            asked: HashMap::new(),
        }))
    }
}

/// Whether a request waits for its response.
type Asked = Arc<AtomicBool>;

/// One participant.
struct KuksaNode {
    participant: u16,
    client: Arc<Client>,
    /// What the two ends of a call share, by the name of the requests' channel.
    asked: HashMap<String, Asked>,
}

impl KuksaNode {
    fn asked(&mut self, channel: &ChannelSpec) -> Option<Asked> {
        let requests = match &channel.carries {
            Carries::Messages => return None,
            Carries::Requests { .. } => &channel.name,
            Carries::Responses { requests } => requests,
        };
        Some(Arc::clone(self.asked.entry(requests.clone()).or_default()))
    }
}

impl Node for KuksaNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let asked = self.asked(channel);
        let sender = ends::KuksaSender::new(&self.client, channel, asked)?;
        Ok(Box::new(sender))
    }

    fn receiver(&mut self, channel: &ChannelSpec, _wait: Wait) -> Result<Box<dyn Receiver>> {
        if self.client.settings.receive != Receive::Get
            || !matches!(channel.carries, Carries::Messages)
        {
            return Err(Error::Unsupported(format!(
                "a receiver that takes, on channel {}: values come to a callback, unless a stack with `asks = true` and the \
                 option `receive` = \"get\" reads messages",
                channel.name
            )));
        }
        let reader = ends::KuksaReader::new(&self.client, self.participant, channel)?;
        Ok(Box::new(reader))
    }

    fn subscribe(
        &mut self,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>> {
        let asked = self.asked(channel);
        let ends = ends::KuksaSubscription::new(
            &self.client,
            self.participant,
            channel,
            on_message,
            asked,
        )?;
        Ok(Box::new(ends))
    }
}

#[cfg(test)]
mod tests {
    /// The lock file has what the adapter says that it is.
    #[test]
    fn the_version_is_that_of_the_sdk_in_the_lock_file() {
        let lock = include_str!("../../../Cargo.lock");
        let wanted = format!("name = \"kuksa-rust-sdk\"\nversion = \"{}\"\n", super::SDK);
        assert!(
            lock.contains(&wanted),
            "Cargo.lock has another kuksa-rust-sdk than {}; write its version into SDK",
            super::SDK
        );
    }
}
