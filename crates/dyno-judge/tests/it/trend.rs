//! Histories.

use crate::common::{Builder, stream};
use dyno_judge::{History, Measure, Trend, TrendOptions, trend};
use dyno_model::record::Run;
use dyno_model::{Metric, Nanos};
use dyno_report::{Format, RenderOptions};

/// A night's run: `tcp` and `pipe` as given; small steps stand for what nights differ by.
fn night(day: u64, tcp: f64, change: impl FnOnce(&mut Builder)) -> Run {
    let wobble = 1.0 + 0.003 * ((day * 7) % 5) as f64;
    let mut b = Builder::new(day);
    b.measured("tcp", tcp * wobble);
    b.measured("pipe", 9_000.0 * wobble);
    change(&mut b);
    b.build()
}

/// Twenty nights; `tcp` gets slower with night 12, which also has another kernel.
fn nights() -> Vec<Run> {
    (0..20)
        .map(|day| {
            let tcp = if day < 12 { 12_000.0 } else { 13_500.0 };
            night(day, tcp, |b| {
                if day >= 12 {
                    b.manifest().environment.kernel = "6.13.0 #1 SMP".into();
                }
            })
        })
        .collect()
}

fn series<'a>(t: &'a Trend, stack: &str) -> &'a dyno_judge::Series {
    t.series
        .iter()
        .find(|s| s.experiment.stack == stack)
        .unwrap()
}

#[test]
fn a_change_stands_with_its_run_and_what_differed() {
    let t = trend(&nights(), &TrendOptions::default());
    let tcp = series(&t, "tcp");
    assert_eq!(tcp.changes.len(), 1, "{tcp:?}");
    let change = &tcp.changes[0];
    assert_eq!(t.runs[change.run].id, "quick-012");
    assert_eq!(t.runs[change.previous].id, "quick-011");
    assert!((change.ratio() - 1.125).abs() < 0.01);
    assert_eq!(change.differences.len(), 1);
    assert!(series(&t, "pipe").changes.is_empty());
    assert!(t.has_slower());
    let options = RenderOptions::default();
    insta::assert_snapshot!("trend_table", t.render(Format::Table, &options));
    insta::assert_snapshot!("trend_json", t.render(Format::Json, &options));
    let csv = t.render(Format::Csv, &options);
    // p50, loss, CPU and memory of two cells over twenty nights; p50 and CPU change.
    assert_eq!(csv.matches("\r\n").count(), 161, "{csv}");
    assert_eq!(csv.matches(",true,").count(), 2);
    assert!(!t.is_blind());
}

#[test]
fn the_order_of_reading_does_not_matter_and_no_run_counts_twice() {
    let mut runs = nights();
    let straight = trend(&runs, &TrendOptions::default());
    runs.reverse();
    let mut history = History::new(TrendOptions::default());
    for run in runs.iter().chain(&runs) {
        history.add(run);
    }
    let back = history.trend();
    assert_eq!(back.runs, straight.runs);
    assert_eq!(series(&back, "tcp"), series(&straight, "tcp"));
}

#[test]
fn a_change_to_faster_is_not_slower() {
    let runs: Vec<Run> = nights()
        .into_iter()
        .chain((20..32).map(|day| night(day, 11_000.0, |_| {})))
        .collect();
    let t = trend(&runs, &TrendOptions::default());
    assert_eq!(series(&t, "tcp").changes.len(), 2);
    assert!(!t.has_slower());
    let newest = TrendOptions {
        last: Some(10),
        ..TrendOptions::default()
    };
    let t = trend(&runs, &newest);
    assert_eq!((t.runs.len(), t.runs[0].id.as_str()), (10, "quick-022"));
    assert!(series(&t, "tcp").changes.is_empty());
}

#[test]
fn a_change_that_the_clocks_of_hosts_may_have_made_is_undecided() {
    // A step of 5 % in either direction.
    let of = |factor: f64, bound_ns: u64| {
        let run = |day: u64| {
            let step = if day < 12 { 1.0 } else { factor };
            let p50 = 12_000.0 * step * (1.0 + 0.003 * ((day * 7) % 5) as f64);
            let mut b = Builder::new(day);
            let e = b.experiment("udp", stream);
            for drift in [1.0, 1.006, 0.995, 1.003, 0.998] {
                b.trial(e, p50 * drift, 2_000, 0).one_way_bound = Some(Nanos(bound_ns));
            }
            b.build()
        };
        let runs: Vec<Run> = (0..20).map(run).collect();
        let how = TrendOptions {
            measure: Some(Measure::Latency(Metric::Response, 0.5)),
            ..TrendOptions::default()
        };
        trend(&runs, &how)
    };
    let (fine, coarse) = (60, 600);
    for (factor, bound, slower, blind) in [
        (1.05, 0, true, false),
        (1.05, fine, true, false),
        (1.05, coarse, false, true),
        (0.95, fine, false, false),
        (0.95, coarse, false, true),
    ] {
        let t = of(factor, bound);
        let text = t.render(Format::Markdown, &RenderOptions::default());
        assert_eq!(series(&t, "udp").changes.len(), 1, "{text}");
        assert_eq!((t.has_slower(), t.is_blind()), (slower, blind), "{text}");
        let says = "the clocks of the hosts may account for the whole change";
        let json = t.render(Format::Json, &RenderOptions::default());
        assert_eq!(text.contains(says), blind, "{text}");
        assert_eq!(json.contains("\"within_clocks\": true"), blind, "{json}");
    }
}

#[test]
fn too_few_runs_are_said() {
    let runs = &nights()[10..14];
    let t = trend(runs, &TrendOptions::default());
    assert!(series(&t, "tcp").changes.is_empty());
    let text = t.render(Format::Table, &RenderOptions::default());
    assert!(text.contains("undecided: too few runs: 4 of 8"), "{text}");
    assert!(t.is_blind() && trend(&[], &TrendOptions::default()).is_blind());
    assert!(
        text.contains("a change needs at least 6 runs, but there are only 4"),
        "{text}"
    );
    let eight = trend(&nights()[8..16], &TrendOptions::default());
    assert!(
        eight.notes[0].contains("that needs 11"),
        "{:?}",
        eight.notes
    );
    assert!(eight.is_blind());
    assert!(!trend(&nights()[..11], &TrendOptions::default()).is_blind());
}

#[test]
fn the_level_is_shared_by_the_series_that_are_tested() {
    let t = trend(&nights(), &TrendOptions::default());
    assert_eq!(t.level_each, 0.05 / 8.0);
}

#[test]
fn runs_without_the_cell_or_its_value_are_left_out() {
    let mut runs = nights();
    runs.push(night(20, 13_500.0, |b| {
        let e = b.experiment("udp", stream);
        b.failed(e);
    }));
    let mut lost = Builder::new(21);
    let e = lost.experiment("tcp", |_| {});
    for _ in 0..3 {
        lost.trial(e, 12_000.0, 100, 900);
    }
    runs.push(lost.build());
    let t = trend(&runs, &TrendOptions::default());
    assert_eq!(series(&t, "udp").values, []);
    let gone = "the previous run has it, but this run has not";
    assert_eq!(
        series(&t, "udp").missing,
        [(20, "no trial completed".to_owned()), (21, gone.to_owned())]
    );
    let tcp = series(&t, "tcp");
    // What is infinite is a value, and the worst.
    assert_eq!(tcp.values.len(), 22);
    assert_eq!(
        (tcp.values[21], tcp.missing.len()),
        ((21, f64::INFINITY), 0)
    );
    assert_eq!(series(&t, "pipe").values.len(), 21);
    // The newest run lacks the cells of `udp` and `pipe`.
    assert_eq!(series(&t, "pipe").missing, [(21, gone.to_owned())]);
    assert!(t.is_blind());
}

/// The reasons for which nobody can say that nothing of a stack became worse.
fn blind(t: &Trend, stack: &str) -> Vec<Option<String>> {
    let of = t.series.iter().filter(|s| s.experiment.stack == stack);
    of.map(|s| s.blind.clone()).collect()
}

#[test]
fn a_cell_that_vanished_is_undecided_until_it_was_dropped_on_purpose() {
    let mut runs = nights()[..12].to_vec();
    let without_pipe = |day: u64, change: &dyn Fn(&mut Builder)| {
        let mut b = Builder::new(day);
        b.measured("tcp", 12_000.0);
        change(&mut b);
        b.build()
    };
    let refuses = |b: &mut Builder| {
        b.plan().refused.push(dyno_model::plan::Refusal {
            experiment: "round-trip".into(),
            stack: "pipe".into(),
            factors: "ping-pong".into(),
            reason: "no pipes here".into(),
        });
    };
    let dropped = |b: &mut Builder| {
        let origin = b.manifest().origin.as_mut().unwrap();
        origin.request.stacks = Some(vec!["tcp".into()]);
    };
    let how = TrendOptions::default();
    for day in [12, 13] {
        runs.push(without_pipe(day, &refuses));
        let t = trend(&runs, &how);
        let who = if day == 12 {
            "the previous run"
        } else {
            "run quick-011"
        };
        let reason = format!(
            "no value in the newest run: {who} has it, but this run refused it: no pipes here"
        );
        assert!(t.is_blind());
        assert!(
            blind(&t, "pipe")
                .iter()
                .all(|b| b.as_ref() == Some(&reason)),
            "{t:?}"
        );
        assert!(blind(&t, "tcp").iter().all(Option::is_none), "{t:?}");
    }
    // Asked for alike, and neither measured nor refused.
    runs.push(without_pipe(14, &|_| {}));
    assert!(trend(&runs, &how).is_blind());
    runs.push(without_pipe(15, &dropped));
    assert!(!trend(&runs, &how).is_blind());
    // The first run without it is told also where it was dropped.
    let first: Vec<Run> = runs[..12].iter().chain(&runs[15..]).cloned().collect();
    assert!(trend(&first, &how).is_blind());
    // A run of another suite says nothing of it.
    runs.push(without_pipe(16, &|b| b.plan().suite = "calls".into()));
    let other = trend(&runs, &how);
    assert!(
        blind(&other, "pipe").iter().all(Option::is_none),
        "{other:?}"
    );
}

/// Nights of a stream of 2,000 messages: its p50 and how many of them were lost in each trial.
fn streams(of: &[(f64, u64)]) -> Vec<Run> {
    let night = |(day, (ns, lost)): (usize, &(f64, u64))| {
        let mut b = Builder::new(day as u64);
        let e = b.experiment("udp", stream);
        for drift in [1.0, 1.01, 0.99] {
            b.trial(e, ns * drift, 2_000 - lost, *lost);
        }
        b.build()
    };
    of.iter().enumerate().map(night).collect()
}

fn measured(t: &Trend, measure: Measure) -> &dyno_judge::Series {
    t.series.iter().find(|s| s.measure == measure).unwrap()
}

/// Eight nights at 15 to 19 µs, then eight at 2 to 72 ms with so many messages lost.
fn broken_half_way(lost: u64) -> Vec<Run> {
    let good = [15.0, 17.0, 16.0, 19.0, 15.5, 18.0, 16.5, 17.5].map(|us| (us * 1e3, 0));
    let bad = [2.0, 72.0, 9.0, 31.0, 3.0, 55.0, 14.0, 6.0].map(|ms| (ms * 1e6, lost));
    streams(&[good, bad].concat())
}

#[test]
fn a_level_that_scatters_by_factors_is_seen() {
    let t = trend(&broken_half_way(900), &TrendOptions::default());
    for measure in [
        Measure::Latency(Metric::Response, 0.5),
        Measure::Loss,
        Measure::Throughput,
        Measure::CpuPerMessage,
    ] {
        let s = measured(&t, measure);
        assert_eq!(s.changes.len(), 1, "{measure:?} {s:?}");
        assert_eq!(t.runs[s.changes[0].run].id, "quick-008");
        assert!(s.is_worse(&s.changes[0]), "{measure:?}");
    }
    assert!(measured(&t, Measure::Memory).changes.is_empty());
    assert!(t.has_slower());
}

#[test]
fn nights_without_a_finite_quantile_are_the_worst() {
    let how = TrendOptions {
        quantile: 0.9,
        ..TrendOptions::default()
    };
    let t = trend(&broken_half_way(1_100), &how);
    let s = measured(&t, Measure::Latency(Metric::Response, 0.9));
    assert_eq!(s.values.len(), 16);
    assert_eq!(s.changes.len(), 1, "{s:?}");
    let change = &s.changes[0];
    assert_eq!(
        (change.after, change.ratio()),
        (f64::INFINITY, f64::INFINITY)
    );
    assert!(s.is_worse(change) && change.before < 30_000.0);
    let text = t.render(Format::Table, &RenderOptions::default());
    assert!(text.contains("→ ∞") && text.contains("slower ×∞"), "{text}");
    let csv = t.render(Format::Csv, &RenderOptions::default());
    assert_eq!(csv.matches(",inf,").count(), 8, "{csv}");
    // And back again is better.
    let mut back = broken_half_way(1_100);
    back.reverse();
    for (day, run) in back.iter_mut().enumerate() {
        run.manifest.started_unix_ms = day as u64;
    }
    let t = trend(&back, &how);
    assert_eq!(measured(&t, s.measure).changes.len(), 1);
    assert!(!t.has_slower());
}

#[test]
fn each_machine_has_series_of_its_own() {
    let mut runs = streams(&[(15_000.0, 0); 20]);
    for run in runs.iter_mut().skip(1).step_by(2) {
        run.manifest.environment.host = "other".into();
        for t in &mut run.trials {
            t.cost.cpu_ns_per_message = Some(99_000.0);
        }
    }
    let t = trend(&runs, &TrendOptions::default());
    assert!(
        t.series
            .iter()
            .all(|s| s.values.len() == 10 && s.changes.is_empty())
    );
    assert!(
        t.notes.last().unwrap().contains("come from 2 machines"),
        "{:?}",
        t.notes
    );
}

#[test]
fn every_metric_of_limits_has_a_trend() {
    let mut b = Builder::new(0);
    let floor = b.experiment("floor-futex", stream);
    b.trials(floor, 7_000.0);
    let e = b.experiment("udp", |e| {
        stream(e);
        e.floor = Some(floor);
    });
    b.trials(e, 21_000.0);
    let run = b.build();
    for word in Measure::words() {
        let measure = Measure::of_word(word, Some(0.5));
        assert!(measure.is_some(), "{word}");
        let how = TrendOptions {
            measure,
            ..TrendOptions::default()
        };
        let t = trend(std::slice::from_ref(&run), &how);
        let of_udp = t.series.iter().find(|s| s.experiment.stack == "udp");
        let found = of_udp.map(|s| (s.values.len(), s.missing.len()));
        let expected = match word {
            // Of closed loops, of probes and of readers that ask only.
            "rtt" | "read" | "probe" | "within" | "served" | "cpu_share" => None,
            // Of experiments with faults only.
            "recovery" | "recovery_first" | "steady" | "silence" | "detection" | "deaf" => None,
            // Of silence only.
            "idle_cpu" | "idle_pss" => None,
            // Not recorded in these trials.
            _ if word.starts_with("boot") => Some((0, 1)),
            "service" | "lateness" | "send" | "gap" | "first_delivery" => Some((0, 1)),
            _ => Some((1, 0)),
        };
        assert_eq!(found, expected, "{word}");
        assert!(t.is_blind());
    }
    assert_eq!(Measure::of_word("jitter", None), None);
}

#[test]
fn the_distance_to_a_floor_takes_two_good_sides() {
    let night = |day, disturbed: bool| {
        let mut b = Builder::new(day);
        let floor = b.experiment("floor-futex", |_| {});
        b.trials(floor, 7_000.0);
        let e = b.experiment("udp", |e| e.floor = Some(floor));
        b.trials(e, 21_000.0);
        let mut run = b.build();
        let of_floor = |t: &&mut dyno_model::TrialRecord| t.id.experiment == floor;
        for t in run.trials.iter_mut().filter(of_floor).filter(|_| disturbed) {
            t.disturbed
                .push(dyno_model::Cause::Told("foreign load".into()));
        }
        run
    };
    let how = TrendOptions {
        measure: Measure::of_word("x_floor", Some(0.5)),
        ..TrendOptions::default()
    };
    let t = trend(&[night(0, false), night(1, true)], &how);
    let reason = "there is no ratio, because the host disturbed every trial of the floor";
    assert_eq!(series(&t, "udp").values.len(), 1);
    assert_eq!(series(&t, "udp").missing, [(1, reason.to_owned())]);
}

#[test]
fn a_metric_that_is_asked_for_takes_only_the_cells_that_have_it() {
    let runs: Vec<Run> = (0..6)
        .map(|day| {
            night(day, 12_000.0, |b| {
                let e = b.experiment("udp", stream);
                b.trials(e, 30_000.0);
            })
        })
        .collect();
    let how = TrendOptions {
        measure: Some(Measure::Latency(Metric::Response, 0.9)),
        quantile: 0.9,
        ..TrendOptions::default()
    };
    let t = trend(&runs, &how);
    assert_eq!(t.series.len(), 1);
    assert_eq!(t.series[0].measure, Measure::Latency(Metric::Response, 0.9));
}

#[test]
fn what_other_kernels_cost_is_no_value_of_a_history() {
    let nights: Vec<Run> = (0..14)
        .map(|day| {
            night(day, 12_000.0, |b| {
                b.manifest().environment.irq_time = Some(day >= 5);
            })
        })
        .collect();
    let t = trend(&nights, &TrendOptions::default());
    let of = |measure| {
        let mut all = t.series.iter();
        all.find(|s| s.experiment.stack == "tcp" && s.measure == measure)
            .unwrap()
    };
    let cpu = of(Measure::CpuPerMessage);
    assert_eq!((cpu.values.len(), cpu.missing.len()), (9, 5));
    assert!(cpu.missing[0].1.contains("CONFIG_IRQ_TIME_ACCOUNTING"));
    assert_eq!(of(Measure::Memory).values.len(), 14);
}
