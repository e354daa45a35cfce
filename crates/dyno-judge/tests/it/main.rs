//! Judgements over synthetic runs.

mod check;
mod common;
mod compare;
mod gaps;
mod imported;
mod nightly;
mod scorecard;
mod starts;
mod trend;
