//! Threads that hog one CPU are seen there and not on the other. It stands alone, since other tests of the same process
//! would hog both.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_measure::{Clock, ClockChoice, allowed_cpus, calibrate, pin};
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::probe::{Alarm, Probe, Rest, Ring};
use dyno_model::unit::Nanos;
use dyno_probe::{Ground, Outcome, Place, Reading, measure};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

/// More of them than anybody else may run on the other CPU.
const HOGS: usize = 12;
/// How often it is tried to find the other CPU free.
const ATTEMPTS: usize = 6;

/// Threads that only spin on one CPU, until dropped.
struct Hogs<'scope>(&'scope AtomicBool);

impl<'scope> Hogs<'scope> {
    fn on(cpu: u32, over: &'scope AtomicBool, scope: &'scope Scope<'scope, '_>) -> Self {
        for _ in 0..HOGS {
            scope.spawn(move || {
                pin(cpu).unwrap();
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Hogs(over)
    }
}

impl Drop for Hogs<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn mean(reading: &Reading) -> f64 {
    reading.time.sum / reading.time.n as f64
}

#[test]
fn threads_that_hog_one_cpu_show_in_what_is_measured_there_and_not_on_the_other() {
    let [cpu, peer, ..] = allowed_cpus()[..] else {
        return;
    };
    let clock = Clock::new(calibrate(ClockChoice::Auto).unwrap().0);
    let run = |probe: Probe, places: &[Place], window| -> Outcome {
        let ground = Ground {
            clock,
            places: places.to_vec(),
            scheduling: Scheduling::Other,
            warmup: Nanos::from_millis(2),
            window,
            blocks: 1,
        };
        measure(&ground, &probe).unwrap()
    };
    let both = [Place::on(cpu), Place::on(peer)];
    let time = Extent::Duration(Nanos::from_millis(400));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _hogs = Hogs::on(cpu, &over, scope);
        let shares = || {
            let found = run(Probe::Share { threads: 2 }, &both, time);
            [0, 1].map(|i| found.readings[i].share().unwrap())
        };
        let late = || {
            let probe = Probe::Timer {
                by: Alarm::Nanosleep,
                period: Nanos::from_millis(1),
                slack: None,
            };
            let found = run(probe, &both, time);
            [0, 1].map(|i| mean(&found.readings[i]))
        };
        // A thread that polls on the hogged CPU is often not running when it is reached; a few messages may all fall
        // into one of its turns, so that this takes many of them.
        let reached = || {
            [(peer, cpu), (cpu, peer)].map(|(cpu, peer)| {
                let probe = Probe::Ipi {
                    by: Ring::Futex,
                    rest: Rest::Polls,
                };
                let found = run(probe, &[Place { cpu, peer }], time);
                mean(&found.readings[0])
            })
        };
        let mut before = shares();
        for _ in 0..ATTEMPTS {
            let (timer, ipi) = (late(), reached());
            let after = shares();
            // What others do on the other CPU would show there as well, and rightly so.
            if before[1].min(after[1]) > 0.8 {
                assert!(after[0] < 0.5, "share: {after:?}");
                assert!(timer[0] > timer[1], "timer: {timer:?}");
                assert!(ipi[0] > ipi[1], "ipi: {ipi:?}");
                return;
            }
            before = after;
        }
        eprintln!("cpu {peer} is never free, so that only what the hogs leave is checked");
        assert!(before[0] < 0.3, "share: {before:?}");
    });
}
