//! Two sides compared: the ratio of a figure that each trial has one of, and what to say of it.
//!
//! The ratio is that of geometric means, because latencies scatter by factors: Student's interval on
//! the differences of logarithms where trials come in pairs, Welch's (Biometrika 34, 1947) where they
//! do not. The trial is the unit, so autocorrelation inside trials does no harm.
//!
//! Where trials jump between levels (two modes), Student's interval excludes 1 up to half again as
//! often as it says, since sums of few jumps are far from normal. There it is united with the interval
//! of ranks (Hodges & Lehmann 1963), which holds for any distribution. Not elsewhere, because that
//! costs power: 13 points of 50 with ten pairs that scatter normally.
//!
//! How often two equal sides are called different is measured in `tests/it/false_alarms.rs`.

use crate::further::{Known, POWER};
use crate::rank;
use crate::small::{Spread, normal, student};
use crate::value::{Estimate, Interval, Latency};

/// See [`in_clumps`].
const LEAST_IN_CLUMPS: usize = 6;
const SHARE_BETWEEN_CLUMPS: f64 = 0.9;

/// How the trials of two sides belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Element `i` of both sides belong together: they ran next to each other, so that what the
    /// machine did met both.
    Paired,
    /// No element of one side belongs to one of the other.
    Independent,
}

/// The ratio new/base of a positive figure per trial, without unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio of the geometric means and its interval.
    pub estimate: Estimate,
    /// Standard error of the ratio's natural logarithm; infinite where a figure was infinite.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
    /// Trials of (new, base) that entered; of pairs, both are their number.
    pub n: (usize, usize),
}

/// What a ratio says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// New is lower than base.
    Lower,
    /// New is higher than base.
    Higher,
    /// They differ by no more than the margin.
    Same,
    /// The interval allows more than one of the others.
    Undecided {
        /// About how many further trials of each side would decide with a chance of [`POWER`](crate::POWER); `None` where that is
        /// unknown or beyond 10,000.
        more: Option<u64>,
    },
}

/// The ratio of `new` to `base`, one positive figure per trial, in the same unit, with an interval of
/// that `confidence` (0.95 for 95 %).
///
/// A figure may be infinite (a quantile that reaches into the lost messages). Then logarithms say
/// nothing, and the interval is everything from 0 to infinity, unless the ranks differ significantly
/// at `1 - confidence`: then it is one side of 1. The ranks are tested with the sign test for pairs,
/// of which those with two infinite figures are left out, and with the exact Mann-Whitney test (Mann
/// & Whitney, Annals of Mathematical Statistics 18, 1947) otherwise. The ratio itself is then that of
/// the medians.
///
/// `None` for fewer than two pairs, or fewer than two figures on a side, or where a figure is not
/// positive. Of pairs, figures beyond the shorter side have no partner and are left out.
pub fn ratio(new: &[f64], base: &[f64], pairing: Pairing, confidence: f64) -> Option<Ratio> {
    let (new, base) = match pairing {
        Pairing::Paired => {
            let pairs = new.len().min(base.len());
            (&new[..pairs], &base[..pairs])
        }
        Pairing::Independent => (new, base),
    };
    let positive = |v: &f64| *v > 0.0;
    if new.len() < 2 || base.len() < 2 || !new.iter().chain(base).all(positive) {
        return None;
    }
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let logs = |values: &[f64]| values.iter().map(|v| v.ln()).collect::<Vec<f64>>();
    let (new_logs, base_logs) = (logs(new), logs(base));
    let differences: Vec<f64> = new_logs
        .iter()
        .zip(&base_logs)
        .map(|(n, b)| n - b)
        .collect();
    let spread = match pairing {
        Pairing::Paired => Spread::of(&differences),
        Pairing::Independent => welch(&new_logs, &base_logs),
    };
    let n = (new.len(), base.len());
    let Some(spread) = spread else {
        return Some(ranked(new, base, pairing, 2.0 * tail));
    };
    let mut interval = Interval::at(spread.mean.exp());
    let (lo, hi) = spread.interval(tail);
    interval.widen((lo.exp(), hi.exp()));
    let ranks = match pairing {
        Pairing::Paired if in_clumps(&differences) => {
            rank::centre_interval(&differences, 2.0 * tail)
        }
        Pairing::Independent if in_clumps(&new_logs) || in_clumps(&base_logs) => {
            rank::shift_interval(&new_logs, &base_logs, 2.0 * tail)
        }
        _ => None,
    };
    if let Some((lo, hi)) = ranks {
        interval.widen((lo.exp(), hi.exp()));
    }
    Some(Ratio {
        estimate: interval.estimate(),
        error: spread.error,
        freedom: spread.freedom,
        n,
    })
}

/// What to say of `ratio`, whose interval has that `confidence`.
///
/// [`Verdict::Same`] where the whole interval lies within `1/(1+margin)` to `1+margin` (two one-sided
/// tests: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987); else
/// [`Verdict::Lower`] or [`Verdict::Higher`] where it excludes 1; else undecided. See
/// [`POWER`](crate::POWER) for the further trials.
pub fn verdict(ratio: &Ratio, margin: f64, confidence: f64) -> Verdict {
    let (lo, hi) = (ratio.estimate.lo.as_f64(), ratio.estimate.hi.as_f64());
    let margin = margin.max(0.0);
    if lo >= 1.0 / (1.0 + margin) && hi <= 1.0 + margin {
        Verdict::Same
    } else if hi < 1.0 {
        Verdict::Lower
    } else if lo > 1.0 {
        Verdict::Higher
    } else {
        Verdict::Undecided {
            more: further_trials(ratio, margin, confidence),
        }
    }
}

/// How far the runs of one build are apart in a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BetweenRuns {
    /// Variance of the natural logarithm of a run's geometric mean, without unit.
    pub variance: f64,
    /// Degrees of freedom of the variance.
    pub freedom: f64,
}

impl BetweenRuns {
    /// Pooled over builds, of each of which `builds` has the logarithm of every run: what builds differ by does not
    /// enter. `None` where no build has two runs.
    pub fn of(builds: &[Vec<f64>]) -> Option<BetweenRuns> {
        let of = |logs: &Vec<f64>| {
            let Spread { error, freedom, .. } = Spread::of(logs)?;
            Some((error.powi(2) * logs.len() as f64 * freedom, freedom))
        };
        let parts: Vec<(f64, f64)> = builds.iter().filter_map(of).collect();
        let freedom: f64 = parts.iter().map(|(_, freedom)| freedom).sum();
        let squares: f64 = parts.iter().map(|(squares, _)| squares).sum();
        (freedom > 0.0).then(|| BetweenRuns {
            variance: squares / freedom,
            freedom,
        })
    }
}

/// The `ratio` of sides that are two runs, with an interval of that `confidence` for what further runs would show: a
/// model of random effects, in which a run has a level of its own. The variances of both sides' runs are added to that
/// of the trials' means, with the least degrees of freedom of the three: Student's interval is then rather too wide
/// (Mickey & Brown, Annals of Mathematical Statistics 37, 1966). Satterthwaite's are too many where a few runs are alike by chance.
///
/// What runs differ by already holds the scatter of their trials, which so enters twice: the interval is rather too
/// wide. It is never narrower than before, and stays as it is where a figure was infinite.
pub fn across_runs(ratio: &Ratio, new: BetweenRuns, base: BetweenRuns, confidence: f64) -> Ratio {
    if !ratio.error.is_finite() {
        return *ratio;
    }
    let (within, between) = (ratio.error.powi(2), new.variance + base.variance);
    let Estimate { value, lo, hi } = ratio.estimate;
    let spread = Spread {
        mean: value.as_f64().ln(),
        error: (within + between).sqrt(),
        freedom: ratio.freedom.min(new.freedom).min(base.freedom),
    };
    let mut interval = Interval::at(value.as_f64());
    interval.widen((lo.as_f64(), hi.as_f64()));
    let (lo, hi) = spread.interval((1.0 - confidence.clamp(0.0, 1.0)) / 2.0);
    interval.widen((lo.exp(), hi.exp()));
    Ratio {
        estimate: interval.estimate(),
        error: spread.error,
        freedom: spread.freedom,
        n: ratio.n,
    }
}

/// The smallest slowdown that a comparison with the scatter of `ratio` calls [`Verdict::Higher`] with a chance of
/// [`POWER`], as a share (0.05 for 5 %). `margin` is that of [`verdict`].
///
/// With `h` half of the interval's width and `m` the margin, both as logarithms, a ratio is called higher from the
/// larger of `h`, where the interval excludes 1, and `m - h`, where it leaves the margin. Both the estimate and `h` scatter, as in
/// the noncentral t distribution, of which this is the approximation by the normal one (Johnson & Welch, Biometrika 31, 1940).
/// The scatter of this ratio stands for the true one; a repetition that does not know it finds such a slowdown in 74 % of
/// cases with 10 trials, and in 69 % with 5.
///
/// `None` below four degrees of freedom, those of five pairs of trials, which hardly tell their scatter, and where an end of the interval is not finite and positive.
pub fn smallest_slowdown(ratio: &Ratio, margin: f64) -> Option<f64> {
    let Ratio { error, freedom, .. } = *ratio;
    if freedom < 4.0 {
        return None;
    }
    let e = &ratio.estimate;
    let [value, lo, hi] = [e.value, e.lo, e.hi].map(|end| end.as_f64().ln());
    let half = (hi - value).max(value - lo);
    // What the half is on average, and how far it scatters beside the estimate.
    let usual = half * (1.0 - 0.25 / freedom);
    let spread = error.hypot(half / (2.0 * freedom).sqrt());
    let line = usual.max(margin.max(0.0).ln_1p() - usual);
    let found = (line + normal(1.0 - POWER) * spread).exp_m1();
    found.is_finite().then_some(found)
}

/// Whether the values of `a` are surely higher than those of `b`: Mann & Whitney's two-sided test refutes at `level`
/// that they are not. Higher values of `a` never make it less sure.
pub fn is_higher(a: &[f64], b: &[f64], level: f64) -> bool {
    let found = rank::mann_whitney(a, b);
    found.first_is_higher && found.value <= level
}

/// Simultaneous confidence over `m` statements: what each must have so that all hold together with
/// `confidence`, `1 - (1 - confidence)/m` (Bonferroni; Dunn, JASA 56, 1961).
pub fn simultaneous(confidence: f64, m: usize) -> f64 {
    1.0 - (1.0 - confidence) / m.max(1) as f64
}

/// The upper end of an interval of that `confidence` as it is where `m` such intervals hold together: its distance from the
/// value, on a logarithmic scale, grows as the normal quantile does.
pub fn simultaneous_end(e: &Estimate, confidence: f64, m: usize) -> f64 {
    let tail = |confidence: f64| normal((1.0 - confidence) / 2.0);
    let (value, hi) = (e.value.as_f64(), e.hi.as_f64());
    let grows = tail(simultaneous(confidence, m)) / tail(confidence);
    if value > 0.0 && hi.is_finite() {
        value * (hi / value).powf(grows)
    } else {
        hi
    }
}

/// Whether values take two or three levels rather than scatter: two gaps make up most of their range.
/// Of fewer than [`LEAST_IN_CLUMPS`] that is no rare thing for any values.
fn in_clumps(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut gaps: Vec<f64> = sorted.windows(2).map(|w| w[1] - w[0]).collect();
    gaps.sort_unstable_by(|a, b| b.total_cmp(a));
    let range: f64 = gaps.iter().sum();
    values.len() >= LEAST_IN_CLUMPS
        && range > 0.0
        && gaps[0] + gaps[1] >= SHARE_BETWEEN_CLUMPS * range
}

/// Welch's difference of two means, with Satterthwaite's degrees of freedom.
fn welch(new: &[f64], base: &[f64]) -> Option<Spread> {
    let (a, b) = (Spread::of(new)?, Spread::of(base)?);
    let (va, vb) = (a.error.powi(2), b.error.powi(2));
    let freedom = if va + vb > 0.0 {
        (va + vb).powi(2) / (va.powi(2) / a.freedom + vb.powi(2) / b.freedom)
    } else {
        a.freedom + b.freedom
    };
    Some(Spread {
        mean: a.mean - b.mean,
        error: (va + vb).sqrt(),
        freedom,
    })
}

/// The ratio of sides with infinite figures, `level` being the chance of a false alarm.
fn ranked(new: &[f64], base: &[f64], pairing: Pairing, level: f64) -> Ratio {
    let p = match pairing {
        Pairing::Paired => rank::sign_test(new, base),
        Pairing::Independent => rank::mann_whitney(new, base),
    };
    let (lo, hi) = if p.value > level {
        (0.0, f64::INFINITY)
    } else if p.first_is_higher {
        (1.0f64.next_up(), f64::INFINITY)
    } else {
        (0.0, 1.0f64.next_down())
    };
    let (a, b) = (rank::median(new), rank::median(base));
    let value = if a == b { 1.0 } else { a / b };
    let freedom = match pairing {
        Pairing::Paired => new.len() - 1,
        Pairing::Independent => new.len() + base.len() - 2,
    };
    Ratio {
        estimate: Estimate {
            value: Latency::from_f64(value.clamp(lo, hi)),
            lo: Latency::from_f64(lo),
            hi: Latency::from_f64(hi),
        },
        error: f64::INFINITY,
        freedom: freedom as f64,
        n: (new.len(), base.len()),
    }
}

fn further_trials(ratio: &Ratio, margin: f64, confidence: f64) -> Option<u64> {
    let value = ratio.estimate.value.as_f64().ln();
    let margin = margin.ln_1p();
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let known = Known {
        n: ratio.n.0.min(ratio.n.1) as f64,
        error: ratio.error,
        freedom: ratio.freedom,
        tail,
    };
    let half = student(tail, ratio.freedom) * ratio.error;
    known.further(|moved, shrunk| {
        let half = half * shrunk;
        let within = |end: f64| moved(end - value) - moved(-end - value);
        let same = margin - half;
        // Every such interval lies within the margin or on one side of 1.
        if same >= half {
            return 1.0;
        }
        1.0 - within(half) + within(same.max(0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    fn ends(r: &Ratio) -> (f64, f64, f64) {
        let e = r.estimate;
        (e.lo.as_f64(), e.value.as_f64(), e.hi.as_f64())
    }

    #[test]
    fn an_end_that_holds_with_others_is_farther_from_the_value() {
        let [value, lo, hi] = [0.9, 0.85, 0.95].map(Latency::Finite);
        let e = Estimate { value, lo, hi };
        assert!((simultaneous_end(&e, 0.95, 1) - 0.95).abs() < 1e-12);
        // z at 99.5 % over z at 95 %: 2.807 / 1.960.
        let ten = 0.9 * (0.95f64 / 0.9).powf(2.807 / 1.960);
        assert!((simultaneous_end(&e, 0.95, 10) - ten).abs() < 1e-4);
    }

    #[test]
    fn pairs_take_out_what_both_sides_share() {
        let base = [100.0, 150.0, 80.0, 120.0, 200.0];
        let new: Vec<f64> = base
            .iter()
            .zip([1.09, 1.11, 1.10, 1.10, 1.10])
            .map(|(b, f)| b * f)
            .collect();
        let paired = ratio(&new, &base, Pairing::Paired, 0.95).unwrap();
        let (lo, value, hi) = ends(&paired);
        assert!(
            1.09 < lo && (value - 1.1).abs() < 1e-3 && hi < 1.11,
            "{paired:?}"
        );
        assert_eq!(verdict(&paired, 0.05, 0.95), Verdict::Higher);
        let apart = ratio(&new, &base, Pairing::Independent, 0.95).unwrap();
        assert!(ends(&apart).0 < 1.0 && ends(&apart).2 > 1.2);
        assert_eq!((paired.freedom, paired.n), (4.0, (5, 5)));
    }

    #[test]
    fn welch_agrees_with_a_worked_example() {
        // exp() of the textbook sample: t = -2.22, 95 % interval and freedom by R's t.test.
        let new: Vec<f64> = [1.0, 2.0, 3.0, 4.0].map(f64::exp).into();
        let base: Vec<f64> = [3.0, 5.0, 6.0, 9.0, 7.0].map(f64::exp).into();
        let r = ratio(&new, &base, Pairing::Independent, 0.95).unwrap();
        // Means 2.5 and 6; variances 5/3 and 5: error sqrt(5/12 + 1).
        assert!((r.error - (5.0f64 / 12.0 + 1.0).sqrt()).abs() < 1e-12);
        let freedom = (5.0f64 / 12.0 + 1.0).powi(2) / ((5.0f64 / 12.0).powi(2) / 3.0 + 0.25);
        assert!((r.freedom - freedom).abs() < 1e-9);
        assert!((ends(&r).1.ln() + 3.5).abs() < 1e-9);
        let half = student(0.025, freedom) * r.error;
        assert!((ends(&r).2.ln() - (half - 3.5)).abs() < 1e-9);
    }

    #[test]
    fn what_builds_differ_by_is_no_scatter_of_runs() {
        let runs = BetweenRuns::of(&[vec![0.0, 0.2], vec![5.0, 5.1, 5.2], vec![9.0]]).unwrap();
        // Squares around each mean: 0.02 and 0.02, of three degrees of freedom.
        assert!((runs.variance - 0.04 / 3.0).abs() < 1e-12);
        assert_eq!(runs.freedom, 3.0);
        assert_eq!(BetweenRuns::of(&[vec![1.0], vec![2.0]]), None);
    }

    #[test]
    fn the_scatter_of_runs_only_widens() {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5];
        let own = ratio(&base, &base, Pairing::Independent, 0.95).unwrap();
        let runs = |variance, freedom| BetweenRuns { variance, freedom };
        let few = runs(0.01, 5.0);
        let wide = across_runs(&own, few, few, 0.95);
        // t at 97.5 % and five degrees of freedom.
        let half = ends(&wide).2.ln();
        assert!((0.36..0.37).contains(&half), "{half}");
        let alike = runs(0.0, 20.0);
        let still = ends(&across_runs(&own, alike, alike, 0.95));
        assert!(still.0 <= ends(&own).0 && still.2 >= ends(&own).2);
        assert!((still.2 - ends(&own).2).abs() < 1e-9);
        let lost = ratio(&[INF; 6], &[1.0; 6], Pairing::Independent, 0.95).unwrap();
        assert_eq!(across_runs(&lost, few, few, 0.95), lost);
    }

    #[test]
    fn figures_without_a_logarithm_are_refused() {
        for bad in [0.0, -1.0, f64::NAN] {
            assert!(ratio(&[1.0, bad], &[1.0, 1.0], Pairing::Paired, 0.95).is_none());
        }
        assert!(ratio(&[1.0], &[1.0, 2.0], Pairing::Independent, 0.95).is_none());
        assert!(ratio(&[1.0, 2.0, 3.0], &[1.0], Pairing::Paired, 0.95).is_none());
    }

    #[test]
    fn one_lost_trial_leaves_everything_open_and_many_decide() {
        let base = [1.0; 5];
        let r = ratio(
            &[1.0, 1.0, INF, 1.0, 1.0],
            &base,
            Pairing::Independent,
            0.95,
        )
        .unwrap();
        assert_eq!(ends(&r), (0.0, 1.0, INF));
        assert_eq!(verdict(&r, 0.05, 0.95), Verdict::Undecided { more: None });
        let r = ratio(&[INF; 5], &base, Pairing::Independent, 0.95).unwrap();
        assert_eq!(verdict(&r, 0.05, 0.95), Verdict::Higher);
        let r = ratio(&base, &[INF; 5], Pairing::Independent, 0.95).unwrap();
        assert_eq!((verdict(&r, 0.05, 0.95), ends(&r).1), (Verdict::Lower, 0.0));
        // Five pairs cannot decide at 95 % (2 / 2^5), six can.
        let r = ratio(&[INF; 5], &base, Pairing::Paired, 0.95).unwrap();
        assert_eq!(verdict(&r, 0.05, 0.95), Verdict::Undecided { more: None });
        let r = ratio(&[INF; 6], &[1.0; 6], Pairing::Paired, 0.95).unwrap();
        assert_eq!(verdict(&r, 0.05, 0.95), Verdict::Higher);
        let both = ratio(&[INF; 6], &[INF; 6], Pairing::Paired, 0.95).unwrap();
        assert_eq!(ends(&both), (0.0, 1.0, INF));
    }

    #[test]
    fn equal_sides_with_little_scatter_are_the_same() {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5];
        let r = ratio(&base, &base, Pairing::Independent, 0.95).unwrap();
        assert_eq!(verdict(&r, 0.05, 0.95), Verdict::Same);
        assert!(matches!(
            verdict(&r, 0.005, 0.95),
            Verdict::Undecided { .. }
        ));
    }

    #[test]
    fn a_comparison_with_much_scatter_takes_many_trials() {
        let r = ratio(
            &[1.0, 100.0, 1.01],
            &[1.0, 0.01, 100.0],
            Pairing::Independent,
            0.95,
        )
        .unwrap();
        assert!(matches!(verdict(&r, 0.0, 0.95), Verdict::Undecided { .. }));
        let level = ratio(
            &[1.0, 9.0, 1.0, 9.0],
            &[9.0, 1.0, 9.0, 1.0],
            Pairing::Paired,
            0.95,
        )
        .unwrap();
        // The truth is hardly where the ratio is by chance: at 1.
        let Verdict::Undecided { more: Some(more) } = verdict(&level, 0.001, 0.95) else {
            panic!("{level:?}");
        };
        assert!(more > 100, "{more}");
    }

    #[test]
    fn the_smallest_slowdown_lies_beyond_the_interval_and_beyond_the_margin() {
        let base = [100.0, 150.0, 80.0, 120.0, 200.0];
        let factors = [0.98, 1.02, 1.0, 0.99, 1.01];
        let new: Vec<f64> = base.iter().zip(factors).map(|(b, f)| b * f).collect();
        let r = ratio(&new, &base, Pairing::Paired, 0.95).unwrap();
        // Printed tables: 2.776 of Student's t with 4 degrees of freedom, of which 15/16 on average, and 0.8416 of the normal
        // distribution, times the square root of 1 + 2.776²/8.
        let (half, power) = (2.776 * 15.0 / 16.0, 0.8416 * 1.4012);
        let alone = ((half + power) * r.error).exp_m1();
        assert!((smallest_slowdown(&r, 0.0).unwrap() - alone).abs() < 1e-4);
        let beyond = (1.2f64.ln() - half * r.error + power * r.error).exp_m1();
        assert!((smallest_slowdown(&r, 0.2).unwrap() - beyond).abs() < 1e-4);
        let lost = ratio(&[1.0, INF], &[1.0; 2], Pairing::Paired, 0.95).unwrap();
        assert_eq!(smallest_slowdown(&lost, 0.05), None);
    }

    #[test]
    fn many_statements_take_more_confidence_each() {
        assert!((simultaneous(0.95, 6) - (1.0 - 0.05 / 6.0)).abs() < 1e-12);
        assert_eq!(simultaneous(0.95, 0), simultaneous(0.95, 1));
    }
}
