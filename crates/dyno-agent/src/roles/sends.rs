//! How long sends took, from the stamps that a source takes anyway: the one before a send, and the next one
//! that it reads. Nothing else reads the clock.

use dyno_measure::pacing;
use dyno_model::Nanos;

/// The sends of one source.
#[derive(Debug, Default)]
pub(super) struct Sends {
    under_way: Option<Send>,
    fastest: Option<Nanos>,
    blocked: Nanos,
}

#[derive(Debug)]
struct Send {
    stamped: Nanos,
    accepted: bool,
    measured: bool,
}

impl Sends {
    /// A message that was stamped then has been handed to the stack.
    #[inline]
    pub(super) fn sent(&mut self, stamped: Nanos, accepted: bool, measured: bool) {
        self.under_way = Some(Send {
            stamped,
            accepted,
            measured,
        });
    }

    /// The first reading of the clock after a send, if there was one. When a send of the window that was accepted was stamped, and
    /// what it took.
    #[inline]
    pub(super) fn returned(&mut self, at: Nanos) -> Option<(Nanos, Nanos)> {
        let send = self.under_way.take()?;
        let took = at.saturating_sub(send.stamped);
        // A refusal may be much faster than any send.
        if send.accepted && self.fastest.is_none_or(|fastest| took < fastest) {
            self.fastest = Some(took);
        }
        if let (true, Some(fastest)) = (send.measured, self.fastest)
            && took > blocked_above(fastest)
        {
            self.blocked = self.blocked.saturating_add(took.saturating_sub(fastest));
        }
        (send.measured && send.accepted).then_some((send.stamped, took))
    }

    /// What sends of the window took beyond the fastest one, those that were blocked.
    pub(super) fn blocked(&self) -> Nanos {
        self.blocked
    }

    /// A send that took longer was blocked; `None` where none was accepted.
    pub(super) fn above(&self) -> Option<Nanos> {
        self.fastest.map(blocked_above)
    }
}

/// Twice as long as the fastest send, because copies of large messages vary by their size, and the pacing tolerance.
fn blocked_above(fastest: Nanos) -> Nanos {
    fastest
        .saturating_add(fastest)
        .saturating_add(pacing::TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends of these lengths in microseconds, one after the other.
    fn sends(of: &[(u64, bool, bool)]) -> Sends {
        let mut sends = Sends::default();
        let mut now = Nanos::ZERO;
        for &(micros, accepted, measured) in of {
            sends.sent(now, accepted, measured);
            now = now.saturating_add(Nanos::from_micros(micros));
            sends.returned(now);
        }
        sends
    }

    #[test]
    fn a_send_is_blocked_beyond_twice_the_fastest_and_ten_microseconds() {
        let sends = sends(&[(5, true, true), (20, true, true), (21, true, true)]);
        assert_eq!(sends.above(), Some(Nanos::from_micros(20)));
        assert_eq!(sends.blocked(), Nanos::from_micros(21 - 5));
    }

    #[test]
    fn the_warm_up_shows_how_fast_a_send_is_but_is_not_counted() {
        let sends = sends(&[(2, true, false), (500, true, false), (100, true, true)]);
        assert_eq!(sends.above(), Some(Nanos::from_micros(14)));
        assert_eq!(sends.blocked(), Nanos::from_micros(98));
    }

    #[test]
    fn what_accepted_sends_of_the_window_take_is_told() {
        let mut sends = Sends::default();
        for (accepted, measured, told) in [
            (true, false, None),
            (false, true, None),
            (true, true, Some((Nanos(7), Nanos(20)))),
        ] {
            sends.sent(Nanos(7), accepted, measured);
            assert_eq!(sends.returned(Nanos(27)), told);
        }
        assert_eq!(sends.returned(Nanos(99)), None);
    }

    #[test]
    fn a_refusal_counts_as_blocked_but_not_as_fast() {
        let sends = sends(&[
            (40, true, true),
            (1, false, true),
            (90, true, true),
            (200, false, true),
        ]);
        assert_eq!(sends.above(), Some(Nanos::from_micros(90)));
        assert_eq!(sends.blocked(), Nanos::from_micros(160));
    }

    #[test]
    fn without_an_accepted_send_nothing_is_known() {
        assert_eq!(sends(&[(40, false, true)]).above(), None);
    }

    #[test]
    fn a_reading_without_a_send_before_it_means_nothing() {
        let mut sends = sends(&[(3, true, true)]);
        sends.returned(Nanos::from_secs(9));
        assert_eq!(sends.blocked(), Nanos::ZERO);
    }
}
