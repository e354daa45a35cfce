//! Making UDP sockets, and finding out whether anybody listens at the other end.

use dyno_adapter::{Error, Result, Wait};
use dyno_wire::fd::{Buffers, SocketInlet};
use dyno_wire::link::{Accept, Dial, Outlet};
use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::net::{bind, connect, getpeername, getsockname, send, socket_with};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long another host may take to answer that nobody listens.
const ANSWER: Duration = Duration::from_millis(50);

fn socket(address: SocketAddr, buffers: Buffers) -> Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let fd = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .map_err(|e| Error::system("socket", e))?;
    buffers.apply(&fd)?;
    Ok(fd)
}

/// Finds a reader by asking it with empty datagrams.
///
/// A host where nobody listens answers with an ICMP message (RFC 1122 section 4.1.3.1), which the
/// kernel turns into an error of the connected socket. On this host that is done before the send
/// returns, and the kernel does not limit the rate of such messages there; another host is given
/// time.
pub(crate) struct UdpDial {
    address: SocketAddr,
    buffers: Buffers,
    /// Taken by the outlet.
    fd: Option<OwnedFd>,
    asked: Option<Instant>,
}

impl UdpDial {
    pub(crate) fn new(address: SocketAddr, buffers: Buffers) -> Result<Self> {
        Ok(UdpDial {
            address,
            buffers,
            fd: None,
            asked: None,
        })
    }

    fn failed(&self, e: Errno) -> Error {
        Error::system(format!("connect {}", self.address), e)
    }

    fn connect(&self) -> Result<Option<OwnedFd>> {
        let fd = socket(self.address, self.buffers)?;
        connect(&fd, &self.address).map_err(|e| self.failed(e))?;
        // A socket that seeks a free port may be given the very one that it is to find.
        let is_own = getsockname(&fd).ok() == getpeername(&fd).ok().flatten();
        Ok((!is_own).then_some(fd))
    }

    /// Whether the reader is on this host: then both addresses of the connection are the same one.
    fn is_local(&self, fd: &OwnedFd) -> bool {
        let own = getsockname(fd)
            .ok()
            .and_then(|a| SocketAddr::try_from(a).ok());
        self.address.ip().is_loopback() || own.is_some_and(|own| own.ip() == self.address.ip())
    }
}

/// Whether nobody listens, as far as the host has answered by now.
fn is_refused(fd: &OwnedFd) -> io::Result<bool> {
    match sockopt::socket_error(fd)? {
        Ok(()) => Ok(false),
        Err(Errno::CONNREFUSED) => Ok(true),
        Err(e) => Err(e),
    }
}

impl Dial for UdpDial {
    type Outlet = UdpOutlet;

    fn dial(&mut self) -> Result<Option<UdpOutlet>> {
        let fd = match self.fd.take() {
            Some(fd) => fd,
            None => match self.connect()? {
                Some(fd) => fd,
                None => return Ok(None),
            },
        };
        let found = match self.asked {
            None => {
                match send(&fd, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                    Ok(_) => self.asked = Some(Instant::now()),
                    // The answer to an earlier one.
                    Err(Errno::CONNREFUSED | Errno::AGAIN | Errno::NOBUFS) => {}
                    Err(e) => return Err(self.failed(e)),
                }
                self.asked.is_some() && self.is_local(&fd)
            }
            Some(asked) => asked.elapsed() >= ANSWER,
        };
        if is_refused(&fd).map_err(|e| self.failed(e))? {
            self.asked = None;
        } else if found {
            return Ok(Some(UdpOutlet(fd)));
        }
        self.fd = Some(fd);
        Ok(None)
    }
}

/// The sending end: never waits.
pub(crate) struct UdpOutlet(OwnedFd);

impl Outlet for UdpOutlet {
    const WAITS: bool = false;

    #[inline]
    fn offer(&self, bytes: &[u8]) -> io::Result<usize> {
        send(&self.0, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }
    fn push(&self, bytes: &[u8]) -> io::Result<usize> {
        self.offer(bytes)
    }
    fn is_alive(&self) -> bool {
        matches!(is_refused(&self.0), Ok(false))
    }
}

/// The receiving end, which needs nobody to connect.
pub(crate) struct UdpAccept {
    /// Taken by the inlet.
    fd: Option<OwnedFd>,
    wait: Wait,
}

impl UdpAccept {
    pub(crate) fn bind(address: SocketAddr, buffers: Buffers, wait: Wait) -> Result<Self> {
        let fd = socket(address, buffers)?;
        bind(&fd, &address).map_err(|e| Error::system(format!("bind {address}"), e))?;
        Ok(UdpAccept { fd: Some(fd), wait })
    }
}

impl Accept for UdpAccept {
    type Inlet = SocketInlet<false>;

    fn accept(&mut self, _wait: Duration) -> Result<Option<Self::Inlet>> {
        self.fd
            .take()
            .map(|fd| SocketInlet::new(fd, self.wait))
            .transpose()
    }
}
