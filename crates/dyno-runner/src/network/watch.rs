//! Notices that a link of a network namespace goes down, however short that is: the kernel tells of
//! every change (rtnetlink(7)), and what it told waits here until somebody asks.

use rustix::fd::OwnedFd;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// RTMGRP_LINK of <linux/rtnetlink.h>.
const LINKS: u32 = 1;
/// `RTM_NEWLINK` and `RTM_DELLINK` of <linux/rtnetlink.h>: a link has changed, or is gone.
const CHANGED: u16 = 16;
const GONE: u16 = 17;
/// The bytes of `struct nlmsghdr` of <linux/netlink.h>: length, type, flags, sequence, port.
const HEADER: usize = 16;
/// Where in a message the flags of `struct ifinfomsg` stand, behind family, type and index.
const FLAGS: usize = HEADER + 8;
/// IFF_UP and IFF_LOWER_UP of <linux/if.h>: switched on, and the other end is there.
const UP: u32 = 1 | 1 << 16;

/// Listens to the changes of all links of one namespace.
pub(crate) struct Watch {
    socket: OwnedFd,
    was_down: AtomicBool,
}

impl Watch {
    /// Of the calling thread's namespace, from now on.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // Without a protocol: NETLINK_ROUTE, which is 0.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, LINKS))?;
        Ok(Watch {
            socket,
            was_down: AtomicBool::new(false),
        })
    }

    /// Takes what was until now as if it had not been.
    pub(crate) fn forget(&self) {
        self.was_down();
        self.was_down.store(false, Ordering::Relaxed);
    }

    /// Whether any link was down at any time since.
    pub(crate) fn was_down(&self) -> bool {
        let mut buffer = [0; 16 * 1024];
        loop {
            match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((_, length)) => {
                    let told = buffer.get(..length).unwrap_or(&buffer);
                    if messages(told).any(is_down) {
                        self.was_down.store(true, Ordering::Relaxed);
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                // More was told than the socket holds: links do not change so often unless one fails.
                Err(rustix::io::Errno::NOBUFS) => self.was_down.store(true, Ordering::Relaxed),
                // Nothing more was told.
                Err(_) => return self.was_down.load(Ordering::Relaxed),
            }
        }
    }
}

/// The messages of one datagram.
fn messages(mut told: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = usize::try_from(number(told, 0)?).ok()?;
        let message = told.get(..length).filter(|m| m.len() >= HEADER)?;
        // Each begins at a multiple of four (NLMSG_ALIGN).
        told = told.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some(message)
    })
}

/// Whether the message tells of a link that is down or gone.
fn is_down(message: &[u8]) -> bool {
    let kind = message.get(4..6).map(|b| u16::from_ne_bytes([b[0], b[1]]));
    match kind {
        Some(GONE) => true,
        Some(CHANGED) => number(message, FLAGS).is_some_and(|flags| flags & UP != UP),
        _ => false,
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(four))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, flags: u32) -> Vec<u8> {
        let mut bytes = vec![0; 32];
        bytes[..4].copy_from_slice(&32u32.to_ne_bytes());
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_ne_bytes());
        bytes
    }

    #[test]
    fn only_a_link_that_is_down_or_gone_is_trouble() {
        for (kind, flags, down) in [
            (CHANGED, UP, false),
            (CHANGED, 1, true),
            (CHANGED, 1 << 16, true),
            (GONE, UP, true),
            (20, 0, false),
        ] {
            assert_eq!(is_down(&message(kind, flags)), down, "{kind} {flags:x}");
        }
    }

    #[test]
    fn several_messages_of_one_datagram_are_all_read() {
        let two = [message(CHANGED, UP), message(CHANGED, 0)].concat();
        assert_eq!(messages(&two).count(), 2);
        assert!(messages(&two).any(is_down));
        // A torn one ends the reading.
        assert_eq!(messages(&two[..40]).count(), 1);
        assert_eq!(messages(&[0; 8]).count(), 0);
    }
}
