//! Adapter `tcp`: a TCP connection from the sender to each reader, which listens on the address
//! and port of its endpoint.
//!
//! A message is one frame: one `send`, and one `recv` for as much as has come. Nagle's algorithm
//! is off unless option `nodelay = false` asks for it.
//!
//! A call is one connection, which the caller makes: requests go one way and responses the other.

mod connect;

use connect::TcpDial;
use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, Carries, ChannelSpec, Node, NodeContext, OptionSpec,
    OptionValue, Placement, Receiver, Result, Sender, Wait,
};
use dyno_wire::call::{Calls, Joint, Making, Taking};
use dyno_wire::fd::{Buffers, Listener, kernel_release};
use dyno_wire::link::{address, own_endpoint};
use dyno_wire::stream::{StreamReceiver, StreamSender};

/// The adapter.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Tcp)
}

struct Tcp;

impl Adapter for Tcp {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "tcp".into(),
            version: kernel_release(),
            summary: "TCP of the kernel, one connection to each reader. A message is a frame \
                      with a 4-byte length, sent once for each reader. A call uses one \
                      connection for both directions."
                .into(),
            capabilities: Capabilities {
                waits: vec![Wait::Block, Wait::Spin],
                reliable: true,
                request_response: true,
                placements: vec![Placement::Thread, Placement::Process, Placement::Host],
                ..Capabilities::default()
            },
            options: vec![
                OptionSpec::new(
                    "nodelay",
                    OptionValue::Bool(true),
                    "send small messages at once (TCP_NODELAY) instead of gathering them",
                ),
                Buffers::send_option(),
                Buffers::receive_option(),
            ],
            ..AdapterDescription::default()
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        let settings = Settings {
            nodelay: context.bool("nodelay", true)?,
            buffers: Buffers::from_options(context)?,
        };
        Ok(Box::new(TcpNode {
            context: context.clone(),
            settings,
            calls: Calls::default(),
        }))
    }
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    nodelay: bool,
    buffers: Buffers,
}

struct TcpNode {
    context: NodeContext,
    settings: Settings,
    calls: Calls<Joint>,
}

impl Node for TcpNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let joint = self.calls.shared(channel, || Ok(Joint::default()))?;
        if let (Carries::Responses { .. }, Some(joint)) = (&channel.carries, &joint) {
            let back = Taking::new(joint.clone(), Wait::Spin);
            return Ok(Box::new(StreamSender::new(channel, vec![back])));
        }
        let dial = |reader| {
            let dial = TcpDial::new(address(reader)?, self.settings);
            Ok(Making::new(dial, joint.clone()))
        };
        let dials = channel.readers.iter().map(dial).collect::<Result<_>>()?;
        Ok(Box::new(StreamSender::new(channel, dials)))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let joint = self.calls.shared(channel, || Ok(Joint::default()))?;
        if let (Carries::Responses { .. }, Some(joint)) = (&channel.carries, &joint) {
            let back = Taking::new(joint.clone(), wait);
            return Ok(Box::new(StreamReceiver::new(channel, back, wait)));
        }
        let address = address(own_endpoint(&self.context, channel)?)?;
        let listener = Listener::new(connect::bound(address, self.settings)?, wait, None)?;
        let accept = Making::new(listener, joint);
        Ok(Box::new(StreamReceiver::new(channel, accept, wait)))
    }
}
