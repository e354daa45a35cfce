//! What the hot path writes to is in memory before the window: recording faults in no page.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_measure::{RawLog, Recorder, SequenceTracker};
use dyno_model::record::RawSample;
use dyno_model::unit::Nanos;

/// Page faults of this thread without I/O so far (proc_pid_stat(5), field 10).
fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(7).unwrap().parse().unwrap()
}

const MESSAGES: u64 = 1 << 22;

/// Touches every page of all that is recorded into; returns the faults that it took, and what was
/// recorded into, so that nobody gets the same memory again.
fn record_everywhere() -> (u64, impl Sized) {
    let mut by_time = Recorder::by_time(8, Nanos(1));
    let mut sequences = SequenceTracker::new(MESSAGES);
    let mut raw = RawLog::new(10_000);
    raw.begin_if(true);
    let before = faults();
    for block in 0..8 {
        for magnitude in 0..42 {
            for part in 0..4 {
                by_time.record(Nanos(block), Nanos((4 + part) << magnitude >> 2));
            }
        }
    }
    for sequence in (0..MESSAGES).step_by(1024) {
        sequences.observe(sequence);
    }
    for sequence in 0..10_000 {
        raw.push(RawSample {
            channel: 0,
            receiver: 0,
            sequence,
            intended: Nanos(1),
            sent: Nanos(2),
            arrival: Nanos(3),
        });
    }
    (faults() - before, (by_time, sequences, raw))
}

#[test]
fn recording_faults_in_no_page() {
    // The first pass brings in the code.
    let _kept = record_everywhere();
    // Several hundred pages are touched; a stray fault or two may be the kernel's own business.
    let (faults, _) = record_everywhere();
    assert!(faults <= 4, "{faults} page faults");
}

#[test]
fn faults_are_counted() {
    const BYTES: usize = 64 << 20;
    let mut untouched = std::hint::black_box(vec![0u8; BYTES]);
    let before = faults();
    untouched.iter_mut().step_by(4096).for_each(|b| *b = 1);
    std::hint::black_box(&untouched);
    // At most one per page; fewer where pages are huge.
    let faults = faults() - before;
    assert!(faults >= (BYTES >> 21) as u64, "{faults} page faults");
}
