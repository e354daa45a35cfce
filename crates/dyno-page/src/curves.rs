//! The shape of a distribution: its value at ranks that all curves of the page share, and its box.
//!
//! A curve ends where a quantile would be refused (`dyno_stats::needed`): no plot of a tail shows what so
//! few samples do not bear. Lost messages are infinitely late in every curve and box.

use crate::number::Number;
use dyno_stats::{Bootstrap, Running, TrialSamples, extent, needed};
use serde::Serialize;
use std::sync::LazyLock;

/// Ranks of each decade of the tail.
const PER_DECADE: i32 = 6;
/// The tail's last decade ends at one in a million.
const DECADES: i32 = 6;

/// The ranks that all curves share, ascending: 0, 0.01, then every twentieth up to 0.9, then six for each
/// decade of what is left, down to one in a million, then 1.
pub(crate) static GRID: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let body = (1..=18).map(|twentieth| f64::from(twentieth) / 20.0);
    let tail = (1..=PER_DECADE * (DECADES - 1)).map(|i| {
        let left = 10f64.powf(-1.0 - f64::from(i) / f64::from(PER_DECADE));
        ((1.0 - left) * 1e8).round() / 1e8
    });
    [0.0, 0.01]
        .into_iter()
        .chain(body)
        .chain(tail)
        .chain([1.0])
        .collect()
});

/// For each rank of [`GRID`] the samples that bear it.
static NEEDED: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let how = Bootstrap::default();
    let one = |q: &f64| match *q < 0.5 {
        // The low end is no tail: what few samples say of it misleads nobody.
        true => 1,
        false => needed(*q, &how),
    };
    GRID.iter().map(one).collect()
});

/// Values in nanoseconds at the ranks of [`GRID`], as far as the samples bear them; empty without any.
pub(crate) fn curve(pool: &Running) -> Vec<Number> {
    let n = pool.worth();
    let borne = NEEDED.iter().take_while(|need| n >= **need).count();
    let values = pool.quantiles(&GRID[..borne]).unwrap_or_default();
    values.into_iter().map(Number::short).collect()
}

/// What a box plot shows, in nanoseconds. Quantiles are infinite where so much was lost; the ends are those
/// of the messages that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BoxPlot {
    /// The smallest.
    pub min: Number,
    /// A quarter is below it.
    pub p25: Number,
    /// The middle.
    pub p50: Number,
    /// A quarter is above it.
    pub p75: Number,
    /// One in twenty is above it.
    pub p95: Number,
    /// The largest that arrived.
    pub max: Number,
}

/// The box of all trials together; `None` without a sample.
pub(crate) fn of_trials(pool: &Running, trials: &[TrialSamples]) -> Option<BoxPlot> {
    let quantiles = pool.quantiles(&[0.25, 0.5, 0.75, 0.95])?;
    let [p25, p50, p75, p95] = quantiles.as_slice() else {
        return None;
    };
    let ends = extent(trials);
    let end = |v: Option<f64>| Number::short(v.unwrap_or(f64::INFINITY));
    Some(BoxPlot {
        min: end(ends.min),
        p25: Number::short(*p25),
        p50: Number::short(*p50),
        p75: Number::short(*p75),
        p95: Number::short(*p95),
        max: end(ends.max),
    })
}

/// Median, p99 and largest of each block of a trial's window; `None` for a block without a sample. The p99
/// of fewer than a hundred samples is not told.
pub(crate) fn blocks(trial: &TrialSamples) -> Vec<Option<[Number; 3]>> {
    const LEAST: u64 = 100;
    let one = |block: TrialSamples| {
        let pool = pool([&block]);
        let quantiles = pool.quantiles(&[0.5, 0.99])?;
        let [p50, p99] = quantiles.as_slice() else {
            return None;
        };
        let p99 = if pool.n() < LEAST {
            f64::INFINITY
        } else {
            *p99
        };
        let max = extent(std::slice::from_ref(&block)).max;
        let all = [*p50, p99, max.unwrap_or(f64::INFINITY)];
        Some(all.map(Number::short))
    };
    trial.by_block().into_iter().map(one).collect()
}

/// Trials together.
pub(crate) fn pool<'a>(trials: impl IntoIterator<Item = &'a TrialSamples>) -> Running {
    let mut pool = Running::default();
    for trial in trials {
        pool.add(trial);
    }
    pool
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: impl IntoIterator<Item = u32>, infinite: u64) -> TrialSamples {
        let values = values.into_iter().map(f64::from).collect();
        TrialSamples::from_values(&[values], infinite)
    }

    fn numbers(all: &[Number]) -> Vec<f64> {
        all.iter().map(|n| n.get()).collect()
    }

    #[test]
    fn the_grid_ascends_and_holds_the_usual_quantiles() {
        let grid = &*GRID;
        assert!(grid.windows(2).all(|w| w[0] < w[1]), "{grid:?}");
        for q in [
            0.0, 0.01, 0.05, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.999_999, 1.0,
        ] {
            assert!(grid.contains(&q), "{q} is not in {grid:?}");
        }
        assert_eq!(grid.len(), 51);
    }

    #[test]
    fn a_curve_ends_where_a_quantile_would_be_refused() {
        let few = curve(&pool([&samples(1..=100, 0)]));
        let ranks = &GRID[..few.len()];
        // p95 takes 72 samples, p99 368.
        assert!(
            ranks.last().is_some_and(|q| (0.95..0.99).contains(q)),
            "{ranks:?}"
        );
        assert_eq!(few[0].get(), 1.0);
        assert_eq!(curve(&Running::default()), []);
    }

    #[test]
    fn lost_messages_end_a_curve_at_infinity() {
        let lossy = curve(&pool([&samples(1..=600, 400)]));
        let at = |q: f64| lossy[GRID.iter().position(|g| *g == q).unwrap()].get();
        assert_eq!(at(0.5), 500.0);
        assert_eq!(at(0.7), f64::INFINITY);
        let all = [samples(1..=600, 400)];
        let shape = of_trials(&pool(&all), &all).unwrap();
        assert_eq!((shape.p75.get(), shape.max.get()), (f64::INFINITY, 600.0));
    }

    #[test]
    fn blocks_keep_their_order_and_their_gaps() {
        let many: Vec<f64> = (1..=200).map(f64::from).collect();
        let trial = TrialSamples::from_values(&[vec![5.0, 7.0, 9.0], Vec::new(), many], 0);
        let all = blocks(&trial);
        assert_eq!(all[1], None);
        // Three samples have no p99.
        assert_eq!(numbers(&all[0].unwrap()), [7.0, f64::INFINITY, 9.0]);
        assert_eq!(numbers(&all[2].unwrap()), [100.0, 198.0, 200.0]);
    }
}
