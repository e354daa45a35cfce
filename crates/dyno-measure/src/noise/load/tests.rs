use super::*;
use crate::host::allowed_cpus;

const MS: u64 = 1_000_000;

/// A reading at `at` ms of two CPUs on which threads ran for `ran` ms each since boot, with the processor time
/// of processes in ms. Number 7 is the trial's own.
fn reading(at: u64, ran: [u64; 2], processes: &[(u32, u64)]) -> LoadReading {
    let times = |ran: u64| CpuTimes {
        idle: Nanos(at.saturating_sub(ran) * MS),
        ..CpuTimes::default()
    };
    LoadReading {
        at: Nanos(at * MS),
        cpus: vec![0, 1],
        own: [7].into(),
        stat: Stat {
            cpus: [(0, times(ran[0])), (1, times(ran[1]))].into(),
            context_switches: 0,
        },
        irq_time: Some(false),
        runtime: Some(Runtime {
            by: CountedBy::Cpuacct,
            on: [(0, Nanos(ran[0] * MS)), (1, Nanos(ran[1] * MS))].into(),
        }),
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

fn by_schedstat(mut reading: LoadReading) -> LoadReading {
    if let Some(runtime) = &mut reading.runtime {
        runtime.by = CountedBy::Schedstat;
    }
    reading
}

fn uncounted(mut reading: LoadReading) -> LoadReading {
    reading.runtime = None;
    reading
}

#[test]
fn time_of_other_processes_is_exact() {
    let from = reading(0, [0, 0], &[(7, 0), (GONE, 5)]);
    let to = reading(300, [200, 210], &[(7, 370), (GONE, 45)]);
    for (from, to) in [
        (from.clone(), to.clone()),
        (by_schedstat(from.clone()), by_schedstat(to.clone())),
        (uncounted(from), uncounted(to)),
    ] {
        let load = from.until(&to);
        assert_eq!((load.wall, load.foreign), (Nanos(300 * MS), Nanos(40 * MS)));
        assert_eq!(
            load.hungriest,
            [(format!("process {GONE}"), Nanos(40 * MS))]
        );
        assert_eq!(load.counted_by, to.runtime.map(|r| r.by));
        assert_eq!(load.wanted(), Nanos(410 * MS));
    }
}

#[test]
fn processes_that_have_ended_are_counted_where_they_ran() {
    let from = reading(0, [0, 0], &[(7, 0), (GONE, 5)]);
    // 190 ms ran, 60 of them the trial's.
    let to = reading(300, [90, 100], &[(7, 60)]);
    assert_eq!(from.until(&to).foreign, Nanos(130 * MS));
    assert_eq!(uncounted(from).until(&to).foreign, Nanos::ZERO);
}

#[test]
fn processes_that_have_ended_show_with_their_parents() {
    let from = uncounted(reading(0, [0, 0], &[(7, 0), (1, 0), (GONE, 5)]));
    let mut to = uncounted(reading(300, [100, 100], &[(7, 140), (1, 0)]));
    to.processes.get_mut(&1).unwrap().family.ended_children = Nanos(60 * MS);
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

/// Two trials beside the same stranger: one that spins on both CPUs, and one that sleeps most of the time, wakes a CPU
/// 90,000 times a second, and has the kernel at work.
#[test]
fn how_a_stack_waits_changes_nothing_of_what_others_did() {
    let from = reading(0, [0, 0], &[(7, 0), (GONE, 0)]);
    let spins = reading(1_000, [1_000, 1_000], &[(7, 1_960), (GONE, 40)]);
    let mut sleeps = reading(1_000, [90, 70], &[(7, 120), (GONE, 40)]);
    sleeps.stat.context_switches = 90_000;
    for times in sleeps.stat.cpus.values_mut() {
        // The kernel's own way in and out of idling is nobody's.
        times.idle = Nanos(700 * MS);
    }
    assert_eq!(from.until(&spins).foreign, Nanos(40 * MS));
    assert_eq!(from.until(&sleeps).foreign, Nanos(40 * MS));
    assert_eq!(from.until(&sleeps).context_switches, 90_000);
}

#[test]
fn agents_that_were_waited_for_stay_the_trials_own() {
    let mut from = reading(0, [0, 0], &[(7, 100)]);
    from.processes.get_mut(&7).unwrap().family.parent = std::process::id();
    let mut to = reading(300, [300, 300], &[]);
    // 100 ms before, 600 ms in the window.
    to.ended_children = Nanos(700 * MS);
    assert_eq!(from.until(&to).foreign, Nanos::ZERO);
}

#[test]
fn stolen_time_and_interrupts_are_not_what_others_ran() {
    let mut from = by_schedstat(reading(0, [0, 0], &[(7, 0)]));
    let mut to = by_schedstat(reading(300, [300, 300], &[(7, 420)]));
    let times = to.stat.cpus.get_mut(&1).unwrap();
    times.stolen = Nanos(100 * MS);
    // Guessed at ticks, and within the time of whoever was interrupted.
    times.softirq = Nanos(50 * MS);
    let load = from.until(&to);
    assert_eq!(
        (load.stolen, load.foreign),
        (Nanos(100 * MS), Nanos(80 * MS))
    );
    assert!((load.stolen_share() - 1.0 / 6.0).abs() < 1e-9);
    // Counted, and in no process's time.
    from.irq_time = Some(true);
    to.stat.cpus.get_mut(&1).unwrap().irq = Nanos(20 * MS);
    assert_eq!(from.until(&to).foreign, Nanos(10 * MS));
}

#[test]
fn on_some_of_the_cpus_what_ran_there_counts_whoever_it_was() {
    let here = |mut r: LoadReading| {
        r.cpus = vec![0];
        r.runtime.as_mut().unwrap().on.remove(&1);
        r
    };
    let from = here(reading(0, [0, 0], &[(GONE, 0)]));
    let to = here(reading(300, [30, 260], &[(GONE, 290)]));
    let load = from.until(&to);
    assert_eq!((load.foreign, load.hungriest.len()), (Nanos(30 * MS), 1));
}

/// The trial's agent, number 7, may run everywhere, and its daemon, number 8, on CPU 1 alone.
#[test]
fn a_daemon_on_cpus_of_its_own_hides_no_stranger() {
    let here = |mut r: LoadReading| {
        r.cpus = vec![0];
        r.runtime.as_mut().unwrap().on.remove(&1);
        r.own.insert(8);
        r
    };
    let from = here(reading(0, [0, 0], &[(7, 0), (8, 0), (GONE, 0)]));
    let to = here(reading(
        1_000,
        [280, 400],
        &[(7, 200), (8, 400), (GONE, 80)],
    ));
    let daemon_on = |cpus: Option<Vec<u32>>| {
        let sets = move |pid| match pid {
            7 => Some([vec![0, 1]].into()),
            _ => cpus.clone().map(|cpus| [cpus].into()),
        };
        from.until_by(&to, sets).foreign
    };
    assert_eq!(daemon_on(Some(vec![1])), Nanos(80 * MS));
    // One that may have run here, also because nobody knows, counts whole.
    assert_eq!(daemon_on(Some(vec![0, 1])), Nanos::ZERO);
    assert_eq!(daemon_on(None), Nanos::ZERO);
}

#[test]
fn without_a_count_a_stranger_is_shared_out_over_its_cpus() {
    let Some(parent) = rustix::process::getppid() else {
        return;
    };
    let parent = parent.as_raw_nonzero().get() as u32;
    let cpu = allowed_cpus()[0];
    let expected = 200.0 * processes::part_on(parent, &[cpu]);
    let here = |mut r: LoadReading| {
        r.cpus = vec![cpu];
        r
    };
    let from = here(uncounted(reading(0, [0, 0], &[(parent, 0)])));
    let to = here(uncounted(reading(300, [0, 0], &[(parent, 200)])));
    assert_eq!(
        from.until(&to).foreign,
        Nanos((expected * MS as f64) as u64)
    );
}

#[test]
fn kernel_threads_that_work_off_messages_are_told_apart() {
    if processes::name(KTHREADD.0) != KTHREADD.1 {
        return;
    }
    let all = processes::families(kernel::tick());
    let named = |name: &str| {
        let mut kernel = all.iter().filter(|(_, p)| p.parent == KTHREADD.0);
        kernel
            .find(|(pid, _)| processes::name(**pid).starts_with(name))
            .map(|(pid, _)| *pid)
    };
    let (Some(softirq), Some(swap)) = (named("ksoftirqd/"), named("kswapd")) else {
        return;
    };
    let with_parents = |mut r: LoadReading| {
        for pid in [softirq, swap] {
            r.processes.get_mut(&pid).unwrap().family.parent = KTHREADD.0;
        }
        r
    };
    let from = with_parents(reading(0, [0, 0], &[(7, 0), (softirq, 0), (swap, 0)]));
    let to = with_parents(reading(
        300,
        [300, 200],
        &[(7, 370), (softirq, 90), (swap, 40)],
    ));
    let load = from.until(&to);
    assert_eq!(
        (load.kernel, load.foreign),
        (Some(Nanos(90 * MS)), Nanos(40 * MS))
    );
    assert!(load.hungriest[0].0.starts_with("kswapd"), "{load:?}");
}

#[test]
fn frequency_and_throttling_need_both_ends() {
    let mut from = reading(0, [0, 0], &[]);
    let mut to = reading(300, [0, 0], &[]);
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
    let load = from.until_now();
    assert_eq!(load.cpus, cpus);
    assert!(load.wall >= Nanos::from_millis(30));
    assert!(load.interrupts > 0 && load.context_switches > 0, "{load:?}");
    let me = crate::procfile::text("/proc/self/comm");
    assert!(
        load.hungriest.iter().all(|(name, _)| *name != me),
        "{load:?}"
    );
}
