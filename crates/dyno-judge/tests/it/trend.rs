//! Histories.

use crate::common::{Builder, stream};
use dyno_judge::{History, Trend, TrendOptions, trend};
use dyno_model::Metric;
use dyno_model::record::Run;
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
    assert_eq!(csv.matches("\r\n").count(), 41, "{csv}");
    assert_eq!(csv.matches(",true\r\n").count(), 1);
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
fn too_few_runs_are_said() {
    let runs = &nights()[10..14];
    let t = trend(runs, &TrendOptions::default());
    assert!(series(&t, "tcp").changes.is_empty());
    let text = t.render(Format::Table, &RenderOptions::default());
    assert!(text.contains("too few runs: 4 of 6"), "{text}");
    assert!(
        text.contains("a change takes at least 6 runs, there are 4"),
        "{text}"
    );
    let eight = trend(&nights()[8..16], &TrendOptions::default());
    assert!(eight.notes[0].contains("it takes 9"), "{:?}", eight.notes);
}

#[test]
fn the_level_is_shared_by_the_series_that_are_tested() {
    let t = trend(&nights(), &TrendOptions::default());
    assert_eq!(t.level_each, 0.05 / 2.0);
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
    assert_eq!(
        series(&t, "udp").missing,
        [(20, "no trial completed".to_owned())]
    );
    let tcp = series(&t, "tcp");
    assert_eq!(tcp.values.len(), 21);
    assert!(tcp.missing[0].1.contains("infinite"), "{:?}", tcp.missing);
    assert_eq!(series(&t, "pipe").values.len(), 21);
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
        metric: Some(Metric::Response),
        quantile: 0.9,
        ..TrendOptions::default()
    };
    let t = trend(&runs, &how);
    assert_eq!(t.series.len(), 1);
    assert_eq!(t.series[0].metric, Metric::Response);
}
