//! The adapter `c-skeleton` before the conformance suite.

mod common;

dyno_conformance::conformance_tests!(packets, || common::foreign("c-skeleton"), {});
