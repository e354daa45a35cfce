//! The network counters of a host's kernel during a trial, and leftovers of earlier traffic.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

macro_rules! counters {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal, $unit:literal, $fate:literal;)+) => {
        /// A kernel counter of packets that were dropped, repeated or not reassembled.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum NetworkCounter {
            $($(#[$doc])+ #[serde(rename = $name)] $variant),+
        }

        impl NetworkCounter {
            /// The name in files and in JSON.
            pub const fn as_str(self) -> &'static str {
                match self { $(NetworkCounter::$variant => $name),+ }
            }
            /// What is counted, in the plural.
            pub const fn unit(self) -> &'static str {
                match self { $(NetworkCounter::$variant => $unit),+ }
            }
            /// What became of what is counted: the rest of a sentence that begins with their number.
            pub const fn fate(self) -> &'static str {
                match self { $(NetworkCounter::$variant => $fate),+ }
            }
        }
    };
}

counters! {
    /// Datagrams that a socket's receive buffer had no room for.
    ReceiveBufferErrors = "receive_buffer_errors", "datagrams", "found a full receive buffer";
    /// Datagrams that were dropped for want of memory for sockets (`net.ipv4.udp_mem`).
    SocketMemoryErrors = "socket_memory_errors", "datagrams", "found no memory for sockets (net.ipv4.udp_mem)";
    /// Datagrams that a socket's send buffer had no room for.
    SendBufferErrors = "send_buffer_errors", "datagrams", "found a full send buffer";
    /// Fragments whose packet could not be put together.
    ReassemblyFailures = "reassembly_failures", "IP fragments", "could not be reassembled into a datagram";
    /// Packets that were given up because fragments were missing for too long.
    ReassemblyTimeouts = "reassembly_timeouts", "datagrams", "were dropped because fragments were missing";
    /// Frames that the queue in front of the host's own link dropped.
    UplinkDrops = "uplink_drops", "frames", "were dropped by the queue in front of its own link";
    /// Frames that the switch's queue in front of the link to the host dropped.
    DownlinkDrops = "downlink_drops", "frames", "were dropped by the switch's queue in front of the link to it";
    /// Frames that a device of the host dropped.
    DeviceDrops = "device_drops", "frames", "were dropped by its network devices";
    /// Packets that the machine's CPUs had no room for in their backlog.
    BacklogDrops = "backlog_drops", "packets", "found a full backlog of a CPU of the machine (net.core.netdev_max_backlog)";
    /// Packets that IP discarded on their way out or in, for want of room.
    IpDiscards = "ip_discards", "packets", "were discarded by IP because there was no room";
    /// Datagrams that nobody listened for.
    NoPort = "no_port", "datagrams", "found no listening socket";
    /// Datagrams with a wrong checksum.
    ChecksumErrors = "checksum_errors", "datagrams", "had a wrong checksum";
    /// Segments that TCP sent again.
    TcpRetransmits = "tcp_retransmits", "segments", "were sent again by TCP";
    /// Segments that TCP dropped because a socket had no room.
    TcpDrops = "tcp_drops", "segments", "were dropped by TCP because there was no room";
}

impl NetworkCounter {
    /// That it counted `n`: "1 frame was dropped by …".
    pub fn sentence(self, n: u64) -> String {
        let (unit, fate) = (self.unit(), self.fate());
        if n != 1 {
            return format!("{n} {unit} {fate}");
        }
        let unit = unit.strip_suffix('s').unwrap_or(unit);
        match fate.strip_prefix("were ") {
            Some(rest) => format!("1 {unit} was {rest}"),
            None => format!("1 {unit} {fate}"),
        }
    }

    /// Every counter, those first that say most of a loss.
    pub const ALL: &'static [NetworkCounter] = &[
        NetworkCounter::ReceiveBufferErrors,
        NetworkCounter::SocketMemoryErrors,
        NetworkCounter::UplinkDrops,
        NetworkCounter::DownlinkDrops,
        NetworkCounter::BacklogDrops,
        NetworkCounter::DeviceDrops,
        NetworkCounter::ReassemblyFailures,
        NetworkCounter::ReassemblyTimeouts,
        NetworkCounter::IpDiscards,
        NetworkCounter::SendBufferErrors,
        NetworkCounter::NoPort,
        NetworkCounter::ChecksumErrors,
        NetworkCounter::TcpDrops,
        NetworkCounter::TcpRetransmits,
    ];

    /// Whether what is counted may be a message that never arrives. TCP sends again what it drops.
    pub const fn loses_messages(self) -> bool {
        !matches!(
            self,
            NetworkCounter::TcpRetransmits | NetworkCounter::TcpDrops
        )
    }
    /// Whether all hosts of one machine have the same count.
    pub const fn is_of_the_machine(self) -> bool {
        matches!(self, NetworkCounter::BacklogDrops)
    }
}

/// The leftovers in a host's network at an instant, which may affect the next measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetworkState {
    /// Memory taken by fragments of packets that are not complete, in bytes.
    pub fragment_bytes: u64,
    /// What they may take at most (`net.ipv4.ipfrag_high_thresh`); beyond it every further fragment is
    /// dropped. 0 where the kernel does not say.
    pub fragment_limit: u64,
    /// How long the kernel keeps such fragments (`net.ipv4.ipfrag_time`).
    pub fragment_time: Nanos,
    /// TCP connections in TIME_WAIT.
    pub time_wait: u64,
    /// Ports that outgoing connections may have (`net.ipv4.ip_local_port_range`).
    pub ports: u64,
    /// Bytes that wait in front of links.
    pub queued_bytes: u64,
    /// Other hosts of the testbed whose hardware address could not be found out.
    pub lost_neighbours: u64,
}

/// A socket of the trial that dropped datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FullSocket {
    /// Its port.
    pub port: u16,
    /// Its receive buffer in bytes, as the kernel charges them.
    pub receive_buffer: u64,
    /// Datagrams that it dropped.
    pub dropped: u64,
}

/// The network of one host in one trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostNetwork {
    /// The host's name in the testbed.
    pub host: String,
    /// It was made for this trial, so that nothing of an earlier one can be in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// What it held when the trial began.
    pub before: NetworkState,
    /// How long the trial waited for it to become clean.
    #[serde(default)]
    pub waited: Nanos,
    /// What was counted from then until everything had arrived or the drain had ended; what did not
    /// rise is left out.
    #[serde(default)]
    pub counters: BTreeMap<NetworkCounter, u64>,
    /// The sockets of the trial that dropped datagrams, where the kernel tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<FullSocket>,
}

impl HostNetwork {
    /// How often it was counted.
    pub fn count(&self, counter: NetworkCounter) -> u64 {
        self.counters.get(&counter).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_told_in_the_singular() {
        for (counter, n, text) in [
            (NetworkCounter::ReceiveBufferErrors, 1, "1 datagram found "),
            (NetworkCounter::ReceiveBufferErrors, 2, "2 datagrams found "),
            (NetworkCounter::UplinkDrops, 1, "1 frame was dropped by "),
            (NetworkCounter::UplinkDrops, 2, "2 frames were dropped by "),
        ] {
            let sentence = counter.sentence(n);
            assert!(sentence.starts_with(text), "{sentence}");
        }
    }

    #[test]
    fn every_counter_is_in_the_list_and_has_its_name_in_files() {
        for counter in NetworkCounter::ALL {
            let written = serde_json::to_string(counter).unwrap();
            assert_eq!(written, format!("\"{}\"", counter.as_str()));
        }
        // The list is complete: each variant has a place of its own in it.
        let all: std::collections::BTreeSet<_> = NetworkCounter::ALL.iter().collect();
        assert_eq!(all.len(), NetworkCounter::TcpDrops as usize + 1);
        assert_eq!(all.len(), NetworkCounter::ALL.len());
    }
}
