//! The suite and the `faulty` adapter, tested with an adapter that lives in memory.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod faulty;
mod memory;
mod suite;
