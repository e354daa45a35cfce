//! Opening an event of the kernel's counting (perf_event_open(2)), which is declared once here.

use rustix::fd::{FromRawFd, OwnedFd};
use std::io;

/// An event to count.
#[derive(Debug, Clone, Copy, Default)]
pub struct PerfEvent {
    /// `type`: hardware, tracepoint, ….
    pub kind: u32,
    /// Which event of that kind.
    pub config: u64,
    /// What a reading holds beside the count.
    pub read_format: u64,
    /// The bits that follow `read_format`, such as `inherit`.
    pub flags: u64,
}

/// `struct perf_event_attr` in its first version, PERF_ATTR_SIZE_VER0.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    bp_addr: u64,
}

/// PERF_FLAG_FD_CLOEXEC.
const CLOEXEC: libc::c_ulong = 1 << 3;

impl PerfEvent {
    /// Begins to count for the calling thread, on whichever CPU it is. Allocates nothing, so that a forked child may use it.
    ///
    /// # Errors
    ///
    /// As the kernel says: there is no such event, or this process may not count it.
    pub fn open(self) -> io::Result<OwnedFd> {
        let attributes = Attributes {
            kind: self.kind,
            size: size_of::<Attributes>() as u32,
            config: self.config,
            read_format: self.read_format,
            flags: self.flags,
            ..Attributes::default()
        };
        // SAFETY: `attributes` is of the size that it says and valid for the call; this thread, any CPU, no group.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                0 as libc::pid_t,
                -1 as libc::c_int,
                -1 as libc::c_int,
                CLOEXEC,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_of_the_attributes_has_64_bytes() {
        assert_eq!(size_of::<Attributes>(), 64);
    }
}
