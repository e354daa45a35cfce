//! Judgements over synthetic runs.

mod check;
mod common;
mod compare;
mod gaps;
mod nightly;
mod scorecard;
mod starts;
mod trend;
