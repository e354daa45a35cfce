//! Judgements over synthetic runs.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod check;
mod common;
mod compare;
mod conditions;
mod first_message;
mod gaps;
mod imported;
mod law;
mod mistakes;
mod nightly;
mod outages;
mod scorecard;
mod search;
mod starts;
mod trend;
