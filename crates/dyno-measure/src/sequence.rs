//! Which messages of a channel have arrived: once, again, or after a later one.
//!
//! A message is reordered when its number is below the highest that arrived before it plus one (RFC
//! 4737, section 3.3, type-P-reordered). Duplicates are found with one bit per message, kept in a
//! ring of blocks of 64 messages. Each block knows which numbers it stands for, so nothing has to be
//! cleared when the window moves on, and every observation takes the same few instructions.

use std::hint::select_unpredictable;

/// Messages per block of the ring.
const BLOCK: u64 = 64;
/// Bounds of the window, in messages.
const LEAST_WINDOW: u64 = 1 << 16;
const MOST_WINDOW: u64 = 1 << 26;

/// What an arrival is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The first arrival of this message, in order.
    First,
    /// The first arrival of this message, after one with a higher number.
    FirstReordered,
    /// A message that had arrived before.
    Duplicate,
}

/// Tracks the arrivals of one channel at one receiver.
///
/// Exact while messages are less than the [window](SequenceTracker::window) apart: always, where at
/// most that many are expected. A message that is older counts as [`Seen::Duplicate`], so that what is
/// received can never exceed what was offered.
#[derive(Debug, Clone)]
pub struct SequenceTracker {
    blocks: Box<[Block]>,
    /// The highest number that arrived, plus one.
    next: u64,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    /// Counted from one; 0: it holds nothing yet.
    number: u64,
    arrived: u64,
}

impl SequenceTracker {
    /// A tracker for about `expected` messages numbered from zero. Its window holds them all, within
    /// 65,536 and 67,108,864 messages; it takes a quarter of a byte per message of the window (16 MiB
    /// at most), allocated and touched here.
    pub fn new(expected: u64) -> Self {
        let window = expected
            .clamp(LEAST_WINDOW, MOST_WINDOW)
            .next_power_of_two();
        // The compiler must not see that it is zero, or the pages come with the first messages.
        let empty = std::hint::black_box(Block {
            number: 0,
            arrived: 0,
        });
        SequenceTracker {
            blocks: vec![empty; (window / BLOCK) as usize].into_boxed_slice(),
            next: 0,
        }
    }

    /// The number of messages within which duplicates are told apart exactly.
    pub fn window(&self) -> u64 {
        self.blocks.len() as u64 * BLOCK - (BLOCK - 1)
    }

    /// The highest number that arrived, plus one; zero before any has.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Reads what stands of the first message, so that it is in the caches when that comes.
    #[inline]
    pub fn touch(&self) {
        // Its block is the one after that of number 0.
        std::hint::black_box(self.blocks[1].number);
    }

    /// Notes the arrival of message `sequence`.
    #[inline]
    pub fn observe(&mut self, sequence: u64) -> Seen {
        let number = sequence / BLOCK + 1;
        let bit = 1u64 << (sequence % BLOCK);
        // The length is a power of two.
        let index = number as usize & (self.blocks.len() - 1);
        let block = &mut self.blocks[index];
        // No branch: the first message of a block would take another way than those after it.
        let arrived = select_unpredictable(block.number == number, block.arrived, 0);
        if number < block.number || arrived & bit != 0 {
            return Seen::Duplicate;
        }
        *block = Block {
            number,
            arrived: arrived | bit,
        };
        if sequence >= self.next {
            self.next = sequence.saturating_add(1);
            Seen::First
        } else {
            Seen::FirstReordered
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Remembers everything.
    #[derive(Default)]
    struct Naive {
        seen: HashSet<u64>,
        highest: Option<u64>,
    }

    impl Naive {
        fn observe(&mut self, s: u64) -> Seen {
            if !self.seen.insert(s) {
                return Seen::Duplicate;
            }
            let reordered = self.highest.is_some_and(|h| s < h);
            self.highest = self.highest.max(Some(s));
            if reordered {
                Seen::FirstReordered
            } else {
                Seen::First
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_tracker_that_remembers_everything(
            jumps in prop::collection::vec((0u64..300, 0u64..60_000, any::<bool>()), 1..3_000)
        ) {
            // A walk upwards with steps back that stay within the window.
            let (mut tracker, mut naive) = (SequenceTracker::new(0), Naive::default());
            let mut front = 0u64;
            for (forward, back, late) in jumps {
                front += forward;
                let s = if late { front.saturating_sub(back) } else { front };
                prop_assert_eq!(tracker.observe(s), naive.observe(s), "message {}", s);
            }
        }

        #[test]
        fn all_of_the_expected_are_exact_in_any_order(
            expected in 1u64..200_000, picks in prop::collection::vec(any::<u64>(), 1..2_000)
        ) {
            let (mut tracker, mut naive) = (SequenceTracker::new(expected), Naive::default());
            for p in picks {
                let s = p % expected;
                prop_assert_eq!(tracker.observe(s), naive.observe(s));
            }
        }
    }

    #[test]
    fn order_copies_and_lateness_are_told_apart() {
        let mut t = SequenceTracker::new(10);
        let seen: Vec<_> = [0, 1, 3, 3, 2, 2, 4].map(|s| t.observe(s)).into();
        use Seen::*;
        assert_eq!(
            seen,
            [
                First,
                First,
                First,
                Duplicate,
                FirstReordered,
                Duplicate,
                First
            ]
        );
    }

    #[test]
    fn what_is_older_than_the_window_is_never_counted_twice() {
        let mut t = SequenceTracker::new(0);
        let far = 10 * LEAST_WINDOW;
        assert_eq!(t.observe(0), Seen::First);
        assert_eq!(t.observe(far), Seen::First);
        assert_eq!(t.observe(0), Seen::Duplicate);
        assert_eq!(t.observe(far - t.window() + 1), Seen::FirstReordered);
    }

    #[test]
    fn the_largest_number_of_a_tag_fits() {
        let mut t = SequenceTracker::new(u64::MAX);
        assert_eq!(t.observe(crate::stamp::MAX_SEQUENCE), Seen::First);
        assert_eq!(t.observe(crate::stamp::MAX_SEQUENCE), Seen::Duplicate);
    }
}
