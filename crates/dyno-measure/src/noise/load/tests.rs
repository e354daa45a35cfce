use super::*;
use crate::host::allowed_cpus;

const MS: u64 = 1_000_000;

/// A reading at `at` ms of two CPUs which idled for `idle` ms each since boot, with the processor time
/// of processes in ms. Number 7 is the trial's own.
fn reading(at: u64, idle: [u64; 2], processes: &[(u32, u64)]) -> LoadReading {
    let times = |ms: u64| CpuTimes {
        idle: Nanos(ms * MS),
        stolen: Nanos::ZERO,
    };
    LoadReading {
        at: Nanos(at * MS),
        cpus: vec![0, 1],
        own: [7].into(),
        stat: Stat {
            cpus: [(0, times(idle[0])), (1, times(idle[1]))].into(),
            context_switches: 0,
        },
        idle_is_measured: true,
        processes: processes
            .iter()
            .map(|&(pid, ms)| {
                let process = Process {
                    time: Nanos(ms * MS),
                    ..Process::default()
                };
                (pid, process)
            })
            .collect(),
        ended_children: Nanos::ZERO,
        interrupts: 0,
        frequency_khz: BTreeMap::new(),
        throttled: None,
    }
}

/// A number that no process has.
const GONE: u32 = u32::MAX;

#[test]
fn time_of_other_processes_is_exact() {
    let from = reading(0, [0, 0], &[(7, 0), (GONE, 5)]);
    let to = reading(300, [100, 90], &[(7, 370), (GONE, 45)]);
    let load = from.until(&to);
    assert_eq!((load.wall, load.foreign), (Nanos(300 * MS), Nanos(40 * MS)));
    assert_eq!(
        load.hungriest,
        [(format!("process {GONE}"), Nanos(40 * MS))]
    );
}

#[test]
fn processes_that_have_ended_show_in_the_ticks() {
    let from = reading(0, [0, 0], &[(7, 0), (GONE, 5)]);
    // 600 ms, less 410 idle, 60 of the trial, and a tick times the root of two for the rounding.
    let to = reading(300, [210, 200], &[(7, 60)]);
    let foreign = from.until(&to).foreign;
    assert!(foreign.0 > 115 * MS && foreign.0 < 116 * MS, "{foreign}");
    // Without idling there is nothing to be rounded.
    let to = reading(300, [0, 0], &[(7, 560)]);
    assert_eq!(from.until(&to).foreign, Nanos(40 * MS));
}

#[test]
fn processes_that_have_ended_show_with_their_parents() {
    let from = reading(0, [0, 0], &[(7, 0), (1, 0), (GONE, 5)]);
    // The rest of the time went into switching: nothing is unexplained.
    let mut to = reading(300, [200, 200], &[(7, 140), (1, 0)]);
    to.stat.context_switches = 100_000;
    to.processes.get_mut(&1).unwrap().ended_children = Nanos(60 * MS);
    let load = from.until(&to);
    // 60 ms less the 5 from before and less a tick.
    let tick = kernel::tick().0;
    let expected = Nanos(55 * MS - tick);
    assert_eq!(load.foreign, expected);
    assert_eq!(load.hungriest, [(ENDED.to_owned(), expected)]);
    // Those of the trial are its own.
    to.own.insert(1);
    assert_eq!(from.until(&to).foreign, Nanos::ZERO);
}

#[test]
fn a_calm_window_is_calm_whatever_the_rounding() {
    let from = reading(0, [0, 0], &[(7, 0)]);
    for idle in [[120, 120], [130, 110], [110, 130], [130, 130]] {
        let to = reading(300, idle, &[(7, 350)]);
        assert_eq!(from.until(&to).foreign, Nanos::ZERO, "{idle:?}");
    }
}

#[test]
fn context_switches_are_the_trials_own_matter() {
    let from = reading(0, [0, 0], &[(7, 0)]);
    let mut to = reading(300, [0, 0], &[(7, 560)]);
    to.stat.context_switches = 15_000;
    assert_eq!(from.until(&to).foreign, Nanos(10 * MS));
    assert_eq!(from.until(&to).context_switches, 15_000);
}

#[test]
fn idle_time_that_is_guessed_proves_nothing() {
    let mut from = reading(0, [0, 0], &[(7, 0)]);
    from.idle_is_measured = false;
    assert_eq!(
        from.until(&reading(300, [0, 0], &[(7, 9)])).foreign,
        Nanos::ZERO
    );
}

#[test]
fn agents_that_were_waited_for_stay_the_trials_own() {
    let mut from = reading(0, [0, 0], &[(7, 100)]);
    from.processes.get_mut(&7).unwrap().parent = std::process::id();
    let mut to = reading(300, [0, 0], &[]);
    // 100 ms before, 600 ms in the window.
    to.ended_children = Nanos(700 * MS);
    assert_eq!(from.until(&to).foreign, Nanos::ZERO);
}

#[test]
fn stolen_time_is_neither_idle_nor_foreign() {
    let from = reading(0, [0, 0], &[(7, 0)]);
    let mut to = reading(300, [0, 0], &[(7, 495)]);
    to.stat.cpus.get_mut(&1).unwrap().stolen = Nanos(100 * MS);
    let load = from.until(&to);
    // What is stolen is rounded too, so 5 ms prove nothing.
    assert_eq!((load.stolen, load.foreign), (Nanos(100 * MS), Nanos::ZERO));
    assert!((load.stolen_share() - 1.0 / 6.0).abs() < 1e-9);
}

#[test]
fn on_some_of_the_cpus_only_bound_processes_are_certain() {
    let here = |mut r: LoadReading| {
        r.cpus = vec![0];
        r
    };
    let from = here(reading(0, [0, 0], &[(GONE, 0)]));
    let to = here(reading(300, [300, 0], &[(GONE, 290)]));
    let load = from.until(&to);
    assert_eq!((load.foreign, load.hungriest.len()), (Nanos::ZERO, 1));
}

#[test]
fn frequency_and_throttling_need_both_ends() {
    let mut from = reading(0, [0, 0], &[]);
    let mut to = reading(300, [300, 300], &[]);
    from.frequency_khz = [(0, 5), (1, 6)].into();
    to.frequency_khz = [(0, 7)].into();
    to.throttled = Some(9);
    let load = from.until(&to);
    assert_eq!(
        (load.frequency_khz, load.throttled),
        ([(0, (5, 7))].into(), None)
    );
    from.throttled = Some(4);
    assert_eq!(from.until(&to).throttled, Some(5));
}

#[test]
fn a_real_interval_leaves_out_this_process() {
    let cpus = allowed_cpus();
    let from = read_load(&[cpus.as_slice(), cpus.as_slice()].concat(), &[]);
    let began = std::time::Instant::now();
    while began.elapsed() < std::time::Duration::from_millis(30) {
        std::hint::spin_loop();
    }
    let load = from.until(&read_load(&cpus, &[]));
    assert_eq!(load.cpus, cpus);
    assert!(load.wall >= Nanos::from_millis(30));
    assert!(load.interrupts > 0 && load.context_switches > 0, "{load:?}");
    let me = crate::procfile::text("/proc/self/comm");
    assert!(
        load.hungriest.iter().all(|(name, _)| *name != me),
        "{load:?}"
    );
}
