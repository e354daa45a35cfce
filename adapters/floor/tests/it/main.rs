//! The adapter `floor` beyond the conformance suite.

mod exchange;
mod support;
mod trouble;
