//! Plans that suites, stacks and testbeds make together, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

#[macro_use]
mod common;

mod against;
mod builtin;
mod chains;
mod daemons;
mod expansion;
mod faults;
mod flows;
mod made_up;
mod parallel;
mod presets;
mod probes;
mod refusals;
mod remote;
mod search;
mod shards;
mod studies;
mod testbeds;
