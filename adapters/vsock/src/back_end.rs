//! The host's side of a device that is a process: connections to a guest go through its Unix domain socket, on which the
//! first line says which port is meant; connections from the guest to a port come to a socket of that number beside it.
//! The same as Firecracker's (its docs/vsock.md) and vhost-device-vsock's.

use dyno_adapter::{Error, Result};
use dyno_wire::fd::{ScratchFile, SocketOutlet, set_nonblocking, with_unix_address};
use dyno_wire::link::Dial;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, recv, send,
    socket_with,
};
use std::path::{Path, PathBuf};

/// The answer is `OK`, a number of ten digits at most, and the end of the line.
const LONGEST: usize = 16;

fn socket() -> Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|e| Error::system("socket AF_UNIX", e))
}

/// The socket to which the back end at `path` brings what guests connect to `port`.
pub(crate) fn bound(path: &Path, port: u16) -> Result<(OwnedFd, ScratchFile)> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("_{port}"));
    let file = ScratchFile::new(PathBuf::from(name));
    let fd = socket()?;
    with_unix_address(file.path(), |address| bind(&fd, address))
        .map_err(|e| Error::system(format!("bind {}", file.path().display()), e))?;
    Ok((fd, file))
}

/// Connects to a reader in a guest, as often as it takes.
pub(crate) struct BackEndDial {
    path: PathBuf,
    port: u16,
    /// A connection that was asked for, and what has come of the answer.
    pending: Option<(OwnedFd, Vec<u8>)>,
}

impl BackEndDial {
    pub(crate) fn new(path: PathBuf, port: u16) -> Self {
        BackEndDial {
            path,
            port,
            pending: None,
        }
    }

    fn failed(&self, what: &str, e: Errno) -> Error {
        Error::system(format!("{what} {}", self.path.display()), e)
    }

    fn ask(&self) -> Result<Option<OwnedFd>> {
        let fd = socket()?;
        match with_unix_address(&self.path, |address| connect(&fd, address)) {
            Ok(()) => {}
            Err(Errno::CONNREFUSED | Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(e) => return Err(self.failed("connect", e)),
        }
        let order = format!("CONNECT {}\n", self.port);
        // A socket that is new has room for a line.
        match send(&fd, order.as_bytes(), SendFlags::NOSIGNAL) {
            Ok(_) => Ok(Some(fd)),
            Err(Errno::PIPE | Errno::CONNRESET) => Ok(None),
            Err(e) => Err(self.failed("ask", e)),
        }
    }
}

impl Dial for BackEndDial {
    type Outlet = SocketOutlet;

    fn dial(&mut self) -> Result<Option<SocketOutlet>> {
        let (fd, mut answer) = match self.pending.take() {
            Some(pending) => pending,
            None => match self.ask()? {
                Some(fd) => (fd, Vec::new()),
                None => return Ok(None),
            },
        };
        // Byte by byte: what comes behind the line is the reader's.
        while answer.last() != Some(&b'\n') && answer.len() < LONGEST {
            let mut byte = [0; 1];
            match recv(&fd, &mut byte, RecvFlags::DONTWAIT) {
                // Nobody listens on that port yet.
                Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(None),
                Ok(_) => answer.push(byte[0]),
                Err(Errno::AGAIN | Errno::INTR) => {
                    self.pending = Some((fd, answer));
                    return Ok(None);
                }
                Err(e) => return Err(self.failed("hear from", e)),
            }
        }
        if !answer.starts_with(b"OK ") {
            return Err(Error::Unsupported(format!(
                "{:?} as the answer of {}",
                String::from_utf8_lossy(&answer),
                self.path.display()
            )));
        }
        set_nonblocking(&fd, false).map_err(|e| self.failed("use", e))?;
        SocketOutlet::new(fd).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_wire::link::Outlet;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::unix::net::UnixListener;

    fn reached(dial: &mut BackEndDial) -> SocketOutlet {
        loop {
            if let Some(outlet) = dial.dial().unwrap() {
                return outlet;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_reader_is_asked_for_until_it_listens_and_gets_what_is_behind_the_answer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vm");
        let listener = UnixListener::bind(&path).unwrap();
        let back_end = std::thread::spawn(move || {
            // The first time nobody listens in the guest.
            drop(listener.accept().unwrap());
            let (mut stream, _) = listener.accept().unwrap();
            let mut order = String::new();
            BufReader::new(&stream).read_line(&mut order).unwrap();
            // In two pieces, as it may come.
            stream.write_all(b"OK 10").unwrap();
            stream.write_all(b"73741824\n").unwrap();
            let mut message = [0; 2];
            stream.read_exact(&mut message).unwrap();
            (order, message)
        });
        let outlet = reached(&mut BackEndDial::new(path, 4711));
        outlet.push(b"hi").unwrap();
        let (order, message) = back_end.join().unwrap();
        assert_eq!((order.as_str(), &message), ("CONNECT 4711\n", b"hi"));
    }

    #[test]
    fn another_answer_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vm");
        let listener = UnixListener::bind(&path).unwrap();
        let back_end = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap();
            stream
        });
        let mut dial = BackEndDial::new(path, 1);
        let error = loop {
            match dial.dial() {
                Ok(reached) => assert!(reached.is_none()),
                Err(e) => break e.to_string(),
            }
        };
        assert!(error.contains("HTTP/1.1"), "{error}");
        drop(back_end.join().unwrap());
    }
}
