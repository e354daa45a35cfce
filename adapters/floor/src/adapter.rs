//! What the adapter says of itself, and its nodes.

use crate::endpoint::{FloorReceiver, FloorSender};
use crate::layout::{DEPTH, MAX_DEPTH};
use crate::subscription::FloorSubscription;
use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Error, Node, NodeContext, OnMessage,
    OptionKind, OptionSpec, OptionValue, Placement, Receiver, Result, Sender, Subscription, Wait,
};

/// The adapter `floor`.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Floor)
}

struct Floor;

impl Adapter for Floor {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "floor".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "Dyno's own ring of slots in shared memory, filled and read in place: what \
                      the exchange costs on this hardware with nothing in between."
                .into(),
            capabilities: Capabilities {
                loan: true,
                waits: vec![Wait::Spin, Wait::Block, Wait::Callback],
                reliable: true,
                best_effort: false,
                request_response: false,
                placements: vec![Placement::Thread, Placement::Process],
                max_message: None,
                fragments_above: None,
                max_receivers: None,
                sends_later: false,
                loopback: false,
            },
            options: vec![OptionSpec {
                name: "queue_depth".into(),
                kind: OptionKind::Int,
                default: Some(OptionValue::Int(DEPTH as i64)),
                most: Some(MAX_DEPTH as i64),
                doc: format!(
                    "slots of the ring, 1 to {MAX_DEPTH}; left out: {DEPTH}, or fewer (at least 4) \
                     where messages are so large that the ring would exceed 80 MiB"
                ),
            }],
            unavailable: unavailable(),
            library: None,
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        Ok(Box::new(FloorNode {
            context: context.clone(),
        }))
    }
}

fn unavailable() -> Option<String> {
    (!std::path::Path::new("/dev/shm").is_dir())
        .then(|| "there is no /dev/shm: `mount -t tmpfs tmpfs /dev/shm` (as root)".into())
}

struct FloorNode {
    context: NodeContext,
}

impl Node for FloorNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        Ok(Box::new(FloorSender::new(&self.context, channel)?))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        if wait == Wait::Callback {
            return Err(Error::Unsupported(format!(
                "taking with the wait strategy {wait} on channel {}; subscribe to it",
                channel.name
            )));
        }
        Ok(Box::new(FloorReceiver::new(&self.context, channel, wait)?))
    }

    fn subscribe(
        &mut self,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>> {
        let made = FloorSubscription::new(&self.context, channel, on_message)?;
        Ok(Box::new(made))
    }
}
