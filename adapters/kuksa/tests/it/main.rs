//! The adapter over the stand-in of the databroker: what the cases of conformance, which play whole stacks, do not reach.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod bad_input;
mod common;
mod values;
