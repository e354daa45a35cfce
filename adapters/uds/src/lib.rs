//! Adapter `uds`: a Unix domain socket for each reader of a channel, bound in the scratch
//! directory; option `type` says which kind.
//!
//! | type | a message is | above option `fragment` | the receiver notices a sender that is gone |
//! |---|---|---|---|
//! | `stream` | a frame with a 4-byte length | never cut | yes |
//! | `seqpacket` | a packet | cut into fragments | yes |
//! | `dgram` | a datagram | cut into fragments | no: there is no connection |
//!
//! The kernel counts what is under way against the *send* buffer of such sockets; their receive
//! buffer has no meaning (unix(7)), so there is no option for it. Of datagrams, it also lets no
//! more than `net.unix.max_dgram_qlen` wait for a receiver.
//!
//! A call has one socket on each side for both directions: one connection, which the caller makes, or
//! with `dgram` one bound socket each, connected to the other.

mod socket;

use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, Carries, ChannelSpec, Endpoint, Node, NodeContext,
    OptionSpec, Placement, Receiver, Result, Sender, Wait,
};
use dyno_wire::call::{Calls, Joint, Making, Taking};
use dyno_wire::datagram::{self, DatagramReceiver, DatagramSender};
use dyno_wire::fd::{Buffers, Listener, ScratchFile, int_option, kernel_release, positive};
use dyno_wire::link::{Accept, own_endpoint};
use dyno_wire::stream::{StreamReceiver, StreamSender};
use socket::{Bound, DatagramAccept, UnixDial};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of the largest datagram or packet, unless option `fragment` says otherwise. Three of them
/// fit into the usual send buffer of 212,992 bytes, so that sender and receiver work at once; one
/// of more than about 208 KiB does not fit into it at all.
const FRAGMENT: usize = 64 * 1024;

/// The adapter.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Uds)
}

struct Uds;

impl Adapter for Uds {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "uds".into(),
            version: kernel_release(),
            summary: "Unix domain sockets of the kernel, one for each reader; a message is \
                      sent once for each reader. With type stream, a message is a frame with \
                      a 4-byte length, never cut. With types dgram and seqpacket, a message \
                      is one datagram; if the channel's largest message exceeds option \
                      `fragment` (64 KiB), messages are cut into fragments with a 12-byte \
                      header. A call uses one socket on each side for both directions."
                .into(),
            capabilities: Capabilities {
                waits: vec![Wait::Block, Wait::Spin],
                reliable: true,
                request_response: true,
                placements: vec![Placement::Thread, Placement::Process],
                fragments_above: Some(FRAGMENT as u64),
                ..Capabilities::default()
            },
            options: vec![
                OptionSpec::one_of("type", &KINDS, "the kind of socket"),
                int_option(
                    "fragment",
                    Some(FRAGMENT),
                    "largest datagram or packet in bytes, its 12-byte header included; the \
                     kernel accepts at most the size of the send buffer minus 32 bytes",
                ),
                Buffers::send_option(),
            ],
            ..AdapterDescription::default()
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        let settings = Settings {
            kind: Kind::from_options(context)?,
            fragment: positive(context, "fragment")?.unwrap_or(FRAGMENT),
            buffers: Buffers {
                send: positive(context, "sndbuf")?,
                receive: None,
            },
        };
        Ok(Box::new(UdsNode {
            context: context.clone(),
            settings,
            calls: Calls::default(),
            datagrams: Calls::default(),
        }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stream,
    Datagram,
    SeqPacket,
}

/// Their names.
const KINDS: [&str; 3] = ["stream", "dgram", "seqpacket"];

impl Kind {
    fn from_options(context: &NodeContext) -> Result<Self> {
        Ok(match context.one_of("type", &KINDS)? {
            "dgram" => Kind::Datagram,
            "seqpacket" => Kind::SeqPacket,
            _ => Kind::Stream,
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    kind: Kind,
    fragment: usize,
    buffers: Buffers,
}

struct UdsNode {
    context: NodeContext,
    settings: Settings,
    /// The connections of calls.
    calls: Calls<Joint>,
    /// Their sockets, where there are no connections.
    datagrams: Calls<Bound>,
}

impl UdsNode {
    fn path(&self, channel: &str, participant: u16) -> PathBuf {
        let name = format!("{channel}.{participant}.sock");
        self.context.scratch.join(name)
    }

    /// How a sender reaches `reader`; `largest` as for [`UnixDial::new`].
    fn dial(
        &self,
        channel: &ChannelSpec,
        reader: &Endpoint,
        largest: Option<usize>,
    ) -> Result<UnixDial> {
        let path = self.path(&channel.name, reader.participant);
        UnixDial::new(path, self.settings, largest)
    }

    /// The socket on which this participant both sends and receives the datagrams of a call;
    /// `channel` is the direction that it receives.
    fn bound(&mut self, of: &ChannelSpec, receives: &str) -> Result<Option<Arc<Bound>>> {
        let path = self.path(receives, self.context.participant);
        let settings = self.settings;
        self.datagrams.shared(of, || Bound::new(path, settings))
    }
}

/// The other direction of the call that `channel` is one of; its own name where it is none.
fn partner(channel: &ChannelSpec) -> &str {
    match &channel.carries {
        Carries::Messages => &channel.name,
        Carries::Requests { responses } => responses,
        Carries::Responses { requests } => requests,
    }
}

impl Node for UdsNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let Settings { kind, fragment, .. } = self.settings;
        if kind == Kind::Datagram && channel.carries != Carries::Messages {
            return self.datagram_call(channel);
        }
        let layout = match kind {
            Kind::Stream => None,
            Kind::SeqPacket | Kind::Datagram => Some(datagram::layout(channel, fragment)?),
        };
        let joint = self.calls.shared(channel, || Ok(Joint::default()))?;
        if let (Carries::Responses { .. }, Some(joint)) = (&channel.carries, &joint) {
            let back = vec![Taking::new(joint.clone(), Wait::Spin)];
            return Ok(match layout {
                None => Box::new(StreamSender::new(channel, back)),
                Some(layout) => Box::new(DatagramSender::new(channel, layout, back)),
            });
        }
        let largest = layout.as_ref().map(|l| l.datagram());
        let dial = |reader| {
            let dial = self.dial(channel, reader, largest)?;
            Ok(Making::new(dial, joint.clone()))
        };
        let dials = channel.readers.iter().map(dial).collect::<Result<_>>()?;
        Ok(match layout {
            None => Box::new(StreamSender::new(channel, dials)),
            Some(layout) => Box::new(DatagramSender::new(channel, layout, dials)),
        })
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let Settings { kind, fragment, .. } = self.settings;
        let own = own_endpoint(&self.context, channel)?.participant;
        if kind == Kind::Datagram {
            let layout = datagram::layout(channel, fragment)?;
            let bound = match self.bound(channel, &channel.name)? {
                Some(bound) => bound,
                None => Arc::new(Bound::new(self.path(&channel.name, own), self.settings)?),
            };
            let accept = DatagramAccept::new(bound, wait)?;
            return Ok(Box::new(DatagramReceiver::new(
                channel, layout, accept, wait,
            )));
        }
        let joint = self.calls.shared(channel, || Ok(Joint::default()))?;
        if let (Carries::Responses { .. }, Some(joint)) = (&channel.carries, &joint) {
            let back = Taking::new(joint.clone(), wait);
            return self.connected(channel, back, wait);
        }
        let file = ScratchFile::new(self.path(&channel.name, own));
        let fd = socket::bound(file.path(), self.settings)?;
        let listener = Listener::new(fd, wait, Some(file))?;
        self.connected(channel, Making::new(listener, joint), wait)
    }
}

impl UdsNode {
    /// A receiver of messages that come over a connection.
    fn connected(
        &self,
        channel: &ChannelSpec,
        accept: impl Accept + 'static,
        wait: Wait,
    ) -> Result<Box<dyn Receiver>> {
        if self.settings.kind == Kind::Stream {
            return Ok(Box::new(StreamReceiver::new(channel, accept, wait)));
        }
        let layout = datagram::layout(channel, self.settings.fragment)?;
        Ok(Box::new(DatagramReceiver::new(
            channel, layout, accept, wait,
        )))
    }

    /// A sender of one direction of a call by datagrams: it sends from the socket that receives the
    /// other direction.
    fn datagram_call(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let layout = datagram::layout(channel, self.settings.fragment)?;
        let mut dials = Vec::new();
        if let Some(bound) = self.bound(channel, partner(channel))? {
            for reader in &channel.readers {
                let dial = self.dial(channel, reader, Some(layout.datagram()))?;
                dials.push(dial.from(&bound)?);
            }
        }
        Ok(Box::new(DatagramSender::new(channel, layout, dials)))
    }
}
