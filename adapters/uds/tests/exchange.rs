//! What is particular to Unix domain sockets; the rest is in the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_adapter::{Carries, Error, Sent, Wait};
use dyno_adapter_uds::adapter;
use dyno_wire::testing::{Rig, exchange, message, send, take, until};
use std::time::{Duration, Instant};

const TYPES: [&str; 3] = ["stream", "dgram", "seqpacket"];

fn rig(kind: &str) -> Rig {
    Rig::new(adapter()).text("type", kind)
}

#[test]
fn messages_of_every_size_arrive_over_every_type() {
    const F: usize = 65_536;
    let sizes = [
        1,
        8,
        4095,
        F - 13,
        F - 12,
        F - 11,
        F,
        F + 1,
        2 * (F - 12),
        212_993,
        4 << 20,
    ];
    for kind in TYPES {
        for wait in [Wait::Block, Wait::Spin] {
            exchange(&rig(kind), 4 << 20, &sizes, wait, false);
        }
    }
}

#[test]
fn the_fragments_size_is_an_option() {
    let sizes = [1, 83, 84, 85, 87, 88, 89, 99_999, 100_000];
    for kind in ["dgram", "seqpacket"] {
        exchange(
            &rig(kind).int("fragment", 100),
            100_000,
            &sizes,
            Wait::Block,
            false,
        );
    }
}

#[test]
fn the_largest_datagram_that_the_kernel_takes_whole_is_not_cut() {
    let rig = rig("dgram").int("fragment", 212_960);
    exchange(&rig, 212_960, &[1, 212_960], Wait::Block, false);
}

#[test]
fn a_fragment_that_the_send_buffer_cannot_hold_is_refused_with_the_size_to_write() {
    let rig = rig("seqpacket").int("fragment", 300_000);
    let error = rig
        .sender(&rig.channel(1 << 20, 1))
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("at most 212960") && error.contains("`sndbuf` to 150016"),
        "{error}"
    );
    let rig = self::rig("seqpacket")
        .int("fragment", 300_000)
        .int("sndbuf", 150_016);
    exchange(&rig, 1 << 20, &[1, 1 << 20], Wait::Spin, false);
}

#[test]
fn an_unknown_type_is_refused() {
    let rig = rig("raw");
    let error = rig.sender(&rig.channel(1, 1)).err().unwrap().to_string();
    assert!(
        error.contains("`type`") && error.contains("seqpacket"),
        "{error}"
    );
}

#[test]
fn full_buffers_make_the_sender_wait_for_each_reader_in_turn() {
    for kind in TYPES {
        let (mut sender, mut receivers) = rig(kind).fan(300_000, 3, Wait::Block);
        std::thread::scope(|scope| {
            for (n, receiver) in receivers.iter_mut().enumerate() {
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(200 - 50 * n as u64));
                    for i in 0..20 {
                        assert_eq!(take(receiver.as_mut()).unwrap(), message(i, 300_000 - i));
                    }
                });
            }
            let waited = (0..20).filter(|i| {
                let start = Instant::now();
                let sent = send(sender.as_mut(), &message(*i, 300_000 - i)).unwrap();
                assert_ne!(sent, Sent::Refused);
                start.elapsed() > Duration::from_millis(10)
            });
            assert!(waited.count() > 0, "{kind}: all had room");
        });
    }
}

#[test]
fn a_receiver_of_a_connection_learns_that_its_sender_left() {
    for kind in ["stream", "seqpacket"] {
        let (mut sender, mut receiver) = rig(kind).pair(100, Wait::Block);
        send(sender.as_mut(), &[1]).unwrap();
        drop(sender);
        assert_eq!(take(receiver.as_mut()).unwrap(), [1], "{kind}");
        assert!(
            matches!(take(receiver.as_mut()), Err(Error::PeerGone { .. })),
            "{kind}"
        );
    }
}

#[test]
fn a_receiver_of_datagrams_just_gets_nothing_more() {
    let (mut sender, mut receiver) = rig("dgram").pair(100, Wait::Block);
    send(sender.as_mut(), &[1]).unwrap();
    drop(sender);
    assert_eq!(take(receiver.as_mut()).unwrap(), [1]);
    assert!(
        !receiver
            .take(&mut |_| panic!("nothing more was sent"))
            .unwrap()
    );
}

#[test]
fn a_sender_learns_that_one_of_its_readers_left_and_still_serves_the_other() {
    for kind in TYPES {
        let (mut sender, mut receivers) = rig(kind).fan(100, 2, Wait::Block);
        drop(receivers.remove(0));
        let end = send(sender.as_mut(), &[1]);
        assert!(matches!(end, Err(Error::PeerGone { .. })), "{kind}");
        assert_eq!(take(receivers[0].as_mut()).unwrap(), [1], "{kind}");
        assert_eq!(sender.matched().unwrap(), 1, "{kind}");
    }
}

#[test]
fn a_sender_that_waits_for_room_learns_that_its_reader_left() {
    for kind in TYPES {
        let (mut sender, receiver) = rig(kind).pair(4 << 20, Wait::Block);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(150));
                drop(receiver);
            });
            let end = send(sender.as_mut(), &message(0, 4 << 20));
            assert!(matches!(end, Err(Error::PeerGone { .. })), "{kind}");
        });
    }
}

#[test]
fn a_path_longer_than_an_address_may_be_is_no_obstacle() {
    for kind in TYPES {
        let rig = rig(kind).deep_down();
        let channel = rig.channel(100, 1);
        let mut receiver = rig.receiver(&channel, 1, Wait::Block).unwrap();
        let mut sender = rig.sender(&channel).unwrap();
        until(|| sender.matched().unwrap() == 1);
        until(|| receiver.matched().unwrap());
        send(sender.as_mut(), &[3]).unwrap();
        assert_eq!(take(receiver.as_mut()).unwrap(), [3]);
        drop(receiver);
        assert_eq!(std::fs::read_dir(rig.scratch()).unwrap().count(), 0);
    }
}

#[test]
fn a_call_has_one_socket_on_each_side() {
    for (kind, bound) in [("stream", 1), ("seqpacket", 1), ("dgram", 2)] {
        let rig = rig(kind);
        let (mut requests, mut responses) = (rig.channel(100_000, 1), rig.channel(300_000, 1));
        (responses.writer, responses.readers[0].participant) = (1, 0);
        requests.carries = Carries::Requests {
            responses: responses.name.clone(),
        };
        responses.carries = Carries::Responses {
            requests: requests.name.clone(),
        };
        let open = |participant| adapter().open(&rig.context(participant)).unwrap();
        let (mut caller, mut provider) = (open(0), open(1));
        let mut call = caller.sender(&requests).unwrap();
        let mut answered = caller.receiver(&responses, Wait::Block).unwrap();
        let mut called = provider.receiver(&requests, Wait::Block).unwrap();
        let mut answer = provider.sender(&responses).unwrap();
        until(|| {
            let there = call.matched().unwrap() + answer.matched().unwrap() == 2;
            there & called.matched().unwrap() & answered.matched().unwrap()
        });
        let files = std::fs::read_dir(rig.scratch()).unwrap().count();
        assert_eq!(files, bound, "{kind}");
        for len in [8, 100_000] {
            send(call.as_mut(), &message(len, len)).unwrap();
            assert_eq!(take(called.as_mut()).unwrap(), message(len, len), "{kind}");
            send(answer.as_mut(), &message(1, len)).unwrap();
            assert_eq!(take(answered.as_mut()).unwrap(), message(1, len), "{kind}");
        }
        // With both ends of the caller gone nothing of it is left to hear from.
        drop((call, answered, caller));
        match kind {
            "dgram" => {
                let end = send(answer.as_mut(), &[1]);
                assert!(
                    matches!(end, Err(Error::PeerGone { .. })),
                    "{kind}: {end:?}"
                );
            }
            _ => {
                let end = take(called.as_mut());
                assert!(
                    matches!(end, Err(Error::PeerGone { .. })),
                    "{kind}: {end:?}"
                );
            }
        }
    }
}
