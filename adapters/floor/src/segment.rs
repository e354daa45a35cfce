//! The file in `/dev/shm` that holds one channel: made by whichever side comes first, found by the
//! others, removed by the last that leaves.
//!
//! The maker sets [`READY`] when everything stands. `users` counts the sides; a file whose count
//! has fallen to zero is about to be removed and is not joined any more, so that an old file is
//! never taken for the new one of the same name.
//!
//! A part of a memory that machines share is there already and all zero, which is how all words begin: sides only take their
//! seats in it. An emulated processor may take an atomic exchange apart: so no word there is written from two machines but
//! `room`, which is a hint.

use crate::home::{self, Home};
use crate::layout::{Geometry, Header, ReaderPart, Seat};
use crate::process::Process;
use dyno_adapter::{Error, Result};
use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// Says that the header stands; its value changes with the layout.
const READY: u64 = u64::from_le_bytes(*b"dynoflr1");

/// What a side does on the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It writes.
    Writer,
    /// It is the reader of this index.
    Reader(usize),
}

/// A channel's memory, mapped by one side, which has taken its seat.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    geometry: Geometry,
    home: Home,
    /// `None` until the seat is taken.
    part: Option<Part>,
}

// SAFETY: the mapping belongs to the process, not to a thread, and everything that is reached
// through a shared `Segment` is an atomic; payloads are reached only as `Memory` prescribes.
unsafe impl Send for Segment {}

// SAFETY: for the same reason; `part` and `geometry` do not change once the segment is joined.
unsafe impl Sync for Segment {}

impl Segment {
    /// Makes the file of `home`, or maps the memory that is there, and takes the seat of `part`.
    /// `None` where the file's maker has not finished yet or its last user is leaving: try again.
    pub(crate) fn join(home: &Home, geometry: Geometry, part: Part) -> Result<Option<Segment>> {
        let path = match home {
            Home::File(path) => path,
            Home::Shared { path, .. } => {
                let segment = map(home, &home::open(path)?, geometry)?;
                return segment.sit(part).map(Some);
            }
        };
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let exclusive = flags | OFlags::CREATE | OFlags::EXCL;
        match rustix::fs::open(path, exclusive, Mode::RUSR | Mode::WUSR) {
            Ok(file) => make(home, &file, geometry)
                .inspect_err(|_| {
                    // The error that is already there says more than a failure to remove would.
                    let _ = rustix::fs::unlink(path);
                })
                .and_then(|segment| segment.sit(part))
                .map(Some),
            Err(Errno::EXIST) => match rustix::fs::open(path, flags, Mode::empty()) {
                Ok(file) => match find(home, &file, geometry)? {
                    Some(segment) => segment.sit(part).map(Some),
                    None => Ok(None),
                },
                Err(Errno::NOENT) => Ok(None),
                Err(e) => Err(Error::system(format!("open {}", path.display()), e)),
            },
            Err(e) => Err(Error::system(format!("create {}", path.display()), e)),
        }
    }

    /// Takes the seat of `part`.
    fn sit(mut self, part: Part) -> Result<Segment> {
        let me = Process::current().map_err(|e| {
            Error::system_hint(
                "read /proc/self/stat",
                e,
                "mount proc on /proc and try again",
            )
        })?;
        let seat = self.seat(part);
        if !seat.take(&me) {
            return Err(Error::Unsupported(format!(
                "a second {part:?} on {}: process {} is that already",
                self.home.path().display(),
                seat.process().pid
            )));
        }
        self.part = Some(part);
        Ok(self)
    }

    /// Whether the memory is of several machines.
    pub(crate) fn is_shared(&self) -> bool {
        self.home.is_shared()
    }

    /// Where everything is.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The start of the mapping, which is [`Geometry::total`] bytes long and page-aligned.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The header.
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the mapping starts with a header, lives as long as `self`, and a header is
        // nothing but atomics, for which any bytes are valid and any sharing is sound.
        unsafe { self.base.cast().as_ref() }
    }

    /// What belongs to reader `index`, which must be one of the channel's.
    pub(crate) fn reader_part(&self, index: usize) -> &ReaderPart {
        debug_assert!(index < self.geometry.readers);
        // SAFETY: `layout` keeps `readers` aligned parts at `readers_at`, within the mapping;
        // they are nothing but atomics.
        unsafe {
            self.base
                .byte_add(self.geometry.readers_at)
                .cast::<ReaderPart>()
                .add(index)
                .as_ref()
        }
    }

    fn seat(&self, part: Part) -> &Seat {
        match part {
            Part::Writer => &self.header().writer,
            Part::Reader(index) => &self.reader_part(index).seat.0,
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if let Some(part) = self.part {
            self.seat(part).leave();
        }
        if let Home::File(path) = &self.home
            && self.header().users.fetch_sub(1, Ordering::AcqRel) == 1
        {
            // Where this fails, the file is gone already or its claim removes it.
            let _ = rustix::fs::unlink(path);
        }
        // SAFETY: `map` made this mapping with this length, and nothing that borrows from it
        // outlives `self`.
        let unmapped =
            unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.geometry.total) };
        debug_assert!(unmapped.is_ok());
    }
}

/// Fills the new, empty file.
fn make(home: &Home, file: &OwnedFd, geometry: Geometry) -> Result<Segment> {
    let path = home.path();
    // Allocated, not merely sized: a full /dev/shm is an error here instead of SIGBUS later.
    let allocate =
        || rustix::fs::fallocate(file, FallocateFlags::empty(), 0, geometry.total as u64);
    rustix::io::retry_on_intr(allocate).map_err(|e| {
        let call = format!("reserve {} bytes for {}", geometry.total, path.display());
        match e {
            Errno::NOSPC | Errno::NOMEM => Error::system_hint(
                call,
                e,
                "free space in /dev/shm (see `df /dev/shm` and `ls -l /dev/shm`), or set the \
                 option `queue_depth` to fewer slots",
            ),
            e => Error::system(call, e),
        }
    })?;
    let segment = map(home, file, geometry)?;
    let header = segment.header();
    header.depth.store(geometry.depth as u64, Ordering::Relaxed);
    header
        .readers
        .store(geometry.readers as u64, Ordering::Relaxed);
    header
        .max_payload
        .store(geometry.max_payload as u64, Ordering::Relaxed);
    header.users.store(1, Ordering::Relaxed);
    header.ready.store(READY, Ordering::Release);
    Ok(segment)
}

/// Joins a file that somebody else made, or is about to fill.
fn find(home: &Home, file: &OwnedFd, geometry: Geometry) -> Result<Option<Segment>> {
    let path: &Path = home.path();
    let size = rustix::fs::fstat(file)
        .map_err(|e| Error::system(format!("stat {}", path.display()), e))?
        .st_size;
    if size == 0 {
        return Ok(None);
    }
    let differs = |what: &str| {
        Error::Unsupported(format!(
            "{} was made with another {what}; give both sides the same channel and the same \
             options, or remove the file if no trial is running",
            path.display()
        ))
    };
    if size != geometry.total as i64 {
        return Err(differs("size"));
    }
    // Not counted as a user yet, so it must not be dropped as one.
    let segment = std::mem::ManuallyDrop::new(map(home, file, geometry)?);
    let header = segment.header();
    let users = &header.users;
    let joined = if header.ready.load(Ordering::Acquire) == READY {
        let more = |n| if n == 0 { None } else { Some(n + 1) };
        users
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, more)
            .is_ok()
    } else {
        false
    };
    if !joined {
        // SAFETY: `map` has just made it, and nothing refers to it any more.
        let unmapped = unsafe { rustix::mm::munmap(segment.base.as_ptr().cast(), geometry.total) };
        debug_assert!(unmapped.is_ok());
        return Ok(None);
    }
    let segment = std::mem::ManuallyDrop::into_inner(segment);
    let header = segment.header();
    let of_maker = [&header.depth, &header.readers, &header.max_payload];
    let mine = [geometry.depth, geometry.readers, geometry.max_payload];
    for ((made, mine), what) in
        of_maker
            .into_iter()
            .zip(mine)
            .zip(["depth", "number of readers", "largest payload"])
    {
        if made.load(Ordering::Relaxed) != mine as u64 {
            return Err(differs(what));
        }
    }
    Ok(Some(segment))
}

fn map(home: &Home, file: &OwnedFd, geometry: Geometry) -> Result<Segment> {
    let path = home.path();
    // SAFETY: a new mapping at an address that the kernel chooses touches no memory of ours; the
    // file has `total` bytes from the offset on, and nobody shrinks it: of a shared memory the ring
    // was laid out within the part that is the channel's.
    let base = unsafe {
        rustix::mm::mmap(
            std::ptr::null_mut(),
            geometry.total,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED | MapFlags::POPULATE,
            file,
            home.offset(),
        )
    }
    .map_err(|e| {
        Error::system_hint(
            format!("map {} bytes of {}", geometry.total, path.display()),
            e,
            "lower the option `queue_depth`, or raise the limit of memory (`ulimit -v`, `ulimit -l`)",
        )
    })?;
    Ok(Segment {
        // A successful mmap is never at the null address without MAP_FIXED.
        base: NonNull::new(base.cast()).ok_or_else(|| {
            Error::system(
                format!("map {}", path.display()),
                std::io::ErrorKind::InvalidData,
            )
        })?,
        geometry,
        home: home.clone(),
        part: None,
    })
}
