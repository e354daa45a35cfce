//! Adapter `vsock`: a stream of AF_VSOCK (vsock(7)) from the sender to each reader, between a virtual machine and its host,
//! or between two machines of one back end.
//!
//! A message is one frame: one `send`, and one `recv` for as much as has come. A call is one connection, which the caller
//! makes: requests go one way and responses the other.
//!
//! In a guest the sockets are the kernel's. On its host they are the kernel's too where the device is (vhost-vsock); where a
//! process is the device (vhost-device-vsock), that carries each connection over a Unix domain socket of the host
//! (`back_end`). Who is reached how stands in [`VSOCK`], which the runner sets.

mod back_end;
mod socket;

use back_end::BackEndDial;
use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, Carries, ChannelSpec, Endpoint, Error, Node,
    NodeContext, Placement, Receiver, Result, Sender, VSOCK, VsockPeer, Wait,
};
use dyno_wire::call::{Calls, Joint, Making, Taking};
use dyno_wire::fd::{Listener, SocketOutlet, kernel_release};
use dyno_wire::link::{Dial, own_endpoint};
use dyno_wire::stream::{StreamReceiver, StreamSender};
use socket::SocketDial;

/// The adapter.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Vsock)
}

struct Vsock;

impl Adapter for Vsock {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "vsock".into(),
            version: kernel_release(),
            summary: "AF_VSOCK streams into and out of a virtual machine, one connection to \
                      each reader. A message is a frame with a 4-byte length, sent once for \
                      each reader. A call uses one connection for both directions. If a \
                      process emulates the device, the host's side of each connection is a \
                      Unix domain socket of that process."
                .into(),
            capabilities: Capabilities {
                waits: vec![Wait::Block, Wait::Spin],
                reliable: true,
                request_response: true,
                placements: vec![Placement::Host],
                ..Capabilities::default()
            },
            ..AdapterDescription::default()
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        let told = std::env::var(VSOCK).unwrap_or_default();
        Ok(Box::new(VsockNode {
            context: context.clone(),
            peers: VsockPeer::read(&told),
            calls: Calls::default(),
        }))
    }
}

struct VsockNode {
    context: NodeContext,
    peers: Vec<VsockPeer>,
    calls: Calls<Joint>,
}

impl VsockNode {
    /// How the participants at `address` are reached from here.
    fn peer(&self, address: &str) -> Result<&VsockPeer> {
        let found = self.peers.iter().find(|p| p.address == address);
        found.ok_or_else(|| {
            Error::Unsupported(format!(
                "a way by vsock to {address}; one of two participants must be in a virtual machine of this testbed"
            ))
        })
    }

    fn dial(&self, reader: &Endpoint) -> Result<AnyDial> {
        let peer = self.peer(&reader.address)?;
        Ok(match &peer.back_end {
            Some(path) => AnyDial::BackEnd(BackEndDial::new(path.clone(), reader.port)),
            None => AnyDial::Socket(SocketDial::new(peer.cid, reader.port)),
        })
    }
}

impl Node for VsockNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let joint = self.calls.shared(channel, || Ok(Joint::default()))?;
        if let (Carries::Responses { .. }, Some(joint)) = (&channel.carries, &joint) {
            let back = Taking::new(joint.clone(), Wait::Spin);
            return Ok(Box::new(StreamSender::new(channel, vec![back])));
        }
        let dial = |reader| Ok(Making::new(self.dial(reader)?, joint.clone()));
        let dials = channel.readers.iter().map(dial).collect::<Result<_>>()?;
        Ok(Box::new(StreamSender::new(channel, dials)))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let joint = self.calls.shared(channel, || Ok(Joint::default()))?;
        if let (Carries::Responses { .. }, Some(joint)) = (&channel.carries, &joint) {
            let back = Taking::new(joint.clone(), wait);
            return Ok(Box::new(StreamReceiver::new(channel, back, wait)));
        }
        let port = own_endpoint(&self.context, channel)?.port;
        let (fd, file) = match &self.peer(&channel.writer_address)?.back_end {
            Some(path) => back_end::bound(path, port).map(|(fd, file)| (fd, Some(file)))?,
            None => (socket::bound(port)?, None),
        };
        let accept = Making::new(Listener::new(fd, wait, file)?, joint);
        Ok(Box::new(StreamReceiver::new(channel, accept, wait)))
    }
}

/// Either way to a reader.
enum AnyDial {
    Socket(SocketDial),
    BackEnd(BackEndDial),
}

impl Dial for AnyDial {
    type Outlet = SocketOutlet;

    fn dial(&mut self) -> Result<Option<SocketOutlet>> {
        match self {
            AnyDial::Socket(dial) => dial.dial(),
            AnyDial::BackEnd(dial) => dial.dial(),
        }
    }
}
