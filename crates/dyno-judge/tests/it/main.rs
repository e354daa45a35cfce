//! Judgements over synthetic runs.

mod check;
mod common;
mod compare;
mod nightly;
mod starts;
mod trend;
