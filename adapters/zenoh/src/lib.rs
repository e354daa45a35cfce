//! zenoh: publish-subscribe between peers over TCP, UDP, or with shared memory.
//!
//! Participants are zenoh peers that find each other by address alone: scouting by multicast and
//! gossip are off, a reader listens at its endpoint of the channel, and the writer connects to it.
//! A participant has one session, as a user of zenoh would; since zenoh takes all its endpoints
//! when a session opens, the session opens with the first call on an end of a channel, not with
//! the node. What is made before that call shares the session; see the module `group`.
//!
//! A call is a query with a payload, and its response the one reply of a queryable; see the module
//! `call`.
//!
//! Behind a router with zenoh's plugin for DDS the other side may be DDS; see the module `dds`.
//!
//! zenoh runs its links on threads of its own, which all sessions of a process share; they
//! inherit the affinity of the thread that makes that first call.

mod call;
mod dds;
mod group;
mod presence;
mod receiver;
mod sender;
mod settings;
mod shm;

use call::Calls;
use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Node, NodeContext, OnMessage,
    Placement, Receiver, Result, Sender, Subscription, Wait,
};
use group::Group;
use settings::Settings;
use std::sync::Arc;

dyno_abi::export_adapter!(adapter);

/// The adapter `zenoh`.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Zenoh)
}

struct Zenoh;

impl Adapter for Zenoh {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "zenoh".into(),
            version: version(zenoh::GIT_VERSION).into(),
            summary: "Publish-subscribe between zenoh peers, connected by address. zenoh \
                      itself cuts messages above 64 KiB into fragments; if the receiver reads \
                      every byte of a message, the adapter joins the fragments into one piece \
                      of memory, which costs a copy."
                .into(),
            capabilities: Capabilities {
                loan: true,
                waits: vec![Wait::Spin, Wait::Block, Wait::Callback],
                reliable: true,
                best_effort: true,
                request_response: true,
                placements: vec![Placement::Thread, Placement::Process, Placement::Host],
                max_message: Some(settings::LARGEST),
                fragments_above: Some(settings::BATCH),
                sends_later: true,
                ..Capabilities::default()
            },
            options: settings::specs(),
            ..AdapterDescription::default()
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        let settings = Arc::new(Settings::from_options(context)?);
        Ok(Box::new(ZenohNode {
            group: Arc::new(Group::new(settings, context.clone())),
            calls: Calls::default(),
        }))
    }
}

/// One participant.
struct ZenohNode {
    /// Gathers the ends that are made until the first call on one of them.
    group: Arc<Group>,
    calls: Calls,
}

impl Node for ZenohNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let joint = self.calls.joint(channel);
        let group = Arc::clone(&self.group);
        let sender = sender::ZenohSender::new(group, channel, joint)?;
        Ok(Box::new(sender))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let joint = self.calls.joint(channel);
        let group = Arc::clone(&self.group);
        let receiver = receiver::ZenohReceiver::new(group, channel, wait, joint)?;
        Ok(Box::new(receiver))
    }

    fn subscribe(
        &mut self,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>> {
        let joint = self.calls.joint(channel);
        let group = Arc::clone(&self.group);
        let subscription = receiver::ZenohSubscription::new(group, channel, on_message, joint)?;
        Ok(Box::new(subscription))
    }
}

/// `1.10.2` of `v1.10.2-0123abcd`.
fn version(full: &'static str) -> &'static str {
    let full = full.strip_prefix('v').unwrap_or(full);
    full.split_once('-').map_or(full, |(number, _)| number)
}
