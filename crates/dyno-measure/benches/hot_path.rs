//! What Dyno itself costs per message between stamp and record, and where it goes.
//!
//! Each row is the median over batches of consecutive messages, the clock read once around a batch,
//! so that an interrupt spoils one batch and not the figure. The goal for `64 B, stamp` is 50 ns.

use dyno_measure::{
    Clock, ClockChoice, Header, Kind, Recorder, SequenceTracker, Tag, allowed_cpus, calibrate, pin,
    read, receive, write,
};
use dyno_model::factor::Access;
use dyno_model::unit::Nanos;
use std::hint::black_box;
use std::time::Instant;

const BATCH: u64 = 2_000;
const BATCHES: usize = 301;

/// Prints the median (and the best) time of one call of `body`, which gets the number of the call.
fn row(name: &str, mut body: impl FnMut(u64)) {
    let mut number = 0;
    let mut costs: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..BATCH {
                body(number);
                number += 1;
            }
            start.elapsed().as_nanos() as f64 / BATCH as f64
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    println!(
        "{name:<44} {:>9.1} ns {:>9.1} ns",
        costs[BATCHES / 2],
        costs[0]
    );
}

fn header(sequence: u64, at: Nanos) -> Header {
    Header {
        tag: Tag {
            channel: 1,
            kind: Kind::Measured,
            sequence,
        },
        intended: at,
        sent: at,
    }
}

/// A whole message as the agent handles it, with `records` metrics recorded.
fn whole(clock: Clock, len: usize, access: Access, records: usize) {
    let mut buf = vec![0u8; len];
    let mut sequences = SequenceTracker::new(BATCH * BATCHES as u64);
    let mut recorders: Vec<_> = (0..records)
        .map(|_| Recorder::by_time(10, Nanos::from_millis(100)))
        .collect();
    recorders.iter_mut().for_each(|r| r.begin(clock.now()));
    let name = match access {
        Access::Stamp => "stamp",
        Access::All => "all",
    };
    row(
        &format!("whole: {len} B, {name}, {records} recorded"),
        |number| {
            let sent = clock.now();
            write(&mut buf, access, &header(number, sent));
            let buf = black_box(&mut buf);
            if let Ok((header, arrival)) = receive(&clock, buf, access, 1, len) {
                black_box(sequences.observe(header.tag.sequence));
                for recorder in &mut recorders {
                    recorder.record(arrival, arrival.saturating_sub(header.sent));
                }
            }
        },
    );
    assert!(recorders.iter().all(|r| r.len() == BATCH * BATCHES as u64));
}

fn main() {
    if let Some(cpu) = allowed_cpus().last() {
        pin(*cpu).unwrap_or_else(|e| eprintln!("{e}"));
    }
    let (spec, facts) = calibrate(ClockChoice::Auto).unwrap_or_else(|e| panic!("{e}"));
    let clock = Clock::new(spec);
    println!("clock: {facts:?}");
    println!("{:<44} {:>12} {:>12}", "per message", "median", "best");
    for records in [1, 2, 3] {
        whole(clock, 64, Access::Stamp, records);
    }
    whole(clock, 64, Access::All, 1);

    row("clock: now", |_| {
        black_box(clock.now());
    });
    row("clock: now and arrival, in this order", |_| {
        black_box(clock.now());
        black_box(clock.arrival());
    });
    row("clock: arrival", |_| {
        black_box(clock.arrival());
    });
    let mut sequences = SequenceTracker::new(BATCH * BATCHES as u64);
    row("sequence: observe", |number| {
        black_box(sequences.observe(number));
    });
    let mut recorder = Recorder::by_time(10, Nanos(BATCH * BATCHES as u64 / 10));
    row("record: one value", |number| {
        recorder.record(Nanos(number), Nanos(100 + number % 10_000));
    });
    for (len, access) in [
        (8, Access::Stamp),
        (64, Access::Stamp),
        (64, Access::All),
        (4096, Access::All),
        (65_536, Access::All),
        (1 << 20, Access::All),
    ] {
        let mut buf = vec![0u8; len];
        row(&format!("stamp: write {len} B, {access}"), |number| {
            write(black_box(&mut buf), access, &header(number, Nanos(number)));
        });
        row(&format!("stamp: read {len} B, {access}"), |_| {
            let _ = black_box(read(black_box(&buf), access, 1, len));
        });
        if access == Access::All && len > 64 {
            let from = vec![1u8; len];
            row(&format!("for comparison: copy {len} B"), |_| {
                black_box(&mut buf).copy_from_slice(black_box(&from));
            });
        }
    }
}
