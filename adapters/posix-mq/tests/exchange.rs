//! What is particular to message queues; the rest is in the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_adapter::{Error, Sent, Wait};
use dyno_adapter_posix_mq::adapter;
use dyno_wire::testing::{Rig, exchange, message, send, take, until};
use std::time::{Duration, Instant};

#[test]
fn messages_of_every_size_arrive() {
    const F: usize = 4096;
    let sizes = [
        1,
        8,
        F - 13,
        F - 12,
        F - 11,
        F,
        F + 1,
        10 * (F - 12) + 1,
        1 << 20,
        4 << 20,
    ];
    for wait in [Wait::Block, Wait::Spin] {
        exchange(&Rig::new(adapter()), F, &[1, 8, F - 1, F], wait, false);
        exchange(&Rig::new(adapter()), 4 << 20, &sizes, wait, false);
    }
}

#[test]
fn fragment_and_depth_are_options() {
    let rig = Rig::new(adapter())
        .int("fragment", 100)
        .int("queue_depth", 2);
    exchange(&rig, 1000, &[1, 87, 88, 89, 1000], Wait::Block, false);
}

#[test]
fn a_full_queue_makes_the_sender_wait_for_each_reader_in_turn() {
    let rig = Rig::new(adapter()).int("queue_depth", 4);
    let (mut sender, mut receivers) = rig.fan(30_000, 3, Wait::Block);
    std::thread::scope(|scope| {
        for (n, receiver) in receivers.iter_mut().enumerate() {
            scope.spawn(move || {
                // Longer than the sender is patient without looking at the reader.
                std::thread::sleep(Duration::from_millis(250 - 50 * n as u64));
                for i in 0..20 {
                    assert_eq!(take(receiver.as_mut()).unwrap(), message(i, 30_000 - i));
                }
            });
        }
        let waited = (0..20).filter(|i| {
            let start = Instant::now();
            let sent = send(sender.as_mut(), &message(*i, 30_000 - i)).unwrap();
            assert_ne!(sent, Sent::Refused);
            start.elapsed() > Duration::from_millis(10)
        });
        assert!(waited.count() > 0, "all had room");
    });
}

#[test]
fn a_sender_that_waits_for_room_learns_that_its_reader_left() {
    let (mut sender, receiver) = Rig::new(adapter()).pair(1 << 20, Wait::Block);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(receiver);
        });
        let end = send(sender.as_mut(), &message(0, 1 << 20));
        assert!(matches!(end, Err(Error::PeerGone { .. })));
    });
    assert_eq!(sender.matched().unwrap(), 0);
}

#[test]
fn a_receiver_knows_its_sender_by_a_greeting_that_is_no_message() {
    let rig = Rig::new(adapter());
    let channel = rig.channel(64, 1);
    let mut receiver = rig.receiver(&channel, 1, Wait::Block).unwrap();
    assert!(!receiver.matched().unwrap());
    let mut sender = rig.sender(&channel).unwrap();
    until(|| sender.matched().unwrap() == 1);
    assert!(receiver.matched().unwrap());
    for _ in 0..3 {
        assert!(!receiver.take(&mut |_| panic!("nothing was sent")).unwrap());
    }
    send(sender.as_mut(), &[9]).unwrap();
    assert_eq!(take(receiver.as_mut()).unwrap(), [9]);
}

#[test]
fn queues_are_claimed_and_files_removed() {
    let rig = Rig::new(adapter());
    let channel = rig.channel(64, 1);
    let receiver = rig.receiver(&channel, 1, Wait::Block).unwrap();
    let claims = rig.scratch().join(dyno_adapter::CLAIMS);
    let note = std::fs::read_dir(&claims).unwrap().next().unwrap().unwrap();
    let note = std::fs::read_to_string(note.path()).unwrap();
    assert_eq!(note, format!("mqueue /{}.1\n", channel.name));
    drop(receiver);
    let mut sender = rig.sender(&channel).unwrap();
    assert_eq!(sender.matched().unwrap(), 0);
    assert_eq!(
        std::fs::read_dir(rig.scratch()).unwrap().count(),
        1,
        "only the claims"
    );
}

#[test]
fn a_depth_beyond_what_may_be_names_the_command() {
    let rig = Rig::new(adapter()).int("queue_depth", 100_000_000);
    let error = rig
        .receiver(&rig.channel(64, 1), 1, Wait::Block)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("sysctl -w fs.mqueue.msg_max=100000000"),
        "{error}"
    );
}
