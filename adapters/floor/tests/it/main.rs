//! The adapter `floor` beyond the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod exchange;
mod support;
mod trouble;
