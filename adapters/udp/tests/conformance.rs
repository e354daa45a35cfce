//! The adapter behaves as every adapter must.

dyno_conformance::conformance_tests!(udp, dyno_adapter_udp::adapter, {});
