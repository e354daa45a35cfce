//! The conformance suite on Cyclone DDS: variable and fixed lengths, both reliabilities.

#[path = "../../crates/dyno-abi/tests/common/mod.rs"]
mod common;

use dyno_adapter::Adapter;

fn adapter() -> Box<dyn Adapter> {
    common::foreign("cyclonedds")
}

dyno_conformance::conformance_tests!(reliable, adapter, {});
dyno_conformance::conformance_tests!(
    arrays,
    adapter,
    { "type" = "array", "delivery" = "queued" }
);
dyno_conformance::conformance_tests!(
    best_effort,
    adapter,
    { "reliable" = false, "history" = 1 },
    best_effort
);
// As the stack `cyclonedds-defaults` has it.
dyno_conformance::conformance_tests!(as_shipped, adapter, { "as_shipped" = true }, best_effort);

/// The version is that of the library that is loaded: three numbers, as its file's name has them.
#[test]
fn the_version_is_that_of_the_loaded_library() {
    let version = adapter().describe().version;
    assert_eq!(version.split('.').count(), 3, "{version}");
    assert!(
        version.split('.').all(|n| n.parse::<u32>().is_ok()),
        "{version}"
    );
}
