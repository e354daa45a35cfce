//! Pure statistics over trials: data in, data out; no I/O, no clock, no hidden randomness.
//!
//! The **trial is the unit of replication** (Kalibera & Jones, "Rigorous Benchmarking in Reasonable
//! Time", ISMM 2013). Samples of one trial share its process layout, its CPU frequency and its luck,
//! so pooling them as if they were independent gives intervals that are far too narrow. Hence:
//!
//! - [`quantiles`]: the estimate pools the samples of all trials, each of which weighs the same, lost messages
//!   included as infinitely late; the interval resamples trials, and blocks of time within them, and is widened
//!   by a t-interval over the trials' own quantiles, because three to five trials are too few for a
//!   bootstrap alone. A quantile that the samples cannot bear is refused with the number they lack, and one
//!   whose interval is wider than a factor of ten with the trials that it would take.
//! - [`quantile_ratio`]: how many times the floor; both sides are resampled independently.
//! - [`extent`]: counts and bounds, the other columns of a table; [`log_bins`]: the shape of a distribution.
//! - [`fit_line`]: the scaling factor S of time over payload size.
//! - [`growth()`]: how a figure changes with the number of participants.
//! - [`stability()`]: whether a repeat of the run would show the same; [`within()`]: how precise an
//!   estimate is, for whoever decides to go on.
//! - [`Mean`]: a figure that each trial has one of and that may be below zero.
//! - [`ratio`], [`verdict`], [`simultaneous`]: two sides compared, and what to say of it.
//! - [`smallest_slowdown`]: the difference that such a comparison would have found.
//! - [`further_trials`]: how many more would decide whether a figure keeps a limit.
//! - [`slice_quantiles`]: two sides that took turns within a trial.
//! - [`SteadyTest`], [`change_points`]: the end of a warm-up, and the changes in a history.
//! - [`Usual`], [`Expectation`], [`chance_of_hits`]: whether one more night is as the nights before it.
//! - [`drift()`], [`modes()`], [`separation()`]: what moves or jumps inside the windows, and what goes
//!   with it.
//! - [`backlog_growth`]: whether an open loop is offered more than goes through.
//! - [`carry_over()`]: whether what ran before a trial changes what it shows.
//! - [`HostGaps`], [`explained`]: the part of a tail that is the machine's own.
//!
//! All functions are deterministic: equal data and equal [`Bootstrap::seed`] give equal results.
//!
//! # How well the intervals cover
//!
//! `tests/it/coverage.rs` draws trials from known sources, each trial with a factor of its own, and
//! counts how often the 95 % interval holds the true quantile of all trials that could have been:
//! in at least 94 % of 1,000 replicates for p50, p90, p99 and p99.9, with 3, 5 and 10 trials. The
//! method was chosen by that simulation; its table, and the limit of the method, stand at the top of
//! that file. `tests/it/false_alarms.rs` counts how often two equal sides are called different, also
//! where the runs stopped on precision.

#![warn(clippy::too_many_lines)]

mod backlog;
mod bins;
mod bootstrap;
mod carry_over;
mod cells;
mod change;
mod compare;
mod decode;
mod drift;
mod expect;
mod fit;
mod further;
mod growth;
mod host;
mod mean;
mod modes;
mod pool;
mod population;
mod precision;
mod quantile;
mod rank;
mod running;
mod samples;
mod separation;
mod slices;
mod small;
mod stability;
mod value;
mod values;

pub use backlog::{SecondHalf, backlog_growth};
pub use bins::{LogBins, log_bins};
pub use bootstrap::Bootstrap;
pub use carry_over::{CarryOver, Finding, Memory, OrderedTrial, carry_over};
pub use change::{ChangeOptions, ChangePoint, SteadyTest, change_points};
pub use compare::{
    BetweenRuns, Pairing, Ratio, Verdict, across_runs, is_higher, ratio, simultaneous,
    simultaneous_end, smallest_slowdown, verdict,
};
pub use drift::{Drift, drift};
pub use expect::{Expectation, Usual, chance_of_hits, most_marked};
pub use fit::{Fit, fit_line};
pub use further::{POWER, further_trials};
pub use growth::{Course, Doubt, Growth, Law, NoGrowth, Ranged, growth};
pub use host::{Begins, HostGaps, explained};
pub use mean::Mean;
pub use modes::{Modes, modes};
pub use precision::within;
pub use quantile::{
    Quantile, RatioSide, WIDEST, is_wide, needed, quantile, quantile_ratio, quantiles,
    quantiles_and_numerator, trial_quantiles,
};
pub use running::Running;
pub use samples::{Extent, SampleError, TrialSamples, extent, histograms, whole_histogram};
pub use separation::{Separation, separation};
pub use slices::slice_quantiles;
pub use stability::{Instability, Stability, TOLERANCE, stability};
pub use value::{Estimate, Latency};
