//! The adapter behaves as every adapter must.

dyno_conformance::conformance_tests!(floor, dyno_adapter_floor::adapter, {});
