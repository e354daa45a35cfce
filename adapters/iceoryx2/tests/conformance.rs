//! The suite that every adapter passes.

use dyno_adapter_iceoryx2::adapter;

dyno_conformance::conformance_tests!(reliable, adapter, {});
dyno_conformance::conformance_tests!(
    overflowing,
    adapter,
    { "safe_overflow" = true },
    best_effort
);
