//! The adapter `c-skeleton` before the conformance suite.

mod common;

dyno_conformance::conformance_tests!(unix, || common::foreign("c-skeleton"), {});
dyno_conformance::conformance_tests!(
    tcp,
    || common::foreign("c-skeleton"),
    { "transport" = "tcp", "send_buffer_kib" = 64 }
);
