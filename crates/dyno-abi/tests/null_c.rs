//! The adapter `null-c` before the conformance suite.

mod common;

dyno_conformance::conformance_tests!(slot, || common::foreign("null-c"), {});
