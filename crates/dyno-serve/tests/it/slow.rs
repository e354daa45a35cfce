//! Clients that take their time.

use crate::place::{Answer, Place};
use std::io::{Read, Write};
use std::net::TcpStream;

const MANY: usize = 200;

fn half_a_request(place: &Place) -> TcpStream {
    let mut stream = place.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
    stream
}

#[test]
fn clients_that_never_finish_their_request_are_sent_away_and_others_answered() {
    let place = Place::new();
    place.run("a");
    let mut halves: Vec<TcpStream> = (0..MANY).map(|_| half_a_request(&place)).collect();
    assert_eq!(place.get("/runs/a").status, 200);
    for stream in &mut halves {
        let mut rest = Vec::new();
        // The end, or a reset; anything but silence.
        match stream.read_to_end(&mut rest) {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => panic!("still open"),
            _ => {}
        }
    }
}

#[test]
fn clients_that_do_not_read_hold_up_nobody() {
    let place = Place::new();
    place.run("a");
    let request = b"GET /runs/a HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20);
    let deaf: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = place.connect();
            // What does not fit any more is not sent.
            stream.set_nonblocking(true).unwrap();
            let _ = stream.write(&request);
            stream
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(place.get("/runs/a").status, 200);
    }
    drop(deaf);
}

#[test]
fn clients_that_leave_at_once_leave_nothing() {
    let place = Place::new();
    place.run("a");
    for _ in 0..MANY {
        let mut stream = place.connect();
        stream
            .write_all(b"GET /runs/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
    }
    assert_eq!(place.get("/runs/a").status, 200);
}

#[test]
fn an_answer_under_way_is_finished_when_the_server_ends() {
    let place = Place::new();
    place.run("a");
    let mut idle = place.connect();
    idle.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let half = half_a_request(&place);
    // Joins the server's thread.
    drop(place);
    let rest = Answer::read(&mut idle).body;
    assert!(
        rest.trim_ascii_end().ends_with(b"</html>"),
        "the answer is cut"
    );
    drop(half);
}
