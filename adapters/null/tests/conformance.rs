//! The adapter behaves as every adapter must.

dyno_conformance::conformance_tests!(null, dyno_adapter_null::adapter, {});
