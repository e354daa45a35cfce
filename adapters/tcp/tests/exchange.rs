//! What is particular to TCP; the rest is in the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_adapter::{Error, Sent, Wait};
use dyno_adapter_tcp::adapter;
use dyno_wire::testing::{Rig, exchange, message, send, take, until};
use std::time::{Duration, Instant};

#[test]
fn messages_of_every_size_arrive() {
    let sizes = [1, 8, 1448, 65_483, 65_536, 100_001, (4 << 20) - 1, 4 << 20];
    for wait in [Wait::Block, Wait::Spin] {
        exchange(&Rig::new(adapter()), 4 << 20, &sizes, wait, false);
    }
}

#[test]
fn small_buffers_make_the_sender_wait_for_each_reader_in_turn() {
    let rig = Rig::new(adapter()).int("sndbuf", 8192).int("rcvbuf", 8192);
    let (mut sender, mut receivers) = rig.fan(500_000, 3, Wait::Block);
    std::thread::scope(|scope| {
        for (n, receiver) in receivers.iter_mut().enumerate() {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(200 - 50 * n as u64));
                for i in 0..5 {
                    assert_eq!(take(receiver.as_mut()).unwrap(), message(i, 500_000 - i));
                }
            });
        }
        let waited = (0..5).filter(|i| {
            let start = Instant::now();
            let sent = send(sender.as_mut(), &message(*i, 500_000 - i)).unwrap();
            assert_ne!(sent, Sent::Refused);
            start.elapsed() > Duration::from_millis(10)
        });
        assert!(waited.count() > 0, "all had room");
    });
}

#[test]
fn a_large_ping_may_be_answered_by_a_large_pong() {
    let rig = Rig::new(adapter());
    let (mut ping, mut pinged) = rig.pair(4 << 20, Wait::Block);
    let (mut pong, mut ponged) = rig.pair(4 << 20, Wait::Block);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..3 {
                let message = take(pinged.as_mut()).unwrap();
                send(pong.as_mut(), &message).unwrap();
            }
        });
        for i in 0..3 {
            send(ping.as_mut(), &message(i, 4 << 20)).unwrap();
            assert!(take(ponged.as_mut()).unwrap() == message(i, 4 << 20));
        }
    });
}

#[test]
fn a_receiver_gets_what_was_sent_before_its_sender_left() {
    let (mut sender, mut receiver) = Rig::new(adapter()).pair(100, Wait::Block);
    send(sender.as_mut(), &[1]).unwrap();
    drop(sender);
    assert_eq!(take(receiver.as_mut()).unwrap(), [1]);
    assert!(matches!(
        take(receiver.as_mut()),
        Err(Error::PeerGone { .. })
    ));
}

#[test]
fn a_sender_learns_that_its_reader_left() {
    let (mut sender, receiver) = Rig::new(adapter()).pair(100, Wait::Block);
    drop(receiver);
    // The first send is what tells: its answer is that nobody is there.
    until(|| matches!(send(sender.as_mut(), &[1]), Err(Error::PeerGone { .. })));
    assert_eq!(sender.matched().unwrap(), 0);
}

#[test]
fn a_sender_that_waits_for_room_learns_that_its_reader_left() {
    let (mut sender, receiver) = Rig::new(adapter()).pair(64 << 20, Wait::Block);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            drop(receiver);
        });
        let end = send(sender.as_mut(), &message(0, 64 << 20));
        assert!(matches!(end, Err(Error::PeerGone { .. })));
    });
}

#[test]
fn a_port_can_be_listened_on_again_at_once() {
    let rig = Rig::new(adapter());
    let channel = rig.channel(100, 1);
    for _ in 0..5 {
        let mut receiver = rig.receiver(&channel, 1, Wait::Block).unwrap();
        let mut sender = rig.sender(&channel).unwrap();
        until(|| sender.matched().unwrap() == 1);
        until(|| receiver.matched().unwrap());
        send(sender.as_mut(), &[7]).unwrap();
        assert_eq!(take(receiver.as_mut()).unwrap(), [7]);
        drop(sender);
    }
}

#[test]
fn an_address_that_is_none_is_refused() {
    let rig = Rig::new(adapter());
    let mut channel = rig.channel(100, 1);
    channel.readers[0].address = "localhost".into();
    let error = rig.sender(&channel).err().unwrap().to_string();
    assert!(
        error.contains("localhost") && error.contains("IP address"),
        "{error}"
    );
}
