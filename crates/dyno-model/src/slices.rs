//! Two sides that take turns within one trial: how long their slices are, and whose turn it is at which time.
//!
//! The schedule is a function of the start, the lengths and the trial's seed, so everybody who knows these
//! knows it, and nobody communicates within the window (ADR 41).

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// How both sides of a comparison share a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slices {
    /// How long a side has the CPUs, in nanoseconds.
    pub length: Nanos,
    /// The first part of a slice, in nanoseconds: messages are exchanged and not counted, until caches and
    /// predictors are the side's own again.
    pub guard: Nanos,
    /// The last part of a slice, in nanoseconds: nothing is sent, so that what is under way arrives.
    pub gap: Nanos,
}

/// One turn of a side: instants on the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// It begins with the guard.
    pub begin: Nanos,
    /// What is sent from here on counts.
    pub counts: Nanos,
    /// Nothing is sent from here on.
    pub silent: Nanos,
    /// The next slice begins.
    pub end: Nanos,
}

/// The schedule of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    slices: Slices,
    start: Nanos,
    seed: u64,
    is_base: bool,
}

impl Slices {
    /// The shortest slice: below it the guard would be shorter than the waking of a thread takes.
    pub const SHORTEST: Nanos = Nanos::from_millis(2);
    /// The longest: the host stays in one state for some 50 ms or longer.
    pub const LONGEST: Nanos = Nanos::from_millis(50);
    /// Where nobody says how long slices are.
    pub const USUAL: Nanos = Nanos::from_millis(10);

    /// Slices of that length: a fifth is the guard, a tenth the gap.
    pub const fn of(length: Nanos) -> Self {
        Slices {
            length,
            guard: Nanos(length.0 / 5),
            gap: Nanos(length.0 / 10),
        }
    }

    /// How long both sides take for a slice each, in nanoseconds.
    pub const fn pair(&self) -> Nanos {
        Nanos(2 * self.length.0)
    }

    /// The share of the window in which what a side sends counts: its slices without guards and gaps.
    pub const fn counting_share(&self) -> f64 {
        let counts = self.length.0 - self.guard.0 - self.gap.0;
        counts as f64 / self.pair().0 as f64
    }

    /// The shortest time of whole pairs in which each side has slices for as long as `time`.
    pub fn both(&self, time: Nanos) -> Nanos {
        let pairs = time.0.div_ceil(self.length.0.max(1)).max(1);
        Nanos(pairs.saturating_mul(self.pair().0))
    }

    /// The schedule of the base or of the other side, in a trial of that seed whose first slice begins at `start`.
    pub const fn turns(self, start: Nanos, seed: u64, is_base: bool) -> Turns {
        Turns {
            slices: self,
            start,
            seed,
            is_base,
        }
    }
}

impl Turns {
    /// The side's turn at `now`, or its next one where it is not its turn or nothing is sent any more.
    pub fn sending(&self, now: Nanos) -> Turn {
        self.first(now, |turn| now < turn.silent)
    }

    /// The side's turn at `now`, until the very end of its slice, or its next one.
    pub fn waking(&self, now: Nanos) -> Turn {
        self.first(now, |turn| now < turn.end)
    }

    fn first(&self, now: Nanos, serves: impl Fn(&Turn) -> bool) -> Turn {
        let pair = now.saturating_sub(self.start).0 / self.slices.pair().0.max(1);
        let turn = self.of_pair(pair);
        match serves(&turn) {
            true => turn,
            false => self.of_pair(pair + 1),
        }
    }

    fn of_pair(&self, pair: u64) -> Turn {
        let Slices { length, guard, gap } = self.slices;
        let after = pair.saturating_mul(self.slices.pair().0);
        let second = Nanos(length.0 * u64::from(base_is_first(self.seed, pair) != self.is_base));
        let begin = self
            .start
            .saturating_add(Nanos(after))
            .saturating_add(second);
        let end = begin.saturating_add(length);
        Turn {
            begin,
            counts: begin.saturating_add(guard),
            silent: end.saturating_sub(gap),
            end,
        }
    }
}

/// Who begins a pair, at random: what follows a side must not always be the other one. SplitMix64 (Steele, Lea & Flood,
/// OOPSLA 2014).
const fn base_is_first(seed: u64, pair: u64) -> bool {
    let mut z = seed.wrapping_add((pair + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each microsecond or so of some pairs, from the start of the trial on.
    fn instants() -> impl Iterator<Item = Nanos> {
        (0..400_000).map(|i| Nanos(1_000 + i * 1_009))
    }

    fn both(seed: u64) -> [Turns; 2] {
        let slices = Slices::of(Slices::USUAL);
        [true, false].map(|is_base| slices.turns(Nanos(1_000), seed, is_base))
    }

    #[test]
    fn never_is_it_the_turn_of_both_and_never_of_none() {
        for (now, seed) in instants().flat_map(|now| [(now, 3), (now, 99)]) {
            let has = both(seed).map(|side| side.waking(now).begin <= now);
            assert!(has[0] != has[1], "{now}");
        }
    }

    #[test]
    fn a_turn_that_is_next_is_not_over() {
        let three_slices = Nanos(3 * Slices::USUAL.0);
        for (now, side) in instants().flat_map(|now| both(5).map(|side| (now, side))) {
            let turn = side.sending(now);
            assert!(now < turn.silent && turn.begin < turn.counts && turn.counts < turn.silent);
            assert!(turn.silent < turn.end && turn.begin <= now.saturating_add(three_slices));
        }
    }

    #[test]
    fn each_side_begins_about_half_of_the_pairs() {
        let firsts = (0..1_000).filter(|pair| base_is_first(7, *pair)).count();
        assert!((400..600).contains(&firsts), "{firsts}");
    }

    #[test]
    fn a_window_for_both_is_made_of_whole_pairs() {
        let slices = Slices::of(Slices::USUAL);
        assert_eq!(
            slices.both(Nanos::from_millis(300)),
            Nanos::from_millis(600)
        );
        assert_eq!(
            slices.both(Nanos::from_millis(301)),
            Nanos::from_millis(620)
        );
        assert_eq!(slices.both(Nanos::ZERO), slices.pair());
    }
}
