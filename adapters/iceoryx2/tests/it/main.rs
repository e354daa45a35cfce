//! The adapter driven as the agent drives it.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod common;
mod exchange;
mod processes;
