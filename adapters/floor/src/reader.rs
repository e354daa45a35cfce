//! The reading half of the exchange: sees every message from its start on, in place and in order.
//!
//! The orderings are explained in [`crate::writer`].

use crate::sync::{Ordering, fence};
use crate::words::{ASLEEP, Futex, Memory, Slept, sequence, state};
use dyno_adapter::Wait;
use std::time::Duration;

/// How long a blocking reader sleeps at most while the writer does not know of it yet.
const NAP: Duration = Duration::from_millis(1);

/// One reader of a channel.
pub(crate) struct Reader<M: Memory> {
    memory: M,
    /// Which of the channel's readers it is.
    me: usize,
    /// Messages finished with.
    position: u64,
    /// `position` modulo depth.
    index: usize,
    /// The index, beside 0, at which a writer that sleeps for room is looked for.
    half: usize,
}

impl<M: Memory> Reader<M> {
    /// Attaches reader `me` at the writer's present position. The caller sees to it that there is
    /// only one reader of that index.
    pub(crate) fn attach(memory: M, me: usize, wait: Wait) -> Self {
        let words = memory.reader(me);
        let head = &memory.channel().head.0;
        // An old position holds the writer up, at worst; a missing one would let it overtake us.
        words
            .cursor
            .0
            .store(head.load(Ordering::Acquire), Ordering::Relaxed);
        let state = if wait == Wait::Block {
            state::BLOCKS
        } else {
            state::SPINS
        };
        words.state.0.store(state, Ordering::Release);
        fence(Ordering::SeqCst);
        let position = head.load(Ordering::Acquire);
        words.cursor.0.store(position, Ordering::Release);
        let depth = memory.depth();
        let reader = Reader {
            me,
            position,
            index: (position % depth as u64) as usize,
            half: depth / 2,
            memory,
        };
        reader.tell_room();
        reader
    }

    /// The memory of the channel.
    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    /// Shows the next message, if there is one, and gives its slot back.
    #[inline]
    pub(crate) fn try_take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> bool {
        let slot = self.memory.slot(self.index);
        if !self.is_ready(slot.sequence.load(Ordering::Acquire)) {
            return false;
        }
        let len = slot.length.load(Ordering::Relaxed) as usize;
        // SAFETY: the sequence, read with Acquire, says that the writer has finished this slot;
        // the writer writes it again only once our cursor, stored below, is past it.
        unsafe { self.memory.show(self.index, len, on_message) };
        self.position += 1;
        let cursor = &self.memory.reader(self.me).cursor.0;
        cursor.store(self.position, Ordering::Release);
        self.index += 1;
        if self.index == self.memory.depth() {
            self.index = 0;
        }
        if self.index == 0 || self.index == self.half {
            self.tell_room();
        }
        true
    }

    /// Sleeps until the next message is published or a signal arrives; at once over if there is a
    /// message already. There is no timer: arming and cancelling it would cost 0.4 µs a message.
    pub(crate) fn sleep(&self) -> Slept {
        let known = self.memory.channel().wakes.0.load(Ordering::Acquire) != 0;
        let word = &self.memory.slot(self.index).sequence;
        let former = word.load(Ordering::Relaxed);
        if self.is_ready(former) {
            return Slept::Woken;
        }
        let futex = Futex::Slot(self.index);
        if !known {
            return self.memory.sleep(futex, former, Some(NAP));
        }
        let (marked, relaxed) = (former | ASLEEP, Ordering::Relaxed);
        match word.compare_exchange(former, marked, relaxed, relaxed) {
            Ok(_) => self.memory.sleep(futex, marked, None),
            // The writer, or another reader's mark, was faster: look again.
            Err(_) => Slept::Woken,
        }
    }

    /// Whether a slot with this sequence holds the next message. Readers that are a lap ahead may
    /// have marked it already.
    #[inline]
    fn is_ready(&self, found: u32) -> bool {
        found & !ASLEEP == sequence(self.position)
    }

    /// Wakes the writer if it sleeps for room.
    fn tell_room(&self) {
        fence(Ordering::SeqCst);
        let room = &self.memory.channel().room.0;
        // The first of several readers wakes it; the others need no system call.
        let sleeps = room.load(Ordering::Relaxed) == 1;
        let relaxed = Ordering::Relaxed;
        if sleeps && room.compare_exchange(1, 0, relaxed, relaxed).is_ok() {
            self.memory.wake(Futex::Room);
        }
    }
}

impl<M: Memory> Drop for Reader<M> {
    fn drop(&mut self) {
        let state = &self.memory.reader(self.me).state.0;
        state.store(state::LEFT, Ordering::Release);
        self.tell_room();
    }
}
