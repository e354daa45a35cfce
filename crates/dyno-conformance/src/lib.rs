//! What every adapter must do, and an adapter that does it wrong on purpose.
//!
//! - Each [`Case`] of the conformance suite is one behaviour. [`play`] plays it for `dyno conformance`;
//!   [`conformance_tests!`] makes each a `#[test]` of its own for one adapter and one set of options.
//! - [`faulty`] wraps another adapter and lies about it: it drops, repeats, reorders, corrupts,
//!   shortens and delays messages, opens slowly, hangs, fails and crashes, where it is told to.
//!   What an instrument does not notice when `faulty` does it, it does not measure.

#![warn(clippy::too_many_lines)]

pub mod faulty;
pub mod suite;

pub use suite::{
    Case, IntoOption, Subject, Surroundings, Verdict, is_child, play, run, run_child, run_within,
};
