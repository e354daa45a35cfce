//! When messages passed a participant of a chain: what the parts of each message's way are worked out from.

use crate::job::Job;
use dyno_model::Nanos;
use dyno_model::protocol::{Passage, Passages};

/// Passages that are kept. The slowest hundredth of them are 160.
const MOST: usize = 16_384;

/// The passages of one channel: those of every message, or once they are too many, of every second, fourth, …. Every
/// participant keeps those of the same messages, whatever it has seen of them, since numbers decide and not counts.
pub(super) struct Log {
    participant: u16,
    channel: u16,
    /// A message is kept where its number has none of these bits.
    mask: u64,
    passages: Vec<Passage>,
}

impl Log {
    /// The log of messages that were first sent over `channel`; `None` where the stack is no chain, so that nobody
    /// reads a clock for it.
    pub(super) fn new(job: &Job, channel: u16) -> Option<Self> {
        (!job.assignment.gateways.is_empty()).then(|| Self::of(job.participant.index, channel))
    }

    fn of(participant: u16, channel: u16) -> Self {
        // The memory is touched now, not in the window.
        let mut passages = vec![Passage(1, Nanos(1), Nanos(1)); MOST];
        passages.clear();
        Log {
            participant,
            channel,
            mask: 0,
            passages,
        }
    }

    /// A measured message came at `came` and went at `went`.
    #[inline]
    pub(super) fn note(&mut self, sequence: u64, came: Nanos, went: Nanos) {
        if sequence & self.mask != 0 {
            return;
        }
        if self.passages.len() == MOST {
            self.thin();
            if sequence & self.mask != 0 {
                return;
            }
        }
        self.passages.push(Passage(sequence, came, went));
    }

    #[cold]
    fn thin(&mut self) {
        // Numbers that came twice may all be even: then it takes more than one step.
        while self.passages.len() == MOST && self.mask != u64::MAX {
            self.mask = self.mask << 1 | 1;
            let mask = self.mask;
            self.passages.retain(|passage| passage.0 & mask == 0);
        }
    }

    pub(super) fn finish(self) -> Passages {
        Passages {
            participant: self.participant,
            channel: self.channel,
            passages: self.passages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_full_log_keeps_the_messages_that_every_other_log_keeps() {
        let numbers = |lost: u64, n: u64| {
            let mut log = Log::of(1, 0);
            let came = (0..n).filter(|sequence| lost == 0 || sequence % lost != 0);
            came.for_each(|sequence| log.note(sequence, Nanos(sequence), Nanos(sequence)));
            let passages = log.finish().passages;
            passages.iter().map(|p| p.0).collect::<Vec<_>>()
        };
        let n = 3 * MOST as u64;
        let all = numbers(0, n);
        assert!(all.iter().eq((0..n).step_by(4).collect::<Vec<_>>().iter()));
        // Where some are lost, a log thins later, and has what the other one has of those that came.
        let some: HashSet<u64> = numbers(3, n).into_iter().collect();
        let both = all.iter().filter(|n| some.contains(n)).count();
        assert_eq!(both, all.iter().filter(|n| *n % 3 != 0).count());
        assert!(all.len() <= MOST && some.len() <= MOST);
    }
}
