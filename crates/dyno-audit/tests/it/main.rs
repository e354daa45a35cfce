//! Sources held to arithmetic: the five seeds, planted faults, honest tables, importers.

mod beside;
#[path = "../../../dyno-report/tests/it/common/mod.rs"]
mod common;
mod import;
mod planted;
mod published;
mod seeds;
mod simulated;
