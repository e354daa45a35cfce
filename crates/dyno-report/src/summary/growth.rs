//! How the figures of idle participants change with their number.

use super::spread::Spread;
use dyno_model::{Experiment, ExperimentId, TrialFigure};
use dyno_stats::{Course, Growth, NoGrowth, Ranged};

/// Dyno extrapolates up to so many times the largest number of participants that was measured.
pub const EXTRAPOLATED: u64 = 8;

/// Idle experiments that differ in their number of participants only.
#[derive(Debug, Clone, PartialEq)]
pub struct GrowthSummary {
    /// The experiments, by ascending number of participants.
    pub experiments: Vec<ExperimentId>,
    /// Those with the fewest and with the most participants, for the factors that all have in common.
    pub ends: [Experiment; 2],
    /// The number of participants of each.
    pub participants: Vec<u64>,
    /// Numbers of participants of which trials failed or are missing.
    pub lacking: Vec<Lacking>,
    /// One element for each figure that is known of any trial.
    pub figures: Vec<FigureGrowth>,
}

/// Trials that failed or are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    /// Participants of these trials.
    pub participants: u64,
    /// How many trials failed or are missing.
    pub trials: usize,
    /// How many there should be.
    pub of: usize,
}

/// A figure of all participants together, over their number.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureGrowth {
    /// Which.
    pub figure: TrialFigure,
    /// The trials that count, by ascending number of participants.
    pub at: Vec<(u64, Spread)>,
    /// The fit through all of these trials, or why there is none.
    pub fit: Result<Growth, NoFit>,
}

/// Why a figure has no fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoFit {
    /// No trial with that many participants was completed.
    NoTrial {
        /// Participants.
        n: u64,
    },
    /// The figure is unknown in a trial with that many participants.
    Unknown {
        /// Participants.
        n: u64,
    },
    /// Trials failed or are missing: those that are left would be another stack's.
    Lacking(Lacking),
    /// The host disturbed every trial with that many participants.
    Disturbed {
        /// Participants.
        n: u64,
    },
    /// The figures do not bear one.
    Data(NoGrowth),
}

/// The number of participants at which a figure reaches a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// The number with the ends of its interval.
    pub n: Ranged,
    /// The largest number that was measured.
    pub measured: u64,
}

impl Reach {
    /// The largest number of participants that anything is said of.
    pub const fn limit(&self) -> u64 {
        EXTRAPOLATED * self.measured
    }

    /// A number of participants, or [`None`] where it is beyond the limit.
    pub fn within(&self, n: f64) -> Option<u64> {
        (n.ceil() <= self.limit() as f64).then_some(n.ceil() as u64)
    }
}

impl GrowthSummary {
    /// The smallest and the largest number of participants.
    pub fn range(&self) -> (u64, u64) {
        let all = self.participants.iter().copied();
        (all.clone().min().unwrap_or(0), all.max().unwrap_or(0))
    }
}

impl FigureGrowth {
    /// Where all participants together keep one CPU busy; [`None`] for other figures, and without a growth.
    pub fn fills_one_cpu(&self) -> Option<Reach> {
        let fit = self.fit.as_ref().ok()?;
        let is_cpu = self.figure == TrialFigure::BusyCpus;
        Some(Reach {
            n: fit.reaches(1.0).filter(|_| is_cpu)?,
            measured: fit.range.1 as u64,
        })
    }

    /// The figure at the largest number of participants that Dyno extrapolates to; [`None`] without a growth.
    pub fn farthest(&self) -> Option<(u64, Ranged)> {
        let fit = self.fit.as_ref().ok()?;
        let n = EXTRAPOLATED * fit.range.1 as u64;
        Some((n, fit.at(n as f64)?))
    }

    /// Whether a growth, a fall or its absence was found.
    pub fn is_decided(&self) -> bool {
        let fit = self.fit.as_ref();
        fit.is_ok_and(|fit| !matches!(fit.course, Course::Undecided(_)))
    }
}
