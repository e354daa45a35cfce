//! Sockets of AF_VSOCK (vsock(7)).

use dyno_adapter::{Error, Result};
use dyno_wire::fd::{SocketOutlet, await_events, set_nonblocking};
use dyno_wire::link::Dial;
use rustix::event::PollFlags;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use std::time::Duration;

/// Calls `act` with the address of a port of a machine, which lives for the call.
fn with_address(
    cid: u32,
    port: u32,
    act: impl Fn(*const libc::sockaddr, libc::socklen_t) -> libc::c_int,
) -> std::result::Result<(), Errno> {
    // SAFETY: all bytes zero are an address without family, CID and port.
    let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
    address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
    (address.svm_cid, address.svm_port) = (cid, port);
    let length = size_of::<libc::sockaddr_vm>() as libc::socklen_t;
    match act((&raw const address).cast(), length) {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

fn socket(flags: SocketFlags) -> Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::VSOCK, SocketType::STREAM, flags, None).map_err(|e| {
        Error::system_hint(
            "socket AF_VSOCK",
            e,
            "the kernel needs the module vsock, and in a guest vmw_vsock_virtio_transport",
        )
    })
}

/// A socket that a receiver may listen on, for whatever machine reaches this one.
pub(crate) fn bound(port: u16) -> Result<OwnedFd> {
    let fd = socket(SocketFlags::empty())?;
    with_address(libc::VMADDR_CID_ANY, u32::from(port), |address, length| {
        // SAFETY: the caller's address has that length and lives for the call; the descriptor is open.
        unsafe { libc::bind(fd.as_raw_fd(), address, length) }
    })
    .map_err(|e| Error::system(format!("bind vsock port {port}"), e))?;
    Ok(fd)
}

/// Connects to a reader, as often as it takes.
pub(crate) struct SocketDial {
    cid: u32,
    port: u16,
    /// A connection that is being made.
    pending: Option<OwnedFd>,
}

impl SocketDial {
    pub(crate) fn new(cid: u32, port: u16) -> Self {
        SocketDial {
            cid,
            port,
            pending: None,
        }
    }

    fn failed(&self, e: Errno) -> Error {
        Error::system(format!("connect vsock {}:{}", self.cid, self.port), e)
    }

    /// An error, unless it only means that the reader is not there yet.
    fn unless_absent(&self, e: Errno) -> Result<Option<SocketOutlet>> {
        match e {
            Errno::CONNREFUSED | Errno::CONNRESET | Errno::TIMEDOUT | Errno::INTR => Ok(None),
            e => Err(self.failed(e)),
        }
    }
}

impl Dial for SocketDial {
    type Outlet = SocketOutlet;

    fn dial(&mut self) -> Result<Option<SocketOutlet>> {
        let fd = match self.pending.take() {
            Some(fd) => fd,
            None => {
                let fd = socket(SocketFlags::NONBLOCK)?;
                let port = u32::from(self.port);
                let connected = with_address(self.cid, port, |address, length| {
                    // SAFETY: the caller's address has that length and lives for the call; the descriptor is open.
                    unsafe { libc::connect(fd.as_raw_fd(), address, length) }
                });
                match connected {
                    Ok(()) | Err(Errno::INPROGRESS) => fd,
                    Err(e) => return self.unless_absent(e),
                }
            }
        };
        let ready = await_events(&fd, PollFlags::OUT, Duration::ZERO);
        if ready.map_err(|e| self.failed(e))?.is_empty() {
            self.pending = Some(fd);
            return Ok(None);
        }
        if let Err(e) = sockopt::socket_error(&fd).map_err(|e| self.failed(e))? {
            return self.unless_absent(e);
        }
        set_nonblocking(&fd, false).map_err(|e| self.failed(e))?;
        SocketOutlet::new(fd).map(Some)
    }
}
