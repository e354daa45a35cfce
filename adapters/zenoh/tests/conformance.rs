//! The suite that every adapter passes, over each link, behind the C ABI as Dyno uses it.

use dyno_adapter::Adapter;

fn adapter() -> Box<dyn Adapter> {
    Box::new(dyno_abi::through(dyno_adapter_zenoh::dyno_adapter).unwrap_or_else(|e| panic!("{e}")))
}

dyno_conformance::conformance_tests!(tcp, adapter, {});
dyno_conformance::conformance_tests!(tcp_drop, adapter, { "congestion" = "drop" }, best_effort);
dyno_conformance::conformance_tests!(udp, adapter, { "link" = "udp" }, best_effort);
