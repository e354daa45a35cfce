//! The adapter behaves as every adapter must, whatever the kind of its pipes.

use dyno_adapter_pipe::adapter;
use dyno_conformance::conformance_tests;

conformance_tests!(anonymous, adapter, {});
conformance_tests!(named, adapter, { "named" = true });
