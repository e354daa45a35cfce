//! The adapter driven as the agent drives it: what the conformance suite does not ask.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod common;
mod processes;
mod router;
mod sessions;
