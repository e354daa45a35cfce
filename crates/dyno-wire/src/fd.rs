//! Descriptors and sockets: buffers, time limits, peers that hang up, and the ends of a connected
//! socket as a sender and a receiver use them.

use crate::link::{Inlet, Outlet};
use dyno_adapter::{
    Error, NodeContext, OptionKind, OptionSpec, OptionValue, PATIENCE, Result, Wait,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::io::{self, Errno};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, RecvFlags, SendFlags, SocketAddrUnix};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The release of the running kernel, such as `6.12.0`: the version of each of its mechanisms.
pub fn kernel_release() -> String {
    rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned()
}

/// A file that is removed when this is dropped.
#[derive(Debug)]
pub struct ScratchFile(PathBuf);

impl ScratchFile {
    /// Takes the file that is about to be created; one left by somebody else is removed.
    pub fn new(path: PathBuf) -> Self {
        let _ = std::fs::remove_file(&path);
        ScratchFile(path)
    }
    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        // It lies in the scratch directory, which is removed anyway.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Calls `act` with the address of `path`. One that is longer than an address may be (107 bytes)
/// is reached through its opened directory.
pub fn with_unix_address<T>(
    path: &Path,
    act: impl Fn(&SocketAddrUnix) -> io::Result<T>,
) -> io::Result<T> {
    match SocketAddrUnix::new(path) {
        Ok(address) => act(&address),
        Err(Errno::NAMETOOLONG) => {
            let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(Errno::NAMETOOLONG);
            };
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let dir = open(dir, flags, Mode::empty())?;
            let short = Path::new("/proc/self/fd")
                .join(dir.as_raw_fd().to_string())
                .join(name);
            act(&SocketAddrUnix::new(&short)?)
        }
        Err(e) => Err(e),
    }
}

/// Whether the descriptor gets one of `events`, or an error or hang-up, within `wait`. A signal
/// ends the wait.
pub fn await_events(fd: impl AsFd, events: PollFlags, wait: Duration) -> io::Result<PollFlags> {
    let fd = fd.as_fd();
    let mut fds = [PollFd::new(&fd, events)];
    let wait = Timespec::try_from(wait).map_err(|_| Errno::INVAL)?;
    match poll(&mut fds, Some(&wait)) {
        Ok(_) | Err(Errno::INTR) => Ok(fds[0].revents()),
        Err(e) => Err(e),
    }
}

/// Whether the other side of a pipe or connection has closed it.
pub fn is_hung_up(fd: impl AsFd) -> bool {
    const GONE: PollFlags = PollFlags::HUP
        .union(PollFlags::RDHUP)
        .union(PollFlags::ERR)
        .union(PollFlags::NVAL);
    await_events(fd, PollFlags::RDHUP, Duration::ZERO).map_or(true, |e| e.intersects(GONE))
}

/// Makes calls on the descriptor wait, or not.
pub fn set_nonblocking(fd: impl AsFd, on: bool) -> io::Result<()> {
    let mut flags = fcntl_getfl(&fd)?;
    flags.set(OFlags::NONBLOCK, on);
    fcntl_setfl(&fd, flags)
}

/// A whole-number option of at least 1, if it is given.
pub fn positive(context: &NodeContext, name: &str) -> Result<Option<usize>> {
    match context.int(name, 0)? {
        0 if !context.options.contains_key(name) => Ok(None),
        n => match usize::try_from(n) {
            Ok(n) if n > 0 => Ok(Some(n)),
            _ => Err(Error::option(
                name,
                format!("write a number of at least 1 instead of {n}"),
            )),
        },
    }
}

/// How an adapter describes a whole-number option of at least 1, which [`positive`] reads.
pub fn int_option(name: &str, default: Option<usize>, doc: impl Into<String>) -> OptionSpec {
    OptionSpec {
        name: name.to_owned(),
        kind: OptionKind::Int,
        default: default.map(|v| OptionValue::Int(i64::try_from(v).unwrap_or(i64::MAX))),
        least: Some(1),
        most: None,
        doc: doc.into(),
    }
}

/// The sizes of a socket's buffers, by options `sndbuf` and `rcvbuf`; `None` is the kernel's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Bytes asked for as SO_SNDBUF.
    pub send: Option<usize>,
    /// Bytes asked for as SO_RCVBUF.
    pub receive: Option<usize>,
}

impl Buffers {
    /// As the options say.
    pub fn from_options(context: &NodeContext) -> Result<Self> {
        Ok(Buffers {
            send: positive(context, "sndbuf")?,
            receive: positive(context, "rcvbuf")?,
        })
    }

    /// Option `sndbuf`.
    pub fn send_option() -> OptionSpec {
        int_option(
            "sndbuf",
            None,
            format!("send buffer (SO_SNDBUF) in bytes; {DOUBLED}"),
        )
    }

    /// Option `rcvbuf`.
    pub fn receive_option() -> OptionSpec {
        int_option(
            "rcvbuf",
            None,
            format!("receive buffer (SO_RCVBUF) in bytes; {DOUBLED}"),
        )
    }

    /// Sets what was asked for, and checks that the kernel gave it.
    pub fn apply(&self, fd: impl AsFd) -> Result<()> {
        let fd = fd.as_fd();
        if let Some(bytes) = self.send {
            set_buffer(
                ("SO_SNDBUF", "net.core.wmem_max", bytes),
                || sockopt::set_socket_send_buffer_size(fd, bytes),
                || sockopt::set_socket_send_buffer_size_force(fd, bytes),
                || sockopt::socket_send_buffer_size(fd),
            )?;
        }
        if let Some(bytes) = self.receive {
            set_buffer(
                ("SO_RCVBUF", "net.core.rmem_max", bytes),
                || sockopt::set_socket_recv_buffer_size(fd, bytes),
                || sockopt::set_socket_recv_buffer_size_force(fd, bytes),
                || sockopt::socket_recv_buffer_size(fd),
            )?;
        }
        Ok(())
    }
}

const DOUBLED: &str = "the kernel doubles this value to cover its own bookkeeping, then reports and \
                       enforces the doubled value; default: the kernel's";

/// Sets a buffer's size. The kernel silently cuts the request to the limit; only a privileged
/// process may exceed that.
fn set_buffer(
    (option, limit, bytes): (&str, &str, usize),
    set: impl FnOnce() -> io::Result<()>,
    force: impl FnOnce() -> io::Result<()>,
    get: impl Fn() -> io::Result<usize>,
) -> Result<()> {
    let call = || format!("setsockopt {option} {bytes}");
    set().map_err(|e| Error::system(call(), e))?;
    let granted = || get().map_err(|e| Error::system(call(), e));
    if granted()? >= bytes.saturating_mul(2) {
        return Ok(());
    }
    let too_low = |e: Errno| {
        let hint = format!("raise the limit: sysctl -w {limit}={bytes}");
        Error::system_hint(call(), e, hint)
    };
    force().map_err(too_low)?;
    if granted()? >= bytes.saturating_mul(2) {
        Ok(())
    } else {
        Err(too_low(Errno::INVAL))
    }
}

/// A second descriptor of the same socket; that lives until both are closed.
pub fn duplicate(fd: &OwnedFd) -> Result<OwnedFd> {
    fd.try_clone()
        .map_err(|e| Error::system("fcntl F_DUPFD_CLOEXEC", e))
}

/// A socket's sending end.
#[derive(Debug)]
pub struct SocketOutlet(OwnedFd);

impl SocketOutlet {
    /// Uses a connected socket, which must not be in non-blocking mode.
    pub fn new(fd: OwnedFd) -> Result<Self> {
        sockopt::set_socket_timeout(&fd, Timeout::Send, Some(PATIENCE))
            .map_err(|e| Error::system("setsockopt SO_SNDTIMEO", e))?;
        Ok(SocketOutlet(fd))
    }

    /// A second descriptor of the socket, for the other direction.
    pub(crate) fn share(&self) -> Result<OwnedFd> {
        duplicate(&self.0)
    }
}

impl Outlet for SocketOutlet {
    #[inline]
    fn offer(&self, bytes: &[u8]) -> io::Result<usize> {
        net::send(&self.0, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }
    fn push(&self, bytes: &[u8]) -> io::Result<usize> {
        net::send(&self.0, bytes, SendFlags::NOSIGNAL)
    }
    fn is_alive(&self) -> bool {
        !is_hung_up(&self.0)
    }
}

/// A socket's receiving end; `CONNECTED` as in [`Inlet`].
#[derive(Debug)]
pub struct SocketInlet<const CONNECTED: bool> {
    fd: OwnedFd,
    flags: RecvFlags,
}

impl<const CONNECTED: bool> SocketInlet<CONNECTED> {
    /// Uses a socket, which must not be in non-blocking mode.
    pub fn new(fd: OwnedFd, wait: Wait) -> Result<Self> {
        sockopt::set_socket_timeout(&fd, Timeout::Recv, Some(PATIENCE))
            .map_err(|e| Error::system("setsockopt SO_RCVTIMEO", e))?;
        let flags = match wait {
            Wait::Block => RecvFlags::empty(),
            Wait::Spin | Wait::Callback => RecvFlags::DONTWAIT,
        };
        Ok(SocketInlet { fd, flags })
    }

    /// A second descriptor of the socket, for the other direction.
    pub(crate) fn share(&self) -> Result<OwnedFd> {
        duplicate(&self.fd)
    }
}

impl<const CONNECTED: bool> Inlet for SocketInlet<CONNECTED> {
    const CONNECTED: bool = CONNECTED;

    #[inline]
    fn read(&self, space: &mut [u8]) -> io::Result<usize> {
        net::recv(&self.fd, space, self.flags).map(|(n, _)| n)
    }
    fn has_arrival(&self) -> io::Result<bool> {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match net::recv(&self.fd, &mut [0u8; 1], flags) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// A listening socket that accepts the one connection of its channel.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    wait: Wait,
    _file: Option<ScratchFile>,
}

impl Listener {
    /// Listens on a bound socket for a receiver that waits like `wait`; `file` is the socket's
    /// name, if it has one.
    pub fn new(fd: OwnedFd, wait: Wait, file: Option<ScratchFile>) -> Result<Self> {
        // Should the sender give up just before the accept, that must not wait for another.
        set_nonblocking(&fd, true)
            .and_then(|()| net::listen(&fd, 1))
            .map_err(|e| Error::system("listen", e))?;
        Ok(Listener {
            fd,
            wait,
            _file: file,
        })
    }
}

impl crate::link::Accept for Listener {
    type Inlet = SocketInlet<true>;

    fn accept(&mut self, wait: Duration) -> Result<Option<Self::Inlet>> {
        let failed = |e: Errno| Error::system("accept", e);
        if !await_events(&self.fd, PollFlags::IN, wait)
            .map_err(failed)?
            .contains(PollFlags::IN)
        {
            return Ok(None);
        }
        match net::accept_with(&self.fd, net::SocketFlags::CLOEXEC) {
            Ok(fd) => SocketInlet::new(fd, self.wait).map(Some),
            // The sender gave up between the two calls.
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(e) => Err(failed(e)),
        }
    }
}
