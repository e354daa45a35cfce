//! Judgements over synthetic runs.

mod check;
mod common;
mod compare;
mod gaps;
mod imported;
mod nightly;
mod scorecard;
mod search;
mod starts;
mod trend;
