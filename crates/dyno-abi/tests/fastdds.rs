//! The adapter `fastdds` before the conformance suite.

mod common;

dyno_conformance::conformance_tests!(udp, || common::foreign("fastdds"), {});
// As the stack `fastdds-best-effort` has it.
dyno_conformance::conformance_tests!(
    udp_best_effort, || common::foreign("fastdds"), { "reliable" = false, "history" = 1 }, best_effort
);
dyno_conformance::conformance_tests!(
    udp_array_async,
    || common::foreign("fastdds"),
    { "type" = "array", "publish" = "async", "durability" = "transient-local" }
);
dyno_conformance::conformance_tests!(shm, || common::foreign("fastdds"), { "transport" = "shm" });
dyno_conformance::conformance_tests!(data_sharing, || common::foreign("fastdds"), {
    "transport" = "data-sharing"
});
