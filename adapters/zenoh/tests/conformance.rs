//! The suite that every adapter passes, over each link.

use dyno_adapter_zenoh::adapter;

dyno_conformance::conformance_tests!(tcp, adapter, {});
dyno_conformance::conformance_tests!(tcp_drop, adapter, { "congestion" = "drop" }, best_effort);
dyno_conformance::conformance_tests!(udp, adapter, { "link" = "udp" }, best_effort);
