//! The conformance suite on gRPC: client streams and unary calls.

mod common;

use dyno_adapter::Adapter;

fn adapter() -> Box<dyn Adapter> {
    common::foreign("grpc")
}

dyno_conformance::conformance_tests!(stream, adapter, { "method" = "stream" });
dyno_conformance::conformance_tests!(unary, adapter, { "method" = "unary" });
