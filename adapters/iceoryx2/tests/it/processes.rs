//! Messages between processes, and what becomes of one when the other stops or dies.

use crate::common::{Trial, pattern, take, until_matched, write};
use dyno_adapter::{Error, Sent, Wait};
use dyno_adapter_iceoryx2::adapter;

const SIZE: usize = 1000;

/// Not a test of its own: answers every ping until it is killed.
#[test]
fn role_echo() {
    let Some(trial) = Trial::inherited() else {
        return;
    };
    let mut node = adapter().open(&trial.context(1)).unwrap();
    let mut pongs = node.sender(&trial.channel(1, SIZE, 1, &[0])).unwrap();
    let mut pings = node
        .receiver(&trial.channel(0, SIZE, 0, &[1]), Wait::Block)
        .unwrap();
    loop {
        let ping = take(pings.as_mut());
        if pongs
            .send(ping.len(), &mut |bytes| bytes.copy_from_slice(&ping))
            .is_err()
        {
            return;
        }
    }
}

/// Not a test of its own: receives nothing until it is killed.
#[test]
fn role_idle_reader() {
    let Some(trial) = Trial::inherited() else {
        return;
    };
    let mut node = adapter().open(&trial.context(1)).unwrap();
    let mut receiver = node
        .receiver(&trial.channel(0, SIZE, 0, &[1]), Wait::Spin)
        .unwrap();
    loop {
        receiver.matched().unwrap();
        std::thread::yield_now();
    }
}

/// Not a test of its own: takes 2000 messages in order.
#[test]
fn role_counting_reader() {
    let Some(trial) = Trial::inherited() else {
        return;
    };
    let mut node = adapter().open(&trial.context(1)).unwrap();
    let mut receiver = node
        .receiver(&trial.channel(0, SIZE, 0, &[1]), Wait::Block)
        .unwrap();
    for number in 0..2000 {
        assert_eq!(take(receiver.as_mut()), pattern(number, SIZE));
    }
}

/// Not a test of its own: sends until it is killed.
#[test]
fn role_sender() {
    let Some(trial) = Trial::inherited() else {
        return;
    };
    let mut node = adapter().open(&trial.context(0)).unwrap();
    let mut sender = node.sender(&trial.channel(0, SIZE, 0, &[1])).unwrap();
    until_matched(sender.as_mut(), 1);
    for number in 0.. {
        if sender
            .send(SIZE, &mut |bytes| write(number, bytes))
            .is_err()
        {
            return;
        }
    }
}

#[test]
fn pings_come_back_from_another_process() {
    for wait in [Wait::Spin, Wait::Block] {
        let trial = Trial::new();
        let echo = trial.process("role_echo");
        let mut node = adapter().open(&trial.context(0)).unwrap();
        let mut pings = node.sender(&trial.channel(0, SIZE, 0, &[1])).unwrap();
        let mut pongs = node
            .receiver(&trial.channel(1, SIZE, 1, &[0]), wait)
            .unwrap();
        until_matched(pings.as_mut(), 1);
        while !pongs.matched().unwrap() {
            std::thread::yield_now();
        }
        for number in 0..200 {
            pings.send(SIZE, &mut |bytes| write(number, bytes)).unwrap();
            assert_eq!(take(pongs.as_mut()), pattern(number, SIZE));
        }
        drop(echo);
        drop((node, pings, pongs));
        assert_eq!(trial.shared_memory(), Vec::<String>::new());
    }
}

#[test]
fn a_killed_reader_does_not_hold_up_the_sender_for_ever() {
    let trial = Trial::new();
    let reader = trial.process("role_idle_reader");
    let mut node = adapter().open(&trial.context(0)).unwrap();
    let mut sender = node.sender(&trial.channel(0, SIZE, 0, &[1])).unwrap();
    until_matched(sender.as_mut(), 1);
    reader.signal(libc::SIGKILL);
    let error = loop {
        if let Err(error) = sender.send(SIZE, &mut |_| ()) {
            break error;
        }
    };
    assert!(matches!(error, Error::PeerGone { .. }), "{error}");
}

#[test]
fn a_stopped_reader_delays_messages_and_loses_none() {
    let trial = Trial::new();
    let reader = trial.process("role_counting_reader");
    let mut node = adapter().open(&trial.context(0)).unwrap();
    let mut sender = node.sender(&trial.channel(0, SIZE, 0, &[1])).unwrap();
    until_matched(sender.as_mut(), 1);
    reader.signal(libc::SIGSTOP);
    let mut waits = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(500));
            reader.signal(libc::SIGCONT);
        });
        for number in 0..2000 {
            let start = std::time::Instant::now();
            let sent = sender
                .send(SIZE, &mut |bytes| write(number, bytes))
                .unwrap();
            assert_ne!(sent, Sent::Refused);
            waits += u32::from(start.elapsed() > std::time::Duration::from_millis(100));
        }
    });
    assert!(waits > 0);
    reader.wait();
}

#[test]
fn a_killed_sender_leaves_the_reader_with_what_was_sent_and_then_with_nothing() {
    for wait in [Wait::Spin, Wait::Block] {
        let trial = Trial::new();
        let writer = trial.process("role_sender");
        let mut node = adapter().open(&trial.context(1)).unwrap();
        let mut receiver = node
            .receiver(&trial.channel(0, SIZE, 0, &[1]), wait)
            .unwrap();
        for number in 0..100 {
            assert_eq!(take(receiver.as_mut()), pattern(number, SIZE));
        }
        drop(writer);
        while receiver
            .take(&mut |bytes| assert_eq!(bytes.len(), SIZE))
            .unwrap()
        {}
        assert!(!receiver.take(&mut |_| panic!("from the dead")).unwrap());
    }
}
