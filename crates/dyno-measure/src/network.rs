//! What the kernel counts and holds of a network: that of the calling thread, which may be in a network
//! namespace of its own.
//!
//! Nothing of this is read while messages are measured: a trial takes one [`NetworkReading`] before its
//! participants exist and one after its drain.

mod netlink;

use crate::procfile;
use dyno_model::cause::Residue;
use dyno_model::{FullSocket, Nanos, NetworkCounter, NetworkState};
pub use netlink::Queue;
use netlink::Socket;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The network of the calling thread. `/proc/net` is that of the process's first thread.
const NET: &str = "/proc/thread-self/net";

/// Where a counter stands: in a file of [`NET`] that has a line of names and a line of values for each
/// protocol (proc(5)), or one line for each value (`snmp6`, with an empty protocol).
#[rustfmt::skip]
const FILES: &[(NetworkCounter, &str, &str, &str)] = &[
    (NetworkCounter::ReceiveBufferErrors, "snmp", "Udp", "RcvbufErrors"),
    (NetworkCounter::ReceiveBufferErrors, "snmp6", "", "Udp6RcvbufErrors"),
    (NetworkCounter::SocketMemoryErrors, "snmp", "Udp", "MemErrors"),
    (NetworkCounter::SocketMemoryErrors, "snmp6", "", "Udp6MemErrors"),
    (NetworkCounter::SendBufferErrors, "snmp", "Udp", "SndbufErrors"),
    (NetworkCounter::SendBufferErrors, "snmp6", "", "Udp6SndbufErrors"),
    (NetworkCounter::ChecksumErrors, "snmp", "Udp", "InCsumErrors"),
    (NetworkCounter::NoPort, "snmp", "Udp", "NoPorts"),
    (NetworkCounter::ReassemblyFailures, "snmp", "Ip", "ReasmFails"),
    (NetworkCounter::ReassemblyFailures, "snmp6", "", "Ip6ReasmFails"),
    (NetworkCounter::ReassemblyTimeouts, "snmp", "Ip", "ReasmTimeout"),
    (NetworkCounter::ReassemblyTimeouts, "snmp6", "", "Ip6ReasmTimeout"),
    (NetworkCounter::IpDiscards, "snmp", "Ip", "InDiscards"),
    (NetworkCounter::IpDiscards, "snmp", "Ip", "OutDiscards"),
    (NetworkCounter::TcpRetransmits, "snmp", "Tcp", "RetransSegs"),
    (NetworkCounter::TcpDrops, "netstat", "TcpExt", "TCPBacklogDrop"),
    (NetworkCounter::TcpDrops, "netstat", "TcpExt", "TCPRcvQDrop"),
    (NetworkCounter::TcpDrops, "netstat", "TcpExt", "TCPOFODrop"),
];

/// Counters since the network exists, and its state at an instant.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetworkReading {
    counters: BTreeMap<NetworkCounter, u64>,
    /// By the name of their device.
    queues: BTreeMap<String, Queue>,
    /// By the number that the kernel gives each but once.
    sockets: BTreeMap<u64, Socket>,
    /// Packets and bytes that each device has sent, by its name.
    #[serde(default)]
    sent: BTreeMap<String, (u64, u64)>,
    state: NetworkState,
    /// Addresses whose owners do not answer.
    lost_neighbours: Vec<String>,
}

/// Reads the network of the calling thread. What this kernel does not tell is left out.
pub fn read_network() -> NetworkReading {
    let file = |name: &str| procfile::text(format!("{NET}/{name}"));
    let (snmp, snmp6, netstat) = (file("snmp"), file("snmp6"), file("netstat"));
    let mut counters = BTreeMap::new();
    for (counter, name, protocol, key) in FILES {
        let text = match *name {
            "snmp" => &snmp,
            "snmp6" => &snmp6,
            _ => &netstat,
        };
        if let Some(n) = value(text, protocol, key) {
            *counters.entry(*counter).or_default() += n;
        }
    }
    counters.insert(
        NetworkCounter::BacklogDrops,
        backlog_drops(&file("softnet_stat")),
    );
    let devices = file("dev");
    counters.insert(NetworkCounter::DeviceDrops, device_drops(&devices));
    let queues = netlink::queues();
    let uplink = queues.values().map(|q| q.dropped).sum();
    counters.insert(NetworkCounter::UplinkDrops, uplink);
    let setting = |name: &str| procfile::text(format!("/proc/sys/net/ipv4/{name}"));
    let number = |text: String| text.parse().unwrap_or(0);
    let sockets = file("sockstat");
    let state = NetworkState {
        fragment_bytes: value_beside(&sockets, "FRAG:", "memory"),
        fragment_limit: number(setting("ipfrag_high_thresh")),
        fragment_time: Nanos::from_secs(number(setting("ipfrag_time"))),
        time_wait: value_beside(&sockets, "TCP:", "tw"),
        ports: ports(&setting("ip_local_port_range")),
        queued_bytes: queues.values().map(|q| q.bytes).sum(),
        lost_neighbours: 0,
    };
    NetworkReading {
        counters,
        queues,
        sockets: netlink::udp_sockets(),
        sent: sent_by(&devices),
        state,
        lost_neighbours: lost_neighbours(&file("arp")),
    }
}

/// What queues of the calling thread's network have dropped, by device.
pub fn read_queues() -> BTreeMap<String, Queue> {
    netlink::queues()
}

impl NetworkReading {
    /// What the network held when it was read; of its neighbours only those with these addresses count.
    pub fn state(&self, peers: &[&str]) -> NetworkState {
        let lost = self.lost_neighbours.iter();
        let lost = lost.filter(|address| peers.contains(&address.as_str()));
        NetworkState {
            lost_neighbours: lost.count() as u64,
            ..self.state
        }
    }

    /// What was counted from this reading to `later`, without what did not rise.
    pub fn counted_until(&self, later: &NetworkReading) -> BTreeMap<NetworkCounter, u64> {
        let risen = later.counters.iter().map(|(counter, now)| {
            let then = self.counters.get(counter).copied().unwrap_or(0);
            (*counter, now.saturating_sub(then))
        });
        risen.filter(|(_, n)| *n > 0).collect()
    }

    /// Packets and bytes that each device sent from this reading to `later`, without those that sent nothing.
    pub fn sent_until(&self, later: &NetworkReading) -> BTreeMap<String, (u64, u64)> {
        let more = later.sent.iter().map(|(device, (packets, bytes))| {
            let then = self.sent.get(device).copied().unwrap_or_default();
            let grown = (packets.saturating_sub(then.0), bytes.saturating_sub(then.1));
            (device.clone(), grown)
        });
        more.filter(|(_, (packets, _))| *packets > 0).collect()
    }

    /// The sockets that came after this reading and have dropped datagrams at `later`, those that
    /// dropped most first.
    pub fn full_sockets_until(&self, later: &NetworkReading) -> Vec<FullSocket> {
        let new = later.sockets.iter();
        let new = new.filter(|(id, s)| s.dropped > 0 && !self.sockets.contains_key(id));
        let mut full: Vec<FullSocket> = new
            .map(|(_, s)| FullSocket {
                port: s.port,
                receive_buffer: s.receive_buffer,
                dropped: s.dropped,
            })
            .collect();
        full.sort_by_key(|s| (std::cmp::Reverse(s.dropped), s.port));
        full
    }
}

/// What of a state may change what is measured next, in words; empty: it is clean.
///
/// - Fragments that take more than a quarter of what they may: a message of a megabyte has its own beside
///   them. They stay for `ipfrag_time`, and when they take all of it every fragmented datagram is lost.
/// - Connections in TIME_WAIT that take more than half of the ports of outgoing connections.
/// - Anything that waits in front of a link, beyond a few frames that other programs may send.
/// - Neighbours that could not be found: the next message to one waits for another try.
pub fn residue(state: &NetworkState) -> Vec<Residue> {
    const FRAMES: u64 = 16 * 1_514;
    let fragments = state.fragment_limit > 0 && state.fragment_bytes > state.fragment_limit / 4;
    let found = [
        fragments.then_some(Residue::Fragments {
            bytes: state.fragment_bytes,
            limit: state.fragment_limit,
        }),
        (state.ports > 0 && state.time_wait > state.ports / 2).then_some(Residue::TimeWait {
            connections: state.time_wait,
            ports: state.ports,
        }),
        (state.queued_bytes > FRAMES).then_some(Residue::Queued {
            bytes: state.queued_bytes,
        }),
        (state.lost_neighbours > 0).then_some(Residue::LostNeighbours {
            neighbours: state.lost_neighbours,
        }),
    ];
    found.into_iter().flatten().collect()
}

/// A value of `snmp`, `netstat` or `snmp6`.
fn value(text: &str, protocol: &str, key: &str) -> Option<u64> {
    if protocol.is_empty() {
        let mut lines = text.lines().map(str::split_whitespace);
        return lines.find_map(|mut words| match words.next() == Some(key) {
            true => words.next()?.parse().ok(),
            false => None,
        });
    }
    let mut lines = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        (name == protocol).then_some(rest)
    });
    let (names, values) = (lines.next()?, lines.next()?);
    let mut both = names.split_whitespace().zip(values.split_whitespace());
    both.find(|(name, _)| *name == key)?.1.parse().ok()
}

/// The number after `key` in the line of `sockstat` that begins with `head`.
fn value_beside(text: &str, head: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(head));
    let mut words = line.unwrap_or_default().split_whitespace();
    match words.find(|word| *word == key) {
        Some(_) => words.next().and_then(|n| n.parse().ok()).unwrap_or(0),
        None => 0,
    }
}

/// The second column of each CPU's line, hexadecimal.
fn backlog_drops(text: &str) -> u64 {
    let dropped = text.lines().filter_map(|line| {
        let column = line.split_whitespace().nth(1)?;
        u64::from_str_radix(column, 16).ok()
    });
    dropped.sum()
}

/// The devices with their counters: eight of what was received (bytes, packets, errs, drop, …), then as many of what was
/// sent (proc(5)).
fn devices(text: &str) -> impl Iterator<Item = (&str, Vec<u64>)> {
    text.lines().filter_map(|line| {
        let (device, columns) = line.split_once(':')?;
        let columns = columns.split_whitespace();
        let columns = columns.map_while(|c| c.parse().ok());
        Some((device.trim(), columns.collect()))
    })
}

/// The columns `drop` of both directions, all devices together.
fn device_drops(text: &str) -> u64 {
    let dropped = devices(text).filter_map(|(_, columns)| Some(columns.get(3)? + columns.get(11)?));
    dropped.sum()
}

/// Packets and bytes that each device has sent.
fn sent_by(text: &str) -> BTreeMap<String, (u64, u64)> {
    let sent = devices(text).filter_map(|(device, columns)| {
        Some((device.to_owned(), (*columns.get(9)?, *columns.get(8)?)))
    });
    sent.collect()
}

/// Addresses of entries that are not complete (flag 0x2 of `struct arpreq`): nobody answered.
fn lost_neighbours(text: &str) -> Vec<String> {
    let lost = text.lines().skip(1).filter_map(|line| {
        let mut columns = line.split_whitespace();
        let (address, flags) = (columns.next()?, columns.nth(1)?.strip_prefix("0x")?);
        let flags = u32::from_str_radix(flags, 16).ok()?;
        (flags & 0x2 == 0).then(|| address.to_owned())
    });
    lost.collect()
}

/// How many ports a range has, its first and its last one beside each other.
fn ports(text: &str) -> u64 {
    let mut ends = text
        .split_whitespace()
        .filter_map(|end| end.parse::<u64>().ok());
    match (ends.next(), ends.next()) {
        (Some(first), Some(last)) if last >= first => last - first + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn values_are_found_by_protocol_and_name() {
        let snmp = "Ip: ReasmTimeout ReasmFails\nIp: 3 4\nUdp: NoPorts\nUdp: 5\n";
        assert_eq!(value(snmp, "Ip", "ReasmFails"), Some(4));
        assert_eq!(value(snmp, "Udp", "NoPorts"), Some(5));
        assert_eq!(value(snmp, "Udp", "ReasmFails"), None);
        assert_eq!(value("Ip6ReasmFails \t7\n", "", "Ip6ReasmFails"), Some(7));
        assert_eq!(
            value_beside(
                "UDP: inuse 1 mem 2\nFRAG: inuse 0 memory 9\n",
                "FRAG:",
                "memory"
            ),
            9
        );
        assert_eq!(value_beside("", "FRAG:", "memory"), 0);
        assert_eq!(
            backlog_drops("0000000a 00000002 0\n0000000a 0000001f 0\n"),
            33
        );
        let dev = "Inter-|\n face |bytes\n  lo: 1 1 0 4 0 0 0 0 9 9 0 2 0 0 0 0\n";
        assert_eq!(device_drops(dev), 6);
        let dev =
            "  lo: 1 1 0 4 0 0 0 0 900 9 0 2 0 0 0 0\neth0: 1 1 0 4 0 0 0 0 70 7 0 0 0 0 0 0\n";
        let reading = |dev| NetworkReading {
            sent: sent_by(dev),
            ..NetworkReading::default()
        };
        let (before, after) = (
            "  lo: 1 1 0 4 0 0 0 0 500 5 0 2 0 0 0 0\neth0: 1 1 0 4 0 0 0 0 70 7 0 0 0 0 0 0\n",
            dev,
        );
        let sent = reading(before).sent_until(&reading(after));
        assert_eq!(Vec::from_iter(sent), [("lo".to_owned(), (4, 400))]);
        let arp =
            "IP address HW type Flags\n10.0.0.1 0x1 0x2 aa * eth0\n10.0.0.2 0x1 0x0 00 * eth0\n";
        assert_eq!(lost_neighbours(arp), ["10.0.0.2"]);
        assert_eq!(ports("32768\t60999"), 28_232);
    }

    #[test]
    fn a_full_receive_buffer_is_counted_and_its_socket_named() {
        let before = read_network();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = receiver.local_addr().unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 4096).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..100 {
            sender.send_to(&[0; 1000], address).unwrap();
        }
        let after = read_network();
        let counted = before.counted_until(&after);
        assert!(
            counted[&NetworkCounter::ReceiveBufferErrors] >= 90,
            "{counted:?}"
        );
        let full = before.full_sockets_until(&after);
        let own = full.iter().find(|s| s.port == address.port());
        // A kernel without udp_diag counts and names nothing.
        if let Some(own) = own {
            assert_eq!(own.receive_buffer, 8192);
            assert!(own.dropped >= 90, "{own:?}");
        } else {
            assert!(after.sockets.is_empty(), "{after:?}");
        }
        // What was there before is nobody's of the trial.
        assert_eq!(after.full_sockets_until(&after), []);
    }

    #[test]
    fn only_what_changes_the_next_trial_is_residue() {
        let clean = NetworkState {
            fragment_bytes: 1 << 20,
            fragment_limit: 4 << 20,
            fragment_time: Nanos::from_secs(30),
            time_wait: 14_000,
            ports: 28_232,
            queued_bytes: 1_514,
            lost_neighbours: 0,
        };
        assert_eq!(residue(&clean), []);
        let mut full = clean;
        full.fragment_bytes = 3 << 20;
        full.time_wait = 20_000;
        full.queued_bytes = 100_000;
        full.lost_neighbours = 1;
        let said = residue(&full);
        assert_eq!(said.len(), 4);
        assert_eq!(
            said[0].to_string(),
            "fragments of earlier datagrams take 3072 of the 4096 KiB for reassembly"
        );
    }
}
