//! Whether the backlog of an open loop still grows when its window ends.
//!
//! Where `R` messages per second are due and only `C < R` get through, the backlog grows by `R - C` in each
//! second, and in any stretch of the window the share `1 - C/R` of what is due in it is missing from what
//! arrives in it. Where all gets through, as many arrive as are due, however long a message takes; but only once
//! what is on its way has filled up, so that the first half of the window says nothing.
//!
//! Response times do not show it: messages that are due last are carried after the window, when nobody
//! offers more, and where flows share a link those that lag behind then have it for themselves.

use crate::rank::median;
use crate::small::Spread;

/// Growth below this share of what is due is not told from none.
const LEAST: f64 = 0.01;

/// The chance that trials without growth are found to have some.
const TAIL: f64 = 0.025;

/// What the growth in a single trial must be, as a share and in messages.
const ALONE: (f64, u64) = (0.05, 10);

/// The second half of the window of one trial. Of the messages that arrived in the end, over all flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecondHalf {
    /// Messages due in it.
    pub due: u64,
    /// Messages that arrived in it, whenever they were due.
    pub arrived: u64,
}

impl SecondHalf {
    /// Due and not made up for by arrivals; negative where a backlog shrinks.
    fn growth(&self) -> Option<f64> {
        let missing = self.due as f64 - self.arrived as f64;
        (self.due > 0).then(|| missing / self.due as f64)
    }
}

/// The share of what was due in the second halves of the windows of `trials` by which the backlog grew in
/// them: the median over the trials. `None` where it did not grow beyond chance.
pub fn backlog_growth(trials: &[SecondHalf]) -> Option<f64> {
    let growths: Vec<f64> = trials.iter().filter_map(SecondHalf::growth).collect();
    let middle = median(&growths);
    let grew = match (trials, Spread::of(&growths)) {
        ([one], _) => middle >= ALONE.0 && one.due.saturating_sub(one.arrived) >= ALONE.1,
        (_, Some(spread)) => middle >= LEAST && spread.interval(TAIL).0 > 0.0,
        (_, None) => false,
    };
    grew.then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn trials(pairs: &[(u64, u64)]) -> Vec<SecondHalf> {
        let half = |(due, arrived): &(u64, u64)| SecondHalf {
            due: *due,
            arrived: *arrived,
        };
        pairs.iter().map(half).collect()
    }

    #[test]
    fn a_backlog_grows_by_what_the_load_exceeds_the_capacity() {
        // 140 messages per second are offered and 110 get through.
        let found = backlog_growth(&trials(&[(140, 110), (140, 112), (140, 109)])).unwrap();
        assert!((found - 30.0 / 140.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn an_overload_of_two_percent_is_seen_in_five_trials() {
        let five = [(600, 588), (600, 587), (600, 589), (600, 588), (600, 586)];
        let found = backlog_growth(&trials(&five)).unwrap();
        assert!((found - 0.02).abs() < 0.002, "{found}");
    }

    #[test]
    fn a_backlog_that_only_varies_is_none() {
        let mut generator = ChaCha8Rng::seed_from_u64(7);
        let alarms = (0..2_000)
            .filter(|_| {
                // What waits at the middle and at the end is as often more as less.
                let waits = |g: &mut ChaCha8Rng| g.random_range(0..12_u64);
                let half = |g: &mut ChaCha8Rng| (100, 100 + waits(g) - waits(g));
                let pairs: Vec<(u64, u64)> = (0..3).map(|_| half(&mut generator)).collect();
                backlog_growth(&trials(&pairs)).is_some()
            })
            .count();
        assert!(alarms <= 60, "{alarms}");
    }

    #[test]
    fn as_many_as_are_due_and_a_backlog_that_shrinks_are_none() {
        assert!(backlog_growth(&trials(&[(100, 100), (100, 100)])).is_none());
        assert!(backlog_growth(&trials(&[(100, 130), (100, 128), (100, 131)])).is_none());
        assert!(backlog_growth(&trials(&[(1_000, 995), (1_000, 994)])).is_none());
    }

    #[test]
    fn a_growth_of_half_a_percent_is_not_told_from_none_however_surely_it_is_there() {
        let three = [(10_000, 9_950), (10_000, 9_949), (10_000, 9_951)];
        assert!(backlog_growth(&trials(&three)).is_none());
    }

    #[test]
    fn one_trial_must_show_more() {
        assert!(backlog_growth(&trials(&[(140, 110)])).is_some());
        assert!(backlog_growth(&trials(&[(140, 136)])).is_none());
        assert!(
            backlog_growth(&trials(&[(20, 12)])).is_none(),
            "few messages"
        );
    }

    #[test]
    fn nothing_says_nothing() {
        assert!(backlog_growth(&[]).is_none());
        assert!(backlog_growth(&trials(&[(0, 0), (0, 0)])).is_none());
    }
}
