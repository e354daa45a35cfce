//! Learns the traffic of recordings and network descriptions, and writes it as a suite of flows.
//!
//! [`read()`] reads one file line by line or packet by packet into a [`Traffic`], which keeps a bounded summary of each topic. Content of
//! messages is never stored. [`Learnt::of`] decides which topics become flows and how they are paced; [`suite()`] writes the suite file
//! and [`explain()`] says what was learnt and what was left out.
//!
//! Bad input is never fatal while something was read: it is counted with its first place ([`Problem`]).

#![warn(clippy::too_many_lines)]

mod explain;
mod format;
mod learnt;
mod pattern;
mod quantity;
mod read;
mod suite;
mod traffic;

pub use explain::explain;
pub use format::{Format, LearnError};
pub use learnt::{FileLearnt, Gaps, Learnt, LearntFlow, LeftOut, MOST_FLOWS, SizesLearnt};
pub use pattern::{Pattern, STEADY};
pub use read::read;
pub use suite::{SuiteOptions, suite};
pub use traffic::{MOST_TOPICS, Place, Problem, Traffic};
