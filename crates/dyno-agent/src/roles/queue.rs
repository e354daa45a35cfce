//! What a gateway has taken from one leg and not yet sent on the next: one thread puts in, another takes out.
//!
//! A payload is copied once, outside of the lock; under it only buffers change hands, all of which are there from the
//! beginning.

use crate::shared::{Phase, Shared};
use dyno_adapter::PATIENCE;
use dyno_model::Nanos;
use dyno_model::chain::{self, Full};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A queue with a limit.
pub(super) struct Queue {
    shared: Arc<Shared>,
    depth: usize,
    full: Full,
    state: Mutex<State>,
    /// A message or room has come for whoever sleeps.
    moved: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Message>,
    /// Buffers of nobody.
    free: Vec<Vec<u8>>,
    /// Somebody sleeps until a message or room comes. Waking nobody would be a system call for each message.
    sleeps: bool,
}

/// A message in a buffer of the queue's.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
    pub(super) mark: Mark,
}

/// What a gateway must know of a message.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    /// It is of the window.
    pub(super) measured: bool,
    /// Its number.
    pub(super) sequence: u64,
    /// When it came.
    pub(super) came: Nanos,
}

impl Queue {
    /// With buffers for messages of so many bytes, whose memory is touched.
    pub(super) fn new(shared: Arc<Shared>, spec: chain::Queue, bytes: usize) -> Self {
        let depth = spec.depth as usize;
        let state = State {
            waiting: VecDeque::with_capacity(depth),
            // Each side has one more in its hands.
            free: (0..depth).map(|_| buffer(bytes)).collect(),
            sleeps: false,
        };
        Queue {
            shared,
            depth,
            full: spec.full,
            state: Mutex::new(state),
            moved: Condvar::new(),
        }
    }

    /// Puts in the message, which gets another buffer in the place of its own. Returns how many messages of the window
    /// were lost for want of room: this one or an earlier one. A queue that holds up waits for room, but not beyond
    /// the trial.
    pub(super) fn put(&self, message: &mut Message) -> u64 {
        let mut state = self.lock();
        while state.waiting.len() >= self.depth {
            match self.full {
                Full::HoldUp if self.shared.phase() < Phase::Stop => state = self.sleep(state),
                Full::HoldUp | Full::DropNewest => return u64::from(message.mark.measured),
                Full::DropOldest => {
                    let oldest = state.waiting.pop_front().unwrap_or_default();
                    let next = std::mem::replace(message, oldest);
                    state.waiting.push_back(next);
                    return u64::from(message.mark.measured);
                }
            }
        }
        let next = Message {
            bytes: state.free.pop().unwrap_or_default(),
            mark: Mark::default(),
        };
        state.waiting.push_back(std::mem::replace(message, next));
        self.wake(state);
        0
    }

    /// Takes the message that has waited longest, in exchange for the buffer of the last one; false: there is none,
    /// also after some patience where `sleeps`.
    pub(super) fn take(&self, last: &mut Message, sleeps: bool) -> bool {
        let mut state = self.lock();
        if sleeps && state.waiting.is_empty() {
            state = self.sleep(state);
        }
        let Some(message) = state.waiting.pop_front() else {
            return false;
        };
        let last = std::mem::replace(last, message);
        state.free.push(last.bytes);
        self.wake(state);
        true
    }

    fn sleep<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.sleeps = true;
        let woken = self.moved.wait_timeout(state, PATIENCE);
        let (mut state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        state.sleeps = false;
        state
    }

    fn wake(&self, state: MutexGuard<'_, State>) {
        let sleeps = state.sleeps;
        drop(state);
        if sleeps {
            self.moved.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An empty buffer with room for so many bytes, whose memory is there.
pub(super) fn buffer(bytes: usize) -> Vec<u8> {
    let mut buffer = vec![1; bytes];
    buffer.clear();
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_measure::Clock;
    use dyno_model::protocol::ClockSpec;

    fn queue(depth: u32, full: Full) -> Queue {
        let clock = Clock::new(ClockSpec::Monotonic);
        let shared = Arc::new(Shared::new(clock, 1, false));
        Queue::new(shared, chain::Queue { depth, full }, 8)
    }

    fn put(queue: &Queue, mine: &mut Message, number: u8) -> u64 {
        mine.bytes.clear();
        mine.bytes.push(number);
        mine.mark.measured = true;
        queue.put(mine)
    }

    fn all(queue: &Queue) -> Vec<u8> {
        let mut last = Message::default();
        let mut found = Vec::new();
        while queue.take(&mut last, false) {
            found.extend(&last.bytes);
        }
        found
    }

    #[test]
    fn a_full_queue_loses_the_oldest_or_the_newest_as_it_is_told() {
        for (full, left) in [(Full::DropOldest, [3, 4]), (Full::DropNewest, [1, 2])] {
            let queue = queue(2, full);
            let mut mine = Message::default();
            let lost: u64 = (1..=4).map(|n| put(&queue, &mut mine, n)).sum();
            assert_eq!((all(&queue).as_slice(), lost), (&left[..], 2), "{full}");
        }
    }

    #[test]
    fn a_queue_that_holds_up_loses_nothing_and_keeps_the_order() {
        let queue = queue(2, Full::HoldUp);
        let found = std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let mut last = Message::default();
                let mut found: Vec<u8> = Vec::new();
                while found.len() < 100 {
                    if queue.take(&mut last, true) {
                        found.extend(&last.bytes);
                    }
                }
                found
            });
            let mut mine = Message::default();
            for number in 0..100 {
                assert_eq!(put(&queue, &mut mine, number), 0);
            }
            taker.join().unwrap()
        });
        assert_eq!(found, (0..100).collect::<Vec<u8>>());
    }

    #[test]
    fn who_waits_for_room_is_let_go_when_the_trial_ends() {
        let queue = queue(1, Full::HoldUp);
        let mut mine = Message::default();
        assert_eq!(put(&queue, &mut mine, 1), 0);
        queue.shared.advance(Phase::Stop);
        assert_eq!(put(&queue, &mut mine, 2), 1);
    }
}
