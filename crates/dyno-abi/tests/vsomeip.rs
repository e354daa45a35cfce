//! The conformance suite on vsomeip, within a host. Between hosts it needs two of them: the suite's
//! participants have one address.

mod common;

use dyno_adapter::Adapter;

fn adapter() -> Box<dyn Adapter> {
    common::foreign("vsomeip")
}

// As stacks/vsomeip.toml sets it.
dyno_conformance::conformance_tests!(
    tuned,
    adapter,
    { "request_debounce_time" = 0, "buffer_shrink_threshold" = 0 }
);
// As the library comes.
dyno_conformance::conformance_tests!(defaults, adapter, {});

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
