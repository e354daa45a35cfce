//! The adapter behaves as every adapter must.

dyno_conformance::conformance_tests!(udp, dyno_adapter_udp::adapter, {});
dyno_conformance::conformance_tests!(block, dyno_adapter_udp::adapter, { "congestion" = "block" });
