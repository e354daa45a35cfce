//! Adapter `posix-mq`: a POSIX message queue for each reader of a channel, named after the channel
//! and the reader.
//!
//! A queue holds `queue_depth` messages of `fragment` bytes, room for which counts against
//! RLIMIT_MSGQUEUE from its creation on; the defaults are within what every kernel allows an
//! unprivileged user.
//!
//! A queue tells nobody whether the other side lives. The reader holds a locked file in the scratch
//! directory, at which a sender looks while it waits for room. A reader does not notice a sender
//! that is gone.

mod mq;
mod queue;

use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Endpoint, Node, NodeContext,
    OptionSpec, Placement, Receiver, Resource, Result, Sender, Wait,
};
use dyno_wire::datagram::{self, DatagramReceiver, DatagramSender};
use dyno_wire::fd::{int_option, kernel_release, positive};
use dyno_wire::link::own_endpoint;
use queue::{QueueAccept, QueueDial};
use std::path::PathBuf;

/// Bytes of the largest queued message, unless option `fragment` says otherwise.
const FRAGMENT: usize = 4096;
/// What the other stacks have; the kernel allows 10 unless its limit says otherwise (mq_overview(7)).
const DEPTH: usize = 16;

/// The adapter.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(PosixMq)
}

struct PosixMq;

/// The default depth: as the other stacks, or the kernel's limit where that is lower.
fn default_depth() -> usize {
    mq::limit("msg_max").map_or(DEPTH, |limit| limit.min(DEPTH))
}

impl Adapter for PosixMq {
    fn describe(&self) -> AdapterDescription {
        let unavailable = mq::limit("msg_max").is_none().then(|| {
            "this kernel has no POSIX message queues (no /proc/sys/fs/mqueue); boot one with \
             CONFIG_POSIX_MQUEUE=y"
                .to_owned()
        });
        AdapterDescription {
            name: "posix-mq".into(),
            version: kernel_release(),
            summary: "POSIX message queues of the kernel, one for each reader; a message is \
                      sent once for each reader. If the channel's largest message exceeds \
                      option `fragment` (4 KiB), messages are cut into fragments with a \
                      12-byte header."
                .into(),
            capabilities: Capabilities {
                waits: vec![Wait::Block, Wait::Spin],
                reliable: true,
                placements: vec![Placement::Thread, Placement::Process],
                fragments_above: Some(FRAGMENT as u64),
                ..Capabilities::default()
            },
            options: vec![
                OptionSpec {
                    // A byte behind the header.
                    least: Some(13),
                    ..int_option(
                        "fragment",
                        Some(FRAGMENT),
                        "largest queued message in bytes, its 12-byte header included; the kernel's \
                         limit is fs.mqueue.msgsize_max",
                    )
                },
                OptionSpec {
                    most: mq::limit("msg_max").and_then(|most| i64::try_from(most).ok()),
                    ..int_option(
                        "queue_depth",
                        Some(default_depth()),
                        "messages or fragments that a queue holds; the kernel's limit is \
                         fs.mqueue.msg_max, which `sysctl fs.mqueue.msg_max=N` raises",
                    )
                },
            ],
            unavailable,
            library: None,
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        let fragment = positive(context, "fragment")?.unwrap_or(FRAGMENT);
        let depth = match positive(context, "queue_depth")? {
            Some(depth) => depth,
            None => default_depth(),
        };
        Ok(Box::new(QueueNode {
            context: context.clone(),
            fragment,
            depth,
        }))
    }
}

struct QueueNode {
    context: NodeContext,
    fragment: usize,
    depth: usize,
}

impl QueueNode {
    /// The queue's name, and the file by which its reader shows that it lives.
    fn names(&self, channel: &ChannelSpec, reader: &Endpoint) -> (String, PathBuf) {
        let name = format!("{}.{}", channel.name, reader.participant);
        let presence = self.context.scratch.join(format!("{name}.reader"));
        (format!("/{name}"), presence)
    }
}

impl Node for QueueNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let layout = datagram::layout(channel, self.fragment)?;
        let dial = |reader| {
            let (name, presence) = self.names(channel, reader);
            QueueDial::new(&name, presence)
        };
        let dials = channel.readers.iter().map(dial).collect::<Result<_>>()?;
        Ok(Box::new(DatagramSender::new(channel, layout, dials)))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let layout = datagram::layout(channel, self.fragment)?;
        let (name, presence) = self.names(channel, own_endpoint(&self.context, channel)?);
        self.context.claim(&Resource::Mqueue(name.clone()))?;
        let accept = QueueAccept::create(&name, &presence, self.depth, layout.datagram(), wait)?;
        Ok(Box::new(DatagramReceiver::new(
            channel, layout, accept, wait,
        )))
    }
}
