//! The exchange under loom: every interleaving and every permitted reordering of short scenarios.
//!
//! Payloads are loom cells, which report any access that races with a write. A sleep lasts until
//! somebody ends it, so a lost wake-up is a deadlock, which loom reports.

use crate::reader::Reader;
use crate::words::{ChannelWords, Futex, Memory, ReaderWords, Slept, SlotWords};
use crate::writer::{Attempt, Writer};
use dyno_adapter::Wait;
use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::time::Duration;

/// A patience that never ends within a scenario; any shorter one ends at once.
const FOREVER: Duration = Duration::from_secs(3600);

/// A channel whose payloads are one byte long.
struct Channel {
    words: ChannelWords,
    readers: Vec<ReaderWords>,
    slots: Vec<SlotWords>,
    payloads: Vec<UnsafeCell<u8>>,
    /// The kernel's lock over sleepers, and who sleeps on which slot; the last one sleeps on `room`.
    kernel: Mutex<()>,
    sleepers: Vec<Condvar>,
}

impl Channel {
    fn new(depth: usize, readers: usize) -> Arc<Channel> {
        Arc::new(Channel {
            words: ChannelWords::default(),
            readers: (0..readers).map(|_| ReaderWords::default()).collect(),
            slots: (0..depth).map(|_| SlotWords::default()).collect(),
            payloads: (0..depth).map(|_| UnsafeCell::new(0)).collect(),
            kernel: Mutex::new(()),
            sleepers: (0..=depth).map(|_| Condvar::new()).collect(),
        })
    }
    fn sleepers(&self, futex: Futex) -> &Condvar {
        match futex {
            Futex::Slot(index) => &self.sleepers[index],
            Futex::Room => &self.sleepers[self.slots.len()],
        }
    }
}

impl Memory for Arc<Channel> {
    fn depth(&self) -> usize {
        self.slots.len()
    }
    fn readers(&self) -> usize {
        self.readers.len()
    }
    fn channel(&self) -> &ChannelWords {
        &self.words
    }
    fn reader(&self, index: usize) -> &ReaderWords {
        &self.readers[index]
    }
    fn slot(&self, index: usize) -> &SlotWords {
        &self.slots[index]
    }
    unsafe fn fill(&self, index: usize, len: usize, fill: &mut dyn FnMut(&mut [u8])) {
        assert_eq!(len, 1);
        self.payloads[index].with_mut(|byte| {
            // SAFETY: loom reports if anybody else accesses the cell at the same time.
            fill(unsafe { std::slice::from_raw_parts_mut(byte, 1) });
        });
    }
    unsafe fn show(&self, index: usize, len: usize, on_message: &mut dyn FnMut(&[u8])) {
        assert_eq!(len, 1);
        self.payloads[index].with(|byte| {
            // SAFETY: loom reports if anybody writes the cell at the same time.
            on_message(unsafe { std::slice::from_raw_parts(byte, 1) });
        });
    }
    fn sleep(&self, futex: Futex, expected: u32, patience: Option<Duration>) -> Slept {
        if patience.is_some_and(|p| p < FOREVER) {
            thread::yield_now();
            return Slept::TimedOut;
        }
        let kernel = self.kernel.lock().unwrap();
        let word = match futex {
            Futex::Slot(index) => &self.slots[index].sequence,
            Futex::Room => &self.words.room.0,
        };
        if word.load(Ordering::Relaxed) == expected {
            drop(self.sleepers(futex).wait(kernel).unwrap());
        }
        Slept::Woken
    }
    fn wake(&self, futex: Futex) {
        let _kernel = self.kernel.lock().unwrap();
        self.sleepers(futex).notify_all();
    }
}

type ModelWriter = Writer<Arc<Channel>>;
type ModelReader = Reader<Arc<Channel>>;

/// Forced switches between threads that are tried unless LOOM_MAX_PREEMPTIONS asks for more: what
/// ends within a minute for all models, and finds nearly all faults (Musuvathi & Qadeer, "Iterative
/// Context Bounding", PLDI 2007).
const PREEMPTIONS: usize = 2;

/// Runs `scenario` in all ways with at most [`PREEMPTIONS`] forced switches between threads; up to
/// `most` of them where LOOM_MAX_PREEMPTIONS allows it.
fn explore(most: usize, scenario: impl Fn() + Sync + Send + 'static) {
    // The builder has read LOOM_MAX_PREEMPTIONS.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(most.min(builder.preemption_bound.unwrap_or(PREEMPTIONS)));
    builder.check(scenario);
}

/// Sends the bytes 1 to `count`; while the ring is full, `when_full` decides how to wait.
fn send_all(writer: &mut ModelWriter, count: u8, when_full: impl Fn(&mut ModelWriter)) {
    for value in 1..=count {
        // SAFETY: a payload holds one byte.
        while unsafe { writer.try_send(1, &mut |b| b[0] = value) } != Attempt::Sent {
            when_full(writer);
        }
    }
}

fn spin(_: &mut ModelWriter) {
    thread::yield_now();
}

fn sleep(writer: &mut ModelWriter) {
    writer.sleep_for_room(FOREVER);
}

/// Takes messages until `last`; they must be without gaps. Returns the first.
fn take_until(reader: &mut ModelReader, last: u8, wait: Wait) -> u8 {
    let (mut first, mut seen) = (0, 0);
    while seen != last {
        let took = reader.try_take(&mut |m| {
            assert!(seen == 0 || m[0] == seen + 1, "{} after {seen}", m[0]);
            seen = m[0];
        });
        if first == 0 {
            first = seen;
        }
        match wait {
            _ if took => {}
            Wait::Block => drop(reader.sleep()),
            _ => thread::yield_now(),
        }
    }
    first
}

/// Readers attached before the first message must see all of `count` messages.
fn exchange(depth: usize, waits: &'static [Wait], count: u8, when_full: fn(&mut ModelWriter)) {
    let channel = Channel::new(depth, waits.len());
    let mut writer = Writer::attach(Arc::clone(&channel));
    let readers: Vec<_> = waits
        .iter()
        .enumerate()
        .map(|(me, wait)| Reader::attach(Arc::clone(&channel), me, *wait))
        .collect();
    assert_eq!(writer.matched(), waits.len());
    let threads: Vec<_> = readers
        .into_iter()
        .zip(waits)
        .map(|(mut reader, wait)| {
            thread::spawn(move || assert_eq!(take_until(&mut reader, count, *wait), 1))
        })
        .collect();
    send_all(&mut writer, count, when_full);
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn a_reader_never_sees_an_unfinished_message() {
    explore(4, || exchange(2, &[Wait::Spin], 2, spin));
}

#[test]
fn a_slot_is_not_reused_before_its_reader_has_finished() {
    explore(4, || exchange(1, &[Wait::Spin], 3, spin));
    explore(3, || exchange(2, &[Wait::Spin], 4, spin));
}

// Loom does not schedule fairly, so of three sides at most one may poll: the others sleep.
#[test]
fn a_slot_is_not_reused_before_the_slowest_reader_has_finished() {
    explore(3, || exchange(1, &[Wait::Block, Wait::Block], 2, sleep));
    explore(2, || exchange(1, &[Wait::Block, Wait::Spin], 2, sleep));
}

#[test]
fn a_blocking_reader_is_always_woken() {
    explore(4, || exchange(2, &[Wait::Block], 2, spin));
    explore(3, || exchange(1, &[Wait::Block], 3, spin));
}

#[test]
fn blocking_readers_at_different_positions_are_all_woken() {
    explore(2, || exchange(2, &[Wait::Block, Wait::Block], 2, spin));
}

#[test]
fn spinning_and_blocking_readers_share_a_channel() {
    explore(2, || exchange(2, &[Wait::Spin, Wait::Block], 2, spin));
}

#[test]
fn a_writer_that_sleeps_for_room_is_always_woken() {
    explore(3, || exchange(1, &[Wait::Spin], 3, sleep));
    explore(3, || exchange(2, &[Wait::Spin], 5, sleep));
    explore(3, || exchange(1, &[Wait::Block], 3, sleep));
}

/// A reader attaches while the writer sends `count` messages over a ring of `depth`.
fn late_joiner(depth: usize, count: u8, wait: Wait) {
    let channel = Channel::new(depth, 1);
    let mut writer = Writer::attach(Arc::clone(&channel));
    let late = thread::spawn(move || {
        let mut reader = Reader::attach(Arc::clone(&channel), 0, wait);
        if channel.words.head.0.load(Ordering::Acquire) < u64::from(count) {
            take_until(&mut reader, count, wait);
        }
    });
    // A reader that has left again holds nobody up: `Deserted` ends the sending.
    for value in 1..=count {
        loop {
            // SAFETY: a payload holds one byte.
            match unsafe { writer.try_send(1, &mut |b| b[0] = value) } {
                Attempt::Sent => break,
                Attempt::Full => thread::yield_now(),
                Attempt::Deserted => panic!("left at {value}, before the last message"),
            }
        }
    }
    late.join().unwrap();
}

#[test]
fn a_reader_that_attaches_late_sees_whole_messages_without_gaps() {
    explore(4, || late_joiner(1, 2, Wait::Spin));
    explore(3, || late_joiner(2, 4, Wait::Spin));
}

#[test]
fn a_blocking_reader_that_attaches_late_is_woken() {
    explore(4, || late_joiner(2, 2, Wait::Block));
    explore(4, || late_joiner(1, 2, Wait::Block));
    explore(3, || late_joiner(1, 3, Wait::Block));
}

#[test]
fn a_writer_goes_on_when_a_reader_leaves_while_it_sleeps_for_room() {
    explore(4, || {
        let channel = Channel::new(1, 1);
        let mut writer = Writer::attach(Arc::clone(&channel));
        let reader = Reader::attach(channel, 0, Wait::Spin);
        send_all(&mut writer, 1, sleep);
        let leaving = thread::spawn(move || drop(reader));
        // SAFETY: a payload holds one byte.
        while unsafe { writer.try_send(1, &mut |b| b[0] = 2) } != Attempt::Deserted {
            writer.sleep_for_room(FOREVER);
        }
        leaving.join().unwrap();
    });
}
