//! What is particular to pipes, anonymous and named; the rest is in the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_adapter::{Error, Sent, Wait};
use dyno_adapter_pipe::adapter;
use dyno_wire::testing::{Rig, exchange, message, send, take, until};

const PIPE: usize = 65_536;

/// Both kinds of pipes.
fn rigs() -> [Rig; 2] {
    [false, true].map(|named| Rig::new(adapter()).bool("named", named))
}

#[test]
fn messages_below_at_and_above_the_pipes_capacity_arrive() {
    let sizes = [
        1,
        7,
        8,
        4091,
        4092,
        PIPE - 5,
        PIPE - 4,
        PIPE - 3,
        PIPE,
        1 << 20,
        (4 << 20) - 1,
    ];
    for wait in [Wait::Block, Wait::Spin] {
        for rig in rigs() {
            exchange(&rig, 4 << 20, &sizes, wait, false);
        }
    }
}

#[test]
fn one_read_may_bring_several_messages() {
    let (mut sender, mut receiver) = Rig::new(adapter()).pair(100, Wait::Block);
    for i in 0..50 {
        assert_eq!(
            send(sender.as_mut(), &message(i, 100)).unwrap(),
            Sent::Accepted
        );
    }
    for i in 0..50 {
        assert_eq!(take(receiver.as_mut()).unwrap(), message(i, 100));
    }
}

#[test]
fn a_full_pipe_makes_the_sender_wait() {
    let rig = Rig::new(adapter()).int("pipe_size", 4096);
    let (mut sender, mut receivers) = rig.fan(40_000, 3, Wait::Spin);
    std::thread::scope(|scope| {
        for (n, receiver) in receivers.iter_mut().enumerate() {
            scope.spawn(move || {
                // The last reader takes first: each in turn holds the sender up.
                std::thread::sleep(std::time::Duration::from_millis(200 - 50 * n as u64));
                for i in 0..20 {
                    assert_eq!(take(receiver.as_mut()).unwrap(), message(i, 40_000 - i));
                }
            });
        }
        for i in 0..20 {
            assert_eq!(
                send(sender.as_mut(), &message(i, 40_000 - i)).unwrap(),
                Sent::Accepted
            );
        }
    });
}

#[test]
fn a_receiver_gets_what_was_sent_before_its_sender_left() {
    for rig in rigs() {
        let (mut sender, mut receiver) = rig.pair(100, Wait::Block);
        send(sender.as_mut(), &[1]).unwrap();
        drop(sender);
        assert_eq!(take(receiver.as_mut()).unwrap(), [1]);
        assert!(matches!(
            take(receiver.as_mut()),
            Err(Error::PeerGone { .. })
        ));
    }
}

#[test]
fn a_sender_learns_that_one_of_its_readers_left_and_still_serves_the_other() {
    for rig in rigs() {
        let (mut sender, mut receivers) = rig.fan(100, 2, Wait::Block);
        drop(receivers.remove(0));
        assert!(matches!(
            send(sender.as_mut(), &[1]),
            Err(Error::PeerGone { .. })
        ));
        assert_eq!(take(receivers[0].as_mut()).unwrap(), [1]);
        assert_eq!(sender.matched().unwrap(), 1);
    }
}

#[test]
fn a_sender_that_waits_for_room_learns_that_its_reader_left() {
    for rig in rigs() {
        let (mut sender, receiver) = rig.pair(4 << 20, Wait::Block);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(30));
                drop(receiver);
            });
            let end = send(sender.as_mut(), &message(0, 4 << 20));
            assert!(matches!(end, Err(Error::PeerGone { .. })));
        });
    }
}

#[test]
fn the_pipes_size_is_what_was_asked_for() {
    for rig in rigs() {
        let rig = rig.int("pipe_size", 8192);
        let (mut sender, _receiver) = rig.pair(8000, Wait::Spin);
        assert_eq!(
            send(sender.as_mut(), &message(0, 8000)).unwrap(),
            Sent::Accepted
        );
        // The second has no room any more; with the usual size it would.
        std::thread::scope(|scope| {
            let (tell, told) = std::sync::mpsc::channel();
            let waiting = scope.spawn(move || {
                let mut receiver = _receiver;
                told.recv().unwrap();
                take(receiver.as_mut()).unwrap();
                take(receiver.as_mut()).unwrap();
            });
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(30));
                tell.send(()).unwrap();
            });
            assert_eq!(
                send(sender.as_mut(), &message(1, 8000)).unwrap(),
                Sent::Accepted
            );
            waiting.join().unwrap();
        });
    }
}

#[test]
fn files_go_with_their_receiver() {
    for rig in rigs() {
        let (sender, receiver) = rig.pair(100, Wait::Block);
        assert_eq!(std::fs::read_dir(rig.scratch()).unwrap().count(), 1);
        drop((sender, receiver));
        assert_eq!(std::fs::read_dir(rig.scratch()).unwrap().count(), 0);
    }
}

#[test]
fn a_receiver_that_takes_early_gets_the_first_message() {
    for rig in rigs() {
        let channel = rig.channel(100, 1);
        let mut receiver = rig.receiver(&channel, 1, Wait::Block).unwrap();
        assert!(!receiver.take(&mut |_| panic!("nothing was sent")).unwrap());
        assert!(!receiver.matched().unwrap());
        let mut sender = rig.sender(&channel).unwrap();
        until(|| sender.matched().unwrap() == 1);
        send(sender.as_mut(), &[5]).unwrap();
        assert_eq!(take(receiver.as_mut()).unwrap(), [5]);
        assert!(receiver.matched().unwrap());
    }
}

#[test]
fn a_message_that_the_channel_does_not_allow_is_refused() {
    let (mut sender, _receiver) = Rig::new(adapter()).pair(10, Wait::Block);
    for len in [0, 11] {
        let end = sender.send(len, &mut |_| panic!("must not be filled"));
        assert!(matches!(end, Err(Error::Unsupported(_))));
    }
}

#[test]
fn a_named_pipe_is_one_until_its_receiver_goes() {
    use std::os::unix::fs::FileTypeExt;
    let rig = Rig::new(adapter()).bool("named", true);
    let receiver = rig.receiver(&rig.channel(100, 1), 1, Wait::Block).unwrap();
    let entries: Vec<_> = std::fs::read_dir(rig.scratch()).unwrap().collect();
    assert!(
        entries
            .iter()
            .all(|e| e.as_ref().unwrap().file_type().unwrap().is_fifo())
    );
    assert_eq!(entries.len(), 1);
    drop(receiver);
    assert_eq!(std::fs::read_dir(rig.scratch()).unwrap().count(), 0);
}
