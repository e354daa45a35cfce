//! Judgements over stored runs: which of two is faster, whether limits are kept, when a series changed.
//!
//! Each function takes runs as they were read and returns data; `render` of what it returns turns that
//! into text. None of them says more than the trials bear: what cannot be told is `undecided`, with
//! how many trials more it would take.
//!
//! - [`compare`], [`compare_with_history`], [`compare_within`]: ratios with simultaneous intervals, and verdicts in
//!   words.
//! - [`check`]: requirements from a file ([`Limits`]) against the bad end of each interval.
//! - [`requirements`]: the same of a study's own, for its table.
//! - [`CapacitySearch`]: the highest value of a factor that surely keeps such limits, over fresh trials.
//! - [`Nights`]: the newest run against what the runs before it have shown of its machine.
//! - [`trend`], [`History`]: changes of level over many runs, and what changed with them.
//! - [`ImportSheet`], [`compare_imported`], [`check_imported`]: the output of other tools, of which nothing is judged.
//!
//! All of them compare a figure with a line by one comparison of four outcomes, [`Standing`].
//!
//! The trial is the unit of all of it; which trials count is decided by
//! [`dyno_report::counted_trials`] alone.

#![warn(clippy::too_many_lines)]

mod book;
mod cell;
mod check;
mod compare;
mod difference;
mod export;
mod figure;
mod imported;
mod nightly;
mod number;
mod origin;
mod page;
mod reading;
mod search;
mod standing;
mod trend;

pub use book::{HistoryRun, Machine};
pub use check::{
    Bound, Candidate, CheckOptions, CheckReport, Checked, Limit, Limits, LimitsError, Measure,
    Score, Scorecard, Status, check, junit_of_error, parse_quantile, parse_share, requirements,
};
pub use compare::{
    CompareHistory, CompareOptions, Compared, ComparedCell, Comparison, Finding, Headline, LeftOut,
    MovedFloor, Row, Side, apart, compare, compare_with_history, compare_within,
};
pub use difference::{Aspect, Difference};
pub use dyno_toml::Problem;
pub use export::FORMAT;
pub use figure::{Figure, rank};
pub use imported::{
    HeldImport, ImportCheck, ImportComparison, ImportPair, ImportSheet, check_imported,
    compare_imported,
};
pub use nightly::{Night, Nightly, NightlyOptions, Nights, OtherRuns};
pub use search::{Capacities, Capacity, CapacitySearch, End, Rung, Tested, capacities};
pub use standing::{Found, Standing};
pub use trend::{Change, History, Series, Trend, TrendOptions, trend};
