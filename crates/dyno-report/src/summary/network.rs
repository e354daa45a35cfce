//! Counters of a host's kernel in trials that lost messages.

use dyno_model::NetworkCounter;
use serde::Serialize;
use std::collections::BTreeMap;

/// The network of one host over the counted trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "host_network"))]
pub struct NetworkSummary {
    /// The host's name in the testbed.
    pub host: String,
    /// What its kernel counted, all trials together; what did not rise is left out.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "std::collections::BTreeMap<String, u64>")
    )]
    pub counters: BTreeMap<NetworkCounter, u64>,
    /// The smallest receive buffer of a socket that dropped datagrams, in bytes as the kernel charges them;
    /// `None` where none did, or the kernel does not tell.
    pub receive_buffer_bytes: Option<u64>,
    /// The longest that a trial waited for what earlier ones had left.
    pub longest_wait_ns: u64,
}
