//! The shared words of a channel, and the memory that holds them.
//!
//! Words that different sides write lie 128 bytes apart: a cache line has 64 bytes, and
//! processors fetch lines in pairs. In memory that is all zero every word has its initial value.

use crate::sync::{AtomicU32, AtomicU64};
use std::sync::Arc;
use std::time::Duration;

/// A value on a pair of cache lines of its own.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Line<T>(pub(crate) T);

/// The words of a channel that belong to no slot and no single reader.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ChannelWords {
    /// Messages ever published. Written by the writer, read by readers that attach.
    pub(crate) head: Line<AtomicU64>,
    /// 1 while the writer sleeps for room, or is about to. A futex.
    pub(crate) room: Line<AtomicU32>,
    /// 1 once the writer looks for [`ASLEEP`] with each message.
    pub(crate) wakes: Line<AtomicU32>,
}

/// The words of one reader.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ReaderWords {
    /// Messages that this reader has finished with. Written by the reader.
    pub(crate) cursor: Line<AtomicU64>,
    /// One of [`state`]. Written by the reader.
    pub(crate) state: Line<AtomicU32>,
}

/// What a reader is to its channel.
pub(crate) mod state {
    /// It has never been there.
    pub(crate) const ABSENT: u32 = 0;
    /// It is there and polls.
    pub(crate) const SPINS: u32 = 1;
    /// It is there and sleeps while there is no message.
    pub(crate) const BLOCKS: u32 = 2;
    /// It was there and has left.
    pub(crate) const LEFT: u32 = 3;
}

/// The words at the start of a slot; the payload follows immediately, so that the first 56 bytes
/// of it arrive with the words in one cache line.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct SlotWords {
    /// [`sequence`] of the message that the slot holds; 0 at first. Written by the writer when the
    /// message is complete; readers that sleep for the slot's next one add [`ASLEEP`]. A futex.
    pub(crate) sequence: AtomicU32,
    /// The message's length in bytes.
    pub(crate) length: AtomicU32,
}

/// In [`SlotWords::sequence`]: a reader sleeps until the slot's next message, or is about to. It
/// stands in the very word that the writer is going to replace, so that publishing a message and
/// finding out whether somebody sleeps is one access to one cache line.
pub(crate) const ASLEEP: u32 = 1;

/// What the slot of message `position` holds once that is published: the low 31 bits of
/// `position + 1`, above the bit [`ASLEEP`].
pub(crate) fn sequence(position: u64) -> u32 {
    (position as u32).wrapping_add(1) << 1
}

/// A word on which a thread can sleep.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Futex {
    /// [`SlotWords::sequence`] of the slot with this index.
    Slot(usize),
    /// [`ChannelWords::room`].
    Room,
}

/// How a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slept {
    /// Woken, or the word had another value than expected.
    Woken,
    /// The time was over.
    TimedOut,
    /// A signal arrived.
    Interrupted,
}

/// Where the words and payloads of one channel are. Every side has its own view of the same memory.
pub(crate) trait Memory {
    /// Number of slots, at least 1.
    fn depth(&self) -> usize;
    /// Number of readers that the channel was made for.
    fn readers(&self) -> usize;
    /// The channel's words.
    fn channel(&self) -> &ChannelWords;
    /// The words of reader `index < readers()`.
    fn reader(&self, index: usize) -> &ReaderWords;
    /// The words of slot `index < depth()`.
    fn slot(&self, index: usize) -> &SlotWords;
    /// Calls `fill` with the first `len` payload bytes of slot `index`.
    ///
    /// # Safety
    /// `len` is at most the largest payload, and until `fill` returns nobody else accesses the
    /// payload of that slot.
    unsafe fn fill(&self, index: usize, len: usize, fill: &mut dyn FnMut(&mut [u8]));
    /// Calls `on_message` with the first `len` payload bytes of slot `index`, or with all of them
    /// if there are fewer.
    ///
    /// # Safety
    /// Until `on_message` returns nobody writes the payload of that slot.
    unsafe fn show(&self, index: usize, len: usize, on_message: &mut dyn FnMut(&[u8]));
    /// Sleeps while the word is `expected`, at most for `patience` if that is given. May also
    /// return early.
    fn sleep(&self, futex: Futex, expected: u32, patience: Option<Duration>) -> Slept;
    /// Wakes everybody who sleeps on the word.
    fn wake(&self, futex: Futex);
}

/// A view that a reader shares with whoever ends it.
impl<M: Memory> Memory for Arc<M> {
    #[inline]
    fn depth(&self) -> usize {
        (**self).depth()
    }

    fn readers(&self) -> usize {
        (**self).readers()
    }

    #[inline]
    fn channel(&self) -> &ChannelWords {
        (**self).channel()
    }

    #[inline]
    fn reader(&self, index: usize) -> &ReaderWords {
        (**self).reader(index)
    }

    #[inline]
    fn slot(&self, index: usize) -> &SlotWords {
        (**self).slot(index)
    }

    #[inline]
    unsafe fn fill(&self, index: usize, len: usize, fill: &mut dyn FnMut(&mut [u8])) {
        // SAFETY: by our caller, who promises the same.
        unsafe { (**self).fill(index, len, fill) }
    }

    #[inline]
    unsafe fn show(&self, index: usize, len: usize, on_message: &mut dyn FnMut(&[u8])) {
        // SAFETY: by our caller, who promises the same.
        unsafe { (**self).show(index, len, on_message) }
    }

    fn sleep(&self, futex: Futex, expected: u32, patience: Option<Duration>) -> Slept {
        (**self).sleep(futex, expected, patience)
    }

    fn wake(&self, futex: Futex) {
        (**self).wake(futex);
    }
}
