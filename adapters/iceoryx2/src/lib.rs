//! iceoryx2: publish-subscribe through shared memory, written and read in place.
//!
//! One channel is one publish-subscribe service of byte slices with one publisher. A message is
//! written into memory that the library lends and read where it was written; nothing is copied.
//! Readers that [block](Wait::Block) sleep on an event service beside it, which the sender
//! notifies after each message as long as listeners are attached; readers that
//! [spin](Wait::Spin) attach none and cost the sender nothing.
//!
//! A call is one request-response service with one client and one server; requests and responses
//! are written and read in place too. The module `call` says how the ends share them.
//!
//! Each trial has a configuration of its own: its files lie in the scratch directory and its
//! shared memory is named after the session, so that no two trials and no other user of iceoryx2
//! on the machine ever see each other. The module `isolation` says what exists where.

mod call;
mod events;
mod isolation;
mod peer;
mod receiver;
mod sender;
mod service;

use call::{Answering, Asking, CallReceiver, Calls, RequestSender, ResponseSender};
use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, Carries, ChannelSpec, Error, Node, NodeContext,
    OptionSpec, OptionValue, Placement, Receiver, Result, Sender, Wait,
};
use iceoryx2::prelude::{
    LogLevel, NodeBuilder, NodeName, SignalHandlingMode, ipc, set_log_level_from_env_or,
};
use iceoryx2_bb_elementary::package_version::PackageVersion;
use isolation::Isolation;
use service::Quality;
use std::sync::Arc;

/// The adapter `iceoryx2`.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Iceoryx2)
}

struct Iceoryx2;

impl Adapter for Iceoryx2 {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "iceoryx2".into(),
            version: PackageVersion::get().to_string(),
            summary: "Publish-subscribe of byte slices in shared memory, written and read in \
                      place. Blocking readers sleep on an iceoryx2 event that the sender notifies \
                      after each message."
                .into(),
            capabilities: Capabilities {
                loan: true,
                waits: vec![Wait::Spin, Wait::Block],
                reliable: true,
                best_effort: true,
                request_response: true,
                placements: vec![Placement::Thread, Placement::Process],
                ..Capabilities::default()
            },
            options: vec![
                OptionSpec {
                    least: Some(1),
                    ..OptionSpec::new(
                        "queue_depth",
                        OptionValue::Int(service::DEFAULT_DEPTH),
                        "messages that a reader's buffer holds; if omitted: 16, or fewer if they \
                         would take more than 128 MiB; the library's default: 2",
                    )
                },
                OptionSpec::new(
                    "history",
                    OptionValue::Int(0),
                    "old messages that a reader gets when it joins",
                ),
                OptionSpec::new(
                    "safe_overflow",
                    OptionValue::Bool(false),
                    "true: a full buffer loses its oldest message (best effort); false: the \
                     sender waits for room (reliable)",
                ),
            ],
            ..AdapterDescription::default()
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        // The library logs to stderr; stdout stays free for the caller.
        set_log_level_from_env_or(LogLevel::Warn);
        let quality = Quality::from_options(context)?;
        let isolation = Arc::new(Isolation::new(context)?);
        let name = NodeName::new(&format!("participant-{}", context.participant))
            .map_err(|e| Error::library("NodeName::new", e))?;
        let node = NodeBuilder::new()
            .name(&name)
            .config(isolation.config())
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()
            .map_err(|e| {
                Error::library(
                    format!("NodeBuilder::create in {}", isolation.root().display()),
                    format!("{e}; is there room in /dev/shm and in the scratch directory?"),
                )
            })?;
        isolation.claim()?;
        Ok(Box::new(Iceoryx2Node {
            node,
            quality,
            asking: Calls::default(),
            answering: Calls::default(),
            isolation,
        }))
    }
}

/// One participant: one iceoryx2 node.
struct Iceoryx2Node {
    node: iceoryx2::node::Node<ipc::Service>,
    quality: Quality,
    asking: Calls<Asking>,
    answering: Calls<Answering>,
    // Last: what the node still removes when it is dropped is found through it.
    isolation: Arc<Isolation>,
}

impl Node for Iceoryx2Node {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let (node, quality, isolation) = (&self.node, &self.quality, Arc::clone(&self.isolation));
        Ok(match channel.carries {
            Carries::Messages => Box::new(sender::Iceoryx2Sender::new(
                node, quality, channel, isolation,
            )?),
            Carries::Requests { .. } => {
                let shared = self.asking.shared(node, quality, channel, &isolation)?;
                Box::new(RequestSender::new(node, channel, shared, isolation)?)
            }
            Carries::Responses { .. } => {
                let shared = self.answering.shared(node, quality, channel, &isolation)?;
                Box::new(ResponseSender::new(node, channel, shared, isolation)?)
            }
        })
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let (node, quality, isolation) = (&self.node, &self.quality, Arc::clone(&self.isolation));
        Ok(match channel.carries {
            Carries::Messages => Box::new(receiver::Iceoryx2Receiver::new(
                node, quality, channel, wait, isolation,
            )?),
            Carries::Requests { .. } => {
                let shared = self.answering.shared(node, quality, channel, &isolation)?;
                Box::new(CallReceiver::new(node, channel, wait, shared, isolation)?)
            }
            Carries::Responses { .. } => {
                let shared = self.asking.shared(node, quality, channel, &isolation)?;
                Box::new(CallReceiver::new(node, channel, wait, shared, isolation)?)
            }
        })
    }
}
