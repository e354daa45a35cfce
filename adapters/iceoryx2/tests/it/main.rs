//! The adapter driven as the agent drives it.

mod common;
mod exchange;
mod processes;
