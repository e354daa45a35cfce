//! Cases about when ends come and go, and how long their calls last.

use super::ends::{Reader, Writer, deliver, link, must};
use super::exchange::Pair;
use super::log::DEADLINE;
use super::rig::Rig;
use super::signal;
use dyno_adapter::{Node, PATIENCE, Receiver, Wait};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

pub(super) fn no_sender_is_seen_before_there_is_one(rig: &Rig) {
    for (id, wait) in rig.waits().iter().enumerate() {
        let channel = rig.channel(id as u16, 0, &[1], rig.size(64));
        let mut node = rig.node(1);
        let mut reader = Reader::open(&mut *node, &channel, *wait);
        let start = Instant::now();
        while start.elapsed() < 3 * PATIENCE {
            assert!(
                !reader.matched(),
                "wait {wait}: a sender is seen before there is one"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        reader.close();
    }
}

pub(super) fn late_joiners_are_matched(rig: &Rig) {
    let wait = rig.pull_wait();
    let size = rig.size(64);

    // The writer first: it sees nobody, and that does not spoil the match.
    let channel = rig.channel(0, 0, &[1], size);
    let mut early = rig.node(0);
    let mut writers = [Writer::open(&mut *early, &channel)];
    assert_eq!(
        writers[0].matched(),
        0,
        "a receiver is seen before there is one"
    );
    std::thread::sleep(Duration::from_millis(50));
    writers[0].matched();
    let mut late = rig.node(1);
    let mut readers = [Reader::open(&mut *late, &channel, wait)];
    link(&mut writers, 1, &mut readers);
    assert!(
        deliver(&mut writers[0], &readers, size, rig.may_lose()),
        "writer first"
    );
    drop((writers, readers, early, late));

    // The reader first.
    let channel = rig.channel(1, 0, &[1], size);
    let mut early = rig.node(1);
    let mut readers = [Reader::open(&mut *early, &channel, wait)];
    std::thread::sleep(Duration::from_millis(50));
    let mut late = rig.node(0);
    let mut writers = [Writer::open(&mut *late, &channel)];
    link(&mut writers, 1, &mut readers);
    assert!(
        deliver(&mut writers[0], &readers, size, rig.may_lose()),
        "reader first"
    );
    drop((writers, readers, early, late));

    // A second reader later than the first.
    if rig.capabilities.max_receivers.is_none_or(|most| most >= 2) {
        let channel = rig.channel(2, 0, &[1, 2], size);
        let mut nodes: Vec<Box<dyn Node>> = (0..3).map(|i| rig.node(i)).collect();
        let mut writers = [Writer::open(&mut *nodes[0], &channel)];
        let mut readers = vec![Reader::open(&mut *nodes[1], &channel, wait)];
        let start = Instant::now();
        while writers[0].matched() == 0 && start.elapsed() < Duration::from_millis(200) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(
            writers[0].matched() < 2,
            "a receiver is seen before there is one"
        );
        readers.push(Reader::open(&mut *nodes[2], &channel, wait));
        link(&mut writers, 2, &mut readers);
        assert!(
            deliver(&mut writers[0], &readers, size, rig.may_lose()),
            "second reader"
        );
    }
}

/// A receiver that is matched and gets no message.
fn idle_receiver(rig: &Rig, wait: Wait) -> (Box<dyn Receiver>, Writer, Vec<Box<dyn Node>>) {
    let reading = if rig.capabilities.loopback { 0 } else { 1 };
    let channel = rig.channel(0, 0, &[reading], rig.size(64));
    let mut nodes: Vec<Box<dyn Node>> = (0..=reading).map(|i| rig.node(i)).collect();
    let mut receiver = must(
        "receiver",
        nodes[usize::from(reading)].receiver(&channel, wait),
    );
    let mut writer = Writer::open(&mut *nodes[0], &channel);
    let start = Instant::now();
    // Both are asked each time, since asking may drive the connection.
    while !((writer.matched() == 1) & must("matched", receiver.matched())) {
        assert!(start.elapsed() < DEADLINE, "no match");
        std::thread::sleep(Duration::from_millis(1));
    }
    (receiver, writer, nodes)
}

pub(super) fn blocking_take_returns(rig: &Rig) {
    const TAKES: usize = 3;
    /// How long takes are left alone before signals come.
    const ALONE: Duration = Duration::from_secs(5);
    /// Ten times the promise, and of several takes only the shortest must keep it: a machine that is
    /// busy is no take that sleeps for seconds.
    const SOON: Duration = Duration::from_secs(1);
    let (mut receiver, writer, nodes) = idle_receiver(rig, Wait::Block);
    signal::install();
    let (tell, told) = mpsc::channel();
    let taking = std::thread::spawn(move || {
        for _ in 0..TAKES {
            let start = Instant::now();
            let taken = receiver.take(&mut |_| {});
            assert!(!must("take", taken), "a message that nobody sent");
            // Nobody listens any more once the case has failed.
            let _ = tell.send(start.elapsed());
        }
    });
    let start = Instant::now();
    let mut takes: Vec<Duration> = Vec::new();
    while let Ok(took) = told.recv_timeout(ALONE.saturating_sub(start.elapsed())) {
        takes.push(took);
    }
    let alone = !takes.is_empty();
    // The header has no other end of a take's sleep that a library could rely on: signals may go to
    // its threads. A system call of ours may sleep until a signal (ADR 5).
    assert!(
        alone || !rig.is_library(),
        "a blocking take without a message has not returned after {ALONE:?}; DYNO_PATIENCE_MS is \
         {PATIENCE:?}"
    );
    signal::join_nudged(taking, DEADLINE, "a blocking take");
    if !alone {
        // The first began before the signals.
        takes.extend(told.try_iter().skip(1));
    }
    let shortest = takes.iter().min().copied().unwrap_or_default();
    assert!(
        shortest <= SOON,
        "a blocking take without a message sleeps for {shortest:?} or more{}; DYNO_PATIENCE_MS is \
         {PATIENCE:?}",
        if alone { "" } else { " despite signals" }
    );
    drop((writer, nodes));
}

pub(super) fn spinning_take_returns_at_once(rig: &Rig) {
    const TAKES: u32 = 400;
    let (mut receiver, writer, nodes) = idle_receiver(rig, Wait::Spin);
    let start = Instant::now();
    for _ in 0..TAKES {
        let taken = receiver.take(&mut |_| {});
        assert!(!must("take", taken), "a message that nobody sent");
    }
    assert!(
        start.elapsed() < TAKES / 2 * PATIENCE,
        "spinning takes sleep as blocking ones do"
    );
    drop((receiver, writer, nodes));
}

pub(super) fn a_dropped_subscription_is_silent(rig: &Rig) {
    let mut pair = Pair::open(rig, rig.size(64), Wait::Callback);
    for _ in 0..100 {
        pair.writer.send(8);
    }
    pair.reader.close();
    let log = pair.reader.log.clone();
    drop(pair.reader);
    let start = Instant::now();
    while Arc::strong_count(&log) > 1 {
        assert!(
            start.elapsed() < DEADLINE,
            "the callback was not dropped with its subscription"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    let before = log.lock().messages.len();
    for _ in 0..100 {
        // What becomes of it is not the question: nobody listens.
        let _ = pair.writer.try_send(8);
    }
    std::thread::sleep(PATIENCE);
    assert_eq!(log.lock().messages.len(), before, "called after the drop");
}
