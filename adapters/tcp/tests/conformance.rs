//! The adapter behaves as every adapter must.

dyno_conformance::conformance_tests!(tcp, dyno_adapter_tcp::adapter, {});
