//! The adapter behaves as every adapter must, whatever the type of its sockets.

use dyno_adapter_uds::adapter;
use dyno_conformance::conformance_tests;

conformance_tests!(stream, adapter, { "type" = "stream" });
conformance_tests!(dgram, adapter, { "type" = "dgram" });
conformance_tests!(seqpacket, adapter, { "type" = "seqpacket" });
