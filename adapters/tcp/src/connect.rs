//! Making TCP connections without waiting.

use crate::Settings;
use dyno_adapter::{Error, Result};
use dyno_wire::fd::{SocketOutlet, await_events, set_nonblocking};
use dyno_wire::link::Dial;
use rustix::event::PollFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::net::{bind, connect, getpeername, getsockname, socket_with};
use std::net::SocketAddr;
use std::time::Duration;

/// A socket with its options set; an accepted connection inherits them.
fn socket(address: SocketAddr, settings: Settings, flags: SocketFlags) -> Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let fd = socket_with(
        family,
        SocketType::STREAM,
        flags | SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|e| Error::system("socket", e))?;
    sockopt::set_tcp_nodelay(&fd, settings.nodelay)
        .map_err(|e| Error::system("setsockopt TCP_NODELAY", e))?;
    settings.buffers.apply(&fd)?;
    Ok(fd)
}

/// A socket that a receiver may listen on.
pub(crate) fn bound(address: SocketAddr, settings: Settings) -> Result<OwnedFd> {
    let fd = socket(address, settings, SocketFlags::empty())?;
    sockopt::set_socket_reuseaddr(&fd, true)
        .and_then(|()| bind(&fd, &address))
        .map_err(|e| Error::system(format!("bind {address}"), e))?;
    Ok(fd)
}

/// Connects to a reader, as often as it takes.
pub(crate) struct TcpDial {
    address: SocketAddr,
    settings: Settings,
    /// A connection that is being made.
    pending: Option<OwnedFd>,
}

impl TcpDial {
    pub(crate) fn new(address: SocketAddr, settings: Settings) -> Self {
        TcpDial {
            address,
            settings,
            pending: None,
        }
    }

    /// An error, unless it only means that the reader is not there yet.
    fn unless_absent(&self, e: Errno) -> Result<Option<SocketOutlet>> {
        match e {
            Errno::CONNREFUSED | Errno::CONNRESET | Errno::TIMEDOUT | Errno::INTR => Ok(None),
            e => Err(Error::system(format!("connect {}", self.address), e)),
        }
    }
}

impl Dial for TcpDial {
    type Outlet = SocketOutlet;

    fn dial(&mut self) -> Result<Option<SocketOutlet>> {
        let failed = |e: Errno| Error::system(format!("connect {}", self.address), e);
        let fd = match self.pending.take() {
            Some(fd) => fd,
            None => {
                let fd = socket(self.address, self.settings, SocketFlags::NONBLOCK)?;
                match connect(&fd, &self.address) {
                    Ok(()) | Err(Errno::INPROGRESS) => fd,
                    Err(e) => return self.unless_absent(e),
                }
            }
        };
        if await_events(&fd, PollFlags::OUT, Duration::ZERO)
            .map_err(failed)?
            .is_empty()
        {
            self.pending = Some(fd);
            return Ok(None);
        }
        if let Err(e) = sockopt::socket_error(&fd).map_err(failed)? {
            return self.unless_absent(e);
        }
        // A socket that seeks a free port may be given the very one that it connects to, and is
        // then connected with itself (simultaneous open, RFC 9293 section 3.5).
        if getsockname(&fd).ok() == getpeername(&fd).ok().flatten() {
            return Ok(None);
        }
        set_nonblocking(&fd, false).map_err(failed)?;
        SocketOutlet::new(fd).map(Some)
    }
}
