//! Whether the backlog of an open loop still grows when its window ends.
//!
//! A message that is due at `t` and arrives at `t + r(t)` waits for all that is before it. Where `R`
//! messages per second are due and only `C < R` get through, `r` grows by `1 - C/R` of the time that
//! passes: the slope of the response time over the window is the share of what is offered by which the
//! backlog grows. Where all gets through, the slope is zero, however long a message takes.

use crate::rank::median;
use crate::samples::{Block, TrialSamples};
use crate::small::normal;

/// Growth below this share of what is offered is a drift, not a backlog.
const LEAST: f64 = 0.001;

/// The chance that a trial's blocks are found to rise where their order is by chance.
const TAIL: f64 = 0.01;

/// Fewer blocks with messages show no trend.
const FEWEST: usize = 6;

/// The share of the offered messages by which the backlog grew until the windows of `trials` ended: the
/// median over the trials. `trials` hold response times in ns, `window_ns` is the length of their
/// windows. `None` where the backlog did not grow in more than half of the trials.
///
/// In one trial it grew where the blocks' medians rise by the test of Mann and Kendall (Kendall, *Rank
/// Correlation Methods*, 1975), at [`TAIL`]; where their slope (Theil and Sen: the median of all pairs)
/// is at least [`LEAST`]; and where the last third of the blocks is above the third before it. Lost
/// messages have no part in it: what a stack drops does not wait.
pub fn backlog_growth(trials: &[TrialSamples], window_ns: f64) -> Option<f64> {
    let slopes: Vec<f64> = trials
        .iter()
        .filter_map(|t| growth(&t.blocks, window_ns))
        .collect();
    (2 * slopes.len() > trials.len()).then(|| median(&slopes))
}

fn growth(blocks: &[Block], window_ns: f64) -> Option<f64> {
    let step = window_ns / blocks.len() as f64;
    let points: Vec<(f64, f64)> = blocks
        .iter()
        .enumerate()
        .filter_map(|(i, b)| Some((i as f64 * step, middle(b)?)))
        .collect();
    let n = points.len();
    if n < FEWEST {
        return None;
    }
    let pairs = || (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    let slopes: Vec<f64> = pairs()
        .map(|(i, j)| (points[j].1 - points[i].1) / (points[j].0 - points[i].0))
        .collect();
    let rises: f64 = slopes
        .iter()
        .map(|s| f64::from(s.total_cmp(&0.0) as i8))
        .sum();
    let k = n as f64;
    let deviation = (k * (k - 1.0) * (2.0 * k + 5.0) / 18.0).sqrt();
    let level = |from: usize, to: usize| {
        let part: Vec<f64> = points[from..to].iter().map(|p| p.1).collect();
        median(&part)
    };
    let third = n / 3;
    let still = level(n - third, n) > level(n - 2 * third, n - third);
    let slope = median(&slopes);
    (still && (rises - 1.0) / deviation >= normal(TAIL) && slope >= LEAST).then_some(slope)
}

/// The median of the finite samples of a block.
fn middle(block: &Block) -> Option<f64> {
    let mut below = 0;
    let half = block.n.div_ceil(2);
    let cell = block.cells.iter().find(|c| {
        below += c.count;
        below >= half
    })?;
    Some(cell.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::gauss;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const WINDOW: f64 = 2e9;

    /// Ten blocks of `n` messages whose response times in ms follow `level` with 10 % of noise.
    fn trial(seed: u64, n: u32, level: impl Fn(f64) -> f64) -> TrialSamples {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        let blocks: Vec<Vec<f64>> = (0..10)
            .map(|b| {
                let at = 1e6 * level(f64::from(b) / 10.0);
                (0..n)
                    .map(|_| at * (0.1 * gauss(&mut generator)).exp())
                    .collect()
            })
            .collect();
        TrialSamples::from_values(&blocks, 0)
    }

    #[test]
    fn a_backlog_grows_by_what_the_load_exceeds_the_capacity() {
        // 140 messages per second are offered and 110 get through.
        let trials: Vec<_> = (0..3)
            .map(|s| trial(s, 28, |t| 60.0 + 2_000.0 * t * (1.0 - 110.0 / 140.0)))
            .collect();
        let found = backlog_growth(&trials, WINDOW).unwrap();
        assert!((found - 30.0 / 140.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn an_overload_of_one_percent_is_seen() {
        let trials: Vec<_> = (0..3).map(|s| trial(s, 24, |t| 30.0 + 20.0 * t)).collect();
        let found = backlog_growth(&trials, WINDOW).unwrap();
        assert!((found - 0.01).abs() < 0.003, "{found}");
    }

    #[test]
    fn a_level_response_time_is_no_backlog_however_long_it_is() {
        let alarms = (0..500)
            .filter(|seed| {
                let trials: Vec<_> = (0..3).map(|s| trial(3 * seed + s, 24, |_| 400.0)).collect();
                backlog_growth(&trials, WINDOW).is_some()
            })
            .count();
        assert!(alarms <= 5, "{alarms}");
    }

    #[test]
    fn a_full_buffer_and_a_disturbance_that_passes_are_none() {
        let full = |t: f64| 10.0 + 100.0 * t.min(0.3);
        assert!(backlog_growth(&[trial(1, 24, full)], WINDOW).is_none());
        let passes = |t: f64| 10.0 + if (0.3..0.6).contains(&t) { 90.0 } else { 0.0 };
        assert!(backlog_growth(&[trial(1, 24, passes)], WINDOW).is_none());
    }

    #[test]
    fn a_small_drift_and_an_empty_window_are_none() {
        assert!(backlog_growth(&[trial(1, 24, |t| 0.02 + 0.01 * t)], WINDOW).is_none());
        assert!(backlog_growth(&[], WINDOW).is_none());
        assert!(backlog_growth(&[TrialSamples::from_values(&[], 9)], WINDOW).is_none());
    }

    #[test]
    fn one_of_three_trials_is_not_enough() {
        let grows = |t: f64| 60.0 + 400.0 * t;
        let trials = [
            trial(1, 24, |_| 60.0),
            trial(2, 24, |_| 60.0),
            trial(3, 24, grows),
        ];
        assert!(backlog_growth(&trials, WINDOW).is_none());
    }
}
