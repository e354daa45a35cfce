//! The run directory from outside: written, damaged, read, resumed, out of space, and old.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod follow;
mod full_disk;
mod golden;
mod merge;
mod run_directory;
mod shown;
mod strangers;
mod tally;
