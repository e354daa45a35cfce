//! When an initiator may send: at all times, or in the slices of its side where two sides take turns in a trial.

use crate::job::Job;
use dyno_measure::Pacer;
use dyno_model::slices::Turn;
use dyno_model::{Nanos, Turns};

/// The turns of one initiator. Without slices its one turn lasts for ever, and a message takes the same way.
pub(super) struct Order {
    turns: Option<Turns>,
    turn: Turn,
    /// Nothing is sent from here on; later than any time where it is not known.
    end: Nanos,
}

impl Order {
    /// Valid once the start of the warm-up is known.
    pub(super) fn new(job: &Job) -> Self {
        let turns = job.turns();
        let silent = match turns {
            // The first message looks for its turn.
            Some(_) => Nanos::ZERO,
            None => Nanos(u64::MAX),
        };
        let end = job.common_window().filter(|_| turns.is_some());
        Order {
            turns,
            turn: Turn {
                begin: Nanos::ZERO,
                counts: Nanos::ZERO,
                silent,
                end: silent,
            },
            end: end.map_or(Nanos(u64::MAX), |(_, end)| end),
        }
    }

    /// When the next message may be sent that could be at `at`: then, or when the side's next slice begins. `None`:
    /// nothing more is sent.
    #[inline]
    pub(super) fn when(
        &mut self,
        at: Option<Nanos>,
        pacer: &mut Pacer,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Nanos> {
        match at {
            Some(now) if now >= self.turn.silent => self.await_turn(now, pacer, go_on),
            at => at,
        }
    }

    /// Whether a message that is sent at `now` counts: not in the guard of a slice.
    #[inline]
    pub(super) fn counts(&self, now: Nanos) -> bool {
        now >= self.turn.counts
    }

    /// Waits for the end of a window of slices: what follows it must not disturb the last slice of the other side.
    pub(super) fn end(&self, pacer: &mut Pacer, go_on: &dyn Fn() -> bool) {
        if self.turns.is_some() {
            pacer.wait_until(self.end, go_on);
        }
    }

    #[cold]
    fn await_turn(
        &mut self,
        mut now: Nanos,
        pacer: &mut Pacer,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Nanos> {
        let turns = self.turns?;
        // Who oversleeps a whole slice takes the next one.
        while now >= self.turn.silent {
            self.turn = turns.sending(now);
            if self.turn.begin >= self.end {
                return None;
            }
            now = pacer.wait_until(self.turn.begin, go_on)?;
        }
        Some(now)
    }
}
