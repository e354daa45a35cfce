//! How far a warm-up or a window has come.

use dyno_model::Nanos;
use dyno_model::plan::Extent;

/// Tells whether an extent is used up. Without a branch on what kind of extent it is or how far it has come: where
/// the warm-up's ends and the window's begins, the processor would have foreseen another way.
pub(super) struct Progress {
    lasts: Nanos,
    most: u64,
    pub(super) begun: Option<Nanos>,
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
            begun: None,
            messages: 0,
        }
    }

    /// Whether a message due at `due` still belongs to the extent; the first one begins it.
    #[inline]
    pub(super) fn admits(&mut self, due: Nanos) -> bool {
        let begun = self.begun.unwrap_or(due);
        self.begun = Some(begun);
        let inside = (due.saturating_sub(begun) < self.lasts) & (self.messages < self.most);
        self.messages += u64::from(inside);
        inside
    }

    /// As [`Progress::admits`], with the beginning known beforehand.
    pub(super) fn from(extent: Extent, begun: Nanos) -> Self {
        Progress {
            begun: Some(begun),
            ..Progress::new(extent)
        }
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
