//! What a probe leaves behind: nothing. It stands alone, since other tests of the same process would be seen.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_measure::{Clock, allowed_cpus};
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::probe::{Alarm, HandOver, Memory, Probe, Rest, Ring, Sides, Writer};
use dyno_model::protocol::ClockSpec;
use dyno_model::unit::Nanos;
use dyno_probe::{Ground, Place, measure};
use std::time::{Duration, Instant};

fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Blocked, ignored and caught signals and the CPUs of the calling thread, as the kernel tells them, and how many
/// threads, descriptors, timers and children there are.
fn state() -> (Vec<String>, [usize; 3], String) {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let kept = ["SigBlk", "SigIgn", "SigCgt", "Cpus_allowed_list"];
    let lines = status
        .lines()
        .filter(|l| kept.iter().any(|k| l.starts_with(k)));
    let children = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    let timers = std::fs::read_to_string("/proc/self/timers").unwrap_or_default();
    (
        lines.map(str::to_owned).collect(),
        [
            entries("/proc/self/task"),
            entries("/proc/self/fd"),
            timers.lines().count(),
        ],
        children,
    )
}

#[test]
fn threads_signals_timers_descriptors_and_children_are_as_they_were() {
    let cpus = allowed_cpus();
    let place = Place {
        cpu: cpus[0],
        peer: *cpus.last().unwrap(),
    };
    let ground = Ground {
        clock: Clock::new(ClockSpec::Monotonic),
        places: vec![place],
        scheduling: Scheduling::Other,
        warmup: Nanos::from_millis(1),
        window: Extent::Messages(20),
        blocks: 1,
    };
    let before = state();
    let period = Nanos::from_micros(200);
    for probe in [
        Probe::Timer {
            by: Alarm::Signal,
            period,
            slack: Some(Nanos(1)),
        },
        Probe::Timer {
            by: Alarm::Timerfd,
            period,
            slack: None,
        },
        Probe::Ipi {
            by: Ring::Signal,
            rest: Rest::Polls,
        },
        Probe::Ipi {
            by: Ring::Signal,
            rest: Rest::Sleeps,
        },
        Probe::Ipi {
            by: Ring::Eventfd,
            rest: Rest::Polls,
        },
        Probe::Switch {
            by: HandOver::Pipe,
            sides: Sides::Processes,
        },
        Probe::Switch {
            by: HandOver::Futex,
            sides: Sides::Threads,
        },
        Probe::Fault { by: Memory::Shared },
        Probe::Copy {
            bytes: 64,
            by: Writer::Own,
        },
    ] {
        match measure(&ground, &probe) {
            Ok(_) => {}
            // One CPU alone has nobody to reach.
            Err(e) => assert!(place.cpu == place.peer, "{probe:?}: {e}"),
        }
        // A joined thread may stand in /proc for a moment.
        let start = Instant::now();
        while state() != before && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(state(), before, "{probe:?}");
    }
}
