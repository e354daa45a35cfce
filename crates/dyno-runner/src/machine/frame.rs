//! What goes over the port of a virtual machine, and between the runner and its relays: frames of a channel, a kind and
//! some bytes. Each started process has a channel of its own.

use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// To the guest, once: [`Setup`].
    Setup = 1,
    /// From the guest: it is up; [`Hello`].
    Hello = 2,
    /// To the guest: [`Start`].
    Start = 3,
    /// To the guest: standard input; empty: its end.
    Input = 4,
    /// To the guest: nobody is there any more; the process group is killed.
    Kill = 5,
    /// From the guest: standard output.
    Output = 6,
    /// From the guest: standard error.
    Error = 7,
    /// From the guest: the process has ended, with the code of a shell; four bytes, little endian.
    Exit = 8,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Setup,
        Kind::Hello,
        Kind::Start,
        Kind::Input,
        Kind::Kill,
        Kind::Output,
        Kind::Error,
        Kind::Exit,
    ];
}

/// How a guest is to call itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// The host's name.
    pub(super) name: String,
    /// Its address.
    pub(super) address: String,
    /// What `ip -batch` is to do.
    pub(super) network: String,
    /// Whom its agents reach by vsock, as their environment has it.
    pub(super) vsock: String,
}

/// What a guest says when it is ready. Times are its own, in nanoseconds since its kernel began.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// When its first process began.
    pub(crate) init_ns: u64,
    /// When it was set up.
    pub(crate) ready_ns: u64,
}

/// A process to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    /// What its environment has beside what all of them have.
    pub(super) environment: Vec<(String, String)>,
}

/// One frame.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) channel: u32,
    pub(super) kind: Kind,
    pub(super) bytes: Vec<u8>,
}

/// Channel 4, kind 1, length 4; all little endian.
const HEADER: usize = 9;
/// Longer ones are none: what is sent is read in pieces of 64 KiB.
const LONGEST: usize = 1 << 20;

/// Writes one frame at once.
pub(super) fn write(mut to: impl Write, channel: u32, kind: Kind, bytes: &[u8]) -> io::Result<()> {
    let mut frame = Vec::with_capacity(HEADER + bytes.len());
    frame.extend(channel.to_le_bytes());
    frame.push(kind as u8);
    // Pieces are shorter than LONGEST.
    frame.extend((bytes.len() as u32).to_le_bytes());
    frame.extend(bytes);
    to.write_all(&frame)?;
    to.flush()
}

/// Reads one frame; an error at its end as well.
pub(super) fn read(mut from: impl Read) -> io::Result<Frame> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header)?;
    let number = |at: usize| {
        let four = header.get(at..at + 4).and_then(|b| b.try_into().ok());
        four.map_or(0, u32::from_le_bytes)
    };
    let garbled = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    let kind = Kind::ALL.into_iter().find(|k| *k as u8 == header[4]);
    let kind = kind.ok_or_else(|| garbled("a frame of no known kind"))?;
    let length = number(5) as usize;
    if length > LONGEST {
        return Err(garbled("a frame that is too long"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Frame {
        channel: number(0),
        kind,
        bytes,
    })
}

/// Sends what `from` gives, piece by piece, until it ends; `send` says whether anybody hears it.
pub(super) fn pump(mut from: impl Read, mut send: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(n @ 1..) if send(&buffer[..n]) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written_and_nothing_else_is() {
        let mut wire = Vec::new();
        write(&mut wire, 7, Kind::Output, b"hello").unwrap();
        write(&mut wire, 8, Kind::Input, b"").unwrap();
        let mut from = &wire[..];
        let first = read(&mut from).unwrap();
        assert_eq!((first.channel, first.kind), (7, Kind::Output));
        assert_eq!(first.bytes, b"hello");
        let second = read(&mut from).unwrap();
        assert_eq!(
            (second.channel, second.kind, second.bytes.len()),
            (8, Kind::Input, 0)
        );
        assert!(read(&mut from).is_err());
        assert!(read(&[0u8, 0, 0, 0, 99, 0, 0, 0, 0][..]).is_err());
        assert!(read(&[0u8, 0, 0, 0, 6, 0, 0, 0, 0x7f][..]).is_err());
        assert!(read(&wire[..12]).is_err());
    }
}
