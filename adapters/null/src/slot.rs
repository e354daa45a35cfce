//! The one-slot hand-over: a buffer that belongs to the sender while it is empty and to the
//! receiver while it is full. Lock-free; nothing is allocated after [`Slot::new`].

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The memory of one channel.
pub(crate) struct Slot {
    buffer: UnsafeCell<Box<[u8]>>,
    capacity: usize,
    length: AtomicUsize,
    full: AtomicBool,
    sender: AtomicBool,
    receiver: AtomicBool,
}

// SAFETY: `buffer` is the only part that is not `Sync`. It is touched by the one `Producer` while
// `full` is false and by the one `Consumer` while it is true; `full` changes hands with Release
// and Acquire, and `Producer::new` and `Consumer::new` let at most one of each exist.
unsafe impl Sync for Slot {}

impl Slot {
    /// An empty slot for messages of up to `capacity` bytes. Written with something other than
    /// zero, because zeroed memory would be mapped only when the first message touches it.
    pub(crate) fn new(capacity: usize) -> Arc<Slot> {
        Arc::new(Slot {
            buffer: UnsafeCell::new(vec![0xff; capacity].into_boxed_slice()),
            capacity,
            length: AtomicUsize::new(0),
            full: AtomicBool::new(false),
            sender: AtomicBool::new(false),
            receiver: AtomicBool::new(false),
        })
    }
}

/// The only writer of a slot.
pub(crate) struct Producer(Arc<Slot>);

impl Producer {
    /// The writing end; `None` while there is another.
    pub(crate) fn new(slot: &Arc<Slot>) -> Option<Producer> {
        let taken = slot.sender.swap(true, Ordering::AcqRel);
        (!taken).then(|| Producer(Arc::clone(slot)))
    }

    /// Whether there is a reading end.
    pub(crate) fn has_consumer(&self) -> bool {
        self.0.receiver.load(Ordering::Acquire)
    }

    /// Largest message in bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// Hands over `len` bytes (at most [`capacity`](Self::capacity)) written by `fill`; false, and
    /// `fill` not called, while the former message has not been taken.
    #[inline]
    pub(crate) fn put(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> bool {
        if self.0.full.load(Ordering::Acquire) {
            return false;
        }
        // SAFETY: `full` is false, so the consumer has finished with the buffer (its Release store
        // was seen by the Acquire above) and will not touch it again before the store below;
        // `&mut self` and `Producer::new` make us the only producer.
        let buffer = unsafe { &mut *self.0.buffer.get() };
        fill(&mut buffer[..len]);
        self.0.length.store(len, Ordering::Relaxed);
        self.0.full.store(true, Ordering::Release);
        true
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.0.sender.store(false, Ordering::Release);
    }
}

/// The only reader of a slot.
pub(crate) struct Consumer(Arc<Slot>);

impl Consumer {
    /// The reading end; `None` while there is another.
    pub(crate) fn new(slot: &Arc<Slot>) -> Option<Consumer> {
        let taken = slot.receiver.swap(true, Ordering::AcqRel);
        (!taken).then(|| Consumer(Arc::clone(slot)))
    }

    /// Whether there is a writing end.
    pub(crate) fn has_producer(&self) -> bool {
        self.0.sender.load(Ordering::Acquire)
    }

    /// Shows the message, if there is one, and gives the slot back to the producer.
    #[inline]
    pub(crate) fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> bool {
        if !self.0.full.load(Ordering::Acquire) {
            return false;
        }
        // SAFETY: `full` is true, so the producer has finished with the buffer (its Release store
        // was seen by the Acquire above) and will not touch it again before the store below;
        // `&mut self` and `Consumer::new` make us the only consumer.
        let buffer = unsafe { &*self.0.buffer.get() };
        on_message(&buffer[..self.0.length.load(Ordering::Relaxed)]);
        self.0.full.store(false, Ordering::Release);
        true
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.0.receiver.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_cross_threads_in_order_and_whole() {
        const MESSAGES: u64 = 20_000;
        let slot = Slot::new(64);
        let mut producer = Producer::new(&slot).unwrap();
        let mut consumer = Consumer::new(&slot).unwrap();
        let reader = std::thread::spawn(move || {
            let mut next = 0u64;
            while next < MESSAGES {
                let took = consumer.take(&mut |m| {
                    assert!(m.chunks(8).all(|c| c == next.to_le_bytes()));
                });
                if took {
                    next += 1;
                } else {
                    std::thread::yield_now();
                }
            }
        });
        for i in 0..MESSAGES {
            while !producer.put(64, &mut |b| {
                b.chunks_mut(8)
                    .for_each(|c| c.copy_from_slice(&i.to_le_bytes()));
            }) {
                std::thread::yield_now();
            }
        }
        reader.join().unwrap();
    }

    #[test]
    fn each_end_exists_once_and_can_be_made_again() {
        let slot = Slot::new(8);
        let producer = Producer::new(&slot).unwrap();
        assert!(Producer::new(&slot).is_none());
        drop(producer);
        assert!(Producer::new(&slot).is_some());
        let consumer = Consumer::new(&slot).unwrap();
        assert!(Consumer::new(&slot).is_none());
        drop(consumer);
        assert!(Consumer::new(&slot).is_some());
    }
}
