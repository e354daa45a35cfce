//! The adapter for vsomeip keeps the contract of adapters, within a host.

mod common;

use common::foreign;
use dyno_conformance::conformance_tests;

// As `stacks/vsomeip.toml` sets it.
conformance_tests!(local, || foreign("vsomeip"), {
    "transport" = "local",
    "request_debounce_time" = 0,
});
// As shipped.
conformance_tests!(defaults, || foreign("vsomeip"), {});
