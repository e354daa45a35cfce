//! The interface between Dyno and a communication library or kernel mechanism.
//!
//! An [`Adapter`] opens a [`Node`] per participant; a node makes [`Sender`]s and [`Receiver`]s (or
//! subscriptions) for [`ChannelSpec`]s. Nothing of Dyno stands between the library and the sample:
//! a sender lets the caller fill the memory that the library sends, a receiver shows the memory
//! that the library received into.
//!
//! # Contract
//!
//! - **Names.** Everything that is visible beyond the process starts with [`ChannelSpec::name`] or
//!   [`NodeContext::session`], or lies in [`NodeContext::scratch`]. What does not lie there is
//!   [claimed](NodeContext::claim) *before* it is created, so that it can be removed after a crash.
//! - **Bounded waits.** `take` with [`Wait::Block`] returns after [`PATIENCE`] at the latest, or when
//!   a signal interrupts it; `take` with [`Wait::Spin`] returns at once, unless it asks
//!   ([`Capabilities::asks`]): then it returns when it is answered. `open`, `sender`,
//!   `receiver` and `matched` do not wait for peers. Only `send` may wait, for room, and only while
//!   its peers live; it must notice a peer that is gone and report it.
//! - **Hot path.** `send` and `take` do not allocate, lock, log or format on the way of a message,
//!   beyond what the library itself does.
//! - **Threads.** A node and what it made may be moved to another thread but are used by one thread
//!   at a time each. Callbacks of different channels may come from different threads.
//! - **Calls.** With the `request_response` capability a call is a pair of channels that name each
//!   other; see [`Carries`]. The ends may be made in either order. `matched` of the caller's ends
//!   tells whether the provider is there, that of the provider's ends whether its caller is, or, where
//!   the library does not tell, whether the service is offered. A sender of responses may be used
//!   in a callback without having been asked whether it is matched. It answers the request that
//!   `take` returned, or that the callback was given, last; within the `on_message` of a `take` it
//!   is not used. Where there is no request to answer, the response is
//!   [refused](Sent::Refused).
//! - **Dropping** a node, sender or receiver releases everything it created.

#![warn(clippy::too_many_lines)]

pub use dyno_model::adapter::{
    AdapterDescription, Capabilities, OptionKind, OptionSpec, OptionValue, Options, QUEUE_BYTES,
    QUEUE_DEPTH,
};
pub use dyno_model::factor::{Placement, Wait};
pub use dyno_model::machine::{SHARED_MEMORY, SHARES_BYTES, Share, VSOCK, VsockPeer};
pub use dyno_model::protocol::{Carries, ChannelSpec, Endpoint};

use std::path::PathBuf;
use std::time::Duration;

/// The longest that a blocking [`Receiver::take`] sleeps without a message.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// What went wrong in an adapter.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{call} failed: {source}{}", hint.as_deref().map(|h| format!("; {h}")).unwrap_or_default())]
    System {
        /// The call and its object, such as `bind 127.0.0.1:4000`.
        call: String,
        /// The kernel's answer.
        source: std::io::Error,
        /// What to do about it, where that is known.
        hint: Option<String>,
    },
    /// The library reported an error.
    #[error("{call} failed: {message}")]
    Library {
        /// The library's function.
        call: String,
        /// Its words.
        message: String,
    },
    /// An option of the stack is wrong.
    #[error("option `{name}`: {message}")]
    Option {
        /// The option.
        name: String,
        /// What is wrong and what to write instead.
        message: String,
    },
    /// The other side has gone.
    #[error("the peer of channel {channel} is gone")]
    PeerGone {
        /// The channel's name.
        channel: String,
    },
    /// The adapter cannot do this; its capabilities say so, and the planner should have refused.
    #[error("not supported: {0}")]
    Unsupported(String),
}

impl Error {
    /// A failed system call.
    pub fn system(call: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Error::System {
            call: call.into(),
            source: source.into(),
            hint: None,
        }
    }
    /// A failed system call, with what to do about it.
    pub fn system_hint(
        call: impl Into<String>,
        source: impl Into<std::io::Error>,
        hint: impl Into<String>,
    ) -> Self {
        Error::System {
            call: call.into(),
            source: source.into(),
            hint: Some(hint.into()),
        }
    }
    /// A wrong option of the stack: what is wrong, and what to write instead.
    pub fn option(name: &str, message: impl Into<String>) -> Self {
        Error::Option {
            name: name.to_owned(),
            message: message.into(),
        }
    }
    /// An error in a library's own words.
    pub fn library(call: impl Into<String>, message: impl std::fmt::Display) -> Self {
        Error::Library {
            call: call.into(),
            message: message.to_string(),
        }
    }
}

/// The result of an adapter's operations.
pub type Result<T> = std::result::Result<T, Error>;

/// Something outside the scratch directory that outlives a crashed process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// A POSIX message queue, by the name given to `mq_open`.
    Mqueue(String),
    /// A file, such as one in `/dev/shm`.
    File(PathBuf),
}

/// What a node is opened with.
#[derive(Debug, Clone)]
pub struct NodeContext {
    /// Unique on the machine for this trial. `[A-Za-z0-9._-]` only, at most 40 characters.
    pub session: String,
    /// A directory of this trial's own; it is removed with all it holds after the trial.
    pub scratch: PathBuf,
    /// The number of the participant within the trial.
    pub participant: u16,
    /// The IP address at which other hosts reach this one; `127.0.0.1` on a local testbed.
    pub address: String,
    /// Only so many bytes at the beginning of each received message are looked at; 0: all are. A message is shown in its
    /// whole length nevertheless. What would have to be put together from pieces need not be.
    pub looked_at: u16,
    /// The stack's options; names and types were checked against [`AdapterDescription::options`].
    pub options: Options,
}

impl NodeContext {
    /// Notes that `resource` is about to be created, so that whoever cleans up after a crash
    /// removes it. Call it before creating the resource; it costs one small file. Claim also what a
    /// library removes at exit: a process that reports a failure ends by quick_exit(3), which calls nothing of atexit(3)
    /// but handlers of at_quick_exit(3), and others of its trial may be killed.
    pub fn claim(&self, resource: &Resource) -> Result<()> {
        let dir = self.scratch.join(CLAIMS);
        let (kind, name) = match resource {
            Resource::Mqueue(name) => ("mqueue", name.clone()),
            Resource::File(path) => ("file", path.to_string_lossy().into_owned()),
        };
        let file: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        std::fs::create_dir_all(&dir)
            .and_then(|()| {
                std::fs::write(
                    dir.join(format!("{kind}-{file}")),
                    format!("{kind} {name}\n"),
                )
            })
            .map_err(|e| Error::system(format!("note {name} in {}", dir.display()), e))
    }

    /// A whole-number option, or `default` where it is left out.
    pub fn int(&self, name: &str, default: i64) -> Result<i64> {
        match self.options.get(name) {
            None => Ok(default),
            Some(OptionValue::Int(v)) => Ok(*v),
            Some(other) => Err(wrong(name, "a whole number", other)),
        }
    }
    /// A yes-or-no option, or `default` where it is left out.
    pub fn bool(&self, name: &str, default: bool) -> Result<bool> {
        match self.options.get(name) {
            None => Ok(default),
            Some(OptionValue::Bool(v)) => Ok(*v),
            Some(other) => Err(wrong(name, "true or false", other)),
        }
    }
    /// A number option, or `default` where it is left out.
    pub fn float(&self, name: &str, default: f64) -> Result<f64> {
        match self.options.get(name) {
            None => Ok(default),
            Some(OptionValue::Float(v)) => Ok(*v),
            Some(OptionValue::Int(v)) => Ok(*v as f64),
            Some(other) => Err(wrong(name, "a number", other)),
        }
    }
    /// A text option, or `default` where it is left out.
    pub fn text<'a>(&'a self, name: &str, default: &'a str) -> Result<&'a str> {
        match self.options.get(name) {
            None => Ok(default),
            Some(OptionValue::Text(v)) => Ok(v),
            Some(other) => Err(wrong(name, "text", other)),
        }
    }
    /// A text option that is one of `known`, or the first of them where it is left out.
    pub fn one_of<'a>(&'a self, name: &str, known: &[&'a str]) -> Result<&'a str> {
        let value = self.text(name, known.first().copied().unwrap_or_default())?;
        match known.contains(&value) {
            true => Ok(value),
            false => {
                let wanted = format!("one of {}", known.join(", "));
                Err(wrong(name, &wanted, &OptionValue::Text(value.to_owned())))
            }
        }
    }
}

fn wrong(name: &str, wanted: &str, found: &OptionValue) -> Error {
    Error::option(name, format!("write {wanted} instead of {found}"))
}

/// The folder within the scratch directory that holds one note per [claimed](NodeContext::claim)
/// resource; each note is a line `KIND NAME`, the kind `mqueue` or `file`.
pub const CLAIMS: &str = "claims";

/// One communication library or kernel mechanism.
pub trait Adapter: Send + Sync {
    /// Name, version, capabilities and options. Cheap, and without side effects.
    fn describe(&self) -> AdapterDescription;
    /// Opens the library for one participant. Does not wait for others.
    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>>;
}

/// What the library calls with the bytes of each message.
pub type OnMessage = Box<dyn FnMut(&[u8]) + Send>;

/// One participant's access to the library.
pub trait Node: Send {
    /// Makes the writing end of a channel. Does not wait for receivers.
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>>;
    /// Makes a reading end of a channel for `wait` [`Wait::Spin`] or [`Wait::Block`]. Does not
    /// wait for the sender.
    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>>;
    /// Makes a reading end whose messages the library hands to `on_message` from a thread of its
    /// own. When the subscription is dropped, `on_message` is not called any more and is dropped.
    fn subscribe(
        &mut self,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>> {
        drop(on_message);
        Err(Error::Unsupported(format!(
            "callback delivery on channel {}",
            channel.name
        )))
    }
}

/// What became of a message handed to [`Sender::send`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Accepted, at once or after waiting for room: how long that took is measured around the call.
    Accepted,
    /// Not accepted: the stack had no room and does not wait. The message is lost.
    Refused,
}

/// The writing end of a channel.
pub trait Sender: Send {
    /// The number of receivers that would get a message sent now. Also drives the connection
    /// where that takes steps; never waits.
    fn matched(&mut self) -> Result<usize>;
    /// Sends one message of `len` bytes, at most [`ChannelSpec::max_payload`]: lends or reserves
    /// memory, has it written by `fill`, which is called exactly once with exactly `len` bytes
    /// (their former content is unspecified) unless the result is [`Sent::Refused`] or an error,
    /// and sends it.
    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent>;
}

/// A reading end of a channel from which the caller takes.
pub trait Receiver: Send {
    /// Whether the sender is known. Also drives the connection where that takes steps; never waits.
    fn matched(&mut self) -> Result<bool>;
    /// Takes the next message, if there is one: `on_message` sees its bytes where the library put
    /// them. Returns whether there was one. How long it waits depends on the [`Wait`] that the
    /// receiver was made with; see the contract above.
    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool>;
}

/// A reading end of a channel from which the library calls.
pub trait Subscription: Send {
    /// Whether the sender is known. Never waits.
    fn matched(&mut self) -> Result<bool>;
}
