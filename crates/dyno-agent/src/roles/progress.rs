//! How far a warm-up or a window has come, and which of both a message belongs to.

use dyno_measure::stamp::Kind;
use dyno_model::Nanos;
use dyno_model::plan::Extent;

/// Tells whether an extent is used up. Without a branch on what kind of extent it is or how far it has come: where
/// the warm-up's ends and the window's begins, the processor would have foreseen another way.
pub(super) struct Progress {
    lasts: Nanos,
    most: u64,
    /// Later than any time until it has begun.
    begun: Nanos,
    messages: u64,
}

impl Progress {
    pub(super) fn new(extent: Extent) -> Self {
        let (lasts, most) = match extent {
            Extent::Duration(d) => (d, u64::MAX),
            Extent::Messages(n) => (Nanos(u64::MAX), n),
        };
        Progress {
            lasts,
            most,
            begun: Nanos(u64::MAX),
            messages: 0,
        }
    }

    /// Whether a message due at `due` still belongs to the extent; the first one begins it.
    #[inline]
    pub(super) fn admits(&mut self, due: Nanos) -> bool {
        self.begun = self.begun.min(due);
        let inside = (due.saturating_sub(self.begun) < self.lasts) & (self.messages < self.most);
        self.messages += u64::from(inside);
        inside
    }

    /// It begins at `begun`, before anything is due.
    pub(super) fn begin(&mut self, begun: Nanos) {
        self.begun = begun;
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun < Nanos(u64::MAX)
    }
}

/// The warm-up or the window, as far as a message that is sent concerns it.
pub(super) struct Stage {
    pub(super) kind: Kind,
    pub(super) progress: Progress,
    /// The next message's number.
    pub(super) sequence: u64,
}

impl Stage {
    /// The warm-up, which something else ends, and the window. A message finds its own by index, so that those of the
    /// warm-up and of the window take the same way: the first measured one finds nothing that its predecessors have not
    /// just used.
    pub(super) fn both(window: Extent) -> [Stage; 2] {
        let stage = |kind, extent| Stage {
            kind,
            progress: Progress::new(extent),
            sequence: 0,
        };
        [
            stage(Kind::Warmup, Extent::Messages(u64::MAX)),
            stage(Kind::Measured, window),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_of_messages_admits_exactly_as_many() {
        let mut p = Progress::new(Extent::Messages(3));
        assert_eq!((0..5).filter(|i| p.admits(Nanos(*i))).count(), 3);
    }

    #[test]
    fn an_extent_of_time_counts_from_its_first_due_time() {
        let mut p = Progress::new(Extent::Duration(Nanos(10)));
        let admitted: Vec<u64> = (100..130).filter(|t| p.admits(Nanos(*t))).collect();
        assert_eq!(admitted, (100..110).collect::<Vec<_>>());
    }
}
