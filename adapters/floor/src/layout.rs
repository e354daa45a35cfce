//! How a channel's shared memory is laid out: header, one part per reader, ring of slots.

use crate::process::Process;
use crate::words::{ChannelWords, Line, ReaderWords, SlotWords};
use dyno_adapter::{ChannelSpec, Error, NodeContext, Result};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The place of the writer or of one reader, for one process at a time.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Seat {
    taken: AtomicU32,
    pid: AtomicU32,
    started: AtomicU64,
}

impl Seat {
    /// Takes the seat for `process`; false if it is taken.
    pub(crate) fn take(&self, process: &Process) -> bool {
        let free = self
            .taken
            .compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        if free {
            self.pid.store(process.pid, Ordering::Relaxed);
            self.started.store(process.started, Ordering::Relaxed);
        }
        free
    }
    /// Gives it up.
    pub(crate) fn leave(&self) {
        self.taken.store(0, Ordering::Release);
    }
    /// Whether somebody has it.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Acquire) != 0
    }
    /// Who took it last.
    pub(crate) fn process(&self) -> Process {
        Process {
            pid: self.pid.load(Ordering::Relaxed),
            started: self.started.load(Ordering::Relaxed),
        }
    }
}

/// The start of the shared memory.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Header {
    /// A constant once everything below stands.
    pub(crate) ready: AtomicU64,
    /// The sides that use the memory; never leaves zero again once it is back there.
    pub(crate) users: AtomicU32,
    /// [`Geometry::depth`] of the maker.
    pub(crate) depth: AtomicU64,
    /// [`Geometry::readers`] of the maker.
    pub(crate) readers: AtomicU64,
    /// [`Geometry::max_payload`] of the maker.
    pub(crate) max_payload: AtomicU64,
    /// The writer's seat.
    pub(crate) writer: Seat,
    /// The channel's words.
    pub(crate) channel: Line<ChannelWords>,
}

/// What there is for each reader.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ReaderPart {
    /// Its words.
    pub(crate) words: ReaderWords,
    /// Its seat.
    pub(crate) seat: Line<Seat>,
}

/// Slots per channel where neither the stack nor the message size says otherwise.
pub(crate) const DEPTH: usize = 16;
/// The most slots that the option `queue_depth` may ask for.
pub(crate) const MAX_DEPTH: usize = 1 << 20;
/// What a ring of the default depth takes at most, in bytes …
const RING_BYTES: usize = 80 << 20;
/// … as long as it keeps this many slots.
const LEAST_DEPTH: usize = 4;
/// Slots are multiples of this many bytes: a pair of cache lines, because processors fetch lines
/// in pairs, and the reader polls one slot while the writer fills its neighbour.
const SLOT_ALIGN: usize = 128;
/// The ring starts at a multiple of this many bytes.
const PAGE: usize = 4096;

/// Where everything is, in bytes from the start of the mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Number of slots.
    pub(crate) depth: usize,
    /// Number of readers.
    pub(crate) readers: usize,
    /// Largest payload.
    pub(crate) max_payload: usize,
    /// From one slot to the next.
    pub(crate) stride: usize,
    /// First [`ReaderPart`].
    pub(crate) readers_at: usize,
    /// First slot.
    pub(crate) slots_at: usize,
    /// Size of the whole.
    pub(crate) total: usize,
}

impl Geometry {
    /// The geometry of `channel` for a node with these options, of `room` bytes at most where that is limited.
    pub(crate) fn of(
        channel: &ChannelSpec,
        context: &NodeContext,
        room: Option<usize>,
    ) -> Result<Self> {
        let asked = match context.options.get("queue_depth") {
            None => None,
            Some(_) => Some(asked_depth(context.int("queue_depth", 0)?)?),
        };
        let (payload, readers) = (channel.max_payload, channel.readers.len());
        let whole = Self::new(payload, readers, asked).ok_or_else(|| {
            Error::Unsupported(format!(
                "a ring for messages of {payload} bytes on channel {}: it is larger than the \
                 address space; use a smaller payload or a smaller option `queue_depth`",
                channel.name
            ))
        })?;
        let Some(room) = room.filter(|room| whole.total > *room) else {
            return Ok(whole);
        };
        // As many slots as there is room for, where nobody asked for more; with fewer, sender and reader would only take turns.
        let depth = room.saturating_sub(whole.slots_at) / whole.stride;
        let fits = |g: &Geometry| g.total <= room;
        let fewer = || Self::new(payload, readers, Some(depth)).filter(fits);
        let fewer = (asked.is_none() && depth >= LEAST_DEPTH)
            .then(fewer)
            .flatten();
        fewer.ok_or_else(|| {
            Error::Unsupported(format!(
                "a ring of {} slots for messages of {payload} bytes on channel {}: it has {} KiB of \
                 the memory that machines share; write a larger `shared_memory` in the testbed, or \
                 use a smaller payload or a smaller option `queue_depth`",
                asked.unwrap_or(LEAST_DEPTH),
                channel.name,
                room >> 10
            ))
        })
    }

    /// `None` where the sizes overflow. Without `depth`: [`DEPTH`], or as many as fit.
    fn new(max_payload: usize, readers: usize, depth: Option<usize>) -> Option<Self> {
        u32::try_from(max_payload).ok()?;
        let stride = size_of::<SlotWords>()
            .checked_add(max_payload)?
            .checked_next_multiple_of(SLOT_ALIGN)?;
        let depth = depth.unwrap_or_else(|| (RING_BYTES / stride).clamp(LEAST_DEPTH, DEPTH));
        let readers_at = size_of::<Header>().next_multiple_of(align_of::<ReaderPart>());
        let slots_at = readers
            .checked_mul(size_of::<ReaderPart>())?
            .checked_add(readers_at)?
            .checked_next_multiple_of(PAGE)?;
        let total = stride
            .checked_mul(depth)?
            .checked_add(slots_at)?
            .checked_next_multiple_of(PAGE)?;
        isize::try_from(total).ok()?;
        Some(Geometry {
            depth,
            readers,
            max_payload,
            stride,
            readers_at,
            slots_at,
            total,
        })
    }
}

fn asked_depth(slots: i64) -> Result<usize> {
    usize::try_from(slots)
        .ok()
        .filter(|d| (1..=MAX_DEPTH).contains(d))
        .ok_or_else(|| {
            Error::option(
                "queue_depth",
                format!("write 1 to {MAX_DEPTH} slots instead of {slots}"),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_shrinks_with_the_payload_but_not_below_four() {
        let depth = |payload| Geometry::new(payload, 1, None).unwrap().depth;
        assert_eq!(depth(8), 16);
        assert_eq!(depth(4 << 20), 16);
        assert_eq!(depth(8 << 20), 9);
        assert_eq!(depth(1 << 30), 4);
    }

    #[test]
    fn an_asked_depth_is_kept() {
        let g = Geometry::new(4 << 20, 1, Some(100)).unwrap();
        assert_eq!(g.depth, 100);
        assert!(g.total > 400 << 20);
    }

    #[test]
    fn slots_hold_their_payload_and_lie_on_pairs_of_lines() {
        for payload in [1, 8, 56, 57, 120, 121, 4096, 1_000_003] {
            let g = Geometry::new(payload, 3, None).unwrap();
            assert_eq!((g.stride % 128, g.slots_at % 4096), (0, 0));
            assert!(g.stride >= payload + 8 && g.stride < payload + 8 + 128);
            assert!(g.slots_at >= size_of::<Header>() + 3 * size_of::<ReaderPart>());
        }
        assert_eq!(Geometry::new(56, 1, None).unwrap().stride, 128);
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        assert!(Geometry::new(usize::MAX, 1, None).is_none());
        assert!(Geometry::new(u32::MAX as usize, 1, Some(usize::MAX / 2)).is_none());
    }
}
