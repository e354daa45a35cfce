//! A complete adapter in Rust: Unix datagram sockets. Each receiver binds a socket in the scratch directory, and the
//! sender of its channel connects and sends an empty datagram, so that the receiver knows it. To make it your own,
//! replace the sockets by your library, type by type; `dyno_adapter` documents the contract.
//!
//! ```sh
//! cargo build --release -p dyno-abi --example dyno_datagram   # target/release/examples/libdyno_datagram.so
//! ```

use dyno_adapter::{
    Adapter, AdapterDescription, Capabilities, ChannelSpec, Error, Node, NodeContext, PATIENCE,
    Placement, Receiver, Result, Sender, Sent, Wait,
};
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

dyno_abi::export_adapter!(adapter);

/// A datagram must fit into the usual send buffer of a socket, 208 KiB.
const MAX_MESSAGE: u64 = 64 * 1024;

/// The adapter.
pub(crate) fn adapter() -> Box<dyn Adapter> {
    Box::new(Datagram)
}

struct Datagram;

impl Adapter for Datagram {
    fn describe(&self) -> AdapterDescription {
        AdapterDescription {
            name: "datagram".into(),
            // The mechanism is the kernel's. For a library, ask the loaded library.
            version: std::fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| "unknown".into(), |release| release.trim().into()),
            summary: "One Unix datagram per message: the example adapter in Rust.".into(),
            capabilities: Capabilities {
                loan: false,
                waits: vec![Wait::Spin, Wait::Block],
                reliable: true,
                best_effort: false,
                request_response: false,
                placements: vec![Placement::Thread, Placement::Process],
                max_message: Some(MAX_MESSAGE),
                fragments_above: None,
                max_receivers: None,
                sends_later: false,
                asks: false,
                loopback: false,
            },
            options: Vec::new(),
            unavailable: None,
            library: None,
        }
    }

    fn open(&self, context: &NodeContext) -> Result<Box<dyn Node>> {
        Ok(Box::new(Participant {
            participant: context.participant,
            scratch: context.scratch.clone(),
        }))
    }
}

struct Participant {
    participant: u16,
    scratch: PathBuf,
}

impl Participant {
    fn path(&self, channel: &ChannelSpec, reader: u16) -> PathBuf {
        self.scratch.join(format!("{}.{reader}.sock", channel.name))
    }
}

impl Node for Participant {
    fn sender(&mut self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        let peer = |reader: &dyno_adapter::Endpoint| {
            let socket = UnixDatagram::unbound().map_err(|e| Error::system("socket", e))?;
            Ok(Peer {
                path: self.path(channel, reader.participant),
                socket,
                connected: false,
            })
        };
        Ok(Box::new(Sending {
            channel: channel.name.clone(),
            peers: channel.readers.iter().map(peer).collect::<Result<_>>()?,
            buffer: vec![0; channel.max_payload],
        }))
    }

    fn receiver(&mut self, channel: &ChannelSpec, wait: Wait) -> Result<Box<dyn Receiver>> {
        let path = self.path(channel, self.participant);
        let socket = UnixDatagram::bind(&path)
            .map_err(|e| Error::system(format!("bind {}", path.display()), e))?;
        let receiving = Receiving {
            socket,
            path,
            wait,
            matched: false,
            buffer: vec![0; channel.max_payload],
        };
        receiving
            .socket
            .set_read_timeout(Some(PATIENCE))
            .map_err(|e| Error::system("setsockopt", e))?;
        receiving.wait_as_asked()?;
        Ok(Box::new(receiving))
    }
}

/// The writing end of a channel.
struct Sending {
    channel: String,
    peers: Vec<Peer>,
    /// Allocated once; the kernel copies it.
    buffer: Vec<u8>,
}

struct Peer {
    path: PathBuf,
    socket: UnixDatagram,
    connected: bool,
}

impl Sender for Sending {
    /// Dyno asks repeatedly until all receivers are there; each call tries to connect.
    fn matched(&mut self) -> Result<usize> {
        for peer in self.peers.iter_mut().filter(|peer| !peer.connected) {
            peer.connected =
                peer.socket.connect(&peer.path).is_ok() && peer.socket.send(&[]).is_ok();
        }
        Ok(self.peers.iter().filter(|peer| peer.connected).count())
    }

    /// Waits for room. If one receiver is gone, the others still get the message.
    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        let message = &mut self.buffer[..len];
        fill(message);
        let mut gone = false;
        for peer in &self.peers {
            loop {
                match peer.socket.send(message) {
                    Ok(_) => break,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) if is_gone(e.kind()) => {
                        gone = true;
                        break;
                    }
                    Err(e) => return Err(Error::system("send", e)),
                }
            }
        }
        if gone {
            let channel = self.channel.clone();
            return Err(Error::PeerGone { channel });
        }
        Ok(Sent::Accepted)
    }
}

fn is_gone(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::NotConnected
            | ErrorKind::BrokenPipe
    )
}

/// A reading end of a channel.
struct Receiving {
    socket: UnixDatagram,
    path: PathBuf,
    wait: Wait,
    matched: bool,
    buffer: Vec<u8>,
}

impl Receiving {
    fn wait_as_asked(&self) -> Result<()> {
        self.socket
            .set_nonblocking(self.wait == Wait::Spin)
            .map_err(|e| Error::system("fcntl", e))
    }

    /// The length of the next datagram, if there is one.
    fn next(&mut self) -> Result<Option<usize>> {
        match self.socket.recv(&mut self.buffer) {
            Ok(length) => Ok(Some(length)),
            // No message within the time limit, or a signal.
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(None)
            }
            Err(e) => Err(Error::system("recv", e)),
        }
    }
}

impl Receiver for Receiving {
    fn matched(&mut self) -> Result<bool> {
        if !self.matched {
            self.socket
                .set_nonblocking(true)
                .map_err(|e| Error::system("fcntl", e))?;
            // The first datagram of a sender is empty: it announces the sender.
            self.matched = self.next()? == Some(0);
            self.wait_as_asked()?;
        }
        Ok(self.matched)
    }

    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        match self.next()? {
            None => Ok(false),
            Some(0) => {
                self.matched = true;
                Ok(false)
            }
            Some(length) => {
                on_message(&self.buffer[..length]);
                Ok(true)
            }
        }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // The scratch directory is removed after the trial, so a failure here leaves nothing behind.
        let _ = std::fs::remove_file(&self.path);
    }
}
