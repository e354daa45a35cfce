//! The writing half of the exchange: publishes messages in a ring of slots, and never reuses a
//! slot before every attached reader has finished with it.
//!
//! - **Publication.** The payload is written, then the slot's sequence with Release; a reader
//!   acquires the sequence before it looks at the payload.
//! - **Reuse.** A position is written only below `limit` = the least cursor + depth. Cursors are
//!   read (Acquire) only when `limit` is reached, so a ring with room costs no shared read at all.
//! - **A reader that attaches late** stores its state, fences, then starts at `head`; the writer
//!   stores `head`, fences, then reads the states. So a look that misses the reader happened at a
//!   position not after the reader's start, and its limit lies not beyond the reader's first slot.
//! - **Waking readers.** A reader that finds nothing marks the slot's sequence and sleeps on it; the
//!   writer swaps the new sequence in, and wakes if it takes a mark out. Both change the same
//!   word, so either the swap takes the mark out or the reader finds the message.
//! - **A writer that knows of no blocking reader** stores instead of swapping. It says in `wakes`
//!   when it starts to swap; until a reader has seen that, it sleeps only for short times.
//! - **Sleeping for room.** `room` is set, fence, cursors are read; a reader stores its cursor,
//!   fences, reads `room`, at two positions per lap.

use crate::sync::{Ordering, fence};
use crate::words::{ASLEEP, Futex, Memory, Slept, sequence, state};
use std::time::Duration;

/// What became of an attempt to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The message is published.
    Sent,
    /// Every slot holds a message that some reader has not finished with.
    Full,
    /// All readers that were attached have left.
    Deserted,
}

/// Who was attached at the last look.
#[derive(Debug, Clone, Copy, Default)]
struct Census {
    attached: usize,
    left: usize,
}

impl Census {
    /// Whether all readers that were attached have left.
    fn is_deserted(self) -> bool {
        self.attached == 0 && self.left > 0
    }
}

/// The only writer of a channel.
pub(crate) struct Writer<M> {
    memory: M,
    /// Messages published.
    position: u64,
    /// `position` modulo depth.
    index: usize,
    /// Positions below this one may be written.
    limit: u64,
    /// Whether a blocking reader has ever been seen.
    wakes: bool,
}

impl<M: Memory> Writer<M> {
    /// Takes over the writing of a channel, where its former writer (if any) left off. The caller
    /// sees to it that there is only one.
    pub(crate) fn attach(memory: M) -> Self {
        let position = memory.channel().head.0.load(Ordering::Acquire);
        let wakes = memory.channel().wakes.0.load(Ordering::Relaxed) != 0;
        Writer {
            index: (position % memory.depth() as u64) as usize,
            limit: position,
            position,
            wakes,
            memory,
        }
    }

    /// The memory of the channel.
    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    /// The number of readers that would get a message written now.
    pub(crate) fn matched(&mut self) -> usize {
        self.look().attached
    }

    /// Publishes a message of `len` bytes written by `fill`, if there is a slot for it. `fill` is
    /// called only if the answer is [`Attempt::Sent`].
    ///
    /// # Safety
    /// `len` is at most the largest payload of the channel.
    #[inline]
    pub(crate) unsafe fn try_send(
        &mut self,
        len: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Attempt {
        if self.position >= self.limit {
            let census = self.look();
            if census.is_deserted() {
                return Attempt::Deserted;
            }
            if self.position >= self.limit {
                return Attempt::Full;
            }
        }
        // SAFETY: `len` by our caller. `position < limit` means that every attached reader's
        // cursor, read with Acquire, is past the slot's former message; a reader that attached
        // since then starts at this position or later, and reads no slot before its sequence is
        // published below. `attach`'s caller and `&mut self` make us the only writer.
        unsafe { self.memory.fill(self.index, len, fill) };
        let slot = self.memory.slot(self.index);
        let sequence = sequence(self.position);
        slot.length.store(len as u32, Ordering::Relaxed);
        if !self.wakes {
            slot.sequence.store(sequence, Ordering::Release);
        } else if slot.sequence.swap(sequence, Ordering::Release) & ASLEEP != 0 {
            self.memory.wake(Futex::Slot(self.index));
        }
        self.position += 1;
        let head = &self.memory.channel().head.0;
        head.store(self.position, Ordering::Release);
        self.index += 1;
        if self.index == self.memory.depth() {
            self.index = 0;
        }
        Attempt::Sent
    }

    /// Sleeps until a reader has made room, or a message can be written, or for `patience`.
    pub(crate) fn sleep_for_room(&mut self, patience: Duration) -> Slept {
        self.memory.channel().room.0.store(1, Ordering::Relaxed);
        let census = self.look();
        let slept = if self.position < self.limit || census.attached == 0 {
            Slept::Woken
        } else {
            self.memory.sleep(Futex::Room, 1, Some(patience))
        };
        self.memory.channel().room.0.store(0, Ordering::Relaxed);
        slept
    }

    /// Reads states and cursors, and moves the limit accordingly.
    #[cold]
    fn look(&mut self) -> Census {
        fence(Ordering::SeqCst);
        let mut census = Census::default();
        let mut least = self.position;
        for index in 0..self.memory.readers() {
            let reader = self.memory.reader(index);
            match reader.state.0.load(Ordering::Acquire) {
                state::ABSENT => continue,
                state::LEFT => {
                    census.left += 1;
                    continue;
                }
                state::BLOCKS if !self.wakes => {
                    self.wakes = true;
                    // Release: whoever sees it has seen all messages that were published unannounced.
                    self.memory.channel().wakes.0.store(1, Ordering::Release);
                }
                _ => {}
            }
            census.attached += 1;
            least = least.min(reader.cursor.0.load(Ordering::Acquire));
        }
        self.limit = if census.is_deserted() {
            self.position
        } else {
            least + self.memory.depth() as u64
        };
        census
    }
}
