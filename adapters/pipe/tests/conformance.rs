//! The adapter behaves as every adapter must.

dyno_conformance::conformance_tests!(pipe, dyno_adapter_pipe::adapter, {});
