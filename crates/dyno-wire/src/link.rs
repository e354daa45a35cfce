//! What an adapter implements for its mechanism, and how bytes are handed over through it.
//!
//! A sender reaches each reader of its channel through an [`Outlet`], which [`Dial`] makes once
//! the reader is there; several readers are served one after the other. A receiver takes through
//! an [`Inlet`], which [`Accept`] makes.
//!
//! Handing over costs one system call: [`Outlet::offer`], which never waits. Only where that finds
//! no room, [`Outlet::push`] sleeps in the kernel until there is some, at most [`PATIENCE`] at a
//! time; in between the reader is looked at, so that nobody waits for the dead.

use dyno_adapter::{ChannelSpec, Endpoint, Error, NodeContext, PATIENCE, Result, Sent, Wait};
use rustix::io::{self, Errno};
use std::net::SocketAddr;
use std::time::Duration;

/// How often a message that is partly handed over goes on after a signal. Whoever interrupts more
/// often wants the thread back.
const INTERRUPTIONS: u32 = 50;

/// The way to one reader, as the kernel gives it.
pub trait Outlet: Send {
    /// Whether a message waits for room; otherwise it is [refused](Sent::Refused).
    const WAITS: bool = true;
    /// Whether it is a connection, which does not come back once the reader is gone or a send has failed. Otherwise an error is of one
    /// message, and later ones may arrive at whoever takes the reader's place.
    const CONNECTED: bool = true;
    /// Hands over bytes without waiting: how many were taken, or `AGAIN`.
    fn offer(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Hands over bytes, waiting for room for [`PATIENCE`] or until the reader is gone: how many
    /// were taken, or `AGAIN`.
    fn push(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Whether the reader is still there, as far as the mechanism tells. Never waits.
    fn is_alive(&self) -> bool;
}

/// Reaches one reader.
pub trait Dial: Send {
    /// What a reader is reached through.
    type Outlet: Outlet;
    /// Takes the next step; the outlet once the reader is there. Never waits.
    fn dial(&mut self) -> Result<Option<Self::Outlet>>;
}

/// The end from which a receiver takes.
pub trait Inlet: Send {
    /// An empty read is the end of the connection; otherwise it is a greeting.
    const CONNECTED: bool;
    /// Reads what there is, at once or sleeping for at most [`PATIENCE`], as the receiver's wait
    /// strategy demands: how many bytes, or `AGAIN`.
    fn read(&self, space: &mut [u8]) -> io::Result<usize>;
    /// Whether something from the sender lies ready; takes nothing and never waits. Asked only of
    /// inlets that are not [connected](Self::CONNECTED).
    fn has_arrival(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// Waits for the sender.
pub trait Accept: Send {
    /// What a receiver takes through.
    type Inlet: Inlet;
    /// The inlet, once the sender is there; waits for that at most as long as told.
    fn accept(&mut self, wait: Duration) -> Result<Option<Self::Inlet>>;
}

/// The reader of `channel` that the participant of `context` is.
pub fn own_endpoint<'a>(context: &NodeContext, channel: &'a ChannelSpec) -> Result<&'a Endpoint> {
    let is_own = |e: &&Endpoint| e.participant == context.participant;
    channel.readers.iter().find(is_own).ok_or_else(|| {
        Error::Unsupported(format!(
            "participant {} is not among the readers of channel {}",
            context.participant, channel.name
        ))
    })
}

/// The IP address and port of an endpoint.
pub fn address(endpoint: &Endpoint) -> Result<SocketAddr> {
    let ip = endpoint.address.parse().map_err(|_| {
        Error::Unsupported(format!(
            "{:?} as an address; write an IP address",
            endpoint.address
        ))
    })?;
    Ok(SocketAddr::new(ip, endpoint.port))
}

/// An error unless a message of `len` bytes may be sent on a channel.
#[inline]
pub(crate) fn check_len(len: usize, max: usize, channel: &str) -> Result<()> {
    if len == 0 || len > max {
        return Err(Error::Unsupported(format!(
            "a message of {len} bytes on channel {channel}; send 1 to {max} bytes"
        )));
    }
    Ok(())
}

/// How long a take that waits like this may sleep.
pub(crate) fn patience(wait: Wait) -> Duration {
    match wait {
        Wait::Block => PATIENCE,
        Wait::Spin | Wait::Callback => Duration::ZERO,
    }
}

pub(crate) fn gone(channel: &str) -> Error {
    Error::PeerGone {
        channel: channel.to_owned(),
    }
}

/// Whether the kernel says that the other side is gone.
fn means_gone(e: Errno) -> bool {
    [
        Errno::PIPE,
        Errno::CONNRESET,
        Errno::CONNREFUSED,
        Errno::NOTCONN,
    ]
    .contains(&e)
}

/// Why a read brought nothing.
#[cold]
pub(crate) fn read_error(e: Errno, channel: &str) -> Result<bool> {
    match e {
        Errno::AGAIN | Errno::INTR => Ok(false),
        e if means_gone(e) => Err(gone(channel)),
        e => Err(Error::system(format!("receive on channel {channel}"), e)),
    }
}

/// A message as what goes to a reader call by call.
pub(crate) trait Pieces {
    fn count(&self) -> usize;
    fn piece(&mut self, index: usize) -> &[u8];
}

enum Peer<D: Dial> {
    Sought(D),
    Reached(D::Outlet),
    /// The last that was heard of it is an error, but it is no connection; with whether a message went out since.
    Doubted(D::Outlet, bool),
    Gone,
}

impl<D: Dial> Peer<D> {
    /// The reader is gone, or a message may have reached it in part: a connection to it is of no use any more.
    #[cold]
    fn lose(&mut self) {
        *self = match std::mem::replace(self, Peer::Gone) {
            Peer::Reached(outlet) | Peer::Doubted(outlet, _) if !D::Outlet::CONNECTED => {
                Peer::Doubted(outlet, false)
            }
            _ => Peer::Gone,
        };
    }

    /// Counts a doubted reader again where a message went out to it and no error has come of that.
    #[cold]
    fn believe(&mut self) -> bool {
        *self = match std::mem::replace(self, Peer::Gone) {
            Peer::Doubted(outlet, went_out) => match (outlet.is_alive(), went_out) {
                (true, true) => Peer::Reached(outlet),
                (alive, went_out) => Peer::Doubted(outlet, alive && went_out),
            },
            other => other,
        };
        matches!(self, Peer::Reached(_))
    }
}

/// All readers of a channel.
pub(crate) struct Fan<D: Dial> {
    pub(crate) channel: String,
    peers: Vec<Peer<D>>,
}

/// What happened so far to one message.
#[derive(Debug, Default)]
struct Course {
    /// Some reader got some of it, so that it must go on.
    begun: bool,
    interruptions: u32,
}

/// Why a message went no further.
enum Stop {
    Refused,
    Gone,
    Failed(Errno),
}

impl<D: Dial> Fan<D> {
    pub(crate) fn new(channel: &ChannelSpec, dials: Vec<D>) -> Self {
        let peers = dials.into_iter().map(Peer::Sought).collect();
        Fan {
            channel: channel.name.clone(),
            peers,
        }
    }

    /// Takes the next step towards each reader; how many are reached and alive.
    pub(crate) fn matched(&mut self) -> Result<usize> {
        let mut reached = 0;
        for peer in &mut self.peers {
            match peer {
                Peer::Sought(dial) => {
                    if let Some(outlet) = dial.dial()? {
                        *peer = Peer::Reached(outlet);
                        reached += 1;
                    }
                }
                Peer::Reached(outlet) if outlet.is_alive() => reached += 1,
                Peer::Reached(_) => peer.lose(),
                Peer::Doubted(..) => reached += usize::from(peer.believe()),
                Peer::Gone => {}
            }
        }
        Ok(reached)
    }

    /// Hands the message to each reader in turn. A reader that is gone or fails does not keep the
    /// message from the others, but is reported.
    #[inline]
    pub(crate) fn send(&mut self, mut message: impl Pieces) -> Result<Sent> {
        let mut course = Course::default();
        let (mut served, mut failure) = (false, None);
        for peer in &mut self.peers {
            let stop = match peer {
                Peer::Reached(outlet) | Peer::Doubted(outlet, _) => {
                    let pieces = 0..message.count();
                    match pieces
                        .into_iter()
                        .try_for_each(|i| deliver(outlet, message.piece(i), &mut course))
                    {
                        Ok(()) => {
                            served = true;
                            if let Peer::Doubted(_, went_out) = peer {
                                *went_out = true;
                            }
                            continue;
                        }
                        Err(stop) => stop,
                    }
                }
                Peer::Sought(_) => continue,
                Peer::Gone => Stop::Gone,
            };
            match stop {
                // Interrupted before any reader got any of it: it is nobody's.
                Stop::Refused if D::Outlet::WAITS => break,
                Stop::Refused => {}
                Stop::Gone => {
                    peer.lose();
                    failure = Some(gone(&self.channel));
                }
                Stop::Failed(e) => {
                    // Some of the message may be on its way: the reader is of no use any more.
                    peer.lose();
                    failure = Some(failed(&self.channel, e));
                }
            }
        }
        match (failure, served) {
            (Some(error), _) => Err(error),
            (None, false) => Ok(Sent::Refused),
            (None, true) => Ok(Sent::Accepted),
        }
    }
}

#[cold]
fn failed(channel: &str, e: Errno) -> Error {
    let call = format!("send on channel {channel}");
    match e {
        Errno::MSGSIZE => {
            Error::system_hint(call, e, "make option `fragment` smaller or `sndbuf` larger")
        }
        e => Error::system(call, e),
    }
}

/// Hands all bytes to one reader.
#[inline]
fn deliver<O: Outlet>(
    outlet: &O,
    bytes: &[u8],
    course: &mut Course,
) -> std::result::Result<(), Stop> {
    match outlet.offer(bytes) {
        Ok(n) if n == bytes.len() => {
            course.begun = true;
            Ok(())
        }
        Ok(n) => deliver_rest(outlet, bytes, n, course),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) if O::WAITS => {
            deliver_rest(outlet, bytes, 0, course)
        }
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Err(Stop::Refused),
        Err(e) if means_gone(e) => Err(Stop::Gone),
        Err(e) => Err(Stop::Failed(e)),
    }
}

/// Hands over what is behind the first `done` bytes, waiting for room.
fn deliver_rest<O: Outlet>(
    outlet: &O,
    bytes: &[u8],
    mut done: usize,
    course: &mut Course,
) -> std::result::Result<(), Stop> {
    course.begun |= done > 0;
    while done < bytes.len() {
        match outlet.push(&bytes[done..]) {
            Ok(n) => {
                done += n;
                course.begun |= n > 0;
            }
            Err(Errno::INTR) if !course.begun => return Err(Stop::Refused),
            Err(Errno::INTR) => {
                course.interruptions += 1;
                if course.interruptions > INTERRUPTIONS {
                    return Err(Stop::Failed(Errno::INTR));
                }
            }
            Err(Errno::AGAIN) if outlet.is_alive() => {}
            Err(Errno::AGAIN) => return Err(Stop::Gone),
            Err(e) if means_gone(e) => return Err(Stop::Gone),
            Err(e) => return Err(Stop::Failed(e)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
