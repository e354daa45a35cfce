//! More clients than the server has places for, in a process of its own, whose limit on open files is raised.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

#[path = "it/place.rs"]
#[allow(dead_code, reason = "shared with the tests in it/")]
mod place;

use place::Place;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::TcpStream;

/// More than the server has places for.
const MANY: usize = 900;
/// Both sides of all connections, and what else is open.
const FILES: u64 = 4096;

/// Whether this process may have as many open files as the test takes.
fn raise_files() -> bool {
    let limit = getrlimit(Resource::Nofile);
    let new = Rlimit {
        current: Some(limit.current.unwrap_or(FILES).max(FILES)),
        ..limit
    };
    setrlimit(Resource::Nofile, new).is_ok()
}

#[test]
fn more_silent_slow_and_idle_clients_than_places_keep_nobody_out() {
    if !raise_files() {
        eprintln!("not tested: this process may not have {FILES} open files");
        return;
    }
    let place = Place::new();
    place.run("a");
    let begun: [&[u8]; 4] = [
        b"",
        b"GET / HTTP/1.1\r\nHost: local",
        b"GET /assets/serve.css HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /runs/a HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ];
    let mut clients: Vec<TcpStream> = Vec::new();
    for number in 0..MANY {
        let mut stream = place.connect();
        stream.write_all(begun[number % begun.len()]).unwrap();
        clients.push(stream);
    }
    for path in ["/", "/runs/a", "/runs/a/state"] {
        assert_eq!(place.get(path).status, 200, "{path}");
    }
    // Its place was needed first. The end, or a reset; anything but silence.
    let ended = clients[0].read(&mut [0]);
    assert!(!matches!(ended, Ok(1..)), "an answer to nothing");
    if let Err(e) = ended {
        assert_ne!(e.kind(), std::io::ErrorKind::WouldBlock, "still open");
    }
}
