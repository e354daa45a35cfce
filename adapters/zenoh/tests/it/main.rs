//! The adapter driven as the agent drives it: what the conformance suite does not ask.

mod common;
mod processes;
mod router;
mod sessions;
