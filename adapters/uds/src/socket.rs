//! Making Unix domain sockets.

use crate::{Kind, Settings};
use dyno_adapter::{Error, Result, Wait};
use dyno_wire::fd::{ScratchFile, SocketInlet, SocketOutlet, duplicate, with_unix_address};
use dyno_wire::link::{Accept, Dial};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::net::{SendFlags, bind, connect, send, socket_with};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What the kernel takes off the send buffer before it compares a datagram with it (see
/// unix_dgram_sendmsg in net/unix/af_unix.c).
const OVERHEAD: usize = 32;

fn socket(settings: Settings) -> Result<OwnedFd> {
    let kind = match settings.kind {
        Kind::Stream => SocketType::STREAM,
        Kind::Datagram => SocketType::DGRAM,
        Kind::SeqPacket => SocketType::SEQPACKET,
    };
    socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
        .map_err(|e| Error::system("socket AF_UNIX", e))
}

/// A receiver's socket, bound to `path`.
pub(crate) fn bound(path: &Path, settings: Settings) -> Result<OwnedFd> {
    let fd = socket(settings)?;
    with_unix_address(path, |address| bind(&fd, address))
        .map_err(|e| Error::system(format!("bind {}", path.display()), e))?;
    Ok(fd)
}

/// A bound socket and its file.
#[derive(Debug)]
pub(crate) struct Bound {
    fd: OwnedFd,
    _file: ScratchFile,
}

impl Bound {
    /// A socket bound to `path`, with room as the stack asks for.
    pub(crate) fn new(path: PathBuf, settings: Settings) -> Result<Self> {
        let file = ScratchFile::new(path);
        let fd = bound(file.path(), settings)?;
        Ok(Bound { fd, _file: file })
    }
}

/// Refuses datagrams that the kernel would.
fn check_room(fd: &OwnedFd, largest: usize) -> Result<()> {
    let buffer = sockopt::socket_send_buffer_size(fd)
        .map_err(|e| Error::system("getsockopt SO_SNDBUF", e))?;
    if largest.saturating_add(OVERHEAD) <= buffer {
        return Ok(());
    }
    Err(Error::option(
        "fragment",
        format!(
            "a datagram of {largest} bytes does not fit into the send buffer of {buffer} bytes; \
             write at most {} or set option `sndbuf` to {}",
            buffer.saturating_sub(OVERHEAD),
            largest.saturating_add(OVERHEAD).div_ceil(2),
        ),
    ))
}

/// Connects to a reader's socket.
pub(crate) struct UnixDial {
    path: PathBuf,
    kind: Kind,
    /// Taken by the outlet.
    fd: Option<OwnedFd>,
    settings: Settings,
}

impl UnixDial {
    /// For the reader at `path`; `largest` is the size in bytes of the channel's largest datagram,
    /// for a kind that has datagrams.
    pub(crate) fn new(path: PathBuf, settings: Settings, largest: Option<usize>) -> Result<Self> {
        let fd = socket(settings)?;
        settings.buffers.apply(&fd)?;
        if let Some(largest) = largest {
            check_room(&fd, largest)?;
        }
        Ok(UnixDial {
            path,
            kind: settings.kind,
            fd: Some(fd),
            settings,
        })
    }

    /// The same from a socket that also receives. It is there as long as its receiver.
    pub(crate) fn from(mut self, bound: &Bound) -> Result<Self> {
        self.settings.buffers.apply(&bound.fd)?;
        self.fd = Some(duplicate(&bound.fd)?);
        Ok(self)
    }
}

impl Dial for UnixDial {
    type Outlet = SocketOutlet;

    fn dial(&mut self) -> Result<Option<SocketOutlet>> {
        let Some(fd) = &self.fd else { return Ok(None) };
        // Never waits: a listener has room for the one connection that its channel has.
        match with_unix_address(&self.path, |address| connect(fd, address)) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::CONNREFUSED | Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(e) => return Err(Error::system(format!("connect {}", self.path.display()), e)),
        }
        if self.kind == Kind::Datagram {
            // A greeting: without a connection the reader learns of its sender by a datagram only.
            match send(fd, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(_) => {}
                Err(Errno::CONNREFUSED | Errno::AGAIN) => return Ok(None),
                Err(e) => return Err(Error::system(format!("greet {}", self.path.display()), e)),
            }
        }
        self.fd.take().map(SocketOutlet::new).transpose()
    }
}

/// The receiving end of datagrams, which needs nobody to connect.
pub(crate) struct DatagramAccept {
    /// Taken by the inlet.
    fd: Option<OwnedFd>,
    wait: Wait,
    _bound: Arc<Bound>,
}

impl DatagramAccept {
    pub(crate) fn new(bound: Arc<Bound>, wait: Wait) -> Result<Self> {
        Ok(DatagramAccept {
            fd: Some(duplicate(&bound.fd)?),
            wait,
            _bound: bound,
        })
    }
}

impl Accept for DatagramAccept {
    type Inlet = SocketInlet<false>;

    fn accept(&mut self, _wait: Duration) -> Result<Option<Self::Inlet>> {
        self.fd
            .take()
            .map(|fd| SocketInlet::new(fd, self.wait))
            .transpose()
    }
}
