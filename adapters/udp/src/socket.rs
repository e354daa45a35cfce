//! Making UDP sockets, and finding out whether anybody listens at the other end.

use dyno_adapter::{Error, PATIENCE, Result, Wait};
use dyno_wire::fd::{Buffers, SocketInlet};
use dyno_wire::link::{Accept, Dial, Inlet, Outlet};
use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};
use rustix::net::sockopt::Timeout;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::net::{bind, connect, getpeername, getsockname};
use rustix::net::{recv, recvfrom, send, sendto, socket_with};
use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How often a reader on another host is asked.
const PAUSE: Duration = Duration::from_millis(1);
/// A host where nobody listens says so at least once in this time, while it is asked: Linux sends one
/// such message per second (icmp(7), icmp_ratelimit).
const SILENCE: Duration = Duration::from_secs(3);

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
/// returns, and the kernel does not limit the rate of such messages there: no error is the answer. A
/// reader on another host answers with an empty datagram of its own, since no error tells nothing:
/// messages take time and may be left out. Where answers are lost, the lack of errors must do.
///
/// Where it WAITS, so does what it reaches the reader through.
pub(crate) struct UdpDial<const WAITS: bool> {
    address: SocketAddr,
    buffers: Buffers,
    /// Taken by the outlet.
    fd: Option<OwnedFd>,
    asked: Option<Instant>,
    /// Since when nobody has said that nobody listens.
    silent: Option<Instant>,
}

impl<const WAITS: bool> UdpDial<WAITS> {
    pub(crate) fn new(address: SocketAddr, buffers: Buffers) -> Result<Self> {
        Ok(UdpDial {
            address,
            buffers,
            fd: None,
            asked: None,
            silent: None,
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

impl<const WAITS: bool> Dial for UdpDial<WAITS> {
    type Outlet = UdpOutlet<WAITS>;

    fn dial(&mut self) -> Result<Option<UdpOutlet<WAITS>>> {
        let fd = match self.fd.take() {
            Some(fd) => fd,
            None => match self.connect()? {
                Some(fd) => fd,
                None => return Ok(None),
            },
        };
        let local = self.is_local(&fd);
        let mut refused = false;
        let mut asked = false;
        if local || self.asked.is_none_or(|at| at.elapsed() >= PAUSE) {
            match send(&fd, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(_) => asked = true,
                // The answer to an earlier one.
                Err(Errno::CONNREFUSED) => refused = true,
                Err(Errno::AGAIN | Errno::NOBUFS) => {}
                Err(e) => return Err(self.failed(e)),
            }
            self.asked = Some(Instant::now());
        }
        refused |= is_refused(&fd).map_err(|e| self.failed(e))?;
        let found = match local {
            true => asked && !refused,
            false => self.has_answered(&fd, refused)?,
        };
        if found {
            return UdpOutlet::new(fd).map(Some);
        }
        self.fd = Some(fd);
        Ok(None)
    }
}

impl<const WAITS: bool> UdpDial<WAITS> {
    /// Whether a reader on another host has answered, or must be there.
    fn has_answered(&mut self, fd: &OwnedFd, refused: bool) -> Result<bool> {
        match recv(fd, &mut [0u8; 1], RecvFlags::DONTWAIT) {
            Ok(_) => return Ok(true),
            Err(Errno::AGAIN | Errno::INTR) if !refused => {}
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNREFUSED) => {
                self.silent = None;
                return Ok(false);
            }
            Err(e) => return Err(self.failed(e)),
        }
        let silent = self.silent.get_or_insert_with(Instant::now);
        Ok(silent.elapsed() >= SILENCE)
    }
}

/// The sending end. Where it does not WAIT, what finds no room in the send buffer is refused.
pub(crate) struct UdpOutlet<const WAITS: bool>(OwnedFd);

impl<const WAITS: bool> UdpOutlet<WAITS> {
    fn new(fd: OwnedFd) -> Result<Self> {
        sockopt::set_socket_timeout(&fd, Timeout::Send, Some(PATIENCE))
            .map_err(|e| Error::system("setsockopt SO_SNDTIMEO", e))?;
        Ok(UdpOutlet(fd))
    }
}

impl<const WAITS: bool> Outlet for UdpOutlet<WAITS> {
    const WAITS: bool = WAITS;
    const CONNECTED: bool = false;

    #[inline]
    fn offer(&self, bytes: &[u8]) -> io::Result<usize> {
        send(&self.0, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }
    fn push(&self, bytes: &[u8]) -> io::Result<usize> {
        match send(&self.0, bytes, SendFlags::NOSIGNAL) {
            // Room elsewhere in the kernel, which there will be again.
            Err(Errno::NOBUFS) => Err(Errno::AGAIN),
            sent => sent,
        }
    }
    fn is_alive(&self) -> bool {
        matches!(is_refused(&self.0), Ok(false))
    }
}

/// The end from which a receiver takes. It answers greetings: the first one, and later ones of a sender that takes another's place.
pub(crate) struct UdpInlet {
    inlet: SocketInlet<false>,
    /// The same socket.
    fd: OwnedFd,
    /// A greeting was read, whose sender is not known: it is repeated until there is an answer.
    greeted: Cell<bool>,
    /// Flags of a look at the next datagram, which waits as a read does.
    look: RecvFlags,
}

impl UdpInlet {
    /// Looks at the next datagram, and answers it where it is a greeting.
    #[cold]
    fn answer(&self) -> io::Result<()> {
        let (length, _, sender) = recvfrom(&self.fd, &mut [0u8; 1], self.look)?;
        if let (0, Some(sender)) = (length, sender) {
            // A sender that hears nothing asks again.
            let _ = sendto(
                &self.fd,
                &[],
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
                &sender,
            );
        }
        self.greeted.set(false);
        Ok(())
    }
}

impl Inlet for UdpInlet {
    const CONNECTED: bool = false;

    #[inline]
    fn read(&self, space: &mut [u8]) -> io::Result<usize> {
        if self.greeted.get() {
            self.answer()?;
        }
        let length = self.inlet.read(space)?;
        if length == 0 {
            self.greeted.set(true);
        }
        Ok(length)
    }
    fn has_arrival(&self) -> io::Result<bool> {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recvfrom(&self.fd, &mut [0u8; 1], flags) {
            Ok((_, _, Some(sender))) => {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                // A sender that hears nothing concludes from that, if later.
                let _ = sendto(&self.fd, &[], flags, &sender);
                Ok(true)
            }
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(e) => Err(e),
        }
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
    type Inlet = UdpInlet;

    fn accept(&mut self, _wait: Duration) -> Result<Option<Self::Inlet>> {
        let Some(fd) = self.fd.take() else {
            return Ok(None);
        };
        let same = io::fcntl_dupfd_cloexec(&fd, 0).map_err(|e| Error::system("dup", e))?;
        let waits = match self.wait {
            Wait::Block => RecvFlags::empty(),
            Wait::Spin | Wait::Callback => RecvFlags::DONTWAIT,
        };
        Ok(Some(UdpInlet {
            inlet: SocketInlet::new(fd, self.wait)?,
            fd: same,
            greeted: Cell::new(false),
            look: RecvFlags::PEEK | waits,
        }))
    }
}
