//! The calls of `mqueue.h` behind safe types. No policy.

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::io::{self, Errno};
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// A limit of `/proc/sys/fs/mqueue`.
pub(crate) fn limit(name: &str) -> Option<usize> {
    std::fs::read_to_string(format!("/proc/sys/fs/mqueue/{name}"))
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// What the C library reported for a call that returned -1.
fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn check(code: libc::c_long) -> io::Result<usize> {
    usize::try_from(code).map_err(|_| last_error())
}

/// An open message queue. On Linux a queue descriptor is a file descriptor (mq_overview(7)).
#[derive(Debug)]
pub(crate) struct Queue(OwnedFd);

impl Queue {
    /// Opens an existing queue with `O_RDONLY` or `O_WRONLY`, and `O_NONBLOCK` or not.
    pub(crate) fn open(name: &CStr, flags: libc::c_int) -> io::Result<Self> {
        // SAFETY: `name` is a C string that outlives the call; without O_CREAT no further
        // arguments are read.
        let fd = unsafe { libc::mq_open(name.as_ptr(), flags | libc::O_CLOEXEC) };
        Self::from_raw(fd)
    }

    /// Creates a queue, which must not exist, for `depth` messages of `size` bytes.
    pub(crate) fn create(
        name: &CStr,
        flags: libc::c_int,
        depth: usize,
        size: usize,
    ) -> io::Result<Self> {
        let too_large = |_| Errno::INVAL;
        // SAFETY: an all-zero mq_attr is a valid value of the C struct.
        let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
        attributes.mq_maxmsg = depth.try_into().map_err(too_large)?;
        attributes.mq_msgsize = size.try_into().map_err(too_large)?;
        let flags = flags | libc::O_CLOEXEC | libc::O_CREAT | libc::O_EXCL;
        let mode: libc::c_uint = 0o600;
        // SAFETY: `name` and `attributes` outlive the call; with O_CREAT it reads a mode and a
        // pointer to attributes, which are given.
        let fd = unsafe { libc::mq_open(name.as_ptr(), flags, mode, &raw const attributes) };
        Self::from_raw(fd)
    }

    fn from_raw(fd: libc::mqd_t) -> io::Result<Self> {
        if fd < 0 {
            return Err(last_error());
        }
        // SAFETY: mq_open just returned this descriptor, so it is open and nobody else owns it.
        Ok(Queue(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sends a message; waits for room as the queue's flags and the absolute time `until`
    /// (CLOCK_REALTIME; `None`: no limit) say.
    #[inline]
    pub(crate) fn send(&self, bytes: &[u8], until: Option<&libc::timespec>) -> io::Result<()> {
        let until = until.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the pointers are to memory that outlives the call, `bytes` for its length; a
        // null time is allowed by the kernel and means no limit.
        let code = unsafe {
            libc::mq_timedsend(
                self.0.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                0,
                until,
            )
        };
        check(code.into()).map(|_| ())
    }

    /// Receives a message into `space`, which must have the queue's message size; waits as
    /// [`send`](Self::send) does.
    #[inline]
    pub(crate) fn receive(
        &self,
        space: &mut [u8],
        until: Option<&libc::timespec>,
    ) -> io::Result<usize> {
        let until = until.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the pointers are to memory that outlives the call, `space` for its length and
        // exclusively ours; no priority is asked for; a null time means no limit.
        let code = unsafe {
            libc::mq_timedreceive(
                self.0.as_raw_fd(),
                space.as_mut_ptr().cast(),
                space.len(),
                std::ptr::null_mut(),
                until,
            )
        };
        check(code as libc::c_long)
    }

    /// Messages that lie in the queue.
    pub(crate) fn len(&self) -> io::Result<usize> {
        let mut attributes = MaybeUninit::<libc::mq_attr>::uninit();
        // SAFETY: `attributes` is room for the result, which the call fills when it succeeds.
        let attributes = unsafe {
            check(libc::mq_getattr(self.0.as_raw_fd(), attributes.as_mut_ptr()).into())?;
            attributes.assume_init()
        };
        Ok(usize::try_from(attributes.mq_curmsgs).unwrap_or(0))
    }
}

/// Removes a queue's name.
pub(crate) fn unlink(name: &CStr) -> io::Result<()> {
    // SAFETY: `name` is a C string that outlives the call.
    check(unsafe { libc::mq_unlink(name.as_ptr()) }.into()).map(|_| ())
}
