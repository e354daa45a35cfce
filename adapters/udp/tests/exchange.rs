//! What is particular to UDP; the rest is in the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_adapter::{Error, Sent, Wait};
use dyno_adapter_udp::adapter;
use dyno_wire::testing::{Rig, exchange, message, send, take, until};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::time::Duration;

const LARGEST: usize = 65_507;

#[test]
fn messages_of_every_size_arrive() {
    let raw = [1, 8, 1472, 4096, LARGEST - 1, LARGEST];
    let cut = [
        1,
        LARGEST - 13,
        LARGEST - 12,
        LARGEST - 11,
        LARGEST + 1,
        150_000,
    ];
    for wait in [Wait::Block, Wait::Spin] {
        exchange(&Rig::new(adapter()), LARGEST, &raw, wait, true);
        exchange(&Rig::new(adapter()), 150_000, &cut, wait, true);
    }
}

#[test]
fn a_large_message_arrives_where_the_buffer_holds_its_fragments() {
    let rig = Rig::new(adapter()).int("rcvbuf", 4 << 20);
    exchange(&rig, 1 << 20, &[(1 << 20) - 1, 1 << 20], Wait::Block, true);
}

#[test]
fn the_fragments_size_is_an_option() {
    let rig = Rig::new(adapter()).int("fragment", 4096);
    exchange(
        &rig,
        30_000,
        &[1, 4083, 4084, 4085, 4096, 4097, 30_000],
        Wait::Block,
        true,
    );
}

#[test]
fn a_fragment_larger_than_a_datagram_may_be_is_refused() {
    let rig = Rig::new(adapter()).int("fragment", LARGEST as i64 + 1);
    let error = rig.sender(&rig.channel(1, 1)).err().unwrap().to_string();
    assert!(error.contains("at most 65507"), "{error}");
}

#[test]
fn a_small_receive_buffer_loses_what_it_cannot_hold_and_never_holds_up_the_sender() {
    let rig = Rig::new(adapter()).int("rcvbuf", 4096);
    let (mut sender, mut receiver) = rig.pair(64, Wait::Spin);
    for i in 0..100 {
        assert_eq!(
            send(sender.as_mut(), &message(i, 64)).unwrap(),
            Sent::Accepted
        );
    }
    let mut arrived = 0;
    while receiver.take(&mut |_| arrived += 1).unwrap() {}
    // 8,192 bytes, twice the request, at about 832 each, less the greeting.
    assert!((1..=11).contains(&arrived), "{arrived} arrived");
}

/// Runs in a network of its own, whose loopback interface is a link of 8 Mbit/s with room for 10 MB in front of it. Says so
/// where that cannot be had.
fn behind_a_slow_link(work: fn()) {
    let run = |line: &str| {
        let mut words = line.split(' ');
        let mut command = std::process::Command::new(words.next()?);
        command.args(words).status().ok()?.success().then_some(())
    };
    let here = move || {
        // SAFETY: only this thread's network changes, and nothing of it is in use.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.ok()?;
        run("ip link set lo up")?;
        run("tc qdisc add dev lo root tbf rate 8mbit burst 70000 limit 10000000")?;
        work();
        Some(())
    };
    if std::thread::spawn(here).join().unwrap().is_none() {
        eprintln!("NOT TESTED: a slow link needs root, `ip` and `tc`");
    }
}

fn small_buffer(congestion: &str) -> Rig {
    let rig = Rig::new(adapter()).text("congestion", congestion);
    rig.int("sndbuf", 4096).int("rcvbuf", 1 << 20)
}

#[test]
fn where_a_send_blocks_it_waits_behind_a_slow_link_and_nothing_is_lost() {
    behind_a_slow_link(|| {
        let (mut sender, mut receiver) = small_buffer("block").pair(1000, Wait::Block);
        // More than the link takes at once, and far more than the send buffer.
        let messages = 300;
        let sends = std::thread::spawn(move || {
            for i in 0..messages {
                let sent = send(sender.as_mut(), &message(i, 1000)).unwrap();
                assert_eq!(sent, Sent::Accepted);
            }
        });
        for i in 0..messages {
            assert_eq!(take(receiver.as_mut()).unwrap(), message(i, 1000));
        }
        sends.join().unwrap();
    });
}

#[test]
fn where_a_send_drops_a_slow_link_makes_it_refuse_and_what_was_accepted_arrives() {
    behind_a_slow_link(|| {
        let (mut sender, mut receiver) = small_buffer("drop").pair(1000, Wait::Block);
        let mut accepted = Vec::new();
        for i in 0..300 {
            if send(sender.as_mut(), &message(i, 1000)).unwrap() == Sent::Accepted {
                accepted.push(i);
            }
        }
        assert!((1..300).contains(&accepted.len()), "{}", accepted.len());
        for i in accepted {
            assert_eq!(take(receiver.as_mut()).unwrap(), message(i, 1000));
        }
    });
}

#[test]
fn a_word_that_congestion_is_not_is_refused() {
    let rig = Rig::new(adapter()).text("congestion", "wait");
    let error = rig.sender(&rig.channel(1, 1)).err().unwrap().to_string();
    assert!(error.contains("one of drop, block"), "{error}");
}

#[test]
fn a_sender_finds_its_reader_only_once_it_is_there() {
    let rig = Rig::new(adapter());
    let channel = rig.channel(64, 1);
    let mut sender = rig.sender(&channel).unwrap();
    for _ in 0..2000 {
        assert_eq!(sender.matched().unwrap(), 0);
    }
    let mut receiver = rig.receiver(&channel, 1, Wait::Block).unwrap();
    assert!(!receiver.matched().unwrap());
    assert_eq!(sender.matched().unwrap(), 1);
    assert!(receiver.matched().unwrap());
    assert!(
        !receiver
            .take(&mut |_| panic!("a greeting is no message"))
            .unwrap()
    );
    send(sender.as_mut(), &[9]).unwrap();
    assert_eq!(take(receiver.as_mut()).unwrap(), [9]);
}

#[test]
fn a_sender_learns_that_its_reader_left() {
    let (mut sender, receiver) = Rig::new(adapter()).pair(64, Wait::Block);
    drop(receiver);
    until(|| matches!(send(sender.as_mut(), &[1]), Err(Error::PeerGone { .. })));
    assert_eq!(sender.matched().unwrap(), 0);
}

#[test]
fn a_blocking_take_ends_without_a_message() {
    let (_sender, mut receiver) = Rig::new(adapter()).pair(64, Wait::Block);
    let begun = std::time::Instant::now();
    assert!(!receiver.take(&mut |_| panic!("nothing was sent")).unwrap());
    assert!(begun.elapsed() >= Duration::from_millis(90));
}
