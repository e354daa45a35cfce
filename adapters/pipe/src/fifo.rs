//! Named pipes, fifo(7): the reader makes one in the scratch directory and opens it, and the sender opens it once it is
//! there. A reader learns nothing of that, so that the sender greets it with one byte before the first message.

use crate::ends::{PipeInlet, PipeOutlet, resize};
use dyno_adapter::{Error, Result, Wait};
use dyno_wire::fd::{ScratchFile, await_events, set_nonblocking};
use dyno_wire::link::{Accept, Dial};
use rustix::event::PollFlags;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::io::{self, Errno};
use std::path::PathBuf;
use std::time::Duration;

/// Opens the pipe of a reader.
pub(crate) struct FifoDial {
    path: PathBuf,
    size: Option<usize>,
}

impl FifoDial {
    /// For the pipe at `path`, which is to hold `size` bytes.
    pub(crate) fn new(path: PathBuf, size: Option<usize>) -> Self {
        FifoDial { path, size }
    }

    fn failed(&self, e: Errno) -> Error {
        Error::system(format!("open {}", self.path.display()), e)
    }

    /// The writing end; none without a reader.
    fn open(&self) -> Result<Option<OwnedFd>> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match open(&self.path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno::NOENT | Errno::NXIO | Errno::INTR) => Ok(None),
            Err(e) => Err(self.failed(e)),
        }
    }
}

impl Dial for FifoDial {
    type Outlet = PipeOutlet;

    fn dial(&mut self) -> Result<Option<PipeOutlet>> {
        // Each open has flags of its own: one to try with, one to wait with.
        let (Some(now), Some(later)) = (self.open()?, self.open()?) else {
            return Ok(None);
        };
        set_nonblocking(&later, false).map_err(|e| self.failed(e))?;
        resize(&now, self.size)?;
        match io::write(&now, &[0]) {
            Ok(_) => Ok(Some(PipeOutlet { now, later })),
            Err(Errno::PIPE | Errno::INTR) => Ok(None),
            Err(e) => Err(self.failed(e)),
        }
    }
}

/// Waits for the sender to open the pipe.
pub(crate) struct FifoAccept {
    /// Taken by the inlet.
    fd: Option<OwnedFd>,
    wait: Wait,
    file: ScratchFile,
}

impl FifoAccept {
    /// Makes a pipe at `path` for a receiver that waits like `wait`.
    pub(crate) fn make(path: PathBuf, wait: Wait) -> Result<Self> {
        let file = ScratchFile::new(path);
        let failed = |call: &str, e| Error::system(format!("{call} {}", file.path().display()), e);
        mknodat(CWD, file.path(), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(|e| failed("mkfifo", e))?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open(file.path(), flags, Mode::empty()).map_err(|e| failed("open", e))?;
        Ok(FifoAccept {
            fd: Some(fd),
            wait,
            file,
        })
    }
}

impl Accept for FifoAccept {
    type Inlet = PipeInlet;

    fn accept(&mut self, wait: Duration) -> Result<Option<PipeInlet>> {
        let path = self.file.path();
        let failed = |e| Error::system(format!("read {}", path.display()), e);
        let Some(fd) = self.fd.as_ref() else {
            return Ok(None);
        };
        if await_events(fd, PollFlags::IN, wait)
            .map_err(failed)?
            .is_empty()
        {
            return Ok(None);
        }
        match io::read(fd, &mut [0]) {
            Ok(1) => {}
            // A sender that opened it and is gone again.
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(e) => return Err(failed(e)),
        }
        set_nonblocking(fd, self.wait != Wait::Block).map_err(failed)?;
        Ok(self.fd.take().map(PipeInlet))
    }
}
