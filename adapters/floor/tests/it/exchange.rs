//! Messages between nodes of one process: sizes, topologies, waiting, late comers.

use crate::support::{Trial, pattern, patterned, take, until_matched};
use dyno_adapter::{Sent, Wait};
use std::thread;

const SIZES: &[usize] = &[
    1, 8, 13, 55, 56, 57, 64, 120, 121, 1000, 4096, 65_537, 1_000_003, 4_194_304,
];

fn every_size_arrives(wait: Wait) {
    for &size in SIZES {
        let trial = Trial::new();
        let spec = trial.channel(0, &[1], size);
        let mut sender = trial.node(0).sender(&spec).unwrap();
        let mut receiver = trial.node(1).receiver(&spec, wait).unwrap();
        until_matched(&mut *sender, 1);
        let messages = if size > 100_000 { 20 } else { 200 };
        let sending = thread::spawn(move || {
            for i in 0..messages {
                // Also shorter ones than the channel allows.
                let len = if i % 3 == 2 { size.div_ceil(2) } else { size };
                let sent = sender.send(len, &mut |b| pattern(i, b)).unwrap();
                assert_ne!(sent, Sent::Refused);
            }
        });
        for i in 0..messages {
            let len = if i % 3 == 2 { size.div_ceil(2) } else { size };
            assert!(
                take(&mut *receiver) == patterned(i, len),
                "message {i} of {size}"
            );
        }
        sending.join().unwrap();
    }
}

#[test]
fn every_size_arrives_whole_at_a_spinning_reader() {
    every_size_arrives(Wait::Spin);
}

#[test]
fn every_size_arrives_whole_at_a_blocking_reader() {
    every_size_arrives(Wait::Block);
}

#[test]
fn each_of_three_readers_gets_everything_of_both_senders() {
    const MESSAGES: u64 = 3_000;
    let trial = Trial::with_depth(8);
    let readers = [2, 3, 4];
    let specs = [
        trial.channel(0, &readers, 24),
        trial.channel(1, &readers, 24),
    ];
    let senders = specs
        .iter()
        .map(|s| trial.node(s.writer).sender(s).unwrap());
    let senders: Vec<_> = senders.collect();
    thread::scope(|scope| {
        for reader in readers {
            let mut node = trial.node(reader);
            // The third sleeps, the others spin.
            let wait = if reader == 4 { Wait::Block } else { Wait::Spin };
            for spec in &specs {
                let mut receiver = node.receiver(spec, wait).unwrap();
                scope.spawn(move || {
                    for i in 0..MESSAGES {
                        assert_eq!(take(&mut *receiver), patterned(i, 24), "at {reader}");
                    }
                });
            }
        }
        for mut sender in senders {
            scope.spawn(move || {
                until_matched(&mut *sender, 3);
                for i in 0..MESSAGES {
                    sender.send(24, &mut |b| pattern(i, b)).unwrap();
                }
            });
        }
    });
    assert_eq!(trial.files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn it_does_not_matter_which_side_comes_first() {
    let trial = Trial::new();
    let spec = trial.channel(0, &[1], 8);
    let mut receiver = trial.node(1).receiver(&spec, Wait::Spin).unwrap();
    assert!(!receiver.matched().unwrap());
    let mut sender = trial.node(0).sender(&spec).unwrap();
    assert!(receiver.matched().unwrap());
    assert_eq!(sender.matched().unwrap(), 1);
}

#[test]
fn a_reader_that_comes_late_starts_with_what_is_sent_then() {
    let trial = Trial::with_depth(4);
    let spec = trial.channel(0, &[1, 2], 8);
    let mut sender = trial.node(0).sender(&spec).unwrap();
    for i in 0..11 {
        assert_eq!(
            sender.send(8, &mut |b| pattern(i, b)).unwrap(),
            Sent::Accepted
        );
    }
    let mut receiver = trial.node(2).receiver(&spec, Wait::Spin).unwrap();
    assert_eq!(sender.matched().unwrap(), 1);
    assert!(!receiver.take(&mut |_| unreachable!()).unwrap());
    sender.send(8, &mut |b| pattern(11, b)).unwrap();
    assert_eq!(take(&mut *receiver), patterned(11, 8));
}

#[test]
fn a_sender_that_comes_again_goes_on_where_the_former_ended() {
    let trial = Trial::with_depth(3);
    let spec = trial.channel(0, &[1], 8);
    let mut receiver = trial.node(1).receiver(&spec, Wait::Block).unwrap();
    for round in 0..7 {
        let mut sender = trial.node(0).sender(&spec).unwrap();
        for i in [round, round + 1] {
            sender.send(8, &mut |b| pattern(i, b)).unwrap();
        }
        drop(sender);
        for i in [round, round + 1] {
            assert_eq!(take(&mut *receiver), patterned(i, 8));
        }
    }
}

#[test]
fn a_full_ring_makes_the_sender_wait_for_the_reader() {
    for depth in [1, 2, 5] {
        let trial = Trial::with_depth(depth);
        let spec = trial.channel(0, &[1], 8);
        let mut sender = trial.node(0).sender(&spec).unwrap();
        let mut receiver = trial.node(1).receiver(&spec, Wait::Spin).unwrap();
        let depth = depth as u64;
        for i in 0..depth {
            assert_eq!(
                sender.send(8, &mut |b| pattern(i, b)).unwrap(),
                Sent::Accepted
            );
        }
        let sending = thread::spawn(move || sender.send(8, &mut |b| pattern(depth, b)).unwrap());
        thread::sleep(std::time::Duration::from_millis(30));
        assert!(!sending.is_finished(), "sent into a full ring of {depth}");
        for i in 0..=depth {
            assert_eq!(take(&mut *receiver), patterned(i, 8));
        }
        assert_eq!(sending.join().unwrap(), Sent::Accepted);
    }
}

#[test]
fn a_reader_sees_the_slot_itself_until_it_has_finished() {
    let trial = Trial::with_depth(1);
    let spec = trial.channel(0, &[1], 8);
    let mut sender = trial.node(0).sender(&spec).unwrap();
    let mut receiver = trial.node(1).receiver(&spec, Wait::Spin).unwrap();
    sender.send(8, &mut |b| b.fill(1)).unwrap();
    let mut second = Some(move || sender.send(8, &mut |b| b.fill(2)).unwrap());
    let mut sending = None;
    let took = receiver.take(&mut |m| {
        sending = second.take().map(thread::spawn);
        thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(m, [1; 8]);
    });
    assert!(took.unwrap());
    assert_eq!(take(&mut *receiver), [2; 8]);
    assert_eq!(sending.unwrap().join().unwrap(), Sent::Accepted);
}
