//! What becomes of one process when the other stops or dies.

use crate::common::{Trial, pattern, take, write};
use dyno_adapter::{Error, OptionValue, Sent, Wait};
use dyno_adapter_zenoh::adapter;
use std::sync::atomic::{AtomicU64, Ordering};

const SIZE: usize = 1000;

/// Not a test of its own: takes messages and checks their order until it is killed.
#[test]
fn role_reader() {
    let Some(trial) = Trial::inherited() else {
        return;
    };
    let mut node = adapter().open(&trial.context(1)).unwrap();
    let channel = trial.channel(0, SIZE, 0, 1);
    let mut receiver = node.receiver(&channel, Wait::Block).unwrap();
    for number in 0.. {
        assert_eq!(take(receiver.as_mut()), pattern(number, SIZE));
    }
}

fn matched_sender(trial: &Trial) -> (Box<dyn dyno_adapter::Sender>, Box<dyn dyno_adapter::Node>) {
    let mut node = adapter().open(&trial.context(0)).unwrap();
    let mut sender = node.sender(&trial.channel(0, SIZE, 0, 1)).unwrap();
    while sender.matched().unwrap() == 0 {
        std::thread::yield_now();
    }
    (sender, node)
}

#[test]
fn a_killed_reader_is_reported_as_gone() {
    let trial = Trial::new();
    let reader = trial.process("role_reader");
    let (mut sender, _node) = matched_sender(&trial);
    reader.signal(libc::SIGKILL);
    let error = (0..)
        .find_map(|number| sender.send(SIZE, &mut |bytes| write(number, bytes)).err())
        .unwrap();
    assert!(matches!(error, Error::PeerGone { .. }), "{error}");
}

#[test]
fn a_stopped_reader_makes_the_sender_wait_and_loses_nothing() {
    let trial = Trial::new();
    let reader = trial.process("role_reader");
    let (mut sender, _node) = matched_sender(&trial);
    reader.signal(libc::SIGSTOP);
    let accepted = AtomicU64::new(0);
    let mut waits = 0;
    std::thread::scope(|scope| {
        // Goes on once the sender waits, or has found no reason to.
        scope.spawn(|| {
            let mut before = None;
            loop {
                std::thread::sleep(std::time::Duration::from_millis(300));
                let now = Some(accepted.load(Ordering::Relaxed));
                if std::mem::replace(&mut before, now) == now {
                    break;
                }
            }
            reader.signal(libc::SIGCONT);
        });
        // More than the buffers of both sides hold.
        for number in 0..50_000 {
            let start = std::time::Instant::now();
            let sent = sender
                .send(SIZE, &mut |bytes| write(number, bytes))
                .unwrap();
            assert_eq!(sent, Sent::Accepted);
            accepted.fetch_add(1, Ordering::Relaxed);
            waits += u32::from(start.elapsed() > std::time::Duration::from_millis(100));
        }
    });
    assert!(waits > 0);
    // The reader ends by a panic, and its link with it, if anything was lost.
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(sender.matched().unwrap(), 1);
}

#[test]
fn shared_memory_of_a_killed_process_is_claimed_and_goes_with_the_next_look() {
    let trial = Trial::new().with("shm", OptionValue::Bool(true));
    let reader = trial.process("role_reader");
    let (sender, node) = matched_sender(&trial);
    while trial.claimed().len() < 2 {
        std::thread::yield_now();
    }
    drop((sender, node));
    let claimed = trial.claimed();
    assert!(claimed.iter().any(|path| path.exists()));
    reader.signal(libc::SIGKILL);
    drop(reader);

    // What the first node of the next process does.
    zenoh::shm::cleanup_orphaned_shm_segments();
    let mapped = std::fs::read_to_string("/proc/self/maps").unwrap();
    for path in claimed {
        let text = path.to_string_lossy();
        assert!(!path.exists() || mapped.contains(&*text), "{text} is left");
    }
}
