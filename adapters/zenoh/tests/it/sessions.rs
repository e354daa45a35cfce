//! Which sessions there are, and who connects to whom.

use crate::common::{Trial, connect, pattern, take, write};
use dyno_adapter::{Error, OptionValue, Sent, Wait};
use dyno_adapter_zenoh::adapter;

/// Established TCP connections of this machine that have an end at `port` (proc_net_tcp(5)).
fn connections_at(port: u16) -> usize {
    const ESTABLISHED: &str = "01";
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{port:04X}");
    table
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            Some((fields.next()?, fields.next()?, fields.next()?))
        })
        .filter(|(local, _, state)| local.ends_with(&port) && *state == ESTABLISHED)
        .count()
}

#[test]
fn one_connection_carries_both_directions() {
    let trial = Trial::new();
    let (forth, back) = (trial.channel(0, 64, 0, 1), trial.channel(1, 64, 1, 0));
    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    let mut pong = far.sender(&back).unwrap();
    let mut pings = far.receiver(&forth, Wait::Block).unwrap();
    let mut pongs = near.receiver(&back, Wait::Block).unwrap();
    let mut ping = near.sender(&forth).unwrap();
    connect(ping.as_mut(), pings.as_mut());
    connect(pong.as_mut(), pongs.as_mut());
    for number in 0..100 {
        ping.send(64, &mut |bytes| write(number, bytes)).unwrap();
        let message = take(pings.as_mut());
        pong.send(64, &mut |bytes| bytes.copy_from_slice(&message))
            .unwrap();
        assert_eq!(take(pongs.as_mut()), pattern(number, 64));
    }
    assert_eq!(connections_at(trial.port(0)), 1);
    assert_eq!(connections_at(trial.port(1)), 0);
}

#[test]
fn a_sender_connects_itself_where_the_reader_does_not() {
    let trial = Trial::new();
    let (forth, back) = (trial.channel(0, 64, 0, 1), trial.channel(1, 64, 1, 0));
    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    // The far side has both ends in one session and leaves it to the lower number to connect.
    let mut pong = far.sender(&back).unwrap();
    let mut pings = far.receiver(&forth, Wait::Spin).unwrap();
    // The near side has two sessions, and only that of its sender connects.
    let mut pongs = near.receiver(&back, Wait::Spin).unwrap();
    assert!(!pongs.matched().unwrap());
    let mut ping = near.sender(&forth).unwrap();
    connect(ping.as_mut(), pings.as_mut());
    connect(pong.as_mut(), pongs.as_mut());
    pong.send(64, &mut |bytes| write(1, bytes)).unwrap();
    assert_eq!(take(pongs.as_mut()), pattern(1, 64));
}

#[test]
fn a_message_to_nobody_is_refused() {
    let trial = Trial::new();
    let mut node = adapter().open(&trial.context(0)).unwrap();
    let mut sender = node.sender(&trial.channel(0, 64, 0, 1)).unwrap();
    assert_eq!(sender.matched().unwrap(), 0);
    assert_eq!(sender.send(64, &mut |_| ()).unwrap(), Sent::Refused);
}

#[test]
fn a_reader_that_leaves_is_reported_as_gone() {
    let trial = Trial::new();
    let channel = trial.channel(0, 64, 0, 1);
    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    let mut sender = near.sender(&channel).unwrap();
    let mut receiver = far.receiver(&channel, Wait::Spin).unwrap();
    connect(sender.as_mut(), receiver.as_mut());
    drop((receiver, far));
    let error = loop {
        if let Err(error) = sender.send(64, &mut |_| ()) {
            break error;
        }
    };
    assert!(matches!(error, Error::PeerGone { .. }), "{error}");
}

#[test]
fn what_cannot_work_is_refused_with_a_reason() {
    let trial = Trial::new();
    let channel = trial.channel(0, 64, 0, 1);
    let taken = std::net::TcpListener::bind(("127.0.0.1", trial.port(0))).unwrap();
    let mut node = adapter().open(&trial.context(1)).unwrap();
    let mut receiver = node.receiver(&channel, Wait::Spin).unwrap();
    for _ in 0..2 {
        let error = receiver.matched().unwrap_err().to_string();
        assert!(
            error.contains(&format!("tcp/127.0.0.1:{}", trial.port(0))),
            "{error}"
        );
    }
    drop(taken);

    let mut other = adapter().open(&trial.context(7)).unwrap();
    assert!(matches!(
        other.receiver(&channel, Wait::Spin),
        Err(Error::Unsupported(_))
    ));
    let trial = Trial::new().with("link", OptionValue::Text("tls".into()));
    let error = adapter().open(&trial.context(0)).err().unwrap().to_string();
    assert!(error.contains("tcp, udp"), "{error}");
}

#[test]
fn the_version_is_that_of_the_library() {
    let version = adapter().describe().version;
    assert!(
        version.starts_with("1.10.") && !version.contains('-'),
        "{version}"
    );
}
