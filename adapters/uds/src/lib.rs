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

mod socket;

use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Endpoint, Error, Node, NodeContext,
    OptionKind, OptionSpec, OptionValue, Placement, Receiver, Result, Sender, Wait,
};
use dyno_wire::datagram::{self, DatagramReceiver, DatagramSender};
use dyno_wire::fd::{Buffers, Listener, ScratchFile, int_option, kernel_release, positive};
use dyno_wire::link::own_endpoint;
use dyno_wire::stream::{StreamReceiver, StreamSender};
use socket::{DatagramAccept, UnixDial};
use std::path::PathBuf;

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
            summary: "Unix domain sockets of the kernel, one for each reader, and a message is \
                      sent once for each. Type stream: a message is one frame with a 4-byte \
                      length, never cut. Types dgram and seqpacket: a message is one datagram; \
                      if the channel's largest is above 64 KiB (option fragment), messages are \
                      cut into fragments with a 12-byte header."
                .into(),
            capabilities: Capabilities {
                loan: false,
                waits: vec![Wait::Block, Wait::Spin],
                reliable: true,
                best_effort: false,
                request_response: false,
                placements: vec![Placement::Thread, Placement::Process],
                max_message: None,
                fragments_above: Some(FRAGMENT as u64),
                max_receivers: None,
                loopback: false,
            },
            options: vec![
                OptionSpec {
                    name: "type".into(),
                    kind: OptionKind::OneOf(Kind::ALL.map(|(name, _)| name.to_owned()).into()),
                    default: Some(OptionValue::Text("stream".into())),
                    doc: "the kind of socket".into(),
                },
                int_option(
                    "fragment",
                    Some(FRAGMENT),
                    "largest datagram or packet in bytes, its 12-byte header included; the \
                     kernel takes the size of the send buffer less 32 bytes",
                ),
                Buffers::send_option(),
            ],
            unavailable: None,
            library: None,
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
        }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stream,
    Datagram,
    SeqPacket,
}

impl Kind {
    const ALL: [(&str, Kind); 3] = [
        ("stream", Kind::Stream),
        ("dgram", Kind::Datagram),
        ("seqpacket", Kind::SeqPacket),
    ];

    fn from_options(context: &NodeContext) -> Result<Self> {
        let text = context.text("type", "stream")?;
        let kind = Kind::ALL
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, kind)| *kind);
        kind.ok_or_else(|| Error::Option {
            name: "type".into(),
            message: format!("write stream, dgram or seqpacket instead of {text:?}"),
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
}

impl UdsNode {
    fn path(&self, channel: &ChannelSpec, reader: &Endpoint) -> PathBuf {
        self.context
            .scratch
            .join(format!("{}.{}.sock", channel.name, reader.participant))
    }
}

impl Node for UdsNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let Settings { kind, fragment, .. } = self.settings;
        if kind == Kind::Stream {
            let dial = |reader| UnixDial::new(self.path(channel, reader), self.settings, None);
            let dials = channel.readers.iter().map(dial).collect::<Result<_>>()?;
            return Ok(Box::new(StreamSender::new(channel, dials)));
        }
        let layout = datagram::layout(channel, fragment)?;
        let largest = Some(layout.datagram());
        let dial = |reader| UnixDial::new(self.path(channel, reader), self.settings, largest);
        let dials = channel.readers.iter().map(dial).collect::<Result<_>>()?;
        Ok(Box::new(DatagramSender::new(channel, layout, dials)))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let Settings { kind, fragment, .. } = self.settings;
        let file = ScratchFile::new(self.path(channel, own_endpoint(&self.context, channel)?));
        let fd = socket::bound(file.path(), self.settings)?;
        if kind == Kind::Stream {
            let accept = Listener::new(fd, wait, Some(file))?;
            return Ok(Box::new(StreamReceiver::new(channel, accept, wait)));
        }
        let layout = datagram::layout(channel, fragment)?;
        if kind == Kind::SeqPacket {
            let accept = Listener::new(fd, wait, Some(file))?;
            return Ok(Box::new(DatagramReceiver::new(
                channel, layout, accept, wait,
            )));
        }
        let accept = DatagramAccept::new(fd, wait, file);
        Ok(Box::new(DatagramReceiver::new(
            channel, layout, accept, wait,
        )))
    }
}
