//! The two ends of a pipe, and how the reading one gets to the reader.
//!
//! The reader binds a datagram socket in the scratch directory; the sender makes the pipe and
//! sends its reading end there (SCM_RIGHTS, unix(7)), once the reader is there to get it.

use dyno_adapter::{Error, Result, Wait};
use dyno_wire::fd::{ScratchFile, await_events, is_hung_up, set_nonblocking, with_unix_address};
use dyno_wire::link::{Accept, Dial, Inlet, Outlet};
use rustix::event::PollFlags;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{self, Errno, IoSlice, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, bind, connect, recvmsg, sendmsg,
    socket_with,
};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::time::Duration;

/// Ignores SIGPIPE in this process.
pub(crate) fn ignore_sigpipe() {
    // SAFETY: SIG_IGN is a valid disposition for SIGPIPE, and no memory is involved.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

fn socket() -> Result<OwnedFd> {
    socket_with(
        AddressFamily::UNIX,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|e| Error::system("socket AF_UNIX", e))
}

/// Gives a pipe room for so many bytes, if any are asked for.
pub(crate) fn resize(pipe: &OwnedFd, size: Option<usize>) -> Result<()> {
    let Some(bytes) = size else { return Ok(()) };
    fcntl_setpipe_size(pipe, bytes).map(drop).map_err(|e| {
        let hint = format!("raise the limit: sysctl -w fs.pipe-max-size={bytes}");
        Error::system_hint(format!("fcntl F_SETPIPE_SZ {bytes}"), e, hint)
    })
}

/// A pipe whose reading end waits to be handed over.
pub(crate) struct PipeDial {
    path: PathBuf,
    reading: OwnedFd,
    /// Taken when the reader has got the other end.
    outlet: Option<PipeOutlet>,
}

impl PipeDial {
    /// Makes a pipe of that size in bytes for the reader that listens at `path`.
    pub(crate) fn new(path: PathBuf, size: Option<usize>) -> Result<Self> {
        let failed = |e| Error::system("pipe", e);
        let (reading, now) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        resize(&now, size)?;
        // Each open has flags of its own: one to try with, one to wait with.
        let again = format!("/proc/self/fd/{}", now.as_raw_fd());
        let later = open(
            again.as_str(),
            OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|e| Error::system(format!("open {again}"), e))?;
        set_nonblocking(&now, true).map_err(failed)?;
        Ok(PipeDial {
            path,
            reading,
            outlet: Some(PipeOutlet { now, later }),
        })
    }
}

impl Dial for PipeDial {
    type Outlet = PipeOutlet;

    fn dial(&mut self) -> Result<Option<PipeOutlet>> {
        let fd = socket()?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let reading = [self.reading.as_fd()];
        // There is space for exactly this one.
        control.push(SendAncillaryMessage::ScmRights(&reading));
        let sent = with_unix_address(&self.path, |address| connect(&fd, address)).and_then(|()| {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            sendmsg(&fd, &[IoSlice::new(&[0])], &mut control, flags)
        });
        match sent {
            Ok(_) => Ok(self.outlet.take()),
            Err(Errno::NOENT | Errno::CONNREFUSED | Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(e) => Err(Error::system(
                format!("hand a pipe over to {}", self.path.display()),
                e,
            )),
        }
    }
}

/// The writing end of a pipe.
pub(crate) struct PipeOutlet {
    /// Non-blocking.
    pub(crate) now: OwnedFd,
    /// Blocking.
    pub(crate) later: OwnedFd,
}

impl Outlet for PipeOutlet {
    #[inline]
    fn offer(&self, bytes: &[u8]) -> io::Result<usize> {
        io::write(&self.now, bytes)
    }
    /// Waits until all is written, a signal comes or the reader goes, which the kernel notices.
    fn push(&self, bytes: &[u8]) -> io::Result<usize> {
        io::write(&self.later, bytes)
    }
    fn is_alive(&self) -> bool {
        !is_hung_up(&self.now)
    }
}

/// Waits for the reading end of a pipe.
pub(crate) struct PipeAccept {
    fd: OwnedFd,
    wait: Wait,
    file: ScratchFile,
}

impl PipeAccept {
    /// Listens at `path` for a receiver that waits like `wait`.
    pub(crate) fn bind(path: PathBuf, wait: Wait) -> Result<Self> {
        let file = ScratchFile::new(path);
        let fd = socket()?;
        with_unix_address(file.path(), |address| bind(&fd, address))
            .map_err(|e| Error::system(format!("bind {}", file.path().display()), e))?;
        Ok(PipeAccept { fd, wait, file })
    }

    /// The descriptor that came, if one did.
    fn received(&self) -> io::Result<Option<OwnedFd>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        recvmsg(
            &self.fd,
            &mut [IoSliceMut::new(&mut [0])],
            &mut control,
            flags,
        )?;
        let found = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        Ok(found)
    }
}

impl Accept for PipeAccept {
    type Inlet = PipeInlet;

    fn accept(&mut self, wait: Duration) -> Result<Option<PipeInlet>> {
        let failed =
            |e| Error::system(format!("get a pipe from {}", self.file.path().display()), e);
        if await_events(&self.fd, PollFlags::IN, wait)
            .map_err(failed)?
            .is_empty()
        {
            return Ok(None);
        }
        let fd = match self.received() {
            Ok(Some(fd)) => fd,
            Ok(None) | Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(e) => return Err(failed(e)),
        };
        set_nonblocking(&fd, self.wait != Wait::Block).map_err(failed)?;
        Ok(Some(PipeInlet(fd)))
    }
}

/// The reading end of a pipe, blocking or not.
pub(crate) struct PipeInlet(pub(crate) OwnedFd);

impl Inlet for PipeInlet {
    const CONNECTED: bool = true;

    #[inline]
    fn read(&self, space: &mut [u8]) -> io::Result<usize> {
        io::read(&self.0, space)
    }
}
