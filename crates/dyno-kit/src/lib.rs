//! What tests and chores of several crates share: made-up runs, one record with all that a run directory holds, damage
//! as strangers do it, and programs that read exports back. It panics where a test should fail.

#![warn(clippy::too_many_lines)]
#![allow(
    clippy::unwrap_used,
    reason = "tests may unwrap, and no other code uses this"
)]

#[cfg(feature = "runs")]
pub mod befall;
pub mod damage;
#[cfg(feature = "runs")]
pub mod example;
pub mod published;
pub mod python;
#[cfg(feature = "runs")]
pub mod runs;
