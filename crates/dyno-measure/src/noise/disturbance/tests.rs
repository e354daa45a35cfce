use super::*;
use dyno_model::record::HdrText;

const WINDOW: Nanos = Nanos::from_millis(300);

/// A window of 300 ms on two CPUs in which nothing happened.
fn calm() -> HostLoad {
    HostLoad {
        wall: WINDOW,
        cpus: vec![0, 1],
        throttled: Some(0),
        ..HostLoad::default()
    }
}

fn trial(window: HostLoad) -> HostNoise {
    HostNoise {
        window: Some(window),
        ..HostNoise::default()
    }
}

fn foreign_of(ms: u64) -> HostLoad {
    HostLoad {
        foreign: Nanos::from_millis(ms),
        hungriest: vec![("stress".into(), Nanos::from_millis(ms))],
        ..calm()
    }
}

fn bare(load: HostLoad) -> BareMachine {
    BareMachine {
        load,
        ..BareMachine::default()
    }
}

fn watched(lost_ms: u64, longest_ms: u64) -> CpuGaps {
    CpuGaps {
        cpu: 1,
        watched: Nanos::from_millis(100),
        count: 3,
        longest: Nanos::from_millis(longest_ms),
        lost: Nanos::from_millis(lost_ms),
        lengths: HdrText::default(),
    }
}

/// The only sentence.
#[track_caller]
fn one(noise: &HostNoise, bare: &BareMachine) -> String {
    let mut found = disturbances(noise, bare);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0).to_string()
}

#[track_caller]
fn none(noise: &HostNoise, bare: &BareMachine) {
    assert_eq!(disturbances(noise, bare), []);
}

#[test]
fn a_calm_trial_counts() {
    none(&trial(calm()), &bare(calm()));
    none(&HostNoise::default(), &BareMachine::default());
}

#[test]
fn foreign_load_is_flagged_beyond_two_percent_and_a_lump() {
    // 2 % of 300 ms, and 3 ms.
    none(&trial(foreign_of(9)), &bare(calm()));
    let said = one(&trial(foreign_of(186)), &bare(calm()));
    assert_eq!(
        said,
        "other processes used 31 % of CPUs 0-1 during the window (`stress` 186 ms); before the run \
         it was 0.00 %"
    );
    one(&trial(foreign_of(10)), &bare(calm()));
}

#[test]
fn the_bare_machines_share_is_taken_off() {
    // 10 s, in which 0.4 % of two CPUs are 80 ms, and 2 % of one are 200 ms.
    let long = |ms| HostLoad {
        wall: Nanos::from_millis(10_000),
        ..foreign_of(ms)
    };
    let usual = bare(long(80));
    none(&trial(long(280)), &usual);
    let said = one(&trial(long(281)), &usual);
    assert!(said.ends_with("before the run it was 0.40 %"), "{said}");
}

#[test]
fn a_stranger_that_works_all_the_time_is_a_stranger() {
    // 8 % of one CPU, during the baseline as well.
    let said = one(&trial(foreign_of(24)), &bare(foreign_of(24)));
    assert!(said.contains("before the run it was 4.0 %"), "{said}");
    assert!(said.contains("allows for only 0.50 %"), "{said}");
}

#[test]
fn a_disturbed_baseline_excuses_a_tenth_and_is_named() {
    let busy = bare(foreign_of(300));
    let said = one(&trial(foreign_of(150)), &busy);
    assert!(said.contains("before the run it was 50 %"), "{said}");
    assert!(said.contains("allows for only 0.50 %"), "{said}");
    let stolen = |ms| HostLoad {
        stolen: Nanos::from_millis(ms),
        ..calm()
    };
    let said = one(&trial(stolen(100)), &bare(stolen(300)));
    assert!(said.contains("allows for only 10 %"), "{said}");
    let noise = HostNoise {
        gaps: vec![watched(40, 4)],
        ..HostNoise::default()
    };
    let gone = BareMachine {
        gaps: vec![watched(60, 4)],
        ..BareMachine::default()
    };
    let said = one(&noise, &gone);
    assert!(said.contains("allows for only 10 %"), "{said}");
}

#[test]
fn what_has_ended_is_not_blamed_on_who_is_left() {
    let mut window = foreign_of(100);
    window.hungriest = vec![("sshd".into(), Nanos::from_millis(2))];
    let said = one(&trial(window.clone()), &bare(calm()));
    assert!(said.contains("mostly processes that have ended"), "{said}");
    assert!(said.contains("`sshd` 2.00 ms"), "{said}");
    window.hungriest.clear();
    let said = one(&trial(window), &bare(calm()));
    assert!(said.contains("(processes that have ended)"), "{said}");
}

#[test]
fn steal_is_flagged_beyond_its_rounding() {
    let stolen = |ms| HostLoad {
        stolen: Nanos::from_millis(ms),
        ..calm()
    };
    // 6 ms and a tick times the root of two.
    none(&trial(stolen(20)), &bare(calm()));
    let said = one(&trial(stolen(30)), &bare(calm()));
    assert!(
        said.starts_with(
            "the hypervisor gave other guests 5.0 % of the time for which CPUs 0-1 had work during the window (30.0 ms)"
        ),
        "{said}"
    );
    // Twice the idle host's 3.3 %, as it was idle for half of the time.
    none(&trial(stolen(60)), &bare(stolen(20)));
    one(&trial(stolen(70)), &bare(stolen(20)));
}

#[test]
fn a_stack_that_idles_is_robbed_of_as_large_a_share_as_one_that_spins() {
    let load = |stolen, idle| HostLoad {
        wall: Nanos::from_secs(10),
        stolen: Nanos::from_millis(stolen),
        idle: Some(Nanos::from_millis(idle)),
        ..calm()
    };
    // A hundredth of the time that was wanted, of 20 s and of 4 s.
    none(&trial(load(200, 0)), &bare(calm()));
    none(&trial(load(40, 16_000)), &bare(calm()));
    // Two hundredths and a little.
    one(&trial(load(420, 0)), &bare(calm()));
    one(&trial(load(90, 16_000)), &bare(calm()));
    // As much as the idle host, which idled for half of the time.
    none(&trial(load(400, 0)), &bare(load(200, 10_000)));
}

#[test]
fn throttling_is_always_flagged() {
    let slowed = HostLoad {
        throttled: Some(2),
        cpus: vec![3],
        ..calm()
    };
    let said = one(&trial(slowed.clone()), &bare(calm()));
    assert_eq!(
        said,
        "the kernel throttled CPU 3 because of heat, 2 times during the window"
    );
    let said = one(&trial(slowed.clone()), &bare(slowed));
    assert!(said.contains("times also before the run"), "{said}");
    let unknown = HostLoad {
        throttled: None,
        ..calm()
    };
    none(&trial(unknown), &bare(calm()));
}

#[test]
fn a_frequency_that_the_bare_machine_does_not_know_is_flagged() {
    let at = |from: u64, to: u64| HostLoad {
        frequency_khz: [(1, (from * 1_000, to * 1_000))].into(),
        ..calm()
    };
    let fixed = bare(at(3_490, 3_500));
    none(&trial(at(3_500, 3_300)), &fixed);
    let said = one(&trial(at(3_500, 2_800)), &fixed);
    assert_eq!(
        said,
        "CPU 1 went from 3.50 to 2.80 GHz during the window; before the run it ran at 3.49 to 3.50 GHz"
    );
    // Idle and busy: what a governor does all day.
    let governed = bare(at(800, 3_500));
    none(&trial(at(800, 3_500)), &governed);
    none(&trial(at(780, 3_600)), &governed);
    one(&trial(at(3_500, 400)), &governed);
    // Nothing known of the idle host.
    one(&trial(at(3_500, 2_800)), &bare(calm()));
}

#[test]
fn gaps_before_the_trial_are_flagged_beyond_three_times_the_usual() {
    let noise = |lost, longest| HostNoise {
        gaps: vec![watched(lost, longest)],
        ..HostNoise::default()
    };
    let usual = |lost| BareMachine {
        gaps: vec![watched(lost, 0)],
        ..BareMachine::default()
    };
    none(&noise(3, 0), &usual(0));
    // One lump, however long.
    none(&noise(23, 20), &usual(0));
    none(&noise(12, 0), &usual(4));
    none(&noise(6, 0), &usual(4));
    let said = one(&noise(16, 3), &usual(4));
    assert_eq!(
        said,
        "CPU 1 lost 16 % of its time in 3 gaps just before the trial, the longest 3.00 ms; before \
         the run it was 4.0 %"
    );
    one(&noise(8, 4), &BareMachine::default());
    // Where the trial then used other CPUs, they are nobody's.
    let elsewhere = HostNoise {
        window: Some(HostLoad {
            cpus: vec![7],
            ..calm()
        }),
        ..noise(8, 4)
    };
    none(&elsewhere, &bare(calm()));
}

#[test]
fn every_reason_is_named() {
    let window = HostLoad {
        foreign: Nanos::from_millis(90),
        stolen: Nanos::from_millis(90),
        throttled: Some(1),
        frequency_khz: [(0, (3_000_000, 1_000_000))].into(),
        ..calm()
    };
    let noise = HostNoise {
        gaps: vec![watched(50, 5)],
        ..trial(window)
    };
    assert_eq!(disturbances(&noise, &bare(calm())).len(), 5);
}
