//! Each format read back by a tool that it is for, and its figures held against `dyno show --format json`.
//! The tools are Python's; `python.rs` says what happens where they are missing.

#[path = "../../../dyno-report/tests/it/common/mod.rs"]
mod common;
mod gbench;
mod hdr;
mod hostile;
mod imported;
mod junit;
mod machines;
mod openmetrics;
#[cfg(feature = "parquet")]
mod parquet;
mod python;
mod runs;
