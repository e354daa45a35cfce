//! Looks at how many peers an end is matched with, as often as that costs next to nothing.

use crate::shared::{Call, ThreadState};
use dyno_measure::{Clock, FaultLog};
use dyno_model::Nanos;
use dyno_model::fault::Noted;

/// From one look to the next, at least.
const EVERY: Nanos = Nanos::from_millis(1);

/// Looks take no more than this part of the time.
const SHARE: u64 = 50;

/// A look is put off until after the next message, but no longer than this.
const LATEST: Nanos = Nanos::from_millis(10);

/// A look that begins so long before a message is due, beyond what the last one took twice, does not delay it.
const CLEAR: Nanos = Nanos::from_micros(100);

/// The looks at one end.
#[derive(Debug, Default)]
pub(super) struct Looks {
    next: Nanos,
    took: Nanos,
    told: Option<u32>,
}

impl Looks {
    /// When the next look is to be.
    pub(super) fn next(&self) -> Nanos {
        self.next
    }

    /// Whether a look at `now` or later comes before the message that is due at `due`.
    pub(super) fn comes_before(&self, due: Nanos, now: Nanos) -> bool {
        let ends = self
            .next
            .max(now)
            .saturating_add(self.took)
            .saturating_add(self.took);
        ends.saturating_add(CLEAR) <= due || now >= self.next.saturating_add(LATEST)
    }

    /// Looks if it is time, and notes the number of peers where it is another one than before. An end that fails has none.
    pub(super) fn look(
        &mut self,
        clock: Clock,
        thread: &ThreadState,
        (log, channel): (&FaultLog, u16),
        matched: impl FnOnce() -> dyno_adapter::Result<usize>,
    ) {
        let began = clock.now();
        if began < self.next {
            return;
        }
        let matched = thread.inside(Call::Matched, matched).unwrap_or(0);
        let ended = clock.now();
        self.took = ended.saturating_sub(began);
        self.next = ended.saturating_add(EVERY.max(Nanos(self.took.0.saturating_mul(SHARE))));
        let matched = u32::try_from(matched).unwrap_or(u32::MAX);
        if self.told.replace(matched) != Some(matched) {
            log.push(channel, ended, Noted::Peers { matched });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_comes_before_a_message_only_where_it_does_not_delay_it() {
        let ms = Nanos::from_millis;
        let looks = Looks {
            next: ms(5),
            took: Nanos::from_micros(200),
            told: None,
        };
        assert!(looks.comes_before(ms(6), ms(1)));
        assert!(!looks.comes_before(Nanos::from_micros(5_400), ms(1)));
        assert!(!looks.comes_before(ms(8), Nanos::from_micros(7_700)));
        // Where there is never time, it is taken.
        assert!(looks.comes_before(ms(15), ms(15)));
    }
}
