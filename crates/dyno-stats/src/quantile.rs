//! Quantiles with intervals, their refusal, and their ratios.
//!
//! A quantile is refused where there are fewer samples than it takes to enclose it ([`needed`]), and where
//! the interval is wider than a factor of [`WIDEST`]: a number that may be a third or the triple is no figure.
//! Each trial weighs the same in it, whatever its number of samples.
//!
//! With several trials the interval is the union of three, because each fails where another holds:
//!
//! - the percentile interval of a bootstrap over trials and blocks within. It follows the data's own
//!   shape, but of `k` trials it sees only a share `(k-1)/k` of the variance between them, and its
//!   tails are too light: with five trials it covers far less than it says;
//! - Student's interval with `k - 1` degrees of freedom over the logarithms of the trials' own
//!   quantiles: honest for few trials about what a *typical* trial shows;
//! - the interval of the quantile of *all* trials that could have been ([`crate::population`]). Where
//!   trials differ by as much as samples within them, the p99 of all trials lies far above the p99
//!   of a typical one, and neither of the other two can reach it: at 20 % between trials their
//!   union held the true p99 of a normal source in 31 % of the runs instead of 95 %.
//!
//! Trials of one sample each, such as the times of so many starts, are independent samples and nothing
//! else: their interval is that of order statistics, exact for every distribution (Hahn & Meeker,
//! *Statistical Intervals*, section 5.2).
//!
//! With a single trial nothing is known of the variation between trials. The interval then is the
//! bootstrap over blocks, stretched for few and for autocorrelated blocks, united with the one from
//! order statistics of as many samples as are worth an independent one (Woodruff, JASA 47, 1952).
//! Where these are fewer than it takes to enclose the quantile, no order statistic is a bound, and the
//! interval is open at that end. [`crate::stability()`] says that there was one trial only.

use crate::bootstrap::Bootstrap;
use crate::pool::Pool;
use crate::population::{self, Logs, logs_of};
use crate::samples::{Sorted, TrialSamples, worth};
use crate::small::{Spread, clustering, design_effect, normal, order_ranks, stretch, student};
use crate::value::{Estimate, Interval, Latency};
use std::cell::OnceCell;

/// Samples beyond a quantile per block that show whether they cluster.
const BEYOND_PER_BLOCK: f64 = 2.0;

/// An interval whose ends are farther apart than this factor makes no figure.
pub const WIDEST: f64 = 10.0;

/// Of fewer trials than this the interval of all trials that could have been leaves half as much outside, for
/// quantiles beyond p90. Where
/// few trials happen to lie close together, the interval is narrow and is printed; where they do not, it is
/// wide and refused. So what is printed covers less than what is computed: of three trials of 750 samples that differ
/// by 20 %, p99 was printed in 408 of 1,000 cases, and the printed intervals held the truth in 0.929 of them.
const FEW_TRIALS: usize = 5;

/// No number of trials above this is worth naming.
const MOST_TRIALS: u64 = 1_000;

/// A quantile: estimated, or refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantile {
    /// With its interval.
    Estimated(Estimate),
    /// There are too few samples to enclose it at the confidence asked for.
    Refused {
        /// Samples of all trials, lost messages included; of trials of different size, what they are worth
        /// where all weigh the same.
        have: u64,
        /// Samples that it takes.
        need: u64,
    },
    /// There are enough samples, but they leave an interval that is wider than a factor of [`WIDEST`].
    Wide {
        /// What the interval is, for whoever decides by its ends. The value is no figure to show.
        interval: Estimate,
        /// Trials that there are.
        trials: u64,
        /// Trials that it would take if further ones scatter like these; `None` where that cannot be told: of
        /// one trial, where an end has no bound, or where it is more than a thousand.
        need: Option<u64>,
    },
}

impl Quantile {
    /// The estimate, or `None` where it was refused.
    pub const fn estimate(&self) -> Option<&Estimate> {
        match self {
            Quantile::Estimated(e) => Some(e),
            Quantile::Refused { .. } | Quantile::Wide { .. } => None,
        }
    }

    /// The interval, also where it is too wide for a figure: it holds the true value all the same, which may
    /// decide a limit. `None` for want of samples.
    pub const fn interval(&self) -> Option<&Estimate> {
        match self {
            Quantile::Estimated(e) | Quantile::Wide { interval: e, .. } => Some(e),
            Quantile::Refused { .. } => None,
        }
    }

    /// How many trials beyond these `trials` would give a figure, if further ones are like them. `None`: there is one, nobody knows, or
    /// it is more than 10,000.
    pub fn further_trials(&self, trials: u64) -> Option<u64> {
        const MOST: u64 = 10_000;
        let all = match *self {
            Quantile::Estimated(_) | Quantile::Refused { have: 0, .. } => return None,
            Quantile::Refused { have, need } => trials.saturating_mul(need).div_ceil(have),
            Quantile::Wide { need, .. } => need?,
        };
        let more = all.saturating_sub(trials).max(1);
        (more <= MOST).then_some(more)
    }
}

/// Whether an interval is wider than a factor of [`WIDEST`]. Ends below 1 count as 1, because nanoseconds
/// have no finer steps. An infinite value is not: that so many messages were lost is known, and to
/// hide it would improve the figure.
pub fn is_wide(e: &Estimate) -> bool {
    let (lo, hi) = (e.lo.as_f64().max(1.0), e.hi.as_f64().max(1.0));
    e.value != Latency::Infinite && hi > WIDEST * lo
}

/// The least number of independent samples whose extremes enclose quantile `q` with both tails at
/// most `(1 - confidence) / 2`: `q^n <= tail` and `(1-q)^n <= tail` (Hahn & Meeker, *Statistical
/// Intervals*, section 5.2). At 95 %: p50 6, p90 36, p99 368, p99.9 3,688. `u64::MAX` for a `q`
/// outside (0, 1), which no number of samples encloses.
pub fn needed(q: f64, how: &Bootstrap) -> u64 {
    if !(q > 0.0 && q < 1.0) {
        return u64::MAX;
    }
    (how.tail().ln() / q.max(1.0 - q).ln()).ceil() as u64
}

/// Quantile `q` (between 0 and 1) over all trials, in the samples' unit; see [`quantiles`].
pub fn quantile(trials: &[TrialSamples], q: f64, how: &Bootstrap) -> Quantile {
    Side::new(trials, &[q], how, 0).quantile(0)
}

/// Several quantiles of the same trials; faster than one by one. Equal to calling [`quantile()`] for
/// each.
///
/// The value is the smallest one with at least a share `q` at or below it, where each trial weighs the same;
/// lost messages count as infinitely late.
pub fn quantiles(trials: &[TrialSamples], qs: &[f64], how: &Bootstrap) -> Vec<Quantile> {
    quantiles_and_numerator(trials, qs, how).0
}

/// [`quantiles`], and the first of them as what many a ratio may be made of, if it was not refused.
pub fn quantiles_and_numerator(
    trials: &[TrialSamples],
    qs: &[f64],
    how: &Bootstrap,
) -> (Vec<Quantile>, Option<RatioSide>) {
    let side = Side::new(trials, qs, how, 0);
    let all = (0..qs.len()).map(|i| side.quantile(i)).collect();
    (all, side.of_ratio(0))
}

/// Quantile `q` of each trial that has samples, in the order given.
pub fn trial_quantiles(trials: &[TrialSamples], q: f64) -> Vec<Latency> {
    let own = trials
        .iter()
        .filter_map(|t| Sorted::of(&t.blocks).quantile(q));
    own.map(Latency::from_f64).collect()
}

/// Quantile `q` of `num` divided by that of `den` (× floor), without unit. Both sides are resampled
/// independently; the interval is united with Welch's on the logarithms. `None` where one of the
/// two is refused, or where the divisor is zero or infinite.
pub fn quantile_ratio(
    num: &[TrialSamples],
    den: &[TrialSamples],
    q: f64,
    how: &Bootstrap,
) -> Option<Estimate> {
    let above = Side::new(num, &[q], how, 0).of_ratio(0)?;
    above.over(&RatioSide::denominator(den, q, how)?, how)
}

/// One side of a ratio of quantiles: drawn once, it can be held against many others.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioSide {
    point: f64,
    ends: (f64, f64),
    /// Resampled.
    drawn: Vec<f64>,
    /// What the true quantile may be; see [`Side::plausible`].
    plausible: Option<Vec<f64>>,
}

impl RatioSide {
    /// Quantile `q` of what others are divided by; `None` where it is refused.
    pub fn denominator(trials: &[TrialSamples], q: f64, how: &Bootstrap) -> Option<RatioSide> {
        Side::new(trials, &[q], how, 1).of_ratio(0)
    }

    /// The least that the quantile may be by its interval.
    pub fn least(&self) -> f64 {
        self.point.min(self.ends.0)
    }

    /// The ratio of this one, a numerator, to a denominator: as [`quantile_ratio`]. Both are of the same `how`.
    pub fn over(&self, below: &RatioSide, how: &Bootstrap) -> Option<Estimate> {
        if !below.point.is_finite() || below.point <= 0.0 {
            return None;
        }
        let mut ratio = Interval::at(self.point / below.point);
        let divide = |xs: &[f64], ys: &[f64]| -> Vec<f64> {
            xs.iter().zip(ys).map(|(x, y)| x / y).collect()
        };
        let ratios = divide(&self.drawn, &below.drawn);
        if ratios.iter().any(|r| r.is_nan()) {
            ratio.widen((0.0, f64::INFINITY));
            return Some(ratio.estimate());
        }
        if let Some(ends) = how.percentiles(ratios) {
            ratio.widen(ends);
        }
        match (&self.plausible, &below.plausible) {
            (Some(xs), Some(ys)) => {
                if let Some(ends) = how.percentiles(divide(xs, ys)) {
                    ratio.widen(ends);
                }
            }
            // A trial's own quantile is zero or infinite: the widest that the two intervals allow.
            _ => ratio.widen((self.ends.0 / below.ends.1, self.ends.1 / below.ends.0)),
        }
        Some(ratio.estimate())
    }
}

/// Everything needed for the quantiles of one set of trials.
struct Side<'a> {
    trials: Vec<&'a TrialSamples>,
    /// Which of the generators' streams is this side's: 0 or 1.
    stream: u64,
    /// All trials together.
    pool: Pool,
    /// By quantile: that of each trial by itself.
    own: Vec<Vec<f64>>,
    qs: &'a [f64],
    how: &'a Bootstrap,
    n: u64,
    /// By quantile, then by resample; drawn when first asked for.
    drawn: OnceCell<Vec<Vec<f64>>>,
    /// The logarithm of each value.
    logs: OnceCell<Vec<f64>>,
    /// By quantile: draws of that of the population, as [`population::draws`] gives them.
    populations: Vec<OnceCell<Option<Vec<f64>>>>,
}

impl<'a> Side<'a> {
    fn new(all: &'a [TrialSamples], qs: &'a [f64], how: &'a Bootstrap, stream: u64) -> Self {
        let trials: Vec<_> = all.iter().filter(|t| t.n() > 0).collect();
        let pool = Pool::new(trials.iter().copied());
        let n = worth(trials.iter().map(|t| t.n()));
        let own = qs.iter().map(|q| pool.quantile_of_each(*q)).collect();
        Side {
            trials,
            stream,
            pool,
            own,
            qs,
            how,
            n,
            drawn: OnceCell::new(),
            logs: OnceCell::new(),
            populations: vec![OnceCell::new(); qs.len()],
        }
    }

    /// Quantile `i` of each resample; none where it is refused.
    fn drawn(&self, i: usize) -> &[f64] {
        &self.drawn.get_or_init(|| self.resampled())[i]
    }

    fn resampled(&self) -> Vec<Vec<f64>> {
        let mut drawn = vec![Vec::new(); self.qs.len()];
        let mut near = vec![0; self.qs.len()];
        let mut weights = Vec::new();
        let affordable: Vec<bool> = self
            .qs
            .iter()
            .map(|q| self.n >= needed(*q, self.how))
            .collect();
        self.how.resample(self.stream, self.pool.trials(), |draws| {
            self.pool.weigh(draws, &mut weights);
            let weight = self.pool.weight(&weights);
            for (i, q) in self.qs.iter().enumerate().filter(|(i, _)| affordable[*i]) {
                let found = self.pool.quantile_near(&weights, weight, *q, &mut near[i]);
                drawn[i].extend(found);
            }
        });
        drawn
    }

    /// Quantile `i` as one side of a ratio; `None` where it is refused.
    fn of_ratio(&self, i: usize) -> Option<RatioSide> {
        let found = self.interval(i)?;
        Some(RatioSide {
            point: self.point(i)?,
            ends: found.ends(),
            drawn: self.drawn(i).to_vec(),
            plausible: self.plausible(i, &found),
        })
    }

    fn quantile(&self, i: usize) -> Quantile {
        let Some(found) = self.interval(i) else {
            return Quantile::Refused {
                have: self.n,
                need: needed(self.qs[i], self.how),
            };
        };
        let interval = found.estimate();
        match is_wide(&interval) {
            false => Quantile::Estimated(interval),
            true => Quantile::Wide {
                interval,
                trials: self.trials.len() as u64,
                need: self.trials_to_narrow(found.ends()),
            },
        }
    }

    /// The least number of trials at which an interval of these ends would be as wide as a figure may be: its
    /// logarithmic width shrinks like that of Student's interval, of single samples like one over the root.
    fn trials_to_narrow(&self, (lo, hi): (f64, f64)) -> Option<u64> {
        let have = self.trials.len() as u64;
        let tail = self.how.tail();
        let relative = |k: u64| {
            let spread = match self.are_samples() {
                true => normal(tail),
                false => student(tail, k as f64 - 1.0),
            };
            spread / (k as f64).sqrt()
        };
        let width = (hi / lo.max(1.0)).ln();
        if have < 2 || lo <= 0.0 || !width.is_finite() {
            return None;
        }
        let wanted = WIDEST.ln() / width * relative(have);
        (have + 1..=MOST_TRIALS).find(|k| relative(*k) <= wanted)
    }

    /// The pooled quantile; `None` where it is refused.
    fn point(&self, i: usize) -> Option<f64> {
        let q = self.qs[i];
        if self.n < needed(q, self.how) {
            return None;
        }
        self.pooled(q)
    }

    fn pooled(&self, q: f64) -> Option<f64> {
        self.pool.own_quantile(q)
    }

    /// How many samples beyond quantile `i` are worth one independent sample, where they come in
    /// clusters beyond doubt; else 1. Few samples beyond an extreme quantile cannot show that, so it
    /// is looked at where there are [`BEYOND_PER_BLOCK`] of them per block. Further out, samples
    /// cluster less rather than more, so this errs to the safe side.
    fn clusters(&self, i: usize) -> f64 {
        let enough = (BEYOND_PER_BLOCK * self.pool.blocks() as f64 / self.n as f64).min(0.5);
        let q = self.qs[i];
        let q = if q < 0.5 {
            q.max(enough)
        } else {
            q.min(1.0 - enough)
        };
        self.pooled(q).map_or(1.0, |value| {
            let (shares, sizes) = self.pool.shares_above(value);
            clustering(&shares, &sizes)
        })
    }

    fn interval(&self, i: usize) -> Option<Interval> {
        let point = self.point(i)?;
        let mut interval = Interval::at(point);
        if self.are_samples() {
            let (lo, hi) = order_ranks(self.qs[i], self.n, self.how.tail());
            let end = |rank| self.pool.order_statistic(rank);
            interval.widen((end(lo), end(hi)));
            return Some(interval);
        }
        let percentiles = self.how.percentiles(self.drawn(i).to_vec());
        if self.trials.len() > 1 {
            self.widen_between_trials(i, &mut interval);
            if let Some(ends) = percentiles {
                interval.widen(ends);
            }
        } else {
            let (shares, sizes) = self.pool.shares_above(point);
            let tail = self.how.tail();
            let mut effect = design_effect(&shares, &sizes).max(self.clusters(i));
            if effect > 1.0 {
                // It is itself known from these blocks only: Student's t in place of the normal.
                let freedom = shares.len() as f64 - 1.0;
                effect *= (student(tail, freedom) / normal(tail)).powi(2);
            }
            interval.widen(self.order_interval(i, effect));
            if let Some((lo, hi)) = percentiles {
                let factor = stretch(&shares, tail);
                interval.widen((stretched(point, lo, factor), stretched(point, hi, factor)));
            }
        }
        Some(interval)
    }

    /// Whether each of several trials is one sample.
    fn are_samples(&self) -> bool {
        self.trials.len() > 1 && self.trials.iter().all(|t| t.n() == 1)
    }

    /// Widens by what differs between trials.
    fn widen_between_trials(&self, i: usize, interval: &mut Interval) {
        let own = &self.own[i];
        let tail = self.how.tail();
        let logs: Vec<f64> = own.iter().map(|v| v.ln()).collect();
        if let Some(spread) = Spread::of(&logs) {
            let (lo, hi) = spread.interval(tail);
            interval.widen((lo.exp(), hi.exp()));
            let q = self.qs[i];
            let tail = match own.len() < FEW_TRIALS && q.max(1.0 - q) > 0.9 {
                true => tail / 2.0,
                false => tail,
            };
            let draws = self
                .population(i)
                .and_then(|d| Bootstrap::between_tails(tail, d.to_vec()));
            interval.widen(draws.unwrap_or(interval.ends()));
        } else if let Some(spread) = Spread::of(own) {
            // One is zero and has no logarithm.
            let (lo, hi) = spread.interval(tail);
            interval.widen((lo.max(0.0), hi));
        } else {
            // One is infinite: there is no telling how often that happens.
            let smallest = own.iter().copied().fold(f64::INFINITY, f64::min);
            interval.widen((smallest, f64::INFINITY));
        }
    }

    fn population(&self, i: usize) -> Option<&[f64]> {
        let stream = self.stream + 2;
        let draws = || {
            let values = self.pool.values();
            let logs = Logs {
                of_values: self.logs.get_or_init(|| logs_of(values)),
                of_cells: &values.of_cells,
            };
            let (own, q) = (&self.own[i], self.qs[i]);
            population::draws(&self.trials, logs, own, q, self.how, stream)
        };
        self.populations[i].get_or_init(draws).as_deref()
    }

    /// The interval of order statistics, as if only every `effect`th sample were independent.
    fn order_interval(&self, i: usize, effect: f64) -> (f64, f64) {
        let independent = ((self.n as f64 / effect) as u64).max(1);
        let (q, tail) = (self.qs[i], self.how.tail());
        let (lo, hi) = order_ranks(q, independent, tail);
        // Of `independent` equal slices of the sorted samples: from the start of one to the end of
        // another, so that a rank without a bound reaches the first or the last sample.
        let end = |slices: u64| (slices as f64 / independent as f64 * self.n as f64).round() as u64;
        // The chance that all of as many samples as there are clusters lie on one side of the quantile.
        let clusters = self.n as f64 / self.clusters(i);
        let all_on = |side: f64| side.powf(clusters);
        let below = match all_on(1.0 - q) > tail {
            true => 0.0,
            false => self.pool.order_statistic(end(lo - 1) + 1),
        };
        let above = match all_on(q) > tail {
            true => f64::INFINITY,
            false => self.pool.order_statistic(end(hi).max(1)),
        };
        (below, above)
    }

    /// Values that the true quantile may have, as many as resamples, equally likely: from the
    /// population where there are several trials of several samples, else log-normal with the
    /// interval's width.
    fn plausible(&self, i: usize, interval: &Interval) -> Option<Vec<f64>> {
        if self.trials.len() > 1 && !self.are_samples() {
            return self.population(i).map(<[f64]>::to_vec);
        }
        let error = interval.log_half_width() / normal(self.how.tail());
        let point = self.point(i).filter(|_| error.is_finite())?;
        let mut generator = self.how.generator(self.stream + 2);
        let draw = |_| point * (error * population::gauss(&mut generator)).exp();
        Some((0..self.how.resamples.max(1)).map(draw).collect())
    }
}

/// `end` moved away from `point`: `factor` times as far on a logarithmic scale.
fn stretched(point: f64, end: f64, factor: f64) -> f64 {
    if end == point {
        point
    } else if point == 0.0 {
        end * factor
    } else if point.is_infinite() {
        end / factor
    } else {
        point * (end / point).powf(factor)
    }
}
