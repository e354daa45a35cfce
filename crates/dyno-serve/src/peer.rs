//! Who is at the other end of a connection. Places and turns are shared among peers, so a peer must be somebody
//! who cannot easily become many: a user of this machine, an IPv4 address, or a network of IPv6 addresses. A user with subordinate
//! ids can.

use rustix::fd::OwnedFd;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// One who has a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    /// A user of this machine, by number. All of them have the same address, and each has many.
    User(u32),
    /// Another machine; of an IPv6 address the first 64 bits, which one subscriber has.
    Address(IpAddr),
}

/// Tells peers apart.
#[derive(Debug)]
pub(crate) struct Peers {
    /// Answers which user a socket of this machine is of; `None` where the kernel has no such thing.
    kernel: Option<OwnedFd>,
}

impl Peers {
    pub(crate) fn new() -> Peers {
        Peers {
            kernel: kernel().ok(),
        }
    }

    /// The peer whose end of a connection is `remote`; ours is `local`.
    pub(crate) fn of(&self, remote: SocketAddr, local: SocketAddr) -> Peer {
        match self.user(remote, local) {
            Some(user) => Peer::User(user),
            None => Peer::Address(network(remote.ip())),
        }
    }

    /// The user of the socket at `remote`, if that is one of this machine and its user still has it.
    fn user(&self, remote: SocketAddr, local: SocketAddr) -> Option<u32> {
        let kernel = self.kernel.as_ref()?;
        let question = question(remote, local);
        rustix::net::send(kernel, &question, SendFlags::empty()).ok()?;
        let mut answer = [0; 256];
        // The kernel answers within `send`.
        let (read, _) = rustix::net::recv(kernel, &mut answer, RecvFlags::empty()).ok()?;
        user_in(&answer[..read], &question)
    }
}

fn kernel() -> rustix::io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        Some(SOCK_DIAG),
    )?;
    rustix::net::connect(&socket, &SocketAddrNetlink::new(0, 0))?;
    Ok(socket)
}

// The messages of sock_diag(7): `nlmsghdr`, `inet_diag_req_v2`, `inet_diag_msg`.
const HEADER: usize = 16;
const QUESTION: usize = HEADER + 56;
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const ESTABLISHED: u8 = 1;
const TCP: u8 = 6;
/// Both ports within a question, and within an answer. Addresses may be told in another form than they were asked.
const ASKED: std::ops::Range<usize> = HEADER + 8..HEADER + 12;
const TOLD: std::ops::Range<usize> = HEADER + 4..HEADER + 8;
/// The user within an answer.
const USER: usize = HEADER + 64;

/// Asks for the socket that is at `remote` and connected to `local`.
fn question(remote: SocketAddr, local: SocketAddr) -> [u8; QUESTION] {
    let (from, to) = (remote.ip().to_canonical(), local.ip().to_canonical());
    let family = match from {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let address = |ip: IpAddr| match ip {
        IpAddr::V4(v4) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&v4.octets());
            bytes
        }
        IpAddr::V6(v6) => v6.octets(),
    };
    let parts: [&[u8]; 12] = [
        &(QUESTION as u32).to_ne_bytes(),
        &BY_FAMILY.to_ne_bytes(),
        &REQUEST.to_ne_bytes(),
        &[0; 8],
        // Families of sockets are below 256.
        &[family.as_raw() as u8, TCP, 0, 0],
        // Of every state.
        &[0xff; 4],
        &remote.port().to_be_bytes(),
        &local.port().to_be_bytes(),
        &address(from),
        &address(to),
        // At any interface.
        &[0; 4],
        // With any cookie.
        &[0xff; 8],
    ];
    let mut question = [0; QUESTION];
    question.copy_from_slice(&parts.concat());
    question
}

/// The user that an answer names, if it is one to this question and the socket still has a user: one that was
/// closed is told to be of root.
fn user_in(answer: &[u8], question: &[u8]) -> Option<u32> {
    let kind = answer.get(4..6)? == BY_FAMILY.to_ne_bytes();
    let state = *answer.get(HEADER + 1)? == ESTABLISHED;
    let same = answer.get(TOLD)? == question.get(ASKED)?;
    let user = answer.get(USER..USER + 4)?.try_into().ok()?;
    (kind && state && same).then(|| u32::from_ne_bytes(user))
}

/// What one subscriber has of addresses: all of the loopback interface, an IPv4 address, or 64 bits of an IPv6 one.
fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        ip if ip.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => {
            let network = v6.to_bits() & !u128::from(u64::MAX);
            Ipv6Addr::from_bits(network).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn nobody_becomes_many_by_other_addresses_of_the_same_network() {
        assert_eq!(network(ip("2001:db8::1")), network(ip("2001:db8::2:3:4:5")));
        assert_ne!(network(ip("2001:db8::1")), network(ip("2001:db8:0:1::1")));
        assert_ne!(network(ip("192.0.2.1")), network(ip("192.0.2.2")));
        assert_eq!(network(ip("::ffff:192.0.2.1")), network(ip("192.0.2.1")));
        assert_eq!(network(ip("127.0.0.1")), network(ip("127.9.8.7")));
        assert_eq!(network(ip("127.0.0.1")), network(ip("::1")));
    }

    #[test]
    fn clients_of_this_machine_are_told_apart_by_their_users() {
        let peers = Peers::new();
        if peers.kernel.is_none() {
            eprintln!("not tested: the kernel does not say which user a socket is of");
            return;
        }
        let me = rustix::process::geteuid().as_raw();
        for address in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                eprintln!("not tested: {address} cannot be listened on");
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (ours, remote) = listener.accept().unwrap();
            let local = ours.local_addr().unwrap();
            assert_eq!(peers.of(remote, local), Peer::User(me), "{address}");
            drop(client);
            let closed = peers.of(remote, local);
            assert_eq!(closed, Peer::Address(network(remote.ip())), "{address}");
        }
    }

    #[test]
    fn an_answer_to_another_question_names_nobody() {
        let local = "127.0.0.1:80".parse().unwrap();
        let asked = question("127.0.0.1:4000".parse().unwrap(), local);
        let other = question("127.0.0.1:4001".parse().unwrap(), local);
        let mut answer = [0; 88];
        answer[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        answer[HEADER + 1] = ESTABLISHED;
        answer[TOLD].copy_from_slice(&asked[ASKED]);
        answer[USER..USER + 4].copy_from_slice(&1000_u32.to_ne_bytes());
        assert_eq!(user_in(&answer, &asked), Some(1000));
        assert_eq!(user_in(&answer, &other), None);
        assert_eq!(user_in(&answer[..80], &asked), None);
        answer[HEADER + 1] = 6;
        assert_eq!(user_in(&answer, &asked), None);
    }
}
