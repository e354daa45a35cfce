//! The adapter `datagram` passes the conformance suite behind the C ABI, as Dyno loads it.

mod datagram;

use dyno_adapter::Adapter;

fn adapter() -> Box<dyn Adapter> {
    Box::new(dyno_abi::through(datagram::dyno_adapter).unwrap_or_else(|e| panic!("{e}")))
}

dyno_conformance::conformance_tests!(unix, adapter, {});
