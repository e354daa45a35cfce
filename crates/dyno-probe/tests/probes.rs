//! Each kind of probe on the machine that runs the test: counts, order, and ratios that hold on any machine. Nothing
//! here asserts a largest time.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_measure::record::decode;
use dyno_measure::{Clock, ClockChoice, allowed_cpus, calibrate};
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::probe::{
    Alarm, Call, HandOver, Memory, Probe, ProbeKind, Rest, Ring, Sides, Writer,
};
use dyno_model::unit::Nanos;
use dyno_probe::{Ground, Outcome, Place, ProbeError, Reading, jain, measure};
use std::sync::OnceLock;

fn clock() -> Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    *CLOCK.get_or_init(|| Clock::new(calibrate(ClockChoice::Auto).unwrap().0))
}

fn ground(places: &[Place], window: Extent) -> Ground {
    Ground {
        clock: clock(),
        places: places.to_vec(),
        scheduling: Scheduling::Other,
        warmup: Nanos::from_millis(2),
        window,
        blocks: 4,
    }
}

fn first() -> Place {
    Place::on(allowed_cpus()[0])
}

/// Two CPUs, where there are two.
fn pair() -> Option<Place> {
    match allowed_cpus()[..] {
        [cpu, peer, ..] => Some(Place { cpu, peer }),
        _ => None,
    }
}

fn p50(reading: &Reading) -> u64 {
    decode(&reading.time.total).unwrap().value_at_quantile(0.5)
}

#[track_caller]
fn only(outcome: Outcome) -> Reading {
    assert_eq!(outcome.readings.len(), 1, "{outcome:?}");
    outcome.readings.into_iter().next().unwrap()
}

/// As many samples as asked for, in as many blocks, and something else than zero.
#[track_caller]
fn counts(reading: &Reading, n: u64) {
    assert_eq!((reading.time.n, reading.time.blocks.len()), (n, 4));
    let in_blocks = reading.time.blocks.iter().map(|b| decode(b).unwrap().len());
    assert_eq!(in_blocks.sum::<u64>(), n);
    assert!(
        reading.time.sum > 0.0 && reading.wall > Nanos::ZERO,
        "{reading:?}"
    );
}

#[test]
fn an_empty_probe_reads_within_two_nanoseconds_of_zero_at_a_steady_pace() {
    let ground = ground(&[first()], Extent::Messages(20_000));
    for batch in [1, 100] {
        let probe = Probe::Syscall {
            by: Call::Nothing,
            batch,
        };
        // Of many: the machine may change its pace between the probe's own cost and the probe.
        let near = |found: &[u64]| found.iter().filter(|ns| **ns <= 2).count();
        let mut found = Vec::new();
        while near(&found) < 3 && found.len() < 100 {
            found.push(p50(&only(measure(&ground, &probe).unwrap())));
        }
        assert_eq!(near(&found), 3, "{found:?} ns of nothing, batch {batch}");
    }
}

#[test]
fn a_system_call_costs_more_than_none_and_one_that_moves_bytes_more_than_the_cheapest() {
    let ground = ground(&[first()], Extent::Messages(500));
    let cost = |by| {
        let reading = only(measure(&ground, &Probe::Syscall { by, batch: 100 }).unwrap());
        assert_eq!((reading.time.n, reading.done), (500, 50_000));
        assert!(reading.own_ns > 0.0);
        assert_eq!(reading.bytes > 0, by == Call::Pread);
        p50(&reading)
    };
    let (nothing, getppid, pread) = (cost(Call::Nothing), cost(Call::Getppid), cost(Call::Pread));
    assert!(
        nothing < getppid && getppid < pread,
        "{nothing} {getppid} {pread}"
    );
    let none = measure(
        &ground,
        &Probe::Syscall {
            by: Call::Getppid,
            batch: 0,
        },
    );
    assert!(matches!(none, Err(ProbeError::Zero { .. })));
}

#[test]
fn every_way_to_hand_over_comes_back_as_often_as_asked() {
    for &by in HandOver::ALL {
        for &sides in Sides::ALL {
            for place in [Some(first()), pair()].into_iter().flatten() {
                let ground = ground(&[place], Extent::Messages(400));
                let found = measure(&ground, &Probe::Switch { by, sides });
                if by == HandOver::Yield && place.cpu != place.peer {
                    assert!(matches!(found, Err(ProbeError::YieldBetween { .. })));
                    continue;
                }
                let reading = only(found.unwrap());
                counts(&reading, 400);
                assert_eq!(reading.done, 400);
            }
        }
    }
}

#[test]
fn a_round_trip_through_pipes_costs_more_than_its_four_system_calls_would_alone() {
    let on = |n| ground(&[first()], Extent::Messages(n));
    let call = only(
        measure(
            &on(200),
            &Probe::Syscall {
                by: Call::Getppid,
                batch: 100,
            },
        )
        .unwrap(),
    );
    let probe = Probe::Switch {
        by: HandOver::Pipe,
        sides: Sides::Threads,
    };
    let trip = only(measure(&on(2_000), &probe).unwrap());
    assert!(p50(&trip) > 4 * p50(&call), "{} {}", p50(&trip), p50(&call));
}

#[test]
fn a_window_of_time_lasts_as_long_as_asked() {
    let window = Nanos::from_millis(30);
    let ground = ground(&[first()], Extent::Duration(window));
    for probe in [
        Probe::Syscall {
            by: Call::Getppid,
            batch: 1,
        },
        Probe::Switch {
            by: HandOver::Futex,
            sides: Sides::Threads,
        },
        Probe::Fault {
            by: Memory::Private,
        },
        Probe::Share { threads: 1 },
    ] {
        let reading = only(measure(&ground, &probe).unwrap());
        assert!(
            reading.wall >= window && reading.done > 0,
            "{probe:?} {reading:?}"
        );
    }
}

#[test]
fn every_due_time_of_a_timer_is_a_sample() {
    let period = Nanos::from_micros(500);
    for &by in Alarm::ALL {
        let ground = ground(&[first()], Extent::Messages(100));
        let probe = Probe::Timer {
            by,
            period,
            slack: Some(Nanos(1)),
        };
        let reading = only(measure(&ground, &probe).unwrap());
        counts(&reading, 100);
        // From the first due time to the last are 99 periods.
        assert!(reading.wall.0 >= 99 * period.0, "{by}: {reading:?}");
        let handled = reading.within.unwrap().n;
        assert!((1..=100).contains(&handled), "{by}: {handled}");
    }
    // 10 kHz for 20 ms: by time it is the same.
    let ground = ground(&[first()], Extent::Duration(Nanos::from_millis(20)));
    let probe = Probe::Timer {
        by: Alarm::Timerfd,
        period: Nanos::from_micros(100),
        slack: None,
    };
    assert_eq!(only(measure(&ground, &probe).unwrap()).done, 200);
}

#[test]
fn a_timer_of_one_megahertz_is_refused_with_the_shortest_period() {
    let ground = ground(&[first()], Extent::Messages(10));
    let probe = Probe::Timer {
        by: Alarm::Nanosleep,
        period: Nanos(1_000),
        slack: None,
    };
    let e = measure(&ground, &probe).unwrap_err().to_string();
    assert!(e.contains("1.00 µs") && e.contains("10.0 µs"), "{e}");
}

#[test]
fn every_ring_is_heard_on_the_other_cpu() {
    let Some(pair) = pair() else { return };
    for &by in Ring::ALL {
        for &rest in Rest::ALL {
            let ground = ground(&[pair], Extent::Messages(60));
            let reading = only(measure(&ground, &Probe::Ipi { by, rest }).unwrap());
            counts(&reading, 60);
            assert_eq!(reading.within.as_ref().unwrap().n, 60, "{by} {rest}");
            assert_eq!(reading.cpus, [pair.cpu, pair.peer]);
        }
    }
}

#[test]
fn a_thread_that_polls_is_reached_sooner_than_one_that_sleeps() {
    let Some(pair) = pair() else { return };
    let ground = ground(&[pair], Extent::Messages(1_000));
    // The quickest of them: a thread that polls beside other tests is often not on its CPU.
    let reached = |rest| {
        let by = Ring::Futex;
        let outcome = measure(&ground, &Probe::Ipi { by, rest }).unwrap();
        decode(&only(outcome).time.total).unwrap().min()
    };
    let (sleeps, polls) = (reached(Rest::Sleeps), reached(Rest::Polls));
    assert!(polls < sleeps, "{polls} {sleeps}");
}

#[test]
fn reaching_ones_own_cpu_is_refused() {
    let ground = ground(&[first()], Extent::Messages(10));
    let found = measure(
        &ground,
        &Probe::Ipi {
            by: Ring::Futex,
            rest: Rest::Sleeps,
        },
    );
    assert!(matches!(found, Err(ProbeError::SameCpu(cpu)) if cpu == first().cpu));
}

#[test]
fn a_larger_copy_takes_longer_and_every_byte_is_counted() {
    let ground = ground(&[first()], Extent::Messages(40));
    let took: Vec<u64> = [1 << 12, 1 << 18, 1 << 23]
        .map(|bytes| {
            let reading = only(
                measure(
                    &ground,
                    &Probe::Copy {
                        bytes,
                        by: Writer::Own,
                    },
                )
                .unwrap(),
            );
            assert_eq!(reading.bytes, reading.done * bytes);
            assert!(reading.bandwidth().unwrap() > 0.0);
            p50(&reading)
        })
        .to_vec();
    assert!(took.is_sorted_by(|a, b| a < b), "{took:?}");
    assert!(matches!(
        measure(
            &ground,
            &Probe::Copy {
                bytes: 0,
                by: Writer::Own
            }
        ),
        Err(ProbeError::Zero { .. })
    ));
}

#[test]
fn a_copy_of_what_another_cpu_wrote_takes_two_cpus() {
    let copy = |bytes| Probe::Copy {
        bytes,
        by: Writer::Other,
    };
    let refused = measure(&ground(&[first()], Extent::Messages(40)), &copy(64));
    assert!(matches!(refused, Err(ProbeError::SameCpu(cpu)) if cpu == first().cpu));
    let [cpu, peer, ..] = allowed_cpus()[..] else {
        return;
    };
    let ground = ground(&[Place { cpu, peer }], Extent::Messages(40));
    for bytes in [64, 1 << 12, 1 << 16] {
        let reading = only(measure(&ground, &copy(bytes)).unwrap());
        assert_eq!(reading.cpus, [cpu, peer]);
        assert_eq!(reading.time.n, 40);
        assert_eq!(reading.bytes, reading.done * bytes);
    }
}

#[test]
fn a_copy_beyond_memory_is_refused_before_it_is_tried() {
    let ground = ground(&[first()], Extent::Messages(1));
    let found = measure(
        &ground,
        &Probe::Copy {
            bytes: 1 << 50,
            by: Writer::Own,
        },
    );
    assert!(
        matches!(found, Err(ProbeError::TooLarge { .. })),
        "{found:?}"
    );
}

#[test]
fn all_cpus_measure_at_once_and_each_stands_for_itself() {
    let places: Vec<Place> = allowed_cpus().into_iter().map(Place::on).collect();
    let ground = ground(&places, Extent::Messages(200));
    for probe in [
        Probe::Copy {
            bytes: 4096,
            by: Writer::Own,
        },
        Probe::Syscall {
            by: Call::Getppid,
            batch: 10,
        },
        Probe::Switch {
            by: HandOver::Eventfd,
            sides: Sides::Processes,
        },
        Probe::Timer {
            by: Alarm::Signal,
            period: Nanos::from_micros(200),
            slack: None,
        },
    ] {
        let found = measure(&ground, &probe).unwrap();
        let cpus: Vec<u32> = found.readings.iter().flat_map(|r| r.cpus.clone()).collect();
        assert_eq!(cpus, allowed_cpus(), "{probe:?}");
        assert!(found.readings.iter().all(|r| r.time.n == 200), "{probe:?}");
    }
}

#[test]
fn threads_of_one_cpu_share_no_more_than_one_cpu() {
    let ground = ground(&[first()], Extent::Duration(Nanos::from_millis(200)));
    let found = measure(&ground, &Probe::Share { threads: 4 }).unwrap();
    let shares: Vec<f64> = found.readings.iter().filter_map(Reading::share).collect();
    assert_eq!(shares.len(), 4);
    // Windows end apart by a slice or two.
    assert!(shares.iter().sum::<f64>() < 1.2, "{shares:?}");
    assert!(jain(&shares).unwrap() > 0.5, "{shares:?}");
    // Each waits for the others, and that is seen.
    assert!(
        found
            .readings
            .iter()
            .all(|r| r.time.n > 0 && r.time.max > 100_000)
    );
    let by_count = Ground {
        window: Extent::Messages(10),
        ..ground
    };
    let e = measure(&by_count, &Probe::Share { threads: 1 }).unwrap_err();
    assert!(matches!(e, ProbeError::Endless), "{e}");
}

#[test]
fn first_touches_are_counted_and_a_huge_page_takes_longer_than_a_small_one() {
    let ground = ground(&[first()], Extent::Messages(600));
    let touched = |by| only(measure(&ground, &Probe::Fault { by }).unwrap());
    let (private, shared) = (touched(Memory::Private), touched(Memory::Shared));
    for reading in [&private, &shared] {
        counts(reading, 600);
        assert!(
            p50(reading) > 0 && reading.bytes == 600 * 4096,
            "{reading:?}"
        );
    }
    let few = Ground {
        window: Extent::Messages(40),
        ..ground
    };
    match measure(&few, &Probe::Fault { by: Memory::Huge }) {
        Ok(found) => {
            let huge = only(found);
            assert_eq!(huge.done, 40);
            assert!(huge.missed > 0 || p50(&huge) > p50(&private), "{huge:?}");
        }
        Err(e) => assert!(matches!(e, ProbeError::NoHugePages { .. }), "{e}"),
    }
    match measure(
        &few,
        &Probe::Fault {
            by: Memory::Reserved,
        },
    ) {
        Ok(found) => counts(&only(found), 40),
        Err(e) => assert!(e.to_string().contains("vm.nr_hugepages"), "{e}"),
    }
}

#[test]
fn a_cpu_that_is_not_there_and_no_cpu_at_all_are_refused_by_every_kind() {
    for probe in kinds() {
        let away = Place {
            cpu: 1_000,
            peer: 1_001,
        };
        let nearly = Place {
            cpu: first().cpu,
            peer: 1_001,
        };
        let two_sided = matches!(probe, Probe::Switch { .. } | Probe::Ipi { .. });
        for place in [away, nearly] {
            if place == nearly && !two_sided {
                continue;
            }
            // The others do not wait for the one that cannot be.
            let places = [first(), place]
                .into_iter()
                .filter(|p| !two_sided || p.cpu != p.peer);
            let places: Vec<Place> = places.collect();
            let window = Extent::Duration(Nanos::from_millis(10));
            let e = measure(&ground(&places, window), &probe).unwrap_err();
            assert!(matches!(e, ProbeError::Host(_)), "{probe:?}: {e}");
        }
        let nowhere = ground(&[], Extent::Duration(Nanos::from_millis(10)));
        assert!(
            matches!(measure(&nowhere, &probe), Err(ProbeError::Nowhere)),
            "{probe:?}"
        );
    }
}

/// One probe of each kind, that two CPUs can do.
fn kinds() -> Vec<Probe> {
    let kinds = vec![
        Probe::Syscall {
            by: Call::Getppid,
            batch: 1,
        },
        Probe::Switch {
            by: HandOver::Pipe,
            sides: Sides::Threads,
        },
        Probe::Timer {
            by: Alarm::Timerfd,
            period: Nanos::from_millis(1),
            slack: None,
        },
        Probe::Ipi {
            by: Ring::Eventfd,
            rest: Rest::Sleeps,
        },
        Probe::Copy {
            bytes: 64,
            by: Writer::Own,
        },
        Probe::Share { threads: 2 },
        Probe::Fault {
            by: Memory::Private,
        },
    ];
    assert_eq!(
        kinds.iter().map(Probe::kind).collect::<Vec<_>>(),
        ProbeKind::ALL
    );
    kinds
}

#[test]
fn a_class_is_granted_or_refused_with_what_grants_it() {
    let on = |scheduling| Ground {
        scheduling,
        ..ground(&[first()], Extent::Messages(20))
    };
    let probe = Probe::Timer {
        by: Alarm::Nanosleep,
        period: Nanos::from_millis(1),
        slack: None,
    };
    match measure(&on(Scheduling::Fifo(10)), &probe) {
        Ok(found) => counts(&only(found), 20),
        Err(e) => assert!(e.to_string().contains("RLIMIT_RTPRIO"), "{e}"),
    }
    match measure(&on(Scheduling::Deadline), &probe) {
        Ok(found) => counts(&only(found), 20),
        Err(e) => assert!(e.to_string().contains("CAP_SYS_NICE"), "{e}"),
    }
    let e = measure(
        &on(Scheduling::Deadline),
        &Probe::Copy {
            bytes: 64,
            by: Writer::Own,
        },
    )
    .unwrap_err();
    assert!(matches!(e, ProbeError::Deadline), "{e}");
}

/// What a thread without any right gets: rights belong to a thread, and those that it starts inherit them.
fn without_rights<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    let deprived = || {
        #[repr(C)]
        struct Head {
            version: u32,
            pid: i32,
        }
        let head = Head {
            version: 0x2008_0522,
            pid: 0,
        };
        let none = [0u32; 6];
        // SAFETY: both are what capset(2) asks for in version 3 and valid for the call; giving up rights is always allowed.
        let dropped = unsafe { libc::syscall(libc::SYS_capset, &head, none.as_ptr()) };
        assert_eq!(dropped, 0);
        f()
    };
    std::thread::scope(|scope| scope.spawn(deprived).join().unwrap())
}

#[test]
fn a_counter_that_the_kernel_forbids_is_refused_with_what_allows_it() {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    // From 2 on nobody without CAP_PERFMON counts what the kernel does (perf_event_open(2)).
    if level.trim().parse::<i32>().is_ok_and(|level| level >= 2) {
        let refusal = without_rights(dyno_probe::counters::refusal).unwrap();
        let said = refusal.to_string();
        assert!(
            said.contains("forbids the cycle counter")
                && said.contains("sysctl kernel.perf_event_paranoid=1"),
            "{said}"
        );
    }
}

#[test]
fn without_the_right_to_fifo_it_is_refused() {
    let found = without_rights(|| {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: `limit` is valid for the call.
        let told = unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &mut limit) };
        assert_eq!(told, 0);
        let fifo = Ground {
            scheduling: Scheduling::Fifo(10),
            ..ground(&[first()], Extent::Messages(20))
        };
        let found = measure(
            &fifo,
            &Probe::Copy {
                bytes: 64,
                by: Writer::Own,
            },
        );
        (limit.rlim_cur < 10).then_some(found)
    });
    if let Some(found) = found {
        let e = found.unwrap_err().to_string();
        assert!(
            e.contains("SCHED_FIFO") && e.contains("ulimit -r 10"),
            "{e}"
        );
    }
}
