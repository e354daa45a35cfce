//! The hot path allocates nothing: shown with an allocator that counts.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_measure::{
    Clock, ClockChoice, Header, Kind, Pacer, RawLog, Recorder, Schedule, SequenceTracker, Tag,
    calibrate, read, write,
};
use dyno_model::factor::{Access, Arrivals};
use dyno_model::record::RawSample;
use dyno_model::unit::{Nanos, RateHz};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Calls of the allocator by this thread; the test harness has threads of its own.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn note() {
    // Not there any more while a thread ends.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system's allocator, which upholds the contract;
// counting does not allocate, since the thread-local is const-initialised and has no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's contract is that of the callee.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        note();
        // SAFETY: the caller's contract is that of the callee.
        unsafe { System.dealloc(place, layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller's contract is that of the callee.
        unsafe { System.realloc(place, layout, size) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's contract is that of the callee.
        unsafe { System.alloc_zeroed(layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn calls() -> u64 {
    CALLS.with(Cell::get)
}

const MESSAGES: u64 = 100_000;

fn exchange(clock: Clock, len: usize, access: Access, arrivals: Arrivals) {
    let rate = RateHz::new(1e7).unwrap();
    let mut buf = vec![0u8; len];
    let mut sequences = SequenceTracker::new(MESSAGES);
    let mut by_time = Recorder::by_time(10, Nanos::from_millis(1));
    let mut by_count = Recorder::by_count(10, MESSAGES / 10);
    let mut raw = RawLog::new(MESSAGES as usize / 2);
    let mut schedule = Schedule::stream(rate, arrivals, clock.now(), 1);
    let mut pacer = Pacer::new(clock, dyno_model::Pacing::Spin, || true);
    by_time.begin(clock.now());
    raw.begin_if(true);

    let before = calls();
    let mut intact = 0;
    for sequence in 0..MESSAGES {
        let intended = schedule.next_due();
        let Some(sent) = pacer.wait_until(intended, &|| true) else {
            break;
        };
        let tag = Tag {
            channel: 7,
            kind: Kind::Measured,
            sequence,
        };
        let header = Header {
            tag,
            intended,
            sent,
        };
        write(&mut buf, access, &header);
        if sequence % 100 == 99 {
            buf[0] ^= 1;
        }
        if let Ok(header) = read(&buf, access, 7, len) {
            let arrival = clock.arrival();
            intact += 1;
            sequences.observe(header.tag.sequence);
            // Over all magnitudes, and beyond the upper bound.
            by_time.record(arrival, Nanos(1 << (sequence % 60)));
            by_count.record(arrival, arrival.saturating_sub(header.intended));
            raw.push(RawSample {
                channel: 7,
                receiver: 0,
                sequence,
                intended,
                sent,
                arrival,
            });
        }
    }
    let after = calls();
    assert_eq!(after - before, 0, "{len} B, {access}, {arrivals}");
    assert_eq!(intact, MESSAGES - MESSAGES / 100);
    assert_eq!(by_time.len(), intact);
}

#[test]
fn a_hundred_thousand_messages_allocate_nothing() {
    for choice in [ClockChoice::Auto, ClockChoice::Monotonic] {
        let clock = Clock::new(calibrate(choice).unwrap().0);
        exchange(clock, 64, Access::Stamp, Arrivals::Fixed);
        exchange(clock, 300, Access::All, Arrivals::Poisson);
    }
}

#[test]
fn the_counter_counts() {
    let before = calls();
    drop(std::hint::black_box(vec![0u8; 100]));
    assert_eq!(calls() - before, 2);
}
