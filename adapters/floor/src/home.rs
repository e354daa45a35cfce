//! Where a channel's memory is: in a file of its own, or in the part that it has of a memory that machines share.

use dyno_adapter::{ChannelSpec, Error, NodeContext, Resource, Result, SHARES_BYTES, Share};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// The home of one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Home {
    /// A file in `/dev/shm`, made by whichever side comes first.
    File(PathBuf),
    /// A part of a memory of several machines, all zero when the trial begins. A futex is of one machine, so nobody can be
    /// woken there, and neither side sees whether the other's process lives.
    Shared {
        /// The file by which this side has the memory: of a host a memory file, of a guest a device's region.
        path: PathBuf,
        share: Share,
    },
}

impl Home {
    /// That of `channel`: a part of `shared`, the file of a memory that machines share, where the channel has one.
    pub(crate) fn of(
        context: &NodeContext,
        channel: &ChannelSpec,
        shared: Option<&Path>,
    ) -> Result<Home> {
        if let Some(path) = shared {
            let mut shares = shares(path)?.into_iter();
            if let Some(share) = shares.find(|share| share.channel == channel.name) {
                let path = path.to_owned();
                return Ok(Home::Shared { path, share });
            }
        }
        let path = PathBuf::from(format!("/dev/shm/{}", channel.name));
        context.claim(&Resource::File(path.clone()))?;
        Ok(Home::File(path))
    }

    /// The most bytes that it can have, where that is limited.
    pub(crate) fn room(&self) -> Option<usize> {
        match self {
            Home::File(_) => None,
            Home::Shared { share, .. } => Some(usize::try_from(share.bytes).unwrap_or(usize::MAX)),
        }
    }

    /// Whether it is of several machines.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Home::Shared { .. })
    }

    /// Its file.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Home::File(path) | Home::Shared { path, .. } => path,
        }
    }

    /// Where it starts in its file, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Home::File(_) => 0,
            Home::Shared { share, .. } => share.offset,
        }
    }
}

/// Opens the memory of several machines.
pub(crate) fn open(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .map_err(|e| Error::system(format!("open {}", path.display()), e))
}

/// The parts into which the runner has divided the memory of `path`.
fn shares(path: &Path) -> Result<Vec<Share>> {
    let file = open(path)?;
    // SAFETY: a new mapping at an address that the kernel chooses touches no memory of ours; the memory is larger than its
    // list of parts.
    let list = unsafe {
        rustix::mm::mmap(
            std::ptr::null_mut(),
            SHARES_BYTES,
            ProtFlags::READ,
            MapFlags::SHARED,
            &file,
            0,
        )
    }
    .map_err(|e| Error::system(format!("map the start of {}", path.display()), e))?;
    // A successful mmap is never at the null address without MAP_FIXED.
    let bytes = NonNull::new(list.cast::<u8>()).map_or_else(Vec::new, |start| {
        // SAFETY: the mapping has SHARES_BYTES readable bytes. Whoever wrote them did so before this process was started, and
        // volatile reads are of one byte each, as the memory of a device wants it.
        let byte = |at: usize| unsafe { start.byte_add(at).read_volatile() };
        (0..SHARES_BYTES)
            .map(byte)
            .take_while(|b| *b != 0)
            .collect()
    });
    // SAFETY: `list` was mapped above with this length, and nothing refers to it any more.
    let unmapped = unsafe { rustix::mm::munmap(list, SHARES_BYTES) };
    debug_assert!(unmapped.is_ok());
    Ok(Share::read(&String::from_utf8_lossy(&bytes)))
}
