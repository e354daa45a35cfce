//! Adapter `pipe`: a pipe for each reader of a channel.
//!
//! It is the anonymous pipe of `pipe(2)`, handed over through a socket in the scratch directory, or with option
//! `named` the FIFO of `mkfifo(3)`: that is simpler to find, but may cost more for each message, because the
//! kernel keeps the times of its file up to date: it depends on the kernel and on the file system of the scratch directory.
//!
//! A message is one frame: one `write` and, where it fits the pipe, one `read`, as in
//! `perf bench sched pipe`. A blocking `read` of a pipe knows no time limit and a `poll` before it
//! would be a second system call for each message; therefore [`Receiver::take`] on an empty pipe
//! returns when a signal interrupts it, and not before.
//!
//! `SIGPIPE` is ignored from the first [`Adapter::open`] on, in the whole process (Rust's runtime
//! does the same), so that a reader that is gone is an error and not the end of the process.
//!
//! [`Receiver::take`]: dyno_adapter::Receiver::take

mod ends;
mod fifo;

use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Endpoint, Node, NodeContext,
    OptionSpec, OptionValue, Placement, Receiver, Result, Sender, Wait,
};
use dyno_wire::fd::{int_option, kernel_release, positive};
use dyno_wire::link::own_endpoint;
use dyno_wire::stream::{StreamReceiver, StreamSender};
use ends::{PipeAccept, PipeDial};
use fifo::{FifoAccept, FifoDial};
use std::path::PathBuf;

/// The adapter.
pub fn adapter() -> Box<dyn Adapter> {
    Box::new(Pipe)
}

struct Pipe;

impl Adapter for Pipe {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "pipe".into(),
            version: kernel_release(),
            summary: "Pipes of the kernel, one for each reader. A message is a frame with a \
                      4-byte length, written once for each reader."
                .into(),
            capabilities: Capabilities {
                waits: vec![Wait::Block, Wait::Spin],
                reliable: true,
                placements: vec![Placement::Thread, Placement::Process],
                ..Capabilities::default()
            },
            options: vec![
                OptionSpec::new(
                    "named",
                    OptionValue::Bool(false),
                    "named pipes (mkfifo) instead of anonymous ones",
                ),
                int_option(
                    "pipe_size",
                    None,
                    "capacity (F_SETPIPE_SZ) in bytes; the kernel rounds it up to a power-of-two \
                     number of pages; default: the kernel's, usually 65536",
                ),
            ],
            ..AdapterDescription::default()
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        ends::ignore_sigpipe();
        Ok(Box::new(PipeNode {
            context: context.clone(),
            named: context.bool("named", false)?,
            pipe_size: positive(context, "pipe_size")?,
        }))
    }
}

struct PipeNode {
    context: NodeContext,
    named: bool,
    pipe_size: Option<usize>,
}

impl PipeNode {
    fn path(&self, channel: &ChannelSpec, reader: &Endpoint) -> PathBuf {
        self.context
            .scratch
            .join(format!("{}.{}.pipe", channel.name, reader.participant))
    }
}

impl Node for PipeNode {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let paths = channel.readers.iter().map(|r| self.path(channel, r));
        if self.named {
            let dials = paths.map(|path| FifoDial::new(path, self.pipe_size));
            return Ok(Box::new(StreamSender::new(channel, dials.collect())));
        }
        let dials = paths.map(|path| PipeDial::new(path, self.pipe_size));
        let dials = dials.collect::<Result<_>>()?;
        Ok(Box::new(StreamSender::new(channel, dials)))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let path = self.path(channel, own_endpoint(&self.context, channel)?);
        if self.named {
            let accept = FifoAccept::make(path, wait)?;
            return Ok(Box::new(StreamReceiver::new(channel, accept, wait)));
        }
        let accept = PipeAccept::bind(path, wait)?;
        Ok(Box::new(StreamReceiver::new(channel, accept, wait)))
    }
}
