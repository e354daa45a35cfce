//! [`Memory`] in a mapped [`Segment`], with futexes that work between processes.

use crate::segment::Segment;
use crate::words::{ChannelWords, Futex, Memory, ReaderWords, Slept, SlotWords, state};
use rustix::io::Errno;
use rustix::thread::{NanosleepRelativeResult, futex};
use rustix::time::Timespec;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long whoever waits for room sleeps at most before it looks again, where nobody can wake it.
const NAP: Duration = Duration::from_micros(50);

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs() as i64,
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

impl Segment {
    /// The start of slot `index`.
    #[inline]
    fn slot_at(&self, index: usize) -> NonNull<u8> {
        let geometry = self.geometry();
        debug_assert!(index < geometry.depth);
        // SAFETY: `layout` keeps `depth` slots of `stride` bytes at `slots_at`, in the mapping.
        unsafe {
            self.base()
                .byte_add(geometry.slots_at + index * geometry.stride)
        }
    }

    /// The payload of slot `index`.
    #[inline]
    fn payload_at(&self, index: usize) -> NonNull<u8> {
        // SAFETY: a slot has room for its words and `max_payload` bytes after them.
        unsafe { self.slot_at(index).byte_add(size_of::<SlotWords>()) }
    }

    fn futex(&self, futex: Futex) -> &AtomicU32 {
        match futex {
            Futex::Slot(index) => &self.slot(index).sequence,
            Futex::Room => &self.channel().room.0,
        }
    }

    /// Whether one of the attached readers has died without leaving. On another machine that cannot be seen: whoever
    /// started it there sees it.
    pub(crate) fn lost_a_reader(&self) -> bool {
        !self.is_shared()
            && (0..self.readers()).any(|index| {
                let part = self.reader_part(index);
                let state = part.words.state.0.load(Ordering::Acquire);
                matches!(state, state::SPINS | state::BLOCKS) && !part.seat.0.process().is_alive()
            })
    }
}

impl Memory for Segment {
    #[inline]
    fn depth(&self) -> usize {
        self.geometry().depth
    }

    fn readers(&self) -> usize {
        self.geometry().readers
    }

    #[inline]
    fn channel(&self) -> &ChannelWords {
        &self.header().channel.0
    }

    #[inline]
    fn reader(&self, index: usize) -> &ReaderWords {
        &self.reader_part(index).words
    }

    #[inline]
    fn slot(&self, index: usize) -> &SlotWords {
        // SAFETY: a slot starts with its words, aligned; they are nothing but atomics.
        unsafe { self.slot_at(index).cast().as_ref() }
    }

    #[inline]
    unsafe fn fill(&self, index: usize, len: usize, fill: &mut dyn FnMut(&mut [u8])) {
        debug_assert!(len <= self.geometry().max_payload);
        // SAFETY: `len` bytes lie within the slot, and nobody else accesses them: both by our
        // caller. Shared memory is always initialised.
        fill(unsafe { std::slice::from_raw_parts_mut(self.payload_at(index).as_ptr(), len) });
    }

    #[inline]
    unsafe fn show(&self, index: usize, len: usize, on_message: &mut dyn FnMut(&[u8])) {
        // A length from another process: never trusted beyond the slot.
        let len = len.min(self.geometry().max_payload);
        // SAFETY: `len` bytes lie within the slot, and nobody writes them, by our caller.
        on_message(unsafe { std::slice::from_raw_parts(self.payload_at(index).as_ptr(), len) });
    }

    fn sleep(&self, futex: Futex, expected: u32, patience: Option<Duration>) -> Slept {
        if self.is_shared() {
            let nap = patience.map_or(NAP, |p| p.min(NAP));
            return match rustix::thread::nanosleep(&timespec(nap)) {
                NanosleepRelativeResult::Interrupted(_) => Slept::Interrupted,
                _ => Slept::TimedOut,
            };
        }
        let timeout = patience.map(timespec);
        // Without the private flag: the two sides are two processes, or two mappings of one.
        match futex::wait(
            self.futex(futex),
            futex::Flags::empty(),
            expected,
            timeout.as_ref(),
        ) {
            Err(Errno::TIMEDOUT) => Slept::TimedOut,
            Err(Errno::INTR) => Slept::Interrupted,
            // EAGAIN says that the word has changed. Other errors cannot happen with a mapped,
            // aligned word and a valid timeout; an early return is harmless in any case.
            Ok(()) | Err(_) => Slept::Woken,
        }
    }

    #[cold]
    fn wake(&self, futex: Futex) {
        if self.is_shared() {
            // Nobody is asleep for longer than NAP.
            return;
        }
        // Cannot fail with a mapped, aligned word.
        let woken = futex::wake(self.futex(futex), futex::Flags::empty(), i32::MAX as u32);
        debug_assert!(woken.is_ok());
    }
}
