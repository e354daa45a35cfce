//! Asks the kernel by netlink(7) for what no file tells: the queues in front of devices (rtnetlink(7)) and
//! the UDP sockets with their buffers (sock_diag(7)). What it does not answer is left out.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto,
    socket_with,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What waits in front of a device, and what was dropped there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Queue {
    /// Frames that found no room.
    pub dropped: u64,
    /// Bytes that wait.
    pub bytes: u64,
}

/// A UDP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Socket {
    pub(super) port: u16,
    pub(super) receive_buffer: u64,
    pub(super) dropped: u64,
}

/// The bytes of `struct nlmsghdr` of <linux/netlink.h>: length, type, flags, sequence, port.
const HEADER: usize = 16;
/// NLM_F_REQUEST with NLM_F_DUMP: all that there are.
const ALL: u16 = 0x301;
/// NLMSG_ERROR and NLMSG_DONE.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The kernel answers at once; a wait without end would end the trial.
const PATIENCE: Duration = Duration::from_secs(1);

/// RTM_GETQDISC of <linux/rtnetlink.h>.
const GET_QUEUES: u16 = 38;
/// The bytes of `struct tcmsg`: family and padding, device at 4, handle, parent at 12, info.
const QUEUE: usize = 20;
/// TC_H_ROOT: a queue of a device itself, not of a class within.
const ROOT: u32 = u32::MAX;
/// TCA_STATS2, and in it TCA_STATS_QUEUE: `struct gnet_stats_queue`, length, backlog at 4, drops at 8.
const STATS: u16 = 7;
const STATS_QUEUE: u16 = 3;

/// SOCK_DIAG_BY_FAMILY of <linux/sock_diag.h>.
const BY_FAMILY: u16 = 20;
/// The bytes of `struct inet_diag_msg`; its port at 4 (of the network's order), its cookie at 44.
const SOCKET: usize = 72;
/// INET_DIAG_SKMEMINFO: numbers of four bytes, the receive buffer the second, drops the ninth.
const MEMORY: u16 = 7;

/// The queues of all devices of the calling thread's network, by the device's name.
pub(super) fn queues() -> BTreeMap<String, Queue> {
    let mut found = BTreeMap::new();
    let Ok((socket, messages)) = ask(None, GET_QUEUES, &[0; QUEUE]) else {
        return found;
    };
    for message in &messages {
        let device = number(message, 4);
        if number(message, 12) != Some(ROOT) {
            continue;
        }
        let stats = attribute(message, QUEUE, STATS).and_then(|s| attribute(s, 0, STATS_QUEUE));
        let name = device.and_then(|d| netlink_name(&socket, d));
        if let (Some(name), Some(stats)) = (name, stats) {
            let queue = Queue {
                bytes: number(stats, 4).unwrap_or(0).into(),
                dropped: number(stats, 8).unwrap_or(0).into(),
            };
            found.insert(name, queue);
        }
    }
    found
}

fn netlink_name(socket: &OwnedFd, device: u32) -> Option<String> {
    rustix::net::netdevice::index_to_name(socket, device).ok()
}

/// The UDP sockets of the calling thread's network.
pub(super) fn udp_sockets() -> BTreeMap<u64, Socket> {
    let mut found = BTreeMap::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        // `struct inet_diag_req_v2`: family, protocol, what is asked for, padding, states, and which.
        let mut request = [0; 56];
        request[0] = family.as_raw() as u8;
        request[1] = libc::IPPROTO_UDP as u8;
        request[2] = 1 << (MEMORY - 1);
        request[4..8].fill(0xff);
        let Ok((_, messages)) = ask(Some(netlink::SOCK_DIAG), BY_FAMILY, &request) else {
            continue;
        };
        for message in &messages {
            let port = message.get(4..6).map(|b| u16::from_be_bytes([b[0], b[1]]));
            let cookie = number(message, 44).zip(number(message, 48));
            let memory = attribute(message, SOCKET, MEMORY);
            if let (Some(port), Some((low, high)), Some(memory)) = (port, cookie, memory) {
                let of = |place: usize| number(memory, 4 * place).unwrap_or(0).into();
                let socket = Socket {
                    port,
                    receive_buffer: of(1),
                    dropped: of(8),
                };
                found.insert(u64::from(high) << 32 | u64::from(low), socket);
            }
        }
    }
    found
}

/// The bodies of all messages of the answer, and the socket that it came by.
fn ask(
    protocol: Option<Protocol>,
    kind: u16,
    body: &[u8],
) -> rustix::io::Result<(OwnedFd, Vec<Vec<u8>>)> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        protocol,
    )?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    let mut request = Vec::with_capacity(HEADER + body.len());
    request.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(ALL.to_ne_bytes());
    request.extend([0; 8]);
    request.extend(body);
    sendto(
        &socket,
        &request,
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut bodies = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = match recv(&socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, length)) => length,
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e),
        };
        let mut rest = buffer.get(..length).unwrap_or(&buffer);
        while let Some(length) = number(rest, 0) {
            let Some(message) = rest.get(..length as usize).filter(|m| m.len() >= HEADER) else {
                break;
            };
            match u16::from_ne_bytes([message[4], message[5]]) {
                DONE => return Ok((socket, bodies)),
                ERROR => return Err(Errno::PROTO),
                _ => bodies.push(message[HEADER..].to_vec()),
            }
            rest = rest.get(aligned(length as usize)..).unwrap_or(&[]);
        }
    }
}

/// The value of an attribute (`struct rtattr`: length, type, value), of those from `at` on.
fn attribute(bytes: &[u8], at: usize, wanted: u16) -> Option<&[u8]> {
    let mut rest = bytes.get(at..)?;
    while rest.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
        let kind = u16::from_ne_bytes([rest[2], rest[3]]);
        let value = rest.get(4..length)?;
        // The two highest bits are flags (NLA_F_NESTED, NLA_F_NET_BYTEORDER).
        if kind & 0x3fff == wanted {
            return Some(value);
        }
        rest = rest.get(aligned(length)..)?;
    }
    None
}

/// Messages and attributes begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(four))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_has_a_queue() {
        assert!(queues().contains_key("lo"), "{:?}", queues());
    }

    #[test]
    fn attributes_are_found_behind_others_and_torn_ones_end_the_search() {
        let mut bytes = vec![0xee; 3];
        for (kind, value) in [(1u16, &b"abcde"[..]), (STATS | 0x8000, b"xy")] {
            bytes.extend((4 + value.len() as u16).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(value);
            while !(bytes.len() - 3).is_multiple_of(4) {
                bytes.push(0);
            }
        }
        assert_eq!(attribute(&bytes, 3, STATS), Some(&b"xy"[..]));
        assert_eq!(attribute(&bytes, 3, 1), Some(&b"abcde"[..]));
        assert_eq!(attribute(&bytes, 3, 9), None);
        assert_eq!(attribute(&[200, 0, 1, 0, 5], 0, 2), None);
        assert_eq!(attribute(&[0; 8], 0, 2), None);
    }
}
