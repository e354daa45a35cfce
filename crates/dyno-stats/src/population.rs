//! What the quantile over *all* trials that could have been may be, given few of them.
//!
//! Model: the logarithm of a trial's quantile is normal around a common value; apart from that shift
//! all trials have the same shape, which is taken from the data. With `k` trials both the common
//! value and the scatter are uncertain: the fiducial distribution of the scatter is
//! `s·sqrt((k-1)/χ²)`, that of the value normal around the mean given the scatter (together:
//! Student's t; Fisher 1935, Gelman et al., *Bayesian Data Analysis*, section 3.2). For each draw
//! the quantile of shape and scatter together follows by convolution.
//!
//! For a median this is Student's interval. For a p99 it also knows that trials not seen yet reach
//! further than the few that were seen, which no resampling of those few can know.

use crate::bootstrap::Bootstrap;
use crate::samples::TrialSamples;
use crate::small::Spread;
use crate::values::Values;
use rand::Rng;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// Bins of the common shape, over the whole range of the samples.
const BINS: usize = 8_192;
/// Points at which the convolved quantile is tabulated over the scatter.
const TABLE: usize = 24;
/// The scatter is at most this many times the observed one; beyond that draws are cut off.
const SCATTER_RANGE: (f64, f64) = (0.25, 32.0);

/// The logarithm of each cell of each block of each trial, which the draws of every quantile begin with. Many cells have
/// the same value.
#[derive(Clone, Copy)]
pub(crate) struct Logs<'a> {
    /// The logarithm of each value, as [`logs_of`] gives them.
    pub(crate) of_values: &'a [f64],
    /// Of each cell, in their order: the place of its value.
    pub(crate) of_cells: &'a [u32],
}

/// The logarithm of each value.
pub(crate) fn logs_of(values: &Values) -> Vec<f64> {
    values.all.iter().map(|v| v.ln()).collect()
}

impl Logs<'_> {
    fn iter(&self) -> impl Iterator<Item = f64> {
        self.of_cells.iter().map(|n| self.of_values[*n as usize])
    }
}

/// Draws of quantile `q` of the population, in the samples' unit. `cells` are the logarithms of these trials, `own` the
/// trials' own quantiles, two or more. `None` where one of them is zero or infinite: then it has no logarithm.
pub(crate) fn draws(
    trials: &[&TrialSamples],
    cells: Logs<'_>,
    own: &[f64],
    q: f64,
    how: &Bootstrap,
    stream: u64,
) -> Option<Vec<f64>> {
    let logs: Vec<f64> = own.iter().map(|v| v.ln()).collect();
    let spread = Spread::of(&logs)?;
    let scatter = spread.error * (logs.len() as f64).sqrt();
    if scatter == 0.0 {
        // As many as the other side of a ratio has.
        return Some(vec![spread.mean.exp(); how.resamples.max(1) as usize]);
    }
    let shape = Shape::new(trials, cells, &logs, spread.mean);
    // Of many trials, all draws are near the observed scatter.
    let table = [const { OnceCell::new() }; TABLE];
    let at = |i: usize| *table[i].get_or_init(|| shape.quantile(q, scatter * factor(i as f64)));
    let draw = |(squares, normal): &(f64, f64)| {
        let wider = (spread.freedom / squares).sqrt();
        let centre = wider * spread.error * normal;
        (centre + interpolate(at, position(wider))).exp()
    };
    Some(chances(logs.len(), how, stream).iter().map(draw).collect())
}

/// Pairs of a sum of squares of `k - 1` standard normal numbers and one more normal number, as many as
/// resamples. They depend on nothing that was measured, so quantiles and experiments of as many trials share
/// them: the last ones of each thread are kept.
fn chances(k: usize, how: &Bootstrap, stream: u64) -> Rc<[(f64, f64)]> {
    type Key = (usize, u32, u64, u64);
    type Drawn = (Key, Rc<[(f64, f64)]>);
    thread_local! {
        static LAST: RefCell<Option<Drawn>> = const { RefCell::new(None) };
    }
    let key = (k, how.resamples, how.seed, stream);
    LAST.with_borrow_mut(|last| match last {
        Some((known, drawn)) if *known == key => Rc::clone(drawn),
        _ => {
            let mut generator = how.generator(stream);
            let draw = |_| {
                let squares: f64 = (1..k).map(|_| gauss(&mut generator).powi(2)).sum();
                (squares, gauss(&mut generator))
            };
            let drawn: Rc<[(f64, f64)]> = (0..how.resamples.max(1)).map(draw).collect();
            *last = Some((key, Rc::clone(&drawn)));
            drawn
        }
    })
}

/// The factor on the scatter at position `i` of the table, which is logarithmic.
fn factor(i: f64) -> f64 {
    let (least, most) = SCATTER_RANGE;
    least * (most / least).powf(i / (TABLE - 1) as f64)
}

/// The inverse of [`factor`], brought into the table.
fn position(factor: f64) -> f64 {
    let (least, most) = SCATTER_RANGE;
    let at = (factor / least).ln() / (most / least).ln() * (TABLE - 1) as f64;
    at.clamp(0.0, (TABLE - 1) as f64)
}

fn interpolate(table: impl Fn(usize) -> f64, at: f64) -> f64 {
    let left = (at as usize).min(TABLE - 2);
    table(left) + (table(left + 1) - table(left)) * (at - left as f64)
}

/// A standard normal number (Box & Muller, Annals of Mathematical Statistics 29, 1958).
pub(crate) fn gauss(generator: &mut impl Rng) -> f64 {
    let u = 1.0 - generator.random::<f64>();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * generator.random::<f64>()).cos()
}

/// The shape that all trials share: logarithms of all samples, each trial shifted so that its own
/// quantile lies on the common one.
struct Shape {
    /// The logarithm at the lower edge of the first bin.
    start: f64,
    /// Logarithms per bin; positive.
    width: f64,
    /// Share of all samples, lost ones included, at or below the upper edge of each bin.
    share: Vec<f64>,
    /// Share of samples that are zero: below every logarithm.
    zero: f64,
}

impl Shape {
    fn new(trials: &[&TrialSamples], cells: Logs<'_>, logs: &[f64], mean: f64) -> Self {
        // Where each cell lies and what it weighs; each trial weighs the same. `None`: at zero.
        let each = |of: &mut dyn FnMut(Option<f64>, f64)| {
            let mut cells = cells.iter();
            for (trial, log) in trials.iter().zip(logs) {
                let own = trial.n() as f64;
                let own_cells = trial.blocks.iter().flat_map(|b| b.cells.iter());
                for (cell, of_cell) in own_cells.zip(&mut cells) {
                    let at = (cell.value > 0.0).then(|| of_cell - log + mean);
                    of(at, cell.count as f64 / own);
                }
            }
        };
        let n = trials.len() as f64;
        let (mut start, mut end, mut zeros) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        each(&mut |at, weight| match at {
            Some(at) => (start, end) = (start.min(at), end.max(at)),
            None => zeros += weight,
        });
        let width = ((end - start) / BINS as f64).max(1e-9);
        let mut share = vec![0.0; BINS];
        each(&mut |at, weight| {
            if let Some(at) = at {
                let bin = ((at - start) / width) as usize;
                share[bin.min(BINS - 1)] += weight / n;
            }
        });
        let mut sum = zeros / n;
        for s in &mut share {
            sum += *s;
            *s = sum;
        }
        Shape {
            start,
            width,
            share,
            zero: zeros / n,
        }
    }

    /// Share of samples with a logarithm of at most `at`; linear within a bin.
    fn below(&self, at: f64) -> f64 {
        let place = (at - self.start) / self.width;
        if place <= 0.0 {
            return self.zero;
        }
        let bin = place as usize;
        let Some(upper) = self.share.get(bin) else {
            return self.share[BINS - 1];
        };
        let lower = if bin == 0 {
            self.zero
        } else {
            self.share[bin - 1]
        };
        lower + (upper - lower) * place.fract()
    }

    /// The logarithm of quantile `q` when the shape is shifted by normal numbers of that standard
    /// deviation; infinite where lost messages reach down to `q`.
    fn quantile(&self, q: f64, scatter: f64) -> f64 {
        // Trapezoids over ±4.5 standard deviations: the error is far below a bin.
        let nodes: Vec<(f64, f64)> = (-36..=36)
            .map(|i| f64::from(i) / 8.0)
            .map(|z| (z * scatter, (-z * z / 2.0).exp()))
            .collect();
        let weight: f64 = nodes.iter().map(|n| n.1).sum();
        let share = |at: f64| {
            let sum: f64 = nodes.iter().map(|(z, w)| w * self.below(at - z)).sum();
            sum / weight
        };
        let reach = 5.0 * scatter + self.width;
        let mut lo = self.start - reach;
        let mut hi = self.start + self.width * BINS as f64 + reach;
        if share(hi) < q {
            return f64::INFINITY;
        }
        // Below a thousandth of a bin.
        for _ in 0..24 {
            let middle = f64::midpoint(lo, hi);
            if share(middle) < q {
                lo = middle;
            } else {
                hi = middle;
            }
        }
        hi
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(level: f64) -> TrialSamples {
        let values = (1..1_000).map(|i| level * (1.0 + f64::from(i) / 1e5));
        TrialSamples::from_values(&[values.collect()], 0)
    }

    fn drawn(trials: &[&TrialSamples], own: &[f64], q: f64) -> Option<Vec<f64>> {
        let values = Values::of(trials);
        let cells = Logs {
            of_values: &logs_of(&values),
            of_cells: &values.of_cells,
        };
        draws(trials, cells, own, q, &Bootstrap::default(), 0)
    }

    fn draw(levels: &[f64], q: f64) -> Vec<f64> {
        let trials: Vec<_> = levels.iter().map(|l| trial(*l)).collect();
        let own: Vec<f64> = levels.iter().map(|l| l * (1.0 + q / 100.0)).collect();
        let trials: Vec<_> = trials.iter().collect();
        drawn(&trials, &own, q).unwrap()
    }

    #[test]
    fn the_median_has_students_interval() {
        let levels = [90.0, 95.0, 100.0, 105.0, 110.0];
        let (lo, hi) = Bootstrap::default()
            .percentiles(draw(&levels, 0.5))
            .unwrap();
        let logs: Vec<f64> = levels.iter().map(|l| (l * 1.005).ln()).collect();
        let (t_lo, t_hi) = Spread::of(&logs).unwrap().interval(0.025);
        assert!((lo.ln() - t_lo).abs() < 0.02, "{lo} {}", t_lo.exp());
        assert!((hi.ln() - t_hi).abs() < 0.02, "{hi} {}", t_hi.exp());
    }

    #[test]
    fn the_tail_reaches_beyond_the_trials_seen() {
        let levels = [90.0, 95.0, 100.0, 105.0, 110.0];
        let (_, hi) = Bootstrap::default()
            .percentiles(draw(&levels, 0.99))
            .unwrap();
        assert!(hi > 120.0, "{hi}");
    }

    #[test]
    fn equal_trials_leave_no_doubt() {
        let all = draw(&[100.0; 4], 0.9);
        assert!(all.iter().all(|v| (v - 100.9).abs() < 1e-6));
    }

    #[test]
    fn a_quantile_without_logarithm_gives_no_draws() {
        let trials = [trial(1.0), trial(2.0)];
        let both: Vec<_> = trials.iter().collect();
        assert!(drawn(&both, &[0.0, 1.0], 0.5).is_none());
        assert!(drawn(&both, &[f64::INFINITY, 1.0], 0.5).is_none());
    }
}
