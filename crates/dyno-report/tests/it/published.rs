//! Which figures of others stand beside which experiment.

use dyno_model::{Metric, Nanos, PayloadSize, Wait, Workload};
use dyno_report::published::{PublishedFigure, Statistic, studies};
use dyno_report::{ExperimentSummary, Summary};

/// Study, statistic, value in ns and text.
fn short(figures: &[PublishedFigure]) -> Vec<(&'static str, &'static str, f64, &str)> {
    let all = studies();
    let one = |f: &PublishedFigure| (all[f.study].key, f.statistic.as_str(), f.value_ns.round());
    let with_text = |f| {
        let (key, statistic, value) = one(f);
        (key, statistic, value, f.text.as_str())
    };
    figures.iter().map(with_text).collect()
}

/// The figures beside an experiment of a run.
fn beside(summary: &Summary, e: &ExperimentSummary) -> Vec<PublishedFigure> {
    let one = Summary {
        experiments: vec![e.clone()],
        ..summary.clone()
    };
    dyno_report::study::beside(&one).remove(0)
}

/// The summary of a run, and one of its experiments.
fn experiment(
    run: &dyno_model::record::Run,
    wanted: impl Fn(&dyno_model::Experiment) -> bool,
) -> (Summary, ExperimentSummary) {
    let summary = crate::common::summary(run);
    let mut all = summary.experiments.iter();
    let found = all.find(|e| wanted(&e.experiment)).unwrap().clone();
    (summary, found)
}

#[test]
fn every_study_says_where_it_comes_from_and_what_is_wrong_with_it() {
    let all = studies();
    for about in &all {
        assert!(!about.source.place.is_empty() && !about.source.title.is_empty());
        assert!(about.flaws.len() >= 5, "{}", about.key);
    }
    let mut keys: Vec<&str> = all.iter().map(|a| a.key).collect();
    keys.sort_unstable();
    let known = [
        "iceperf-2020",
        "l4re-2025",
        "rwth-2025",
        "s-core-2025",
        "sodev-2025",
    ];
    assert_eq!(keys, known);
}

#[test]
fn a_stream_of_the_papers_load_has_its_median_and_its_largest_value() {
    let run = crate::common::rwth::rwth();
    let (summary, e) = experiment(&run, |e| e.stack == "zenoh-udp" && e.name == "camera");
    let figures = beside(&summary, &e);
    assert!(figures.iter().all(|f| f.metric == Metric::Service));
    let at = e.experiment.placement;
    assert_eq!(at, dyno_model::Placement::Host, "the first camera of zenoh");
    assert_eq!(
        short(&figures),
        [
            ("rwth-2025", "p50", 38_528_000.0, "38.528 ms"),
            ("rwth-2025", "max", 43_836_000.0, "43.836 ms")
        ]
    );
    assert_eq!(figures[0].label, "Zenoh best-effort, camera in D1-1");
}

#[test]
fn a_stack_that_stands_for_two_rows_has_both() {
    let run = crate::common::rwth::rwth();
    let (summary, e) = experiment(&run, |e| e.stack == "vsomeip-defaults");
    let medians: Vec<(String, f64)> = beside(&summary, &e)
        .into_iter()
        .filter(|f| f.statistic == Statistic::Median)
        .map(|f| (f.label, f.value_ns))
        .collect();
    assert_eq!(
        medians,
        [
            ("vSome/IP best-effort, imu in C1-1".to_owned(), 119_000.0),
            ("vSome/IP reliable, imu in C1-1".to_owned(), 127_000.0)
        ]
    );
    let (summary, tuned) = experiment(&run, |e| e.stack == "vsomeip");
    assert!(
        beside(&summary, &tuned)
            .iter()
            .all(|f| f.label.contains("not tuned"))
    );
}

#[test]
fn half_a_round_trip_stands_doubled_and_says_so() {
    let run = crate::common::iceperf();
    let (summary, mut e) = experiment(&run, |e| {
        e.stack == "posix-mq" && e.payload == PayloadSize::new(2_048).unwrap()
    });
    let figures = beside(&summary, &e);
    assert_eq!(
        short(&figures),
        [("iceperf-2020", "mean", 200_000.0, "2 × 1e+02 µs")]
    );
    assert_eq!(figures[0].metric, Metric::Rtt);
    assert!(figures[0].label.contains("half a round trip"));
    // A polling reader is not what was measured.
    e.experiment.wait = Wait::Spin;
    assert_eq!(beside(&summary, &e), []);
}

#[test]
fn another_load_has_none() {
    let run = crate::common::rwth::rwth();
    let (summary, mut e) = experiment(&run, |e| e.stack == "zenoh-udp" && e.name == "imu");
    assert!(!beside(&summary, &e).is_empty());
    let load = e.experiment.clone();
    e.experiment.payload = PayloadSize::new(1_024).unwrap();
    assert_eq!(beside(&summary, &e), []);
    e.experiment = load;
    e.experiment.workload = Workload::PingPong {
        gap: Nanos(0),
        timeout: Nanos::from_secs(5),
    };
    assert_eq!(beside(&summary, &e), []);
    let quick = crate::common::summary(&crate::common::quick());
    for e in &quick.experiments {
        assert_eq!(beside(&quick, e), [], "64 B are in no study");
    }
}

#[test]
fn ticks_of_counters_whose_rates_nobody_says_are_no_times() {
    let run = crate::common::l4re::l4re();
    let summary = crate::common::summary(&run);
    assert!(
        summary
            .experiments
            .iter()
            .all(|e| beside(&summary, e).is_empty())
    );
}
