//! Judgements over synthetic runs.

mod check;
mod common;
mod compare;
mod starts;
mod trend;
