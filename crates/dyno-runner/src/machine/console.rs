//! The runner's end of a virtual machine's port: frames of all channels to and from it.

use super::frame::{self, Hello, Kind, Setup, Start};
use crate::child::tie_to_runner;
use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Instant;

/// The runner's end. Dropping it closes the port.
pub(crate) struct Console {
    /// This program, which is its own relay.
    program: PathBuf,
    port: Arc<Mutex<UnixStream>>,
    relays: Relays,
    next: AtomicU32,
    /// From the guest, once, and when it arrived.
    hellos: Mutex<mpsc::Receiver<(Instant, Hello)>>,
}

/// The runner's ends of the relays' sockets, by channel.
type Relays = Arc<Mutex<HashMap<u32, UnixStream>>>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Console {
    /// Of the machine at the other end of `port`. `program`: the running one.
    pub(crate) fn new(port: UnixStream, program: &Path) -> io::Result<Self> {
        let from = port.try_clone()?;
        let relays = Relays::default();
        let (told, hellos) = mpsc::channel();
        let heard = relays.clone();
        std::thread::spawn(move || deliver(from, &heard, &told));
        Ok(Console {
            program: program.to_owned(),
            port: Arc::new(Mutex::new(port)),
            relays,
            next: AtomicU32::new(1),
            hellos: Mutex::new(hellos),
        })
    }

    /// Tells the guest who it is. It reads that when it is up.
    pub(crate) fn set_up(
        &self,
        name: &str,
        address: &str,
        network: String,
        vsock: String,
    ) -> io::Result<()> {
        let setup = Setup {
            name: name.to_owned(),
            address: address.to_owned(),
            network,
            vsock,
        };
        let port = locked(&self.port);
        frame::write(&*port, 0, Kind::Setup, &serde_json::to_vec(&setup)?)
    }

    /// What the guest says when it is ready, if it has by now, and when that arrived here, however late it is asked for.
    pub(crate) fn hello(&self) -> Option<(Instant, Hello)> {
        locked(&self.hellos).try_recv().ok()
    }

    /// The command of a process here that stands for one there: the same streams, the same end. It dies with the runner,
    /// and the one there with it.
    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> io::Result<Command> {
        let (own, theirs) = UnixStream::pair()?;
        let theirs = OwnedFd::from(theirs);
        let channel = self.next.fetch_add(1, Ordering::Relaxed);
        locked(&self.relays).insert(channel, own.try_clone()?);
        let (port, relays) = (self.port.clone(), self.relays.clone());
        std::thread::spawn(move || {
            let mut from = BufReader::new(own);
            while let Ok(frame) = frame::read(&mut from) {
                if frame::write(&*locked(&port), channel, frame.kind, &frame.bytes).is_err() {
                    break;
                }
            }
            locked(&relays).remove(&channel);
            // Where the machine is gone, so is the process.
            let _ = frame::write(&*locked(&port), channel, Kind::Kill, &[]);
        });
        let start = Start {
            program: program.to_owned(),
            arguments: arguments.iter().map(|a| (*a).to_owned()).collect(),
            environment: lie::of(channel),
        };
        let mut command = Command::new(&self.program);
        let socket = theirs.as_raw_fd().to_string();
        let order = serde_json::to_string(&start)?;
        command.args(["agent", "--relay", &socket, &order]);
        tie_to_runner(&mut command);
        keep_open(&mut command, theirs);
        Ok(command)
    }
}

/// What a study has an agent's counter tell: of several lies, which are separated by semicolons, each agent is given the
/// next one, so that one boot has all of them.
#[cfg(feature = "clock-lie")]
mod lie {
    /// As in `dyno-agent`.
    const VARIABLE: &str = "DYNO_CLOCK_LIE";

    pub(super) fn of(channel: u32) -> Vec<(String, String)> {
        let Ok(text) = std::env::var(VARIABLE) else {
            return Vec::new();
        };
        let all: Vec<&str> = text.split(';').collect();
        let lie = all[channel as usize % all.len()];
        vec![(VARIABLE.to_owned(), lie.to_owned())]
    }
}

/// Nothing: counters tell the truth.
#[cfg(not(feature = "clock-lie"))]
mod lie {
    pub(super) fn of(_: u32) -> Vec<(String, String)> {
        Vec::new()
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        // The reader waits on a copy of the descriptor.
        let _ = locked(&self.port).shutdown(Shutdown::Both);
    }
}

/// Has the process of `command` inherit a descriptor under its number.
pub(super) fn keep_open(command: &mut Command, held: OwnedFd) {
    // SAFETY: between fork and exec only an async-signal-safe system call is made, without allocation.
    unsafe {
        command.pre_exec(move || {
            Ok(rustix::io::fcntl_setfd(
                &held,
                rustix::io::FdFlags::empty(),
            )?)
        });
    }
}

/// Hands frames from the guest to their relays, until the machine ends.
fn deliver(port: UnixStream, relays: &Relays, told: &mpsc::Sender<(Instant, Hello)>) {
    let mut from = BufReader::new(port);
    while let Ok(frame) = frame::read(&mut from) {
        if frame.kind == Kind::Hello {
            let arrived = Instant::now();
            let hello = serde_json::from_slice(&frame.bytes);
            // Nobody may wait for it any more.
            let _ = hello.map(|hello| told.send((arrived, hello)));
            continue;
        }
        let relay = locked(relays)
            .get(&frame.channel)
            .and_then(|r| r.try_clone().ok());
        if let Some(relay) = relay {
            // One that has ended is told to the guest by who notices its end.
            let _ = frame::write(&relay, 0, frame.kind, &frame.bytes);
        }
    }
    // Relays end when they are cut off.
    for (_, relay) in locked(relays).drain() {
        let _ = relay.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_stamped_when_it_arrives_and_not_when_it_is_asked_for() {
        let (own, guest) = UnixStream::pair().unwrap();
        let before = Instant::now();
        frame::write(&guest, 0, Kind::Hello, br#"{"init_ns":1,"ready_ns":2}"#).unwrap();
        // The machine's end: the reader returns when all that was sent before it has been read.
        drop(guest);
        let (told, hellos) = mpsc::channel();
        deliver(own, &Relays::default(), &told);
        let read = Instant::now();
        let (arrived, hello) = hellos.try_recv().unwrap();
        assert!((before..=read).contains(&arrived));
        assert_eq!((hello.init_ns, hello.ready_ns), (1, 2));
    }
}
