//! The server over real connections: what it shows, what it refuses, and what it follows.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod follow;
mod place;
mod refuse;
mod show;
mod slow;
