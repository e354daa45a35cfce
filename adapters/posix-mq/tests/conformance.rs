//! The adapter behaves as every adapter must.

dyno_conformance::conformance_tests!(posix_mq, dyno_adapter_posix_mq::adapter, {});
