//! A log of events in a file that outlives its writer, even one that is killed with SIGKILL.
//!
//! The file is mapped shared, so an event is in the kernel's hands as soon as it is stored: no system call writes it, and
//! none is needed to keep it. Layout, in words of 8 bytes in the machine's own order:
//!
//! | words | content |
//! |---|---|
//! | 0 | `MAGIC` |
//! | 1 | participant (lowest 16 bits), generation (next 16 bits) |
//! | 2 | capacity in events |
//! | 3 | events that were pushed, those without room among them |
//! | 4..8 | zero |
//! | 8.. | events of five words: kind (lowest 16 bits) and channel (next 16 bits), instant, sequence or number, due time, time of sending |
//!
//! An event's first word is stored last. Zero there: its writer was killed while it wrote it.

use dyno_model::fault::{FaultEvent, Noted};
use dyno_model::unit::Nanos;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// `DYNOFLT1`, read as a little-endian word.
const MAGIC: u64 = u64::from_le_bytes(*b"DYNOFLT1");
const HEADER: usize = 8;
const EVENT: usize = 5;
const WORD: usize = size_of::<u64>();
/// The word that counts events.
const PUSHED: usize = 3;

/// Why a log could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum FaultLogError {
    /// The system refused.
    #[error("cannot {what} the log {}: {source}", path.display())]
    System {
        /// `make` or `read`.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The file is no such log, or its first bytes are damaged.
    #[error("{} is no log of events: its first {} bytes are damaged or missing", path.display(), HEADER * WORD)]
    NotALog {
        /// Which file.
        path: PathBuf,
    },
    /// An event is none.
    #[error("event {number} of the log {} is damaged: there is no kind {kind}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Which event, from 0.
        number: usize,
        /// What stands where its kind should.
        kind: u16,
    },
}

/// The log of one participant while it is written. Threads may push at the same time.
#[derive(Debug)]
pub struct FaultLog {
    words: NonNull<AtomicU64>,
    capacity: usize,
}

/// What a log held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultEvents {
    /// In the order in which their writers began to push them.
    pub events: Vec<FaultEvent>,
    /// Events that are missing: there was no room for them, or the file was cut. Above zero, figures that count
    /// events would be wrong.
    pub dropped: u64,
}

impl FaultLog {
    /// Makes the file `path` anew with room for `capacity` events of 40 bytes each; all of it is written here, so that a
    /// full disk is found now, and gets its name last, so that no file of that name is half a log. Its events are of
    /// `participant`, played by the process number `generation`.
    ///
    /// # Errors
    ///
    /// The file cannot be made, written, mapped or named.
    pub fn create(
        path: &Path,
        participant: u16,
        generation: u16,
        capacity: usize,
    ) -> Result<Self, FaultLogError> {
        let unnamed = path.with_extension("part");
        let failed = |source| FaultLogError::System {
            what: "make",
            path: path.to_owned(),
            source,
        };
        let make = || -> io::Result<NonNull<AtomicU64>> {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(true).truncate(true);
            let mut file = options.open(&unnamed)?;
            let length = length(capacity)?;
            io::copy(&mut io::repeat(0).take(length as u64), &mut file)?;
            // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists. The file is
            // as long as the mapping and nobody shortens it: it lies in the directory of one trial, for this log alone.
            let place = unsafe {
                mmap(
                    std::ptr::null_mut(),
                    length,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::SHARED | MapFlags::POPULATE,
                    &file,
                    0,
                )
            }?;
            NonNull::new(place.cast()).ok_or_else(|| io::Error::other("mapped at address zero"))
        };
        let log = FaultLog {
            words: make().map_err(failed)?,
            capacity,
        };
        let words = log.words();
        let who = u64::from(participant) | u64::from(generation) << 16;
        words[1].store(who, Ordering::Relaxed);
        words[2].store(capacity as u64, Ordering::Relaxed);
        words[0].store(MAGIC, Ordering::Release);
        std::fs::rename(&unnamed, path).map_err(failed)?;
        Ok(log)
    }

    /// Adds an event over `channel` at `at`, or counts it where there is no room. One increment and five plain stores.
    #[inline]
    pub fn push(&self, channel: u16, at: Nanos, what: Noted) {
        let words = self.words();
        let place = words[PUSHED].fetch_add(1, Ordering::Relaxed) as usize;
        if place >= self.capacity {
            return;
        }
        let (kind, rest) = encode(what);
        let event = &words[HEADER + place * EVENT..][..EVENT];
        event[1].store(at.0, Ordering::Relaxed);
        for (word, value) in event[2..].iter().zip(rest) {
            word.store(value, Ordering::Relaxed);
        }
        let head = u64::from(kind) | u64::from(channel) << 16;
        event[0].store(head, Ordering::Release);
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: `create` mapped so many words, at a page's begin and hence aligned; they stay mapped until `drop`,
        // which outlives this borrow, and all access to them is atomic.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), HEADER + self.capacity * EVENT) }
    }

    /// What the log `path` holds, also while it is written or after its writer was killed. A file that was cut short has
    /// fewer events, and the missing ones count as dropped.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is no log, or has an event of a kind that there is not.
    pub fn read(path: &Path) -> Result<FaultEvents, FaultLogError> {
        let bytes = std::fs::read(path).map_err(|source| FaultLogError::System {
            what: "read",
            path: path.to_owned(),
            source,
        })?;
        let words: Vec<u64> = bytes
            .as_chunks::<WORD>()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .collect();
        let no_log = || FaultLogError::NotALog {
            path: path.to_owned(),
        };
        let (header, events) = words.split_at_checked(HEADER).ok_or_else(no_log)?;
        let &[MAGIC, who, capacity, pushed, ..] = header else {
            return Err(no_log());
        };
        let mut found = FaultEvents::default();
        let room = usize::try_from(capacity.min(pushed)).unwrap_or(usize::MAX);
        let mut places = 0;
        for (number, event) in events.as_chunks::<EVENT>().0.iter().take(room).enumerate() {
            places += 1;
            let [head, at, rest @ ..] = *event;
            let kind = head as u16;
            if kind == 0 {
                continue;
            }
            let what = decode(kind, rest).ok_or_else(|| FaultLogError::Damaged {
                path: path.to_owned(),
                number,
                kind,
            })?;
            found.events.push(FaultEvent {
                participant: who as u16,
                generation: (who >> 16) as u16,
                channel: (head >> 16) as u16,
                what,
                at: Nanos(at),
            });
        }
        found.dropped = pushed - places;
        Ok(found)
    }
}

/// Bytes of a log.
fn length(capacity: usize) -> io::Result<usize> {
    let events = capacity.checked_mul(EVENT * WORD);
    let length = events.and_then(|events| events.checked_add(HEADER * WORD));
    let too_large = || io::Error::other(format!("{capacity} events are more than memory can hold"));
    length
        .filter(|length| isize::try_from(*length).is_ok())
        .ok_or_else(too_large)
}

fn encode(what: Noted) -> (u16, [u64; 3]) {
    match what {
        Noted::Arrival {
            sequence,
            due,
            sent,
        } => (1, [sequence, due.0, sent.0]),
        Noted::Damaged => (2, [0; 3]),
        Noted::Sent { sequence, sent } => (3, [sequence, 0, sent.0]),
        Noted::NotSent { sequence } => (4, [sequence, 0, 0]),
        Noted::TakeFailed => (5, [0; 3]),
        Noted::Peers { matched } => (6, [u64::from(matched), 0, 0]),
        Noted::NoAnswer { sequence } => (7, [sequence, 0, 0]),
    }
}

fn decode(kind: u16, [number, due, sent]: [u64; 3]) -> Option<Noted> {
    Some(match kind {
        1 => Noted::Arrival {
            sequence: number,
            due: Nanos(due),
            sent: Nanos(sent),
        },
        2 => Noted::Damaged,
        3 => Noted::Sent {
            sequence: number,
            sent: Nanos(sent),
        },
        4 => Noted::NotSent { sequence: number },
        5 => Noted::TakeFailed,
        6 => Noted::Peers {
            matched: u32::try_from(number).unwrap_or(u32::MAX),
        },
        7 => Noted::NoAnswer { sequence: number },
        _ => return None,
    })
}

// SAFETY: the mapping belongs to the process and not to a thread, and all access to it is atomic.
unsafe impl Send for FaultLog {}

// SAFETY: as of `Send`; no method needs `&mut self`.
unsafe impl Sync for FaultLog {}

impl Drop for FaultLog {
    fn drop(&mut self) {
        let length = (HEADER + self.capacity * EVENT) * WORD;
        // SAFETY: the mapping was made by `create` with this length, and `&mut self` shows that no borrow of it is left.
        let _ = unsafe { munmap(self.words.as_ptr().cast(), length) };
    }
}

#[cfg(test)]
mod tests;
