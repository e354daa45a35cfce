//! Cycles, groups, random times, sizes.

use crate::{csv, flow, learnt, why};
use dyno_learn::{Pattern, explain};

#[test]
fn a_cycle_with_jitter_is_periodic() {
    let jitter = [0, 900, -800, 400, 1000, -900, 100];
    let rows = (0..200).map(|n| (n * 10_000 + jitter[n as usize % 7], "a", 100));
    let learnt = learnt(&csv(rows));
    let Pattern::Periodic { cycle_ns } = flow(&learnt, "a").pattern else {
        panic!("{:?}", flow(&learnt, "a"));
    };
    assert!((cycle_ns / 10e6 - 1.0).abs() < 0.005, "{cycle_ns}");
}

#[test]
fn lost_messages_and_pauses_do_not_change_the_cycle() {
    let lost = (0..400).filter(|n| n % 37 != 0);
    let pauses = (0..400).filter(|n| n % 100 > 30 || *n < 30);
    for sent in [lost.collect::<Vec<i64>>(), pauses.collect()] {
        let learnt = learnt(&csv(sent.iter().map(|n| (n * 10_000, "a", 100))));
        let cycle = Pattern::Periodic { cycle_ns: 10e6 };
        assert_eq!(flow(&learnt, "a").pattern, cycle);
    }
}

#[test]
fn messages_back_to_back_with_a_period_are_groups() {
    let rows = (0..20).flat_map(|n| (0..6).map(move |i| (n * 33_000 + i * 50, "camera", 1400)));
    let found = learnt(&csv(rows));
    assert_eq!(
        flow(&found, "camera").pattern,
        Pattern::Burst {
            group: 6,
            period_ns: 33e6
        }
    );
    assert_eq!(
        (
            found.files[0].busiest_messages,
            found.files[0].busiest_bytes
        ),
        (6, 8400)
    );
    assert!(
        explain(&found).contains("6 every 33 ms"),
        "{}",
        explain(&found)
    );
}

#[test]
fn other_topics_have_their_mean_rate() {
    let mut time = 0;
    let rows = (0..300u64).map(|n| {
        time += [1_200, 9_000, 30_000, 2_000, 7_800][(n * n % 7 % 5) as usize];
        (time, "a", 40)
    });
    let rows: Vec<_> = rows.collect();
    let span = (rows[299].0 - rows[0].0) as f64 / 1e6;
    let learnt = learnt(&csv(rows));
    let Pattern::Random { hz } = flow(&learnt, "a").pattern else {
        panic!("{:?}", flow(&learnt, "a").pattern);
    };
    assert!((hz * span / 299.0 - 1.0).abs() < 1e-9, "{hz}");
}

#[test]
fn topics_seen_once_or_twice_are_left_out_with_the_reason() {
    let rows = [
        (0, "one", 40),
        (1, "two", 40),
        (2, "same", 40),
        (2, "same", 40),
        (2, "same", 40),
        (9, "two", 40),
    ];
    let learnt = learnt(&csv(rows));
    assert_eq!(why(&learnt, "one"), "seen once");
    assert_eq!(why(&learnt, "two"), "seen twice");
    assert_eq!(why(&learnt, "same"), "all messages have the same stamp");
    let said = explain(&learnt);
    assert!(
        said.contains("Topics left out: 3") && said.contains("seen twice: two"),
        "{said}"
    );
    assert!(
        said.contains(
            "line 5: a message has the same stamp as the one before it on its topic (2 in all)"
        ),
        "{said}"
    );
}

#[test]
fn sizes_below_the_smallest_payload_are_raised_and_it_is_said() {
    let rows = (0..100).map(|n| (n * 1000, "a", if n % 4 == 0 { 100 } else { 8 }));
    let learnt = learnt(&csv(rows));
    let a = flow(&learnt, "a");
    assert_eq!(
        (a.sizes.min, a.sizes.p50, a.sizes.max, a.sizes.mean),
        (8, 8, 100, 31.0)
    );
    assert_eq!((a.raised, &a.payload[..]), (true, &[(32, 3), (100, 1)][..]));
    assert!(explain(&learnt).contains("1 with messages below 32 B"));
    let suite = dyno_learn::suite(&learnt, &dyno_learn::SuiteOptions::default());
    assert!(
        suite.contains("# Sizes below 32 B were raised to 32 B"),
        "{suite}"
    );
}

#[test]
fn two_recordings_of_one_system_do_not_make_a_gap() {
    let mut traffic = dyno_learn::Traffic::default();
    for start in [0, 5_000_000] {
        let rows = (0..50).map(|n| (start + n * 10_000, "a", 64));
        dyno_learn::read(&mut &*csv(rows), "part", &mut traffic).unwrap();
    }
    let learnt = dyno_learn::Learnt::of(&traffic);
    assert_eq!(
        flow(&learnt, "a").pattern,
        Pattern::Periodic { cycle_ns: 10e6 }
    );
    assert_eq!(flow(&learnt, "a").messages, 100);
}
