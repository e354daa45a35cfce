//! Cases with a second process, and what that process does.

use super::call;
use super::child::{Child, Part, say};
use super::ends::{Reader, Writer, await_match, deliver, must};
use super::exchange::Pair;
use super::log::DEADLINE;
use super::residue::{self, Belongings};
use super::rig::Rig;
use super::signal;
use dyno_adapter::{ChannelSpec, Node, Sent, Wait};
use std::sync::mpsc;
use std::time::{Duration, Instant};

pub(super) fn processes_exchange_messages(rig: &Rig) {
    for (i, wait) in rig.waits().iter().enumerate() {
        let ids = (2 * i as u16, 2 * i as u16 + 1);
        let size = rig.size(100_000);
        let forth = rig.channel(ids.0, 0, &[1], size);
        let back = rig.channel(ids.1, 1, &[0], size);
        let mut child = Child::start(rig, Part::Echo, *wait, &[forth.clone(), back.clone()]);

        let mut node = rig.node(0);
        let mut readers = [Reader::open_expecting(&mut *node, &back, *wait, forth.id)];
        let mut writers = [Writer::open(&mut *node, &forth)];
        await_match(&mut writers, 1, &mut readers);
        let start = Instant::now();
        while readers[0].log.lock().probes == 0 {
            child.assert_runs();
            assert!(
                start.elapsed() < DEADLINE,
                "wait {wait}: no probe comes back"
            );
            writers[0].probe();
            std::thread::sleep(Duration::from_millis(5));
        }
        for len in [8, 64, 1_000, 5_000, 70_000, 100_000, 9] {
            let len = len.min(size);
            assert!(
                deliver(&mut writers[0], &readers, len, rig.may_lose()),
                "wait {wait}: no reply of {len} B"
            );
        }
        child.finish();
        readers[0].close();
        readers[0]
            .log
            .assert_arrived(&writers[0].accepted, rig.may_lose());
    }
}

/// The child of [`processes_exchange_messages`]: sends back what arrives.
pub(super) fn echo(rig: &Rig, wait: Wait, channels: &[ChannelSpec], go_on: &dyn Fn() -> bool) {
    let (forth, back) = (&channels[0], &channels[1]);
    let mut node = rig.node(1);
    let (tell, told) = mpsc::channel::<Vec<u8>>();
    let mut sender = must("sender", node.sender(back));
    let note = move |bytes: &[u8]| {
        // Nobody listens any more only when the child ends.
        let _ = tell.send(bytes.to_vec());
    };
    let reading = Reading::open(&mut *node, forth, wait, Box::new(note));
    while go_on() {
        must("matched", sender.matched());
        while let Ok(message) = told.recv_timeout(Duration::from_millis(5)) {
            let start = Instant::now();
            let mut copy = |room: &mut [u8]| room.copy_from_slice(&message);
            while must("send", sender.send(message.len(), &mut copy)) == Sent::Refused {
                assert!(start.elapsed() < DEADLINE, "a reply is always refused");
            }
        }
    }
    reading.close();
}

/// A reading end that hands over messages unchecked.
enum Reading {
    ByUs(std::thread::JoinHandle<()>, mpsc::Sender<()>),
    ByLibrary(Box<dyn dyno_adapter::Subscription>),
}

impl Reading {
    fn open(
        node: &mut dyn Node,
        channel: &ChannelSpec,
        wait: Wait,
        mut on_message: dyno_adapter::OnMessage,
    ) -> Self {
        if wait == Wait::Callback {
            return Reading::ByLibrary(must("subscribe", node.subscribe(channel, on_message)));
        }
        signal::install();
        let mut receiver = must("receiver", node.receiver(channel, wait));
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut matched = false;
            while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
                if !matched {
                    matched = must("matched", receiver.matched());
                    std::thread::sleep(Duration::from_millis(1));
                } else if receiver.take(&mut on_message).is_err() {
                    return; // The parent is gone or about to end us.
                }
            }
        });
        Reading::ByUs(thread, stop)
    }

    fn close(self) {
        match self {
            Reading::ByUs(thread, stop) => {
                drop(stop);
                signal::join_nudged(thread, DEADLINE, "take");
            }
            Reading::ByLibrary(subscription) => drop(subscription),
        }
    }
}

pub(super) fn sender_survives_a_killed_receiver(rig: &Rig) {
    const AFTERWARDS: u32 = 20_000;
    let size = rig.size(4_096);
    let channel = rig.channel(0, 0, &[1], size);
    let mut child = Child::start(
        rig,
        Part::Sink,
        rig.pull_wait(),
        std::slice::from_ref(&channel),
    );
    let mut node = rig.node(0);
    let mut writers = [Writer::open(&mut *node, &channel)];
    await_match(&mut writers, 1, &mut []);
    let start = Instant::now();
    while !child.has_said("linked") {
        child.assert_runs();
        assert!(start.elapsed() < DEADLINE, "no probe arrives");
        writers[0].probe();
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill();
    rig.note_crash();

    let [mut writer] = writers;
    signal::install();
    let sending = std::thread::spawn(move || {
        for _ in 0..AFTERWARDS {
            // An error ends the trial, a refusal is a loss; both are answers.
            if writer.try_send(size).is_err() {
                break;
            }
        }
        let _ = writer.try_send(size);
    });
    // Without signals: the sender itself must notice.
    signal::ended(sending, "a send hangs after its receiver was killed");
}

/// The child of [`sender_survives_a_killed_receiver`].
pub(super) fn sink(rig: &Rig, wait: Wait, channels: &[ChannelSpec], go_on: &dyn Fn() -> bool) {
    let mut node = rig.node(1);
    let mut readers = [Reader::open(&mut *node, &channels[0], wait)];
    await_match(&mut [], 0, &mut readers);
    readers[0].log.wait("a probe", |seen| seen.probes > 0);
    say("linked");
    while go_on() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(super) fn receiver_survives_a_killed_sender(rig: &Rig) {
    rig.note_crash();
    for (id, wait) in rig.waits().iter().enumerate() {
        let channel = rig.channel(id as u16, 0, &[1], rig.size(4_096));
        let mut child = Child::start(rig, Part::Source, *wait, std::slice::from_ref(&channel));
        let mut node = rig.node(1);
        let mut readers = [Reader::open(&mut *node, &channel, *wait)];
        await_match(&mut [], 0, &mut readers);
        let [reader] = &mut readers;
        reader.log.wait("a probe", |seen| seen.probes > 0);
        child.tell();
        reader
            .log
            .wait("a message", |seen| !seen.messages.is_empty());
        child.kill();
        // Long enough for what was under way to arrive and for a take to notice.
        std::thread::sleep(Duration::from_millis(300));
        reader.close();
        let last = reader
            .log
            .lock()
            .messages
            .last()
            .map_or(0, |(last, _)| *last);
        let sent: Vec<_> = (0..=last).map(|i| (i, rig.size(SOURCE_SIZE))).collect();
        reader.log.assert_arrived(&sent, true);
    }
}

/// Bytes of each message of [`source`].
const SOURCE_SIZE: usize = 1_000;

/// The child of [`receiver_survives_a_killed_sender`]. What is sent before the receiver knows its sender
/// may come late, or never: until it is told that the path works, it sends probes.
pub(super) fn source(
    rig: &Rig,
    channels: &[ChannelSpec],
    told: &dyn Fn() -> bool,
    go_on: &dyn Fn() -> bool,
) {
    let mut node = rig.node(0);
    let mut writers = [Writer::open(&mut *node, &channels[0])];
    await_match(&mut writers, 1, &mut []);
    while go_on() && !told() {
        writers[0].probe();
        std::thread::sleep(Duration::from_millis(5));
    }
    while go_on() && writers[0].try_send(rig.size(SOURCE_SIZE)).is_ok() {}
}

/// Plays `part` in a process of its own, so that other tests do not count.
fn alone(rig: &Rig, part: Part) {
    let reading = if rig.capabilities.loopback { 0 } else { 1 };
    let channel = rig.channel(0, 0, &[reading], rig.size(10_000));
    for wait in rig.waits() {
        let child = Child::start(rig, part, *wait, std::slice::from_ref(&channel));
        child.assert_succeeds(4 * DEADLINE);
    }
}

pub(super) fn open_and_close_leak_nothing(rig: &Rig) {
    alone(rig, Part::Leaks);
}

/// The child of [`open_and_close_leak_nothing`].
pub(super) fn leaks(rig: &Rig, wait: Wait, channel: &ChannelSpec) {
    const CYCLES: u32 = 100;
    /// Libraries may set up what they keep for the rest of the process.
    const SETTLED: u32 = 10;
    let mut bound = Belongings::now();
    for cycle in 0..CYCLES {
        if cycle == SETTLED {
            bound = Belongings::settled();
        }
        let mut pair = Pair::open_on(rig, channel, wait);
        pair.reader.close();
        drop(pair);
        if rig.capabilities.request_response && cycle % 5 == 0 {
            call::open_and_close(rig, wait);
        }
    }
    let start = Instant::now();
    loop {
        let now = Belongings::now();
        if now.within(&bound) {
            break;
        }
        assert!(
            start.elapsed() < DEADLINE,
            "wait {wait}: after {SETTLED} cycles {bound:?}, after {CYCLES} {now:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    rig.assert_nothing_left();
}

pub(super) fn what_is_created_is_claimed(rig: &Rig) {
    alone(rig, Part::Claims);
}

/// The child of [`what_is_created_is_claimed`].
pub(super) fn claims(rig: &Rig, wait: Wait, channel: &ChannelSpec) {
    // What the test harness and the C library hold is not the adapter's.
    let before = residue::held_outside(rig.scratch());
    let mut pair = Pair::open_on(rig, channel, wait);
    for _ in 0..3 {
        pair.writer.send(channel.max_payload);
    }
    let mut held = residue::held_outside(rig.scratch());
    held.retain(|item| !before.contains(item) && !rig.known.contains(item));
    let claimed = residue::claimed(rig.scratch());
    let unclaimed: Vec<_> = held.difference(&claimed).collect();
    assert!(
        unclaimed.is_empty(),
        "wait {wait}: others can see what is neither in the scratch directory nor claimed: \
         {unclaimed:?}"
    );
    pair.reader.close();
    drop(pair);
    let start = Instant::now();
    loop {
        let left = residue::existing(&held);
        if left.is_empty() {
            break;
        }
        assert!(
            start.elapsed() < DEADLINE,
            "wait {wait}: still there after everything was dropped: {left:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    rig.assert_nothing_left();
}
