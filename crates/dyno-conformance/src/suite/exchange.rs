//! Cases in which messages flow between participants of one process.

use super::ends::{Reader, Writer, deliver, link, must};
use super::log::DEADLINE;
use super::rig::Rig;
use super::signal;
use dyno_adapter::{ChannelSpec, Node, Sent, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One writer and one reader of a channel that see each other. Fields drop in order: ends first.
pub(super) struct Pair {
    pub(super) writer: Writer,
    pub(super) reader: Reader,
    pub(super) _nodes: Vec<Box<dyn Node>>,
}

impl Pair {
    /// Opens participant 0 as writer and 1 as reader (one participant for loopback adapters) and
    /// proves that a message passes.
    pub(super) fn open(rig: &Rig, max_payload: usize, wait: Wait) -> Self {
        let reading = if rig.capabilities.loopback { 0 } else { 1 };
        let channel = rig.channel(0, 0, &[reading], max_payload);
        Self::open_on(rig, &channel, wait)
    }

    /// As [`Pair::open`] on a given channel.
    pub(super) fn open_on(rig: &Rig, channel: &ChannelSpec, wait: Wait) -> Self {
        let mut nodes = vec![rig.node(0)];
        if !rig.capabilities.loopback {
            nodes.push(rig.node(1));
        }
        let mut reader = [Reader::open(
            &mut **nodes.last_mut().expect("one node"),
            channel,
            wait,
        )];
        let mut writer = [Writer::open(&mut *nodes[0], channel)];
        link(&mut writer, 1, &mut reader);
        let ([writer], [reader]) = (writer, reader);
        Pair {
            writer,
            reader,
            _nodes: nodes,
        }
    }

    fn deliver(&mut self, len: usize, may_lose: bool) -> bool {
        let readers = std::slice::from_ref(&self.reader);
        deliver(&mut self.writer, readers, len, may_lose)
    }

    /// What was accepted has arrived, and so does one message more; `otherwise` says so where it does not.
    fn ends_well(mut self, rig: &Rig, otherwise: &str) {
        self.assert_arrived(rig);
        assert!(self.deliver(8, rig.may_lose()), "{otherwise}");
        self.closes_with_all(rig);
    }

    fn closes_with_all(mut self, rig: &Rig) {
        self.reader.close();
        self.assert_arrived(rig);
    }

    fn assert_arrived(&self, rig: &Rig) {
        let log = &self.reader.log;
        log.assert_arrived(&self.writer.accepted, rig.may_lose());
    }
}

/// Sizes in bytes that have gone wrong somewhere: powers of two and their neighbours, the tag and
/// header of Dyno's own messages, whole and cut fragments.
fn sizes(rig: &Rig) -> Vec<usize> {
    const LARGEST: usize = 4 << 20;
    let mut sizes = vec![
        8, 9, 15, 31, 32, 33, 63, 64, 65, 127, 255, 1_000, 1_023, 4_095, 4_096, 4_097, 16_385,
        65_507, 65_535, 65_536, 65_537, 1_000_001, 4_000_000, LARGEST,
    ];
    if let Some(limit) = rig.capabilities.fragments_above {
        let limit = limit as usize;
        sizes.extend([limit - 1, limit, limit + 1]);
        sizes.extend([2 * limit - 1, 2 * limit, 2 * limit + 1, 3 * limit + 7]);
    }
    sizes.retain(|size| *size <= rig.size(LARGEST));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

pub(super) fn every_size_arrives_intact(rig: &Rig) {
    let sizes = sizes(rig);
    let largest = *sizes.last().expect("8 B is always there");
    let sure = rig.sure_size();
    for wait in rig.waits() {
        let mut pair = Pair::open(rig, largest, *wait);
        for size in &sizes {
            for _ in 0..2 {
                let arrived = pair.deliver(*size, rig.may_lose());
                assert!(
                    arrived || *size > sure,
                    "wait {wait}: a message of {size} B never arrives"
                );
            }
        }
        // Small ones after large ones: nothing of the large ones may be left over.
        assert!(
            pair.deliver(8, rig.may_lose()),
            "wait {wait}: 8 B after {largest} B"
        );
        pair.closes_with_all(rig);
    }
}

pub(super) fn mixed_sizes_arrive_in_order(rig: &Rig) {
    for wait in rig.waits() {
        let largest = rig.size(20_000);
        let mut pair = Pair::open(rig, largest, *wait);
        for i in 0..1_000_usize {
            pair.writer.send(8 + i * 7_919 % (largest - 7));
        }
        pair.ends_well(rig, &format!("wait {wait}: nothing arrives afterwards"));
    }
}

pub(super) fn replies_flow_back(rig: &Rig) {
    for wait in rig.waits() {
        let forth = rig.channel(0, 0, &[1], 4_096);
        let back = rig.channel(1, 1, &[0], 4_096);
        let (mut near, mut far) = (rig.node(0), rig.node(1));
        let mut readers = [
            Reader::open(&mut *far, &forth, *wait),
            Reader::open(&mut *near, &back, *wait),
        ];
        let mut writers = [
            Writer::open(&mut *near, &forth),
            Writer::open(&mut *far, &back),
        ];
        link(&mut writers, 1, &mut readers);
        let [ping, pong] = &mut writers;
        let (there, here) = readers.split_at(1);
        for i in 0..200 {
            let size = rig.size([8, 64, 4_096][i % 3]);
            assert!(deliver(ping, there, size, rig.may_lose()), "ping {i}");
            assert!(deliver(pong, here, size, rig.may_lose()), "pong {i}");
        }
        for (reader, writer) in readers.iter_mut().zip(&writers) {
            reader.close();
            reader.log.assert_arrived(&writer.accepted, rig.may_lose());
        }
    }
}

pub(super) fn a_callback_may_send(rig: &Rig) {
    let size = rig.size(4_096);
    let forth = rig.channel(0, 0, &[1], size);
    let back = rig.channel(1, 1, &[0], size);
    let (mut near, mut far) = (rig.node(0), rig.node(1));
    let mut here = [Reader::open_expecting(
        &mut *near,
        &back,
        Wait::Callback,
        forth.id,
    )];
    let mut pong = must("sender", far.sender(&back));
    let start = Instant::now();
    while !((must("matched", pong.matched()) == 1) & here[0].matched()) {
        assert!(start.elapsed() < DEADLINE, "no match of the way back");
        std::thread::sleep(Duration::from_millis(1));
    }
    let answer = move |bytes: &[u8]| {
        // A refusal or an error shows as a missing reply.
        let _ = pong.send(bytes.len(), &mut |room| room.copy_from_slice(bytes));
    };
    let subscription = must("subscribe", far.subscribe(&forth, Box::new(answer)));
    let mut writers = [Writer::open(&mut *near, &forth)];
    link(&mut writers, 1, &mut here);
    for i in 0..200 {
        let size = [8, 64, 4_096][i % 3].min(size);
        assert!(
            deliver(&mut writers[0], &here, size, rig.may_lose()),
            "reply {i}"
        );
    }
    drop(subscription);
    here[0].close();
    here[0]
        .log
        .assert_arrived(&writers[0].accepted, rig.may_lose());
}

pub(super) fn two_senders_reach_three_receivers(rig: &Rig) {
    const READING: [u16; 3] = [2, 3, 4];
    const SIZE: usize = 200;
    let wait = rig.pull_wait();
    let channels = [
        rig.channel(0, 0, &READING, SIZE),
        rig.channel(1, 1, &READING, SIZE),
    ];
    let mut nodes: Vec<Box<dyn Node>> = (0..5).map(|i| rig.node(i)).collect();
    let mut readers = Vec::new();
    for participant in READING {
        for channel in &channels {
            readers.push(Reader::open(
                &mut *nodes[usize::from(participant)],
                channel,
                wait,
            ));
        }
    }
    let mut writers: Vec<Writer> = channels
        .iter()
        .zip(&mut nodes)
        .map(|(channel, node)| Writer::open(&mut **node, channel))
        .collect();
    link(&mut writers, READING.len(), &mut readers);

    let writers: Vec<Writer> = std::thread::scope(|scope| {
        let sending: Vec<_> = writers
            .into_iter()
            .map(|mut writer| {
                scope.spawn(move || {
                    for _ in 0..500 {
                        writer.send(rig.size(SIZE));
                    }
                    writer
                })
            })
            .collect();
        sending
            .into_iter()
            .map(|thread| thread.join().expect("the sending thread does not panic"))
            .collect()
    });
    for (i, reader) in readers.iter_mut().enumerate() {
        let accepted = &writers[i % channels.len()].accepted;
        reader.log.assert_arrived(accepted, rig.may_lose());
        reader.close();
        reader.log.assert_arrived(accepted, rig.may_lose());
    }
}

pub(super) fn a_full_buffer_damages_nothing(rig: &Rig) {
    const MESSAGES: u64 = 4_000;
    /// A sender that has not moved for so long is waiting for room.
    const STUCK: Duration = Duration::from_secs(2);
    let size = rig.size(8_192);
    let mut pair = Pair::open(rig, size, rig.pull_wait());
    pair.reader.hold_up();

    let progress = Arc::new(AtomicU64::new(0));
    let theirs = progress.clone();
    let mut writer = pair.writer;
    let sending = std::thread::spawn(move || {
        for _ in 0..MESSAGES {
            writer.send(size);
            theirs.fetch_add(1, Ordering::Relaxed);
        }
        writer
    });
    let mut last = (0, Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(10));
        let now = progress.load(Ordering::Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        }
        if sending.is_finished() || last.1.elapsed() > STUCK {
            break;
        }
    }
    pair.reader.let_through();
    let start = Instant::now();
    while !sending.is_finished() {
        assert!(
            start.elapsed() < 2 * DEADLINE,
            "after the receiver goes on, the sender does not; it has sent {} of {MESSAGES}",
            progress.load(Ordering::Relaxed)
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    pair.writer = signal::joined(sending);
    pair.ends_well(rig, "nothing arrives after the full buffer");
}

pub(super) fn signals_tear_no_message(rig: &Rig) {
    /// So often is the sending of one message interrupted: adapters may take more for a wish to stop.
    const NUDGES: u32 = 20;
    for wait in rig.waits() {
        let largest = rig.size(70_000);
        let mut pair = Pair::open(rig, largest, *wait);
        let mut writer = pair.writer;
        let progress = Arc::new(AtomicU64::new(0));
        let theirs = progress.clone();
        let sending = std::thread::spawn(move || {
            for i in 0..400 {
                if writer.send([8, 1_000, 9_000, 70_000][i % 4].min(largest)) == Sent::Refused {
                    std::thread::sleep(Duration::from_micros(200));
                }
                theirs.fetch_add(1, Ordering::Relaxed);
            }
            writer
        });
        let start = Instant::now();
        let mut nudged = (0, 0);
        while !sending.is_finished() {
            assert!(start.elapsed() < DEADLINE, "sending hangs under signals");
            let now = progress.load(Ordering::Relaxed);
            if now != nudged.0 {
                nudged = (now, 0);
            }
            if nudged.1 < NUDGES {
                nudged.1 += 1;
                signal::nudge(&sending);
            }
            pair.reader.nudge();
            std::thread::sleep(Duration::from_millis(2));
        }
        pair.writer = signal::joined(sending);
        pair.ends_well(rig, &format!("wait {wait}: nothing arrives after signals"));
    }
}
