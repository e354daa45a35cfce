//! Messages between two nodes of one process, in every wait strategy and size.

use crate::common::{Trial, connect, names, pattern, take, until_matched, write};
use dyno_adapter::{Error, OptionValue, Placement, Sent, Wait};
use dyno_adapter_iceoryx2::adapter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SIZES: [usize; 8] = [8, 16, 100, 1 << 10, 65_537, 1 << 20, 4_000_000, 4 << 20];

#[test]
fn every_size_arrives_intact_by_polling_and_by_sleeping() {
    for wait in [Wait::Spin, Wait::Block] {
        let trial = Trial::new();
        let mut near = adapter().open(&trial.context(0)).unwrap();
        let mut far = adapter().open(&trial.context(1)).unwrap();
        for (id, size) in SIZES.into_iter().enumerate() {
            let channel = trial.channel(id as u16, size, 0, &[1]);
            let mut sender = near.sender(&channel).unwrap();
            let mut receiver = far.receiver(&channel, wait).unwrap();
            connect(sender.as_mut(), receiver.as_mut());
            for number in 0..20 {
                let sent = sender
                    .send(size, &mut |bytes| write(number, bytes))
                    .unwrap();
                assert_eq!(sent, Sent::Accepted);
                assert_eq!(
                    take(receiver.as_mut()),
                    pattern(number, size),
                    "{wait} {size}"
                );
            }
            assert!(!receiver.take(&mut |_| panic!("sent twice")).unwrap());
        }
    }
}

#[test]
fn messages_may_be_shorter_than_the_channel_allows() {
    let trial = Trial::new();
    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    let channel = trial.channel(0, 4096, 0, &[1]);
    let mut sender = near.sender(&channel).unwrap();
    let mut receiver = far.receiver(&channel, Wait::Spin).unwrap();
    connect(sender.as_mut(), receiver.as_mut());
    for len in [4096, 8, 4095, 1] {
        sender.send(len, &mut |bytes| write(9, bytes)).unwrap();
        assert_eq!(take(receiver.as_mut()), pattern(9, len));
    }
    assert!(sender.send(4097, &mut |_| ()).is_err());
}

#[test]
fn a_message_to_nobody_is_refused_and_nothing_is_matched() {
    let trial = Trial::new();
    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    let channel = trial.channel(0, 64, 0, &[1]);
    let mut receiver = far.receiver(&channel, Wait::Spin).unwrap();
    assert!(!receiver.matched().unwrap());
    drop(receiver);
    let mut sender = near.sender(&channel).unwrap();
    assert_eq!(sender.matched().unwrap(), 0);
    assert_eq!(sender.send(64, &mut |_| ()).unwrap(), Sent::Refused);
}

#[test]
fn two_senders_reach_three_readers_each_over_their_own_channel() {
    const MESSAGES: u64 = 500;
    let trial = Trial::new();
    let readers = [2, 3, 4];
    let channels = [0, 1].map(|writer| trial.channel(writer, 256, writer, &readers));
    std::thread::scope(|scope| {
        for participant in readers {
            let (trial, channels) = (&trial, &channels);
            scope.spawn(move || {
                let mut node = adapter().open(&trial.context(participant)).unwrap();
                let wait = if participant == 2 {
                    Wait::Spin
                } else {
                    Wait::Block
                };
                let mut receivers = channels
                    .each_ref()
                    .map(|channel| node.receiver(channel, wait).unwrap());
                for number in 0..MESSAGES {
                    for (writer, receiver) in receivers.iter_mut().enumerate() {
                        let expected = pattern(number << writer, 256);
                        assert_eq!(take(receiver.as_mut()), expected);
                    }
                }
            });
        }
        for channel in &channels {
            let trial = &trial;
            scope.spawn(move || {
                let mut node = adapter().open(&trial.context(channel.writer)).unwrap();
                let mut sender = node.sender(channel).unwrap();
                until_matched(sender.as_mut(), 3);
                for number in 0..MESSAGES {
                    let number = number << channel.writer;
                    sender.send(256, &mut |bytes| write(number, bytes)).unwrap();
                }
                // Readers that leave early are gone, so leave last.
                while sender.matched().unwrap() > 0 {
                    std::thread::yield_now();
                }
            });
        }
    });
}

#[test]
fn a_full_buffer_loses_the_oldest_only_where_overflow_is_asked_for() {
    let trial = Trial::new()
        .with("safe_overflow", OptionValue::Bool(true))
        .with("queue_depth", OptionValue::Int(4));
    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    let channel = trial.channel(0, 64, 0, &[1]);
    let mut sender = near.sender(&channel).unwrap();
    let mut receiver = far.receiver(&channel, Wait::Spin).unwrap();
    connect(sender.as_mut(), receiver.as_mut());
    for number in 0..10 {
        let sent = sender.send(64, &mut |bytes| write(number, bytes)).unwrap();
        assert_eq!(sent, Sent::Accepted);
    }
    for number in 6..10 {
        assert_eq!(take(receiver.as_mut()), pattern(number, 64));
    }
}

#[test]
fn a_sender_that_finds_the_buffer_full_waits_and_says_so() {
    let trial = Trial::new().with("queue_depth", OptionValue::Int(4));
    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    let channel = trial.channel(0, 64, 0, &[1]);
    let mut sender = near.sender(&channel).unwrap();
    let mut receiver = far.receiver(&channel, Wait::Block).unwrap();
    connect(sender.as_mut(), receiver.as_mut());
    let filled = AtomicU64::new(0);
    let waited = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut receiver = receiver;
            while filled.load(Ordering::Relaxed) < 4 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            // Longer than the sender's look after its peers.
            std::thread::sleep(std::time::Duration::from_millis(250));
            for number in 0..10 {
                assert_eq!(take(receiver.as_mut()), pattern(number, 64));
            }
            receiver
        });
        (0..10)
            .filter(|&number| {
                let start = std::time::Instant::now();
                let sent = sender.send(64, &mut |bytes| write(number, bytes));
                assert_eq!(sent.unwrap(), Sent::Accepted);
                filled.fetch_add(1, Ordering::Relaxed);
                start.elapsed() > std::time::Duration::from_millis(10)
            })
            .count()
    });
    assert!(waited >= 1);
}

#[test]
fn a_reader_that_leaves_is_reported_as_gone() {
    let trial = Trial::new();
    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    let channel = trial.channel(0, 64, 0, &[1]);
    let mut sender = near.sender(&channel).unwrap();
    let mut receiver = far.receiver(&channel, Wait::Spin).unwrap();
    connect(sender.as_mut(), receiver.as_mut());
    drop(receiver);
    let error = sender.send(64, &mut |_| ()).unwrap_err();
    assert!(matches!(error, Error::PeerGone { .. }), "{error}");
}

#[test]
fn that_one_of_two_readers_has_gone_is_told_once_and_the_other_one_is_served() {
    let trial = Trial::new();
    let mut nodes =
        [0, 1, 2].map(|participant| adapter().open(&trial.context(participant)).unwrap());
    let channel = trial.channel(0, 64, 0, &[1, 2]);
    let mut sender = nodes[0].sender(&channel).unwrap();
    let mut first = nodes[1].receiver(&channel, Wait::Spin).unwrap();
    connect(sender.as_mut(), first.as_mut());
    // The second one joins and leaves: once before anybody asks for peers, once after that.
    for asks in [false, true] {
        let mut second = nodes[2].receiver(&channel, Wait::Spin).unwrap();
        while !(second.matched().unwrap() & (sender.matched().unwrap() == 2)) {
            thread::yield_now();
        }
        drop(second);
        if asks {
            assert_eq!(sender.matched().unwrap(), 1);
        } else {
            let error = sender.send(64, &mut |bytes| write(9, bytes)).unwrap_err();
            assert!(matches!(error, Error::PeerGone { .. }), "{error}");
            assert_eq!(take(first.as_mut()), pattern(9, 64));
        }
        for number in 0..3 {
            let sent = sender.send(64, &mut |bytes| write(number, bytes)).unwrap();
            assert_eq!(sent, Sent::Accepted);
            assert_eq!(take(first.as_mut()), pattern(number, 64));
        }
    }
}

#[test]
fn nothing_remains_after_many_nodes_were_opened_and_dropped() {
    let trial = Trial::new();
    let open_files = || names(Path::new("/proc/self/fd")).len();
    let threads = || names(Path::new("/proc/self/task")).len();
    let cycle = || {
        let mut near = adapter().open(&trial.context(0)).unwrap();
        let mut far = adapter().open(&trial.context(1)).unwrap();
        let channel = trial.channel(0, 1000, 0, &[1]);
        let mut sender = near.sender(&channel).unwrap();
        let mut receiver = far.receiver(&channel, Wait::Block).unwrap();
        connect(sender.as_mut(), receiver.as_mut());
        sender.send(8, &mut |bytes| write(1, bytes)).unwrap();
        take(receiver.as_mut());
        // In turn: nodes before what they made, and after.
        drop((near, sender, receiver, far));
    };
    cycle();
    let before = (open_files(), threads());
    for _ in 0..50 {
        cycle();
        assert_eq!(trial.shared_memory(), Vec::<String>::new());
    }
    // Other tests of this binary open files at the same time, and close them; 50 leaks stay.
    let is_leaking = || open_files() >= before.0 + 50 || threads() >= before.1 + 50;
    let patience = Instant::now() + Duration::from_secs(30);
    while is_leaking() && Instant::now() < patience {
        thread::sleep(Duration::from_millis(100));
    }
    assert!(
        !is_leaking(),
        "{} files, {} threads",
        open_files(),
        threads()
    );
    let left: Vec<_> = names(&trial.scratch.join("iox2"))
        .into_iter()
        .filter(|name| name.contains(&trial.session))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_deep_scratch_directory_is_reached_through_a_claimed_link_that_goes_with_the_last_node() {
    let mut trial = Trial::new();
    trial.scratch = trial.scratch.join("d".repeat(90));
    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    let channel = trial.channel(0, 64, 0, &[1]);
    let mut sender = near.sender(&channel).unwrap();
    let mut receiver = far.receiver(&channel, Wait::Block).unwrap();
    connect(sender.as_mut(), receiver.as_mut());
    sender.send(64, &mut |bytes| write(3, bytes)).unwrap();
    assert_eq!(take(receiver.as_mut()), pattern(3, 64));

    let claims = trial.scratch.join(dyno_adapter::CLAIMS);
    let link = names(&claims)
        .into_iter()
        .map(|note| std::fs::read_to_string(claims.join(note)).unwrap())
        .map(|text| PathBuf::from(text.trim_end().strip_prefix("file ").unwrap()))
        .find(|path| path.is_symlink())
        .unwrap();
    assert_eq!(
        std::fs::read_link(&link).unwrap(),
        trial.scratch.join("iox2")
    );
    drop((near, sender));
    assert!(link.is_symlink());
    drop((far, receiver));
    assert!(!link.is_symlink());
}

#[test]
fn wrong_options_and_unsupported_waits_are_refused_with_a_reason() {
    for (name, value, word) in [
        ("queue_depth", OptionValue::Int(0), "1 or more"),
        ("history", OptionValue::Int(65), "raise `queue_depth`"),
        ("safe_overflow", OptionValue::Int(1), "true or false"),
    ] {
        let trial = Trial::new().with(name, value);
        let error = adapter().open(&trial.context(0)).err().unwrap().to_string();
        assert!(error.contains(name) && error.contains(word), "{error}");
    }
    let trial = Trial::new();
    let mut node = adapter().open(&trial.context(1)).unwrap();
    let channel = trial.channel(0, 64, 0, &[1]);
    assert!(matches!(
        node.receiver(&channel, Wait::Callback),
        Err(Error::Unsupported(_))
    ));
    assert!(node.subscribe(&channel, Box::new(|_| ())).is_err());
}

#[test]
fn the_description_tells_the_version_and_does_not_promise_other_hosts() {
    let described = adapter().describe();
    assert_eq!(described.name, "iceoryx2");
    assert!(
        described.version.starts_with("0.10."),
        "{}",
        described.version
    );
    assert!(!described.capabilities.placements.contains(&Placement::Host));
}
