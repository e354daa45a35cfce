//! How often the 95 % interval of a quantile holds the true one.
//!
//! Each replicate draws trials from a known source. Every trial has a factor of its own, as real
//! trials have; within the trial, samples come in blocks. The true quantile is that of the whole
//! population: all trials that could have been, computed numerically.
//!
//! Shares of 1,000 replicates (standard error 0.007), the lowest over normal, log-normal, bimodal,
//! heavy-tailed and autocorrelated sources; trials of 20 blocks with 200 samples each:
//!
//! | trials | factor between trials | p50 | p90 | p99 | p99.9 |
//! |---|---|---|---|---|---|
//! | 3 | log-normal, 3 % | 0.950 | 0.954 | 0.969 | 0.977 |
//! | 5 | log-normal, 3 % | 0.948 | 0.953 | 0.967 | 0.975 |
//! | 10 | log-normal, 3 % | 0.944 | 0.950 | 0.964 | 0.972 |
//! | 5 | log-normal, 20 % | 0.948 | 0.955 | 0.965 | 0.968 |
//! | 10 | log-normal, 20 % | 0.944 | 0.965 | 0.964 | 0.959 |
//! | 1 | none | 0.961 | 0.965 | 0.979 | 0.977, see below |
//!
//! **Windows as short as those of the suites**: trials of 10 blocks with 75 samples each. What is printed is counted
//! by itself, because a quantile whose interval is wider than a factor of ten is refused: lowest share of the printed
//! intervals that hold the truth, over the same sources.
//!
//! | trials | factor between trials | p50 | p90 | p99 | p99.9 |
//! |---|---|---|---|---|---|
//! | 3 | log-normal, 3 % | 0.944 | 0.954 | 0.977 | too few samples |
//! | 5 | log-normal, 3 % | 0.958 | 0.963 | 0.973 | 0.952 |
//! | 10 | log-normal, 3 % | 0.959 | 0.964 | 0.978 | 0.985 |
//! | 3 | log-normal, 20 % | 0.942 | 0.937 | 0.934 | too few samples |
//! | 5 | log-normal, 20 % | 0.946 | 0.957 | 0.974 | 0.960 |
//! | 10 | log-normal, 20 % | 0.946 | 0.963 | 0.967 | 0.968 |
//!
//! The p99 of three trials with 20 % between them is printed in 258 to 364 of 1,000 replicates. Before intervals of
//! fewer than five trials were made wider beyond p90, it was printed in 408 to 560, and 0.929 of those held the truth.
//!
//! **One trial.** Where the samples of a single trial come in clusters, they are worth fewer than the
//! independent ones that it takes to enclose a far quantile, and the interval has no upper end: of 4,000
//! samples of the autocorrelated source nearly always for p99.9, by chance in one of twenty of the others.
//! Without that rule the interval held the true p99.9 of that source in 0.87 of 200 replicates.
//!
//! The union of bootstrap and Student's interval alone, without what `population.rs` adds, held the
//! true p99 in 0.789 (bimodal, 5 trials, 3 %) and 0.308 (normal, 5 trials, 20 %) of 1,000 replicates
//! with 100 samples per block.
//!
//! **The limit.** The method takes the factor between trials for log-normal. Where it is
//! exponential instead (most trials near the best, a few far slower, mean +10 %), 10 trials hold the
//! truth in 0.912 (p50), 0.853 (p90), 0.675 (p99) and 0.546 (p99.9): rare slow trials that were not
//! seen cannot be inferred from those that were. More trials, not more samples, help.
//!
//! With optimisation 1,000 replicates run per case and at least 93 % must hold. Without, 16 run, and
//! the count must not be one that a coverage of 93 % gives less than once in a thousand times.

use dyno_stats::{Bootstrap, TrialSamples, quantiles};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
const NONE: Between = Between::LogNormal(0.0);

/// The window of a trial: so many blocks, so many samples in each.
#[derive(Debug, Clone, Copy)]
struct Window {
    blocks: usize,
    per_block: usize,
}

/// What the study was first made with.
const LONG: Window = Window {
    blocks: 20,
    per_block: 200,
};
/// What the trials of the suite `quick` have at its default scale, and `iceperf` and `rwth` about as many.
const QUICK: Window = Window {
    blocks: 10,
    per_block: 75,
};

/// Replicates per case; `DYNO_COVERAGE_REPLICATES` asks for another number.
fn replicates() -> u32 {
    let asked = std::env::var("DYNO_COVERAGE_REPLICATES").ok();
    asked
        .and_then(|v| v.parse().ok())
        .unwrap_or(if cfg!(debug_assertions) { 16 } else { 1_000 })
}

/// The least number of `made` intervals that must hold the truth.
fn least(made: u32) -> u32 {
    if cfg!(debug_assertions) {
        let held = Binomial::new(0.93, u64::from(made)).unwrap();
        held.inverse_cdf(1e-3) as u32
    } else {
        (0.93 * f64::from(made)).ceil() as u32
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    /// Normal, 10 % standard deviation.
    Normal,
    /// Log-normal, σ = 0.5.
    LogNormal,
    /// 70 % around 10 µs, 30 % around 50 µs.
    Bimodal,
    /// Pareto with index 1.5: infinite variance.
    HeavyTailed,
    /// Log-normal with σ = 0.3 whose logarithm is AR(1) with φ = 0.9.
    Autocorrelated,
}

const SOURCES: [Source; 5] = [
    Source::Normal,
    Source::LogNormal,
    Source::Bimodal,
    Source::HeavyTailed,
    Source::Autocorrelated,
];

/// How trials differ: the factor that a trial puts on all its samples.
#[derive(Debug, Clone, Copy)]
enum Between {
    /// Log-normal with this σ: what the method assumes.
    LogNormal(f64),
    /// `1 + s·e` with exponential `e`: most trials near the best, some much slower. Not what the
    /// method assumes.
    Skewed(f64),
}

impl Between {
    /// The factor at share `u` of its distribution.
    fn factor(self, u: f64) -> f64 {
        match self {
            Between::LogNormal(sigma) => (sigma * Normal::standard().inverse_cdf(u)).exp(),
            Between::Skewed(scale) => 1.0 - scale * (1.0 - u).ln(),
        }
    }
}

fn gauss(rng: &mut impl Rng) -> f64 {
    // Box & Muller 1958.
    let u: f64 = 1.0 - rng.random::<f64>();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

impl Source {
    fn trial(self, window: Window, between: Between, rng: &mut ChaCha8Rng) -> TrialSamples {
        let factor = between.factor(rng.random_range(1e-12..1.0));
        let mut state = gauss(rng);
        let blocks: Vec<Vec<f64>> = (0..window.blocks)
            .map(|_| {
                (0..window.per_block)
                    .map(|_| {
                        let z = gauss(rng);
                        factor
                            * match self {
                                Source::Normal => 10_000.0 + 1_000.0 * z,
                                Source::LogNormal => 10_000.0 * (0.5 * z).exp(),
                                Source::Bimodal if rng.random::<f64>() < 0.7 => {
                                    10_000.0 + 500.0 * z
                                }
                                Source::Bimodal => 50_000.0 + 2_000.0 * z,
                                Source::HeavyTailed => {
                                    10_000.0 * (1.0 - rng.random::<f64>()).powf(-1.0 / 1.5)
                                }
                                Source::Autocorrelated => {
                                    state = 0.9 * state + 0.19f64.sqrt() * z;
                                    10_000.0 * (0.3 * state).exp()
                                }
                            }
                    })
                    .collect()
            })
            .collect();
        TrialSamples::from_values(&blocks, 0)
    }

    /// Distribution function of one sample of a trial whose factor is 1.
    fn cdf(self, x: f64) -> f64 {
        let normal = |mean: f64, sd: f64| Normal::new(mean, sd).unwrap().cdf(x);
        let log_normal = |sd: f64| Normal::new(0.0, sd).unwrap().cdf((x / 10_000.0).ln());
        match self {
            Source::Normal => normal(10_000.0, 1_000.0),
            Source::LogNormal => log_normal(0.5),
            Source::Bimodal => 0.7 * normal(10_000.0, 500.0) + 0.3 * normal(50_000.0, 2_000.0),
            Source::HeavyTailed if x < 10_000.0 => 0.0,
            Source::HeavyTailed => 1.0 - (x / 10_000.0).powf(-1.5),
            Source::Autocorrelated => log_normal(0.3),
        }
    }

    /// The quantile of the population over all trials.
    fn truth(self, between: Between, q: f64) -> f64 {
        let factors: Vec<f64> = (0..4_000)
            .map(|i| between.factor((f64::from(i) + 0.5) / 4_000.0))
            .collect();
        let population =
            |x: f64| factors.iter().map(|f| self.cdf(x / f)).sum::<f64>() / factors.len() as f64;
        let (mut lo, mut hi) = (1_000.0, 1e8);
        for _ in 0..60 {
            let middle: f64 = f64::midpoint(lo, hi);
            if population(middle) < q {
                lo = middle;
            } else {
                hi = middle;
            }
        }
        lo
    }
}

/// How the replicates of one quantile went.
#[derive(Clone, Copy, Default)]
struct Held {
    /// Intervals that were made; the other replicates had too few samples.
    made: u32,
    /// Those among them that hold the truth.
    held: u32,
    /// Those among them that have no upper end.
    open: u32,
    /// Those among them that are narrow enough for a figure: what is printed.
    shown: u32,
    /// Those that are shown and hold the truth.
    shown_held: u32,
}

impl Held {
    fn share(self) -> f64 {
        f64::from(self.held) / f64::from(self.made)
    }

    fn share_of_shown(self) -> f64 {
        f64::from(self.shown_held) / f64::from(self.shown)
    }
}

/// Counts over all replicates, by quantile.
fn coverage(
    source: Source,
    window: Window,
    trials: usize,
    between: Between,
    seed: u64,
) -> [Held; 4] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let truth = QUANTILES.map(|q| source.truth(between, q));
    let mut counts = [Held::default(); 4];
    for seed in 0..replicates() {
        let data: Vec<_> = (0..trials)
            .map(|_| source.trial(window, between, &mut rng))
            .collect();
        let how = Bootstrap {
            resamples: 200,
            seed: u64::from(seed),
            ..Bootstrap::default()
        };
        for (i, estimate) in quantiles(&data, &QUANTILES, &how).iter().enumerate() {
            let Some(e) = estimate.interval() else {
                continue;
            };
            let hi = e.hi.finite();
            let lo = e.lo.finite().unwrap();
            counts[i].open += u32::from(hi.is_none());
            let hi = hi.unwrap_or(f64::INFINITY);
            counts[i].made += 1;
            let holds = u32::from(lo <= truth[i] && truth[i] <= hi);
            counts[i].held += holds;
            if estimate.estimate().is_some() {
                counts[i].shown += 1;
                counts[i].shown_held += holds;
            }
        }
    }
    counts
}

/// The counts of every source and quantile, with the line that names them.
fn study(window: Window, trials: usize, between: Between) -> Vec<(String, [Held; 4])> {
    let case = |(i, source): (usize, Source)| {
        let counts = coverage(source, window, trials, between, 0xc0 + i as u64);
        let shares = counts.map(Held::share);
        let open = counts.map(|c| c.open);
        let Window { blocks, per_block } = window;
        let mut line = format!(
            "{source:?}, {trials} trials of {blocks} × {per_block}, {between:?}: {shares:.3?}"
        );
        let shown = counts.map(|c| c.shown);
        if shown.iter().any(|n| *n < replicates()) {
            let of_shown = counts.map(Held::share_of_shown);
            line += &format!(", of those shown {shown:?} {of_shown:.3?}");
        }
        if open.iter().any(|n| *n > 0) {
            line += &format!(", without upper end {open:?}");
        }
        println!("{line}");
        (line, counts)
    };
    SOURCES.into_iter().enumerate().map(case).collect()
}

/// All cases cover, those that are shown by themselves as well; with the long window there are samples enough
/// in every case, and with five trials every interval has an upper end. With three, a p99.9 may have none: they leave
/// half as much outside.
fn must_cover(window: Window, trials: &[usize], between: Between) {
    let is_long = window.blocks == LONG.blocks;
    let bad = |c: &Held, trials: usize| {
        c.held < least(c.made)
            // What is refused in more than 95 of 100 cases is refused as a rule.
            || (20 * c.shown >= c.made && c.shown_held < least(c.shown))
            || (is_long && c.made < replicates())
            || (is_long && trials >= 5 && c.open > 0)
    };
    let of = |trials: usize| {
        let cases = study(window, trials, between).into_iter();
        cases.filter(move |(_, counts)| counts.iter().any(|c| bad(c, trials)))
    };
    let short: Vec<String> = trials.iter().flat_map(|n| of(*n)).map(|c| c.0).collect();
    assert!(short.is_empty(), "too few:\n{}", short.join("\n"));
}

#[test]
fn five_trials_with_little_between_them() {
    must_cover(LONG, &[5], Between::LogNormal(0.03));
}

#[test]
fn ten_trials_with_little_between_them() {
    must_cover(LONG, &[10], Between::LogNormal(0.03));
}

#[test]
fn five_trials_with_much_between_them() {
    must_cover(LONG, &[5], Between::LogNormal(0.20));
}

#[test]
fn ten_trials_with_much_between_them() {
    must_cover(LONG, &[10], Between::LogNormal(0.20));
}

#[test]
fn one_trial_when_there_is_nothing_between_trials() {
    must_cover(LONG, &[1], NONE);
}

#[test]
fn three_trials() {
    must_cover(LONG, &[3], Between::LogNormal(0.03));
}

#[test]
fn short_windows_with_little_between_trials() {
    must_cover(QUICK, &[3, 5, 10], Between::LogNormal(0.03));
}

#[test]
fn short_windows_with_much_between_trials() {
    must_cover(QUICK, &[3, 5, 10], Between::LogNormal(0.20));
}

/// The stated limit of the method. If this fails because coverage has become better, the tables at
/// the top of this file and the crate's documentation promise too little.
#[test]
fn rare_slow_trials_are_not_covered_by_the_few_that_were_seen() {
    let worst = study(LONG, 10, Between::Skewed(0.1))
        .into_iter()
        .flat_map(|(_, counts)| counts.map(Held::share))
        .fold(1.0, f64::min);
    assert!((0.2..0.93).contains(&worst), "{worst}");
}

/// A single trial whose samples come in clusters cannot bound its p99.9: it must say so, and only then.
#[test]
fn clusters_leave_the_interval_open_and_independent_samples_do_not() {
    let open: Vec<u32> = SOURCES
        .into_iter()
        .map(|source| coverage(source, LONG, 1, NONE, 0xd0)[3].open)
        .collect();
    let (clustered, independent) = open.split_last().unwrap();
    println!("p99.9 of one trial without an upper end: {open:?}");
    assert!(*clustered > replicates() / 2);
    assert!(independent.iter().all(|r| *r < replicates() / 3));
}

/// Starts: one sample for each trial, most of them near the best and a few far slower. Order statistics
/// bound their quantiles whatever their distribution, and the p90 of fewer than 36 is refused.
#[test]
fn quantiles_of_one_sample_per_trial_are_covered_whatever_their_distribution() {
    const REPLICATES: u32 = 500;
    let truth = |q: f64| 1e6 * (1.0 - (1.0 - q).ln());
    for (starts, expected) in [(6, 1), (10, 1), (35, 1), (36, 2), (40, 2)] {
        let mut rng = ChaCha8Rng::seed_from_u64(starts);
        let mut held = [0; 2];
        for _ in 0..REPLICATES {
            let start = |_| {
                let time = truth(rng.random::<f64>());
                TrialSamples::from_values(&[vec![time]], 0)
            };
            let data: Vec<_> = (0..starts).map(start).collect();
            let how = Bootstrap {
                resamples: 1,
                ..Bootstrap::default()
            };
            let found = quantiles(&data, &QUANTILES[..2], &how);
            let made = found.iter().filter(|q| q.estimate().is_some());
            assert_eq!(made.count(), expected, "of {starts} starts");
            for (i, e) in found.iter().filter_map(|q| q.estimate()).enumerate() {
                let (lo, hi) = (e.lo.finite().unwrap(), e.hi.finite().unwrap());
                held[i] += u32::from((lo..=hi).contains(&truth(QUANTILES[i])));
            }
        }
        for (i, held) in held.iter().take(expected).enumerate() {
            let share = f64::from(*held) / f64::from(REPLICATES);
            // At least 95 %; three standard errors of so many replicates are 3 %.
            assert!(
                share >= 0.92,
                "{share} of {starts} starts, {}",
                QUANTILES[i]
            );
        }
    }
}
