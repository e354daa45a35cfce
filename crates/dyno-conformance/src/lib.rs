//! What every adapter must do, and an adapter that does it wrong on purpose.
//!
//! - [`conformance_tests!`] instantiates the conformance suite for one adapter and one set of
//!   options: each [`Case`] becomes a `#[test]` of its own.
//! - [`faulty`] wraps another adapter and lies about it: it drops, repeats, reorders, corrupts,
//!   shortens and delays messages, opens slowly, hangs, fails and crashes, where it is told to.
//!   What an instrument does not notice when `faulty` does it, it does not measure.

pub mod faulty;
pub mod suite;

pub use suite::{Case, IntoOption, Subject, run, run_child};
