//! What is particular to UDP; the rest is in the conformance suite.

use dyno_adapter::{Error, Sent, Wait};
use dyno_adapter_udp::adapter;
use dyno_wire::testing::{Rig, exchange, message, send, take, until};
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
