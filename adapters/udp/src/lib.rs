//! Adapter `udp`: a UDP socket for each reader of a channel, bound to the address and port of its
//! endpoint, and a connected one for it on the sender's side.
//!
//! A send waits for room in its own send buffer, as behind a slow link, or does not (option `congestion`).
//! UDP does not wait for a receiver: what its receive buffer has no room for is lost, and a message
//! in fragments is lost with any of them. The kernel counts more than the payload against that
//! buffer (in Linux 6.18 a datagram of 64 bytes costs 832, the largest one 66,700), and makes it
//! twice the size that option `rcvbuf` asks for. Its default of 212,992 bytes holds three of the
//! largest datagrams: messages of megabytes need a larger one.
//!
//! Sender and receiver find each other by an empty datagram, which the sender repeats for as long
//! as the reader's host answers that nobody listens there, and which receivers discard.

mod socket;

use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Error, Node, NodeContext, OptionSpec,
    OptionValue, Placement, Receiver, Result, Sender, Wait,
};
use dyno_wire::datagram::{self, DatagramReceiver, DatagramSender};
use dyno_wire::fd::{Buffers, int_option, kernel_release, positive};
use dyno_wire::link::{address, own_endpoint};
use socket::{UdpAccept, UdpDial};

/// Bytes of the largest datagram over IPv4: 65,535 less the headers of IP (RFC 791) and UDP
/// (RFC 768). The loopback interface carries it in one packet.
const LARGEST: usize = 65_507;

/// The adapter.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Udp)
}

struct Udp;

impl Adapter for Udp {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "udp".into(),
            version: kernel_release(),
            summary: "UDP of the kernel, one socket for each reader; a message is sent once \
                      for each reader. A full receive buffer loses messages. A message is one \
                      datagram; if the channel's largest message exceeds option `fragment` \
                      (65,507 B), messages are cut into fragments with a 12-byte header."
                .into(),
            capabilities: Capabilities {
                waits: vec![Wait::Block, Wait::Spin],
                best_effort: true,
                placements: vec![Placement::Thread, Placement::Process, Placement::Host],
                fragments_above: Some(LARGEST as u64),
                ..Capabilities::default()
            },
            options: vec![
                OptionSpec {
                    default: Some(OptionValue::Text("drop".into())),
                    ..OptionSpec::one_of(
                        "congestion",
                        &["block", "drop"],
                        "if the socket's send buffer is full, `block` waits for room, as sockets do by default, and `drop` \
                         refuses the message (MSG_DONTWAIT); a send never waits for a receiver",
                    )
                },
                OptionSpec {
                    // A byte behind the header.
                    least: Some(13),
                    most: i64::try_from(LARGEST).ok(),
                    ..int_option(
                        "fragment",
                        Some(LARGEST),
                        "largest datagram in bytes, its 12-byte header included",
                    )
                },
                Buffers::send_option(),
                Buffers::receive_option(),
            ],
            ..AdapterDescription::default()
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        let fragment = positive(context, "fragment")?.unwrap_or(LARGEST);
        if fragment > LARGEST {
            return Err(Error::option(
                "fragment",
                format!("write at most {LARGEST} instead of {fragment}"),
            ));
        }
        let buffers = Buffers::from_options(context)?;
        let waits = context.one_of("congestion", &["drop", "block"])? == "block";
        Ok(Box::new(UdpNode {
            context: context.clone(),
            fragment,
            buffers,
            waits,
        }))
    }
}

struct UdpNode {
    context: NodeContext,
    fragment: usize,
    buffers: Buffers,
    /// A send waits for room.
    waits: bool,
}

impl UdpNode {
    fn sender_that<const WAITS: bool>(&self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let layout = datagram::layout(channel, self.fragment)?;
        let dial = |reader| UdpDial::<WAITS>::new(address(reader)?, self.buffers);
        let dials = channel.readers.iter().map(dial).collect::<Result<_>>()?;
        Ok(Box::new(DatagramSender::new(channel, layout, dials)))
    }
}

impl Node for UdpNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        match self.waits {
            true => self.sender_that::<true>(channel),
            false => self.sender_that::<false>(channel),
        }
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let layout = datagram::layout(channel, self.fragment)?;
        let address = address(own_endpoint(&self.context, channel)?)?;
        let accept = UdpAccept::bind(address, self.buffers, wait)?;
        Ok(Box::new(DatagramReceiver::new(
            channel, layout, accept, wait,
        )))
    }
}
